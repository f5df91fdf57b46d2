// SPDX-License-Identifier: BSD-3-Clause
// work.hpp - total work of all ranks of a team that share processors.
//
// Idea     Near and far messages and bytes are counted, and priced at the end. Times of combining
//          and copying are added up.
// Next     predict.cpp, which divides the work among the processors.
#pragma once

#include <cstdint>
#include <functional>

#include "plan/schedule/program.hpp"
#include "plan/select/machine.hpp"

namespace weft::plan {

struct Work {
    std::uint64_t messages = 0;
    std::uint64_t far_messages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t far_bytes = 0;
    /// Messages that fit no cell.
    std::uint64_t slots = 0;
    std::uint64_t far_slots = 0;
    Time combining = 0;  ///< includes copies in place
    /// Largest number of near messages that one rank writes to lines of another
    /// processor, less one.
    Time in_a_row = 0;
    /// Largest number of slot payloads that one rank combines, less one.
    Time combined_in_a_row = 0;

    /// Counts a message. `slot`: it fits no cell.
    void add_message(std::uint64_t message_bytes, bool far, bool slot);
    void multiply(std::uint64_t times);
    /// Returns the time that messages occupy senders and receivers. Bytes of a far message count
    /// twice: sender and receiver both work, at the same time.
    [[nodiscard]] Time sent(const PutCost& near, const PutCost& far) const;
};

/// Times of sender and receiver for the bytes of a message within a node.
struct Moved {
    Time here = 0;
    Time there = 0;
};
/// Returns the times for two ranks with a processor each, where lines come from the other
/// processor's cache. Measured with calls of 64 KiB in a row, without reductions and copies: the
/// sender took all of the cost of the bytes, the receiver two thirds.
[[nodiscard]] inline Moved moved_of_two(Time moving) {
    return {moving, moving * 2 / 3};
}
/// Returns the times for long buffers of ranks that share processors, as measured. A sender of the
/// same bytes to several receivers (`shared`) has them in its cache. Copies and reductions out of
/// put targets have the cost of a receipt.
[[nodiscard]] inline Moved moved_long(Time moving, bool shared = false) {
    const Time most = moving * 3 / 5;
    return {shared ? most / 2 : most, most};
}

/// Returns the bytes that a rank copies out of put targets.
[[nodiscard]] std::uint64_t copied_out_bytes(const Program& program, const VectorSize& size);
/// Returns the bytes of put targets that other nodes have filled and the rank exposes
/// to local peers.
[[nodiscard]] std::uint64_t exposed_slot_bytes(const Program& program, const VectorSize& size,
                                               const std::function<bool(Rank peer)>& is_near);

/// Returns the time for the touched bytes that the processor's cache does not hold.
[[nodiscard]] Time cold_time(const Program& program, const VectorSize& size,
                             const MessageModel& costs,
                             const std::function<bool(Rank peer)>& is_near);

}  // namespace weft::plan
