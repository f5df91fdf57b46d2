// SPDX-License-Identifier: BSD-3-Clause
// report.hpp - counts of the tricks, and violations of a fabric's rules by the program.
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
/// Reports a write with a wrong key or address. The write is refused; the program may be right.
void refused_access(const std::string& text);
/// Reports a violation of the fabric's rules and ends the process with kViolationStatus.
void violation(const std::string& text);
/// Returns N if the variable is "RANK:N" for this rank, else the largest number.
[[nodiscard]] std::uint64_t end_for_this_rank(const char* variable);
/// Sets the profile of later reports.
void report_for(const std::string& profile);

}  // namespace adversary
