// SPDX-License-Identifier: BSD-3-Clause
// parameters.hpp - cost parameters of a machine: message times, energy, descriptors.
//
// Idea     A set has a name. Three sets come from the papers; others are parsed from text, with one
//          `key value` per line. Callers read the files, so this folder needs no file access.
// Holds    Missing keys keep their defaults; no key may be repeated.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "plan/select/machine.hpp"
#include "plan/select/measured_costs.hpp"
#include "tools/simulate/wire_model.hpp"

namespace weft::lab {

struct CostParameters {
    std::string name;
    ModelParameters wire;
    /// If set, replaces `wire`: costs of local puts, remote puts and NICs. Its node_of is empty.
    std::optional<plan::Machine> machine;
    plan::MeasuredCosts measured;         ///< costs from which `machine` is made
    double message_pj = 0;                ///< energy of a message, without its bytes
    double byte_pj = 0;                   ///< energy of a byte, from memory to memory
    double static_w = 0;                  ///< power during the call, of all ranks together
    std::uint64_t descriptor_bytes = 32;  ///< state of a put or signal in a device
};

/// Returns the named sets: infiniband-2007, archer-xc30-min, archer-xc30-median.
[[nodiscard]] std::span<const CostParameters> named_parameters();

/// Sets the parameter `key` from the text of its value. docs/selection.md lists the keys.
[[nodiscard]] base::Result<void> set_parameter(CostParameters& parameters, std::string_view key,
                                               std::string_view value);

/// Parses lines `key value`; # starts a comment. A failure names the line.
[[nodiscard]] base::Result<CostParameters> parse_parameters(std::string_view name,
                                                            std::string_view text);

/// Rounds a time per byte to a form that parse_parameters() accepts: six digits after the point, no
/// sign; 0 for values below 0.0001, which JSON would print with an exponent.
[[nodiscard]] double parseable_nanoseconds_per_byte(double value);

}  // namespace weft::lab
