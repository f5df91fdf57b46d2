// SPDX-License-Identifier: BSD-3-Clause
#include "run/team/call.hpp"

#include <fmt/ranges.h>

#include <array>
#include <limits>
#include <numeric>

namespace weft::run {

namespace {

bool is_known(Collective collective) {
    return static_cast<std::size_t>(collective) < collectives::kCollectives.size();
}

/// Fails unless type and operation are valid. Callers may have cast them from integers.
base::Result<void> check_elements(const Call& call) {
    if (const UserOperation* const user = user_of(call)) {
        constexpr std::size_t kElementMax = std::size_t{1} << 30;
        if (user->element_bytes == 0)
            return base::fail(Status::argument,
                              "user operation: element_bytes is 0, expected 1 or more");
        if (user->element_bytes > kElementMax)
            return base::fail(Status::argument,
                              "user operation: element_bytes is {}, expected at most {}",
                              user->element_bytes, kElementMax);
        return {};
    }
    if (call.type == Type::user)
        return base::fail(Status::argument, "type: `user` needs a user operation");
    if (static_cast<int>(call.type) >= kBuiltinTypes)
        return base::fail(Status::argument, "type: {} is not an element type, expected 0..{}",
                          static_cast<int>(call.type), kBuiltinTypes - 1);
    if (call.op == Op::user)
        return base::fail(Status::argument, "op: `user` needs a user operation");
    if (static_cast<int>(call.op) >= kBuiltinOps)
        return base::fail(Status::argument, "op: {} is not an operation, expected 0..{}",
                          static_cast<int>(call.op), kBuiltinOps - 1);
    return {};
}

base::Result<void> check_counts(const Call& call, Rank rank, Rank size) {
    const collectives::CollectiveTraits& traits = traits_of(call.collective);
    const std::uint64_t bytes = element_bytes(call);
    constexpr std::uint64_t kBytesMax = std::numeric_limits<std::int64_t>::max();
    if (call.count > kBytesMax / bytes / static_cast<std::uint64_t>(size))
        return base::fail(Status::argument, "count: {} elements of {} bytes overflow 63 bits",
                          call.count, bytes);
    if (traits.rooted() && call.root != rank) return {};
    if (traits.has_input_counts()) WEFT_TRY(check_blocks(call.in_blocks, "in", size, bytes));
    if (traits.has_output_counts()) return check_blocks(call.out_blocks, "out", size, bytes);
    return {};
}

}  // namespace

std::uint64_t plan_key(const Call& call) {
    std::uint64_t key = 0;
    const auto add = [&key](std::uint64_t word) { key = base::digest_of(key, word); };
    add(static_cast<std::uint64_t>(call.collective) << 16 |
        static_cast<std::uint64_t>(call.type) << 8 | static_cast<std::uint64_t>(call.op));
    add(static_cast<std::uint64_t>(call.root));
    add(call.count);
    add(reinterpret_cast<std::uintptr_t>(call.user.get()));
    for (const Blocks& blocks : {call.in_blocks, call.out_blocks})
        for (const auto list : {blocks.counts, blocks.displacements})
            for (const std::size_t word : list) add(word);
    return key;
}

Call with_own_arrays(const Call& call) {
    struct Copies {
        std::shared_ptr<const void> user;
        std::vector<std::size_t> words;
    };
    Call own = call;
    const auto lists = {&own.in_blocks.counts, &own.in_blocks.displacements, &own.out_blocks.counts,
                        &own.out_blocks.displacements};
    std::size_t words = 0;
    for (const auto* list : lists) words += list->size();
    if (words == 0) return own;
    const auto copies = std::make_shared<Copies>(Copies{call.user, {}});
    copies->words.reserve(words);  // insertions then keep the spans valid
    for (auto* list : lists) {
        const std::size_t first = copies->words.size();
        copies->words.insert(copies->words.end(), list->begin(), list->end());
        *list = {copies->words.data() + first, list->size()};
    }
    own.user = std::shared_ptr<const void>(copies, call.user.get());
    return own;
}

Call normalized_for(Call call, Rank rank) {
    if (is_known(call.collective) && traits_of(call.collective).rooted() && call.root != rank)
        call.in_blocks = call.out_blocks = {};
    return call;
}

base::Result<void> check_arguments(const Call& call, Rank rank, Rank size) {
    if (!is_known(call.collective))
        return base::fail(Status::argument, "unknown collective {}, expected 0..{}",
                          static_cast<int>(call.collective), collectives::kCollectives.size() - 1);
    const collectives::CollectiveTraits& traits = traits_of(call.collective);
    auto checked = check_elements(call);
    if (checked) checked = check_counts(call, rank, size);
    if (!checked) return checked.failure().within(traits.name);
    if (traits.rooted() && (call.root < 0 || call.root >= size))
        return base::fail(Status::argument,
                          "{}: root: {} is not a rank of the team, expected 0..{}", traits.name,
                          call.root, size - 1);
    return {};
}

std::string_view name_of(Purpose purpose) {
    constexpr auto kNames = std::to_array<std::string_view>(  // in the order of Purpose
        {"", "inserted barrier", "finalize", "alloc", "free", "split", "team_free", "register",
         "unregister", "collecting observations", "preparing an exact sum"});
    return kNames.at(static_cast<std::size_t>(purpose));
}

std::string describe(const Call& call, std::string_view spec) {
    const collectives::CollectiveTraits& traits = traits_of(call.collective);
    std::string text(traits.name);
    const std::string_view type = base::name_of(call.type);
    if (traits.has_pairwise_counts())
        text += fmt::format(" of {}", type);
    else if (traits.has_counts())
        text += fmt::format(" of {} {}", to_text(counts_of(call)), type);
    else if (traits.has_data())
        text += fmt::format(" of {} {}", call.count, type);
    if (traits.reduces()) text += fmt::format(" with {}", base::name_of(call.op));
    if (!traits.reduces() && call.op == Op::exact_sum) text += " for exact_sum";
    if (call.root >= 0) text += fmt::format(" from root {}", call.root);
    return text + fmt::format(" by {}", spec);
}

base::CallHash call_hash(std::string_view description, std::uint32_t element_bytes) {
    base::CallHash hash = element_bytes;
    for (const char c : description) hash = base::digest_of(hash, static_cast<unsigned char>(c));
    return hash;
}

base::Result<void> check_blocks(const Blocks& blocks, std::string_view what, Rank size,
                                std::uint64_t element_bytes) {
    const auto ranks = static_cast<std::size_t>(size);
    if (blocks.counts.size() != ranks)
        return base::fail(Status::argument,
                          "{}: {} counts given, expected one for each of {} ranks", what,
                          blocks.counts.size(), size);
    if (!blocks.displacements.empty() && blocks.displacements.size() != ranks)
        return base::fail(Status::argument,
                          "{}: {} displacements given, expected none or one for each of {} ranks",
                          what, blocks.displacements.size(), size);
    const std::uint64_t elements_max =
        static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / element_bytes;
    std::uint64_t sum = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const std::uint64_t start = blocks.displacements.empty() ? 0 : blocks.displacements[rank];
        const std::uint64_t count = blocks.counts[rank];
        if (count <= elements_max && start <= elements_max - count && sum <= elements_max - count) {
            sum += count;
            continue;
        }
        return base::fail(Status::argument,
                          "{}: {} elements of {} bytes for rank {}, at {}, overflow 63 bits", what,
                          count, element_bytes, rank, blocks.displacements.empty() ? sum : start);
    }
    return {};
}

