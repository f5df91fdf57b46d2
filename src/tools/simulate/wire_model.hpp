// SPDX-License-Identifier: BSD-3-Clause
// wire_model.hpp - message models by name, and their parameters.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "plan/select/model.hpp"

namespace weft::lab {

/// Message models. The comments give the time at which message k of several messages in a row
/// arrives; o, g and f are overhead, gap and free_messages of ModelParameters.
enum class WireModel : std::uint8_t {
    postal,            ///< k (latency + bytes x byte)
    pipelined_postal,  ///< k (issue + bytes x byte) + latency
    logp,              ///< o + (k - 1) max(o, g) + latency; the reception takes o more
    loggp,             ///< as logp, with o + bytes x byte at the sender
    /// Sum over i = 1..k of (o + pipeline / i + saturation x (1 - 2^(1 - i))) + latency; the
    /// reception takes o more. Hoefler et al. (2005) fit terms for pipelining, processing and
    /// saturation; weft chose the form of the terms.
    lop,
    logfp,  ///< o + max((k - 1) o, (k - f) g) + latency; the reception takes o more
};
[[nodiscard]] base::Result<WireModel> parse_wire_model(std::string_view text);
[[nodiscard]] std::string_view name_of(WireModel model);

/// Times in picoseconds, or in femtoseconds (_fs). docs/selection.md lists each model's parameters.
struct ModelParameters {
    WireModel model = WireModel::pipelined_postal;
    plan::Time latency = 0;
    plan::Time issue = 0;     ///< pipelined postal: for each message, at the sender
    plan::Time overhead = 0;  ///< o of LogP and LogGP: for each message, at both ends
    plan::Time gap = 0;       ///< g of LogP: between starts of two sends, or of two receptions
    std::uint64_t free_messages = 1;  ///< f of LogfP: number of messages that no gap delays
    plan::Time pipeline = 0;    ///< LoP: time of the first message, divided by k for message k
    plan::Time saturation = 0;  ///< LoP: largest time that a further message adds
    plan::Time two_way = 0;     ///< extra latency if the receiver has a message in flight, too
    /// LogP, LogGP: receptions and signals take no time of the rank's processor. The receiver's
    /// overhead delays its message, as in the pipelined trees of Hoefler and Moor.
    bool parallel_ends = false;
    plan::Time turn = 0;               ///< for a switch between ranks on a shared processor
    plan::Time reduce = 0;             ///< for each combined operand
    std::int64_t byte_fs = 0;          ///< per byte of a message, at the sender
    std::int64_t two_way_byte_fs = 0;  ///< as two_way, for each byte
    std::int64_t reduce_byte_fs = 0;   ///< for each byte of a combined operand
};

[[nodiscard]] plan::MessageModel message_model(const ModelParameters& parameters);

}  // namespace weft::lab
