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

    void multiply(std::uint64_t times);
    /// What messages keep senders and receivers busy. The costs have the bytes of a far message
    /// once, as its receiver takes them while its sender sends them; both work.
    [[nodiscard]] Time sent(const PutCost& near, const PutCost& far) const;
};

/// Of what a rank touches of vectors that its processor's cache does not hold.
[[nodiscard]] Time cold_time(const Program& program, const VectorSize& size,
                             const MessageModel& costs,
                             const std::function<bool(Rank peer)>& is_mate);

}  // namespace weft::plan
