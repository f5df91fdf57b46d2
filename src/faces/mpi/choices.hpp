// SPDX-License-Identifier: BSD-3-Clause
// choices.hpp - for the mode `auto`: which library serves the calls of a collective and size.
//
// Idea     Ranges of sizes, with the faster library of each, come from the file that `weft tune
//          --mpi` writes or from kShipped in choices.cpp. Without a range, weft serves short calls.
//          It serves long calls only if the buffers of all members recur: weft shares buffers with
//          local peers, and sharing costs more than a single call saves.
// Holds    A choice depends only on the ranges, which are equal on all ranks, on the order and size
//          of calls, and on what members have agreed about their buffers. So all members use the
//          same library.
// Next     layer.hpp for the exchange about buffers; settings.hpp for the comparison of the file;
//          docs/guide/mpi-backing.md for its format.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "faces/mpi/statistics.hpp"

namespace weft::mpi {

enum class Library : std::uint8_t { unknown, weft, host };

/// Library for calls of at least `from_bytes`, up to the next range with the same `kind` and
/// `ranks`.
struct ChoiceRange {
    int ranks = 0;  ///< size of the communicator that was measured
    CallKind kind = CallKind::barrier;
    std::size_t from_bytes = 0;
    Library library = Library::unknown;
};

/// Reads the ranges of this MPI, in ascending order of bytes. `complaint` receives the first
/// malformed line, if any.
[[nodiscard]] std::vector<ChoiceRange> read_ranges(std::string_view text, std::string& complaint);

/// Returns the ranges that weft ships.
[[nodiscard]] std::vector<ChoiceRange> shipped_ranges();

/// Long calls without a range, of one kind on one communicator.
class LongCalls {
  public:
    /// Number of calls before members first exchange whether their buffers recur. They repeat the
    /// exchange whenever the number of calls has doubled.
    static constexpr unsigned kCallsBefore = 16;

    /// Counts a call with its buffers on this rank. Returns true if members must make the exchange
    /// before the call.
    [[nodiscard]] bool count(const void* in, const void* out);
    /// Returns true if at least half of the calls since the last exchange reused recent buffers.
    [[nodiscard]] bool reuse_buffers() const { return 2 * reusing_ >= calls_ - agreed_; }
    /// Records the result of the exchange: true if the buffers of all members recur.
    void agree(bool recur);
    [[nodiscard]] bool recur() const { return recur_; }

  private:
    unsigned calls_ = 0;
    unsigned agreed_ = 0;               ///< value of calls_ at the last exchange
    unsigned reusing_ = 0;              ///< calls with recent buffers since the last exchange
    unsigned agree_at_ = kCallsBefore;  ///< value of calls_ at the next exchange
    bool recur_ = false;                ///< result of the last exchange
    std::array<std::pair<const void*, const void*>, 8> recent_;  ///< the oldest is replaced
    std::size_t oldest_ = 0;
};

/// Choices for one communicator.
class Choices {
  public:
    static constexpr std::size_t kLongBytes = 256 << 10;  ///< calls of at least this size are long

    explicit Choices(int ranks) : ranks_(ranks) {}

    /// Applies, for each collective, the ranges of the largest `ranks` that is not above this
    /// communicator's size. They replace earlier ranges of the collective.
    void apply(const std::vector<ChoiceRange>& ranges);

    /// Returns the library that the ranges select for a call of this size; `unknown`: no range.
    [[nodiscard]] Library library(CallKind kind, std::size_t bytes) const {
        return libraries_[static_cast<std::size_t>(kind)][class_of(bytes)];
    }
    [[nodiscard]] LongCalls& long_calls(CallKind kind) {
        return long_calls_[static_cast<std::size_t>(kind)];
    }
    /// Returns true if the host serves the next call of this kind and size.
    [[nodiscard]] bool goes_to_host(CallKind kind, std::size_t bytes) const {
        const Library known = library(kind, bytes);
        if (known != Library::unknown) return known == Library::host;
        return bytes >= kLongBytes && !long_calls_[static_cast<std::size_t>(kind)].recur();
    }

  private:
    static constexpr std::size_t kClasses = 48;
    /// Returns the index of a size class. A class is the sizes from a power of two up to the next;
    /// the last class has all larger sizes. So a range begins at a power of two.
    [[nodiscard]] static std::size_t class_of(std::size_t bytes) {
        return std::min(static_cast<std::size_t>(std::bit_width(bytes)), kClasses - 1);
    }

    int ranks_;
    std::array<std::array<Library, kClasses>, kKindNames.size()> libraries_{};
    std::array<LongCalls, kKindNames.size()> long_calls_{};
};

}  // namespace weft::mpi
