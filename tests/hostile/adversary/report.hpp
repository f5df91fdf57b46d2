// SPDX-License-Identifier: BSD-3-Clause
// report.hpp - counts the adversary's tricks, and reports violations of the fabric's rules.
#pragma once

#include <cstdint>
#include <string>

namespace adversary {

/// Legal but unfavourable events, which the adversary causes at random. report.cpp has their names
/// in this order.
enum class Trick : std::uint8_t {
    write_delayed,
    write_overtook,
    pieces_out_of_order,
    delivered_in_parts,
    delivered_without_target,
    completed_before_delivery,
    completion_late,
    completion_overtook,
    immediate_late,
    refused_again,
    refused_unconnected,
    source_read_late,
    context_scribbled,
    fence_waited,
    held_for_more,
    delivery_ignored,
    slow_endpoint,
    connection_lost,
    queue_overrun,
    count  ///< number of tricks
};
inline constexpr int kViolationStatus = 86;  ///< exit status after a violation

void count_trick(Trick trick);
/// Reports an access with a wrong key or address, which the target refuses. The program continues.
void refused_access(const std::string& text);
/// Reports a violation of the fabric's rules and ends the process with kViolationStatus.
void violation(const std::string& text);
/// Returns N if the variable is "RANK:N" and RANK is this rank, else the largest number.
[[nodiscard]] std::uint64_t limit_for_this_rank(const char* variable);
/// Sets the profile to which later counts and reports belong.
void report_for(const std::string& profile);

}  // namespace adversary
