// SPDX-License-Identifier: BSD-3-Clause
#include "link/shared/node_map.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/extent.hpp"
#include "base/file_descriptor.hpp"
#include "base/units.hpp"

namespace weft::link {
namespace {

[[nodiscard]] bool are_candidates(const SegmentCard& a, const SegmentCard& b) noexcept {
    return a.boot == b.boot && a.host == b.host && a.node == b.node;
}

/// Returns the difference between a file's status and a segment's card, or an empty text.
std::string status_problem(const struct stat& status, const SegmentCard& card) {
    if (!S_ISREG(status.st_mode))
        return fmt::format("descriptor {} of process {} is not a file in memory", card.descriptor,
                           card.pid);
    if (status.st_ino != card.inode)
        return fmt::format(
            "descriptor {} of process {} is another file: found inode {}, expected {}",
            card.descriptor, card.pid, status.st_ino, card.inode);
    if (static_cast<std::uint64_t>(status.st_size) != card.bytes)
        return fmt::format("its size is {} bytes, expected {}", status.st_size, card.bytes);
    return {};
}

/// Returns the difference of an open file's seals or header from a card, or an empty text.
std::string content_problem(int descriptor, const SegmentCard& card) {
    constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;
    const int seals = ::fcntl(descriptor, F_GET_SEALS);
    if (seals < 0 || (seals & kSeals) != kSeals)
        return fmt::format("its size is not sealed (found seals {})", seals);
    SegmentHeader header;
    if (::pread(descriptor, &header, sizeof header, 0) != sizeof header)
        return fmt::format("cannot read its header: {}", std::strerror(errno));
    if (header.magic != SegmentHeader::kMagic)
        return fmt::format("it is no segment: found mark {:#x}, expected {:#x}", header.magic,
                           SegmentHeader::kMagic);
    if (header.nonce != card.nonce || header.bytes != card.bytes)
        return fmt::format(
            "it is another segment: found nonce {:#x} and {} bytes, expected {:#x} "
            "and {}",
            header.nonce, header.bytes, card.nonce, card.bytes);
    return {};
}

/// Opens the segment that a card describes.
base::Result<base::FileDescriptor> open_segment(const SegmentCard& card) {
    const std::string path = fmt::format("/proc/{}/fd/{}", card.pid, card.descriptor);
    const auto cannot = [&](const char* call) {
        return base::fail(Status::environment, "cannot {} {}: {}", call, path,
                          std::strerror(errno));
    };
    struct stat status;
    // Check before opening: opening a foreign device or pipe could have side effects.
    if (::stat(path.c_str(), &status) != 0) return cannot("stat");
    if (std::string problem = status_problem(status, card); !problem.empty())
        return base::Failure{Status::environment, std::move(problem)};
    base::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (!file.open()) return cannot("open");
    // Check again: the owner may have reused the descriptor after stat().
    if (::fstat(file.number(), &status) != 0) return cannot("stat");
    std::string problem = status_problem(status, card);
    if (problem.empty()) problem = content_problem(file.number(), card);
    if (!problem.empty()) return base::Failure{Status::environment, std::move(problem)};
    return file;
}

/// Maps a segment at reserved addresses. Returns an empty text, or a description of the error.
std::string map_over(std::byte* at, std::uint64_t bytes, int descriptor) {
    void* const found =
        ::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0);
    if (found == MAP_FAILED)
        return fmt::format("cannot map its {}: {}", base::format_bytes(bytes),
                           std::strerror(errno));
    // A core dump with segments would read each page, and so allocate all pages of all segments.
    (void)::madvise(at, bytes, MADV_DONTDUMP);
    return {};
}

/// Returns true if the ranks are strictly ascending and not negative.
[[nodiscard]] bool is_ascending(const std::vector<Rank>& ranks) noexcept {
    return (ranks.empty() || ranks.front() >= 0) &&
           std::ranges::adjacent_find(ranks, std::greater_equal<>()) == ranks.end();
}

[[nodiscard]] bool has_mapped(const MapVerdict& verdict, Rank rank) noexcept {
    return std::ranges::binary_search(verdict.mapped, rank);
}

/// Number of 64-bit words of a verdict as bytes before the mapped ranks.
constexpr std::size_t kVerdictHead = 4;

}  // namespace

