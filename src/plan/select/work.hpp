// SPDX-License-Identifier: BSD-3-Clause
// work.hpp - what all ranks of a team compute together, where they share processors.
//
// Idea     Messages and bytes are counted, near and far, and priced at the end; what ranks combine
//          and copy is added up as time.
// Next     predict.cpp, which shares it out among the processors.
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
    std::uint64_t slots = 0;  ///< messages that fit no cell
    std::uint64_t far_slots = 0;
    Time combining = 0;  ///< and copying in place
    /// Most lines of another processor that a rank writes, near, after a first one.
    Time in_a_row = 0;
    Time combined_in_a_row = 0;  ///< most payloads that fit no cell and a rank combines, likewise

    /// slot: it fits no cell.
    void add_message(std::uint64_t message_bytes, bool far, bool slot);
    void multiply(std::uint64_t times);
    /// What messages keep senders and receivers busy. The costs have the bytes of a far message
    /// once, as its receiver takes them while its sender sends them; both work.
    [[nodiscard]] Time sent(const PutCost& near, const PutCost& far) const;
};

/// What a message between ranks of a node takes its sender and its receiver for its bytes.
struct Moved {
    Time here = 0;
    Time there = 0;
};
/// Of two that have a processor each, lines come from the other processor's cache: calls of 64 KiB
/// in a row took all of what their bytes cost where one sent, and two thirds where one received,
/// beside what was reduced or copied.
[[nodiscard]] inline Moved moved_of_two(Time moving) {
    return {moving, moving * 2 / 3};
}
/// Where ranks share processors, of long vectors, as measured: most of it its sender, unless it
/// sends the same bytes to several (`shared`), which then lie in its cache; and as much who copies
/// or reduces them out of put targets.
[[nodiscard]] inline Moved moved_long(Time moving, bool shared = false) {
    const Time most = moving * 3 / 5;
    return {shared ? most / 2 : most, most};
}

/// Bytes that a rank copies out of put targets.
[[nodiscard]] std::uint64_t copied_out_bytes(const Program& program, const VectorSize& size);
/// Bytes of put targets that other nodes have filled and a rank lets node-mates use.
[[nodiscard]] std::uint64_t exposed_slot_bytes(const Program& program, const VectorSize& size,
                                               const std::function<bool(Rank peer)>& is_mate);

/// Of what a rank touches of vectors that its processor's cache does not hold.
[[nodiscard]] Time cold_time(const Program& program, const VectorSize& size,
                             const MessageModel& costs,
                             const std::function<bool(Rank peer)>& is_mate);

}  // namespace weft::plan