std::string to_text(std::span<const std::size_t> counts) {
    constexpr std::size_t kShown = 8;
    if (counts.size() <= kShown) return fmt::format("{}", fmt::join(counts, ","));
    base::Digest digest = 0;
    for (const std::size_t count : counts) digest = base::digest_of(digest, count);
    return fmt::format("{},... ({} counts, sum {}, digest {:x})",
                       fmt::join(counts.first(kShown), ","), counts.size(),
                       std::accumulate(counts.begin(), counts.end(), std::size_t{0}), digest);
}

std::vector<std::uint64_t> starts_of(const Blocks& blocks) {
    if (!blocks.displacements.empty())
        return {blocks.displacements.begin(), blocks.displacements.end()};
    std::vector<std::uint64_t> starts(blocks.counts.size());
    std::exclusive_scan(blocks.counts.begin(), blocks.counts.end(), starts.begin(),
                        std::uint64_t{0});
    return starts;
}

base::Result<Extents> extents_of(const Blocks& blocks, std::string_view what,
                                 std::uint64_t element_bytes, bool may_overlap) {
    const std::vector<std::uint64_t> starts = starts_of(blocks);
    std::vector<std::size_t> order(starts.size());
    std::iota(order.begin(), order.end(), 0U);
    std::erase_if(order, [&](std::size_t rank) { return blocks.counts[rank] == 0; });
    std::ranges::stable_sort(order, {}, [&](std::size_t rank) { return starts[rank]; });
    Extents extents;
    std::size_t last_rank = 0;  // rank whose block ends last in the last extent
    for (const std::size_t rank : order) {
        const Extent extent{starts[rank] * element_bytes, blocks.counts[rank] * element_bytes};
        if (extents.empty() || extent.offset > extents.back().end()) {
            extents.push_back(extent);
            last_rank = rank;
            continue;
        }
        Extent& last = extents.back();
        if (extent.offset < last.end() && !may_overlap)
            return base::fail(Status::argument,
                              "{}: the blocks of ranks {} and {} overlap: both hold element {}",
                              what, last_rank, rank, starts[rank]);
        if (extent.end() > last.end()) last_rank = rank;
        last.bytes = std::max(last.end(), extent.end()) - last.offset;
    }
    return extents;
}

bool overlap(const std::byte* a, const Extents& a_extents, const std::byte* b,
             const Extents& b_extents) {
    const auto at = [](const std::byte* start, std::uint64_t offset) {
        return reinterpret_cast<std::uintptr_t>(start) + offset;
    };
    for (std::size_t i = 0, j = 0; i < a_extents.size() && j < b_extents.size();) {
        const bool a_before = at(a, a_extents[i].end()) <= at(b, b_extents[j].offset);
        const bool b_before = at(b, b_extents[j].end()) <= at(a, a_extents[i].offset);
        if (!a_before && !b_before) return true;
        if (a_before) ++i;
        if (b_before) ++j;
    }
    return false;
}

}  // namespace weft::run