base::Result<NodeMap> NodeMap::open(const Segment& mine, std::span<const SegmentCard> cards_by_rank,
                                    Rank me, NodeMapOptions options) {
    const SegmentCard& own = mine.card();
    WEFT_CHECK(me >= 0 && static_cast<std::size_t>(me) < cards_by_rank.size(), me,
               cards_by_rank.size());
    WEFT_CHECK(cards_by_rank[me] == own, me);
    NodeMap map;
    map.me_ = me;
    map.alignment_ = alignment_of(own.bytes);
    map.stride_ = base::round_up(own.bytes, map.alignment_);
    std::uint32_t common_bases = ~std::uint32_t{0};
    for (std::size_t rank = 0; rank < cards_by_rank.size(); ++rank) {
        if (!are_candidates(cards_by_rank[rank], own)) continue;
        map.candidates_.push_back(
            {.rank = static_cast<Rank>(rank), .base = nullptr, .problem = {}});
        common_bases &= cards_by_rank[rank].free_bases;
    }
    WEFT_TRY(map.reserve(common_bases, options));
    map.map_candidates(mine, cards_by_rank);
    if (const LocalRank* const self = map.find(me); self->base == nullptr)
        return base::fail(Status::memory, "own segment: {}", self->problem);
    return map;
}

base::Result<void> NodeMap::reserve(std::uint32_t common_bases, NodeMapOptions options) {
    const std::uint64_t bytes = candidates_.size() * stride_;
    if (options.force_offset) {
        mode_problem_ = "equal addresses were not requested";
    } else if (common_bases == 0) {
        mode_problem_ = "no range of addresses is free in all processes of the node";
    } else {
        const std::uintptr_t at = common_base(std::countr_zero(common_bases));
        range_ = reserve_addresses(bytes, at);
        if (range_.start() != nullptr) {
            first_ = range_.start();
            mode_ = AddressMode::equal;
            return base::Done{};
        }
        mode_problem_ = fmt::format("cannot reserve {} at {:#x}: {}", base::format_bytes(bytes), at,
                                    std::strerror(errno));
    }
    range_ = reserve_addresses(bytes + alignment_, 0);
    if (range_.start() == nullptr)
        return base::fail(Status::memory,
                          "cannot reserve addresses for {} segments of {}: {}; is there a limit on "
                          "address space (ulimit -v)?",
                          candidates_.size(), base::format_bytes(stride_), std::strerror(errno));
    const auto start = reinterpret_cast<std::uintptr_t>(range_.start());
    first_ = range_.start() + (base::round_up(start, alignment_) - start);
    return base::Done{};
}

void NodeMap::map_candidates(const Segment& mine, std::span<const SegmentCard> cards_by_rank) {
    for (std::size_t index = 0; index < candidates_.size(); ++index) {
        LocalRank& candidate = candidates_[index];
        const SegmentCard& card = cards_by_rank[candidate.rank];
        std::byte* const at = first_ + index * stride_;
        if (candidate.rank == me_) {
            candidate.problem = map_over(at, card.bytes, mine.descriptor());
        } else if (card.bytes != mine.bytes()) {
            candidate.problem = fmt::format("its segment has {} bytes, this rank's has {}",
                                            card.bytes, mine.bytes());
        } else {
            const auto file = open_segment(card);
            candidate.problem =
                file.ok() ? map_over(at, card.bytes, file.value().number()) : file.failure().text;
        }
        if (candidate.problem.empty()) candidate.base = at;
    }
}

const NodeMap::LocalRank* NodeMap::find(Rank rank) const noexcept {
    // Ranks of a node usually have consecutive numbers, so this guess is usually right.
    const auto guess = static_cast<std::uint32_t>(rank - candidates_.front().rank);
    if (guess < candidates_.size() && candidates_[guess].rank == rank) return &candidates_[guess];
    const auto found = std::ranges::lower_bound(candidates_, rank, {}, &LocalRank::rank);
    return found != candidates_.end() && found->rank == rank ? &*found : nullptr;
}

std::vector<Rank> NodeMap::candidates() const {
    std::vector<Rank> ranks;
    for (const LocalRank& candidate : candidates_) ranks.push_back(candidate.rank);
    return ranks;
}

MapVerdict NodeMap::verdict() const {
    MapVerdict verdict{me_, mode_, reinterpret_cast<std::uintptr_t>(first_), stride_, {}};
    for (const LocalRank& candidate : candidates_)
        if (candidate.base != nullptr) verdict.mapped.push_back(candidate.rank);
    return verdict;
}

