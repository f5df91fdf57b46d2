// SPDX-License-Identifier: BSD-3-Clause
#include "tools/simulate/wire_model.hpp"

#include <algorithm>
#include <array>

namespace weft::lab {

namespace {

struct Name {
    WireModel model;
    std::string_view text;
};
constexpr std::array kNames = {
    Name{WireModel::postal, "postal"}, Name{WireModel::pipelined_postal, "pipelined-postal"},
    Name{WireModel::logp, "logp"},     Name{WireModel::loggp, "loggp"},
    Name{WireModel::lop, "lop"},       Name{WireModel::logfp, "logfp"},
};

}  // namespace

base::Result<WireModel> parse_wire_model(std::string_view text) {
    const auto found = std::ranges::find(kNames, text, &Name::text);
    if (found != kNames.end()) return found->model;
    return base::fail(
        Status::argument,
        "unknown model '{}'; expected postal, pipelined-postal, logp, loggp, lop or logfp", text);
}

std::string_view name_of(WireModel model) {
    return std::ranges::find(kNames, model, &Name::model)->text;
}

plan::MessageModel message_model(const ModelParameters& parameters) {
    plan::MessageModel model{.latency = parameters.latency,
                             .reduce = parameters.reduce,
                             .reduce_byte_fs = parameters.reduce_byte_fs,
                             .two_way = parameters.two_way,
                             .two_way_byte_fs = parameters.two_way_byte_fs};
    switch (parameters.model) {
        case WireModel::postal:
            model.byte_fs = parameters.byte_fs;
            model.blocking = true;
            break;
        case WireModel::pipelined_postal:
            model.busy_base = parameters.issue;
            model.byte_fs = parameters.byte_fs;
            break;
        case WireModel::loggp:
            model.byte_fs = parameters.byte_fs;
            [[fallthrough]];
        case WireModel::logp:
        case WireModel::logfp:
        case WireModel::lop:
            model.busy_base = parameters.overhead;
            model.receive = parameters.parallel_ends ? 0 : parameters.overhead;
            model.latency += parameters.parallel_ends ? parameters.overhead : 0;
            model.free_signals = parameters.parallel_ends;
            if (parameters.model == WireModel::lop) {
                model.pipeline = parameters.pipeline;
                model.saturation = parameters.saturation;
                break;
            }
            model.gap = parameters.gap;
            if (parameters.model == WireModel::logfp)
                model.free_messages = static_cast<std::uint32_t>(parameters.free_messages);
            break;
    }
    return model;
}

}  // namespace weft::lab
