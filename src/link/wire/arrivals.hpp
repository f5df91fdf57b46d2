// SPDX-License-Identifier: BSD-3-Clause
// arrivals.hpp - the target's half of the notify strategies: raises flags for delivered puts.
//
// Holds    A flag is raised, with release, only when the strategy has proven that its whole put is
//          delivered. The rank that waits for it may then read the payload. Data of peers is
//          checked; the first failed check fails the wire, because such a sender can do further
//          damage.
// Next     docs/one-sided.md, section 3, for the proofs; remote_puts.hpp for the origin's half.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>

#include "base/result.hpp"
#include "link/fabric/fabric.hpp"
#include "link/wire/encoding.hpp"
#include "link/wire/write_counts.hpp"

namespace weft::link {

/// Functions that handle requests and messages of peers. Neither may call Wire::progress().
struct WireService {
    /// Called at the end of each progress(). It may put, and returns true if it did anything.
    bool (*serve)(void* argument) = nullptr;
    /// Called with the payload of each write that has one.
    void (*on_immediate)(void* argument, std::uint64_t payload) = nullptr;
    void* argument = nullptr;
};

class Arrivals {
  public:
    /// `near` has the mapped segment of each rank, or nullptr; it must outlive the arrivals. `port`
    /// is nullptr if all ranks are local. All cells of a segment are below `cells_end`.
    Arrivals(std::span<std::byte* const> near, Rank rank, std::uint64_t cells_end, FabricPort* port,
             WriteCounts& counts);

    /// Handles an immediate. Any process that reaches this rank's endpoint can send one, so all of
    /// it is checked.
    void deliver(std::uint64_t immediate, const WireService& service) noexcept;
    /// Raises the flag of this rank's cell at an offset if its data has arrived without an
    /// immediate.
    void settle(std::uint64_t cell) noexcept {
        if (plan_.small == Notify::cells) take_words(cell);
        if (plan_.large == Notify::counter) return take_counted(cell);
        if (plan_.large != Notify::immediate) take_delivered(cell);
    }
    /// Forgets counts of pieces for cells in this part of the segment, from incomplete puts. All
    /// posted pieces must have been delivered.
    void forget_pieces(std::uint64_t offset, std::uint64_t bytes) noexcept;

    /// Records that a remote rank (-1: unknown) sent invalid data, described by `what`.
    void distrust(Rank rank, const char* what) noexcept;
    void fail(base::Failure why) noexcept {
        if (!failure_) failure_ = std::move(why);
    }
    [[nodiscard]] const base::Failure* failure() const noexcept {
        return failure_ ? &*failure_ : nullptr;
    }

  private:
    struct Freed {
        void operator()(void* memory) const noexcept { std::free(memory); }
    };

    void deliver_to(std::size_t line, Arrival arrival) noexcept;
    [[nodiscard]] bool count_pieces(std::size_t line, Arrival arrival) noexcept;
    void take_words(std::uint64_t offset) noexcept;
    void take_delivered(std::uint64_t offset) noexcept;
    void take_counted(std::uint64_t offset) noexcept;

    std::span<std::byte* const> near_;
    std::byte* own_;
    std::size_t lines_;  ///< cell lines of the segment
    FabricPort* port_;
    WriteCounts& counts_;
    NotifyPlan plan_;
    std::uint32_t counters_ = 0;  ///< of each peer
    /// By cell line: announced pieces minus delivered pieces; 0 when all are delivered.
    std::unique_ptr<std::int32_t[], Freed> missing_;
    std::optional<base::Failure> failure_;
};

}  // namespace weft::link
