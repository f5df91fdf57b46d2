// SPDX-License-Identifier: BSD-3-Clause
// parameters.hpp - what a machine charges: time by a model of messages, energy, descriptors.
//
// Idea     A set has a name. Three come with the papers; any other is read from text, one `key
//          value` a line, so that who has a file reads it and this room stays without files.
// Holds    Every key may be left out (then it is 0) and none may stand twice.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "lab/simulate/wire_model.hpp"
#include "plan/select/machine.hpp"
#include "plan/select/measured_costs.hpp"

namespace weft::lab {

struct CostParameters {
    std::string name;
    ModelParameters wire;
    /// Near and far puts and the nodes' cards, each with costs of its own, without the ranks: in
    /// place of `wire`.
    std::optional<plan::Machine> machine;
    plan::MeasuredCosts measured;  ///< what `machine` was made from
    double message_pj = 0;         ///< energy of a message without its bytes
    double byte_pj = 0;            ///< energy of a byte, from the source's memory to the target's
    double static_w = 0;  ///< drawn for as long as the call takes; one such term for all ranks
    std::uint64_t descriptor_bytes =
        32;  ///< of one put or signal, as an offloading device keeps it
};

/// The sets that have a name: infiniband-2007, archer-xc30-min, archer-xc30-median.
[[nodiscard]] std::span<const CostParameters> named_parameters();

/// Lines `key value`; # starts a comment. Keys: model, latency_ns, issue_ns, overhead_ns, gap_ns,
/// turn_ns, ns_per_byte, reduce_ns, reduce_ns_per_byte, message_pj, byte_pj, static_w,
/// descriptor_bytes; and of a machine with two ways those of plan/select/measured_costs.cpp. A
/// failure names the line.
[[nodiscard]] base::Result<CostParameters> parse_parameters(std::string_view name,
                                                            std::string_view text);

}  // namespace weft::lab
