// SPDX-License-Identifier: BSD-3-Clause
// report.hpp - how often each trick was played, and what the program did that a fabric forbids.
#pragma once

#include <cstdint>
#include <string>

namespace adversary {

enum class Trick : std::uint8_t {
    write_delayed,
    write_overtook,
    pieces_out_of_order,
    landed_in_pieces,
    landed_without_target,
    completed_before_landing,
    completion_late,
    completion_overtook,
    immediate_late,
    refused_again,
    refused_unconnected,
    source_read_late,
    context_scribbled,
    fence_waited,
    delivery_ignored,
    slow_endpoint,
    connection_lost,
    queue_overrun,
    count
};
inline constexpr int kViolationStatus = 86;

void played(Trick trick);
/// A write with a key or to an address that peers may not write: refused, not our program's fault.
void refused_access(const std::string& text);
/// What a fabric punishes: told, and the process ends with kViolationStatus.
void violation(const std::string& text);
/// N, if the variable of that name is "RANK:N" and this is that rank; else no end.
[[nodiscard]] std::uint64_t end_for_this_rank(const char* variable);
/// The profile that later lines belong to.
void report_for(const std::string& profile);

}  // namespace adversary
