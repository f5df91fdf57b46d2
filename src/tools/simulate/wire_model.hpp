// SPDX-License-Identifier: BSD-3-Clause
// wire_model.hpp - message models by name, and their parameters.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "plan/select/model.hpp"

namespace weft::lab {

enum class WireModel : std::uint8_t { postal, pipelined_postal, logp, loggp };
[[nodiscard]] base::Result<WireModel> parse_wire_model(std::string_view text);
[[nodiscard]] std::string_view name_of(WireModel model);

/// docs/selection.md lists the parameters of each model.
struct ModelParameters {
    WireModel model = WireModel::pipelined_postal;
    plan::Time latency = 0;
    plan::Time issue = 0;     ///< pipelined postal: per message, at the sender
    plan::Time overhead = 0;  ///< LogP, LogGP: per message, at both ends
    plan::Time gap = 0;     ///< LogP, LogGP: between the starts of two sends, or of two receptions
    plan::Time turn = 0;    ///< from rank to rank on a shared processor
    plan::Time reduce = 0;  ///< for each combined operand
    std::int64_t byte_fs = 0;         ///< per byte of a message, at the sender
    std::int64_t reduce_byte_fs = 0;  ///< for each byte of a combined operand
};

[[nodiscard]] plan::MessageModel message_model(const ModelParameters& parameters);

}  // namespace weft::lab