void NodeMap::settle(const NodeGroup& group) {
    WEFT_CHECK(is_ascending(group.ranks), me_);
    for (const Rank rank : group.ranks) WEFT_CHECK(base(rank) != nullptr, me_, rank);
    for (LocalRank& candidate : candidates_) {
        if (candidate.base == nullptr || std::ranges::binary_search(group.ranks, candidate.rank))
            continue;
        // Keeps the addresses reserved, so that no other mapping is placed there.
        void* const cleared =
            ::mmap(candidate.base, stride_, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        WEFT_CHECK(cleared == candidate.base, me_, candidate.rank, errno);
        candidate.base = nullptr;
        candidate.problem = "not all ranks of the node could map each other";
    }
    if (group.mode == AddressMode::offset && mode_ == AddressMode::equal) {
        mode_ = AddressMode::offset;
        mode_problem_ = "addresses differ between processes of the node";
    }
}

std::string NodeMap::problems() const {
    std::string text;
    for (const LocalRank& candidate : candidates_)
        if (candidate.base == nullptr)
            text += fmt::format("rank {} does not share memory with rank {}: {}\n", me_,
                                candidate.rank, candidate.problem);
    if (mode_ == AddressMode::offset)
        text +=
            fmt::format("rank {} maps segments at addresses of its own: {}\n", me_, mode_problem_);
    return text;
}

NodeGroup clique(std::span<const MapVerdict> verdicts, Rank me) {
    std::vector<const MapVerdict*> ordered;
    for (const MapVerdict& verdict : verdicts) ordered.push_back(&verdict);
    std::ranges::sort(ordered, {}, &MapVerdict::rank);
    std::vector<std::vector<const MapVerdict*>> groups;
    std::size_t mine = verdicts.size();
    for (const MapVerdict* const verdict : ordered) {
        const auto joins = [verdict](const std::vector<const MapVerdict*>& group) {
            return std::ranges::all_of(group, [verdict](const MapVerdict* member) {
                return has_mapped(*member, verdict->rank) && has_mapped(*verdict, member->rank);
            });
        };
        const auto found = std::ranges::find_if(groups, joins);
        const auto index = static_cast<std::size_t>(found - groups.begin());
        if (found == groups.end()) groups.emplace_back();
        groups[index].push_back(verdict);
        if (verdict->rank == me) mine = index;
    }
    WEFT_CHECK(mine < groups.size(), me, verdicts.size());
    NodeGroup group{.ranks = {}, .mode = AddressMode::equal};
    const MapVerdict& first = *groups[mine].front();
    for (const MapVerdict* const member : groups[mine]) {
        group.ranks.push_back(member->rank);
        if (member->mode == AddressMode::offset || member->base != first.base ||
            member->stride != first.stride)
            group.mode = AddressMode::offset;
    }
    return group;
}

std::vector<std::byte> MapVerdict::to_bytes() const {
    std::vector<std::uint64_t> words{static_cast<std::uint64_t>(rank),
                                     static_cast<std::uint64_t>(mode), base, stride};
    words.insert(words.end(), mapped.begin(), mapped.end());
    const auto bytes = std::as_bytes(std::span(words));
    return {bytes.begin(), bytes.end()};
}

base::Result<MapVerdict> MapVerdict::from_bytes(std::span<const std::byte> bytes) {
    std::vector<std::uint64_t> words(bytes.size() / sizeof(std::uint64_t));
    if (words.size() < kVerdictHead || bytes.size() % sizeof(std::uint64_t) != 0)
        return base::fail(Status::argument,
                          "mapping verdict: found {} bytes, expected {} words of 8 bytes and a "
                          "word for each rank",
                          bytes.size(), kVerdictHead);
    std::memcpy(words.data(), bytes.data(), bytes.size());
    MapVerdict verdict{static_cast<Rank>(words[0]),
                       words[1] == 0 ? AddressMode::equal : AddressMode::offset,
                       words[2],
                       words[3],
                       {words.begin() + kVerdictHead, words.end()}};
    if (words[1] > static_cast<std::uint64_t>(AddressMode::offset) ||
        !is_ascending(verdict.mapped) || !has_mapped(verdict, verdict.rank))
        return base::fail(
            Status::argument,
            "mapping verdict of rank {}: mode {} or the list of {} ranks is not valid",
            verdict.rank, words[1], verdict.mapped.size());
    return verdict;
}

}  // namespace weft::link
