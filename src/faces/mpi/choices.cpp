// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/choices.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

#include "faces/mpi/host.hpp"

namespace weft::mpi {

namespace {

constexpr std::string_view kHostName = kIsOpenMpi ? "openmpi" : "mpich";

/// Calls for which docs/performance.md shows that the host is faster.
constexpr std::string_view kShipped =
    "openmpi 8 alltoall 1048576 host\n"
    "mpich 8 alltoall 1048576 host\n";

/// Returns the range in a line, or nothing if the line is malformed. `mpi` receives the line's MPI.
std::optional<ChoiceRange> read_line(const std::string& text, std::string& mpi) {
    std::istringstream words(text);
    ChoiceRange range;
    std::string collective;
    std::string library;
    if (!(words >> mpi >> range.ranks >> collective >> range.from_bytes >> library) ||
        range.ranks < 2 || (library != "weft" && library != "host"))
        return std::nullopt;
    const auto* const kind = std::ranges::find(kKindNames, collective);
    if (kind == kKindNames.end()) return std::nullopt;
    range.kind = static_cast<CallKind>(kind - kKindNames.begin());
    range.library = library == "weft" ? Library::weft : Library::host;
    return range;
}

}  // namespace

std::vector<ChoiceRange> read_ranges(std::string_view text, std::string& complaint) {
    std::vector<ChoiceRange> ranges;
    std::istringstream lines{std::string(text)};
    for (std::string words; std::getline(lines, words);) {
        if (words.empty() || words.front() == '#') continue;
        std::string mpi;
        const auto range = read_line(words, mpi);
        if (!range && complaint.empty()) complaint = words;
        if (range && mpi == kHostName) ranges.push_back(*range);
    }
    std::ranges::stable_sort(ranges, {}, &ChoiceRange::from_bytes);
    return ranges;
}

std::vector<ChoiceRange> shipped_ranges() {
    std::string complaint;
    return read_ranges(kShipped, complaint);
}

void Choices::apply(const std::vector<ChoiceRange>& ranges) {
    std::array<int, kKindNames.size()> closest{};
    for (const ChoiceRange& range : ranges) {
        int& ranks = closest[static_cast<std::size_t>(range.kind)];
        if (range.ranks <= ranks_) ranks = std::max(ranks, range.ranks);
    }
    for (std::size_t kind = 0; kind < closest.size(); ++kind)
        if (closest[kind] != 0) libraries_[kind].fill(Library::unknown);
    for (const ChoiceRange& range : ranges) {
        const auto kind = static_cast<std::size_t>(range.kind);
        if (range.ranks != closest[kind]) continue;
        for (std::size_t at = class_of(range.from_bytes); at < kClasses; ++at)
            libraries_[kind][at] = range.library;
    }
}

bool LongCalls::count(const void* in, const void* out) {
    const std::pair buffers(in, out);
    if (std::ranges::find(recent_, buffers) != recent_.end()) {
        ++reusing_;
    } else {
        recent_[oldest_] = buffers;
        oldest_ = (oldest_ + 1) % recent_.size();
    }
    return ++calls_ == agree_at_;
}

void LongCalls::agree(bool recur) {
    recur_ = recur;
    agreed_ = calls_;
    reusing_ = 0;
    agree_at_ *= 2;
}

}  // namespace weft::mpi
