// SPDX-License-Identifier: BSD-3-Clause
// arrivals.hpp - the target's half of the notify strategies: raises flags for delivered puts.
//
// Idea     A notify strategy (link/fabric/notify.hpp) is the method by which this rank detects that
//          a whole put is delivered. Only then this rank raises the put's flag, by a release store,
//          so that the waiting step may read the payload.
// Holds    Data of peers is checked. The first failed check fails the wire, because a faulty sender
//          can do further damage.
// Next     docs/one-sided.md, section 3, for the proofs.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>

#include "base/result.hpp"
#include "link/fabric/fabric.hpp"
#include "link/wire/encoding.hpp"

namespace weft::link {

/// Functions that handle requests and messages of peers. Neither may call Wire::progress().
struct WireService {
    /// Called at the end of each progress(). May put. Returns true if it did any work.
    bool (*serve)(void* argument) = nullptr;
    /// Called after the delivery of each put with base::Put::immediate, with that value.
    void (*on_immediate)(void* argument, std::uint64_t payload) = nullptr;
    void* argument = nullptr;
};

class Arrivals {
  public:
    /// See Wire and WireOptions. `segments` must outlive this object.
    Arrivals(std::span<std::byte* const> segments, Rank rank, std::uint64_t cells_end,
             FabricPort* port, WriteCounts& counts);

    /// Handles an immediate. Checks all fields: any process that reaches the endpoint can send one.
    void deliver(std::uint64_t immediate, const WireService& service) noexcept;
    /// See Wire::settle().
    void settle(std::uint64_t cell) noexcept {
        if (plan_.small == Notify::cells) check_words(cell);
        if (plan_.large == Notify::counter) return check_counted(cell);
        if (plan_.large != Notify::immediate) check_delivered(cell);
    }
    /// Resets the counts of pieces for the cells in a part of the segment, after puts that were not
    /// completed. All posted pieces must have been delivered. `offset`: start of the part.
    void forget_pieces(std::uint64_t offset, std::uint64_t bytes) noexcept;

    /// Fails because a remote rank (-1: unknown) sent invalid data, described by `what`.
    void distrust(Rank rank, const char* what) noexcept;
    /// Records the first failure.
    void fail(base::Failure why) noexcept {
        if (!failure_) failure_ = std::move(why);
    }
    [[nodiscard]] const base::Failure* failure() const noexcept {
        return failure_ ? &*failure_ : nullptr;
    }

  private:
    struct FreeDeleter {
        void operator()(void* memory) const noexcept { std::free(memory); }
    };

    [[nodiscard]] bool count_pieces(std::size_t line, Arrival arrival) noexcept;
    void check_words(std::uint64_t offset) noexcept;
    void check_delivered(std::uint64_t offset) noexcept;
    void check_counted(std::uint64_t offset) noexcept;

    std::span<std::byte* const> segments_;
    std::byte* own_;
    std::size_t lines_;  ///< number of cache lines below `cells_end`
    FabricPort* port_;
    WriteCounts& counts_;
    NotifyPlan plan_;
    std::uint32_t counters_ = 0;  ///< number of counters for each peer's writes
    /// For each line: announced minus delivered pieces of the put to its cell; 0: all delivered.
    std::unique_ptr<std::int32_t[], FreeDeleter> missing_;
    std::optional<base::Failure> failure_;
};

}  // namespace weft::link
