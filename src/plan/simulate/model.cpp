// SPDX-License-Identifier: BSD-3-Clause
#include "plan/simulate/model.hpp"

#include <array>

namespace weft::plan {

namespace {

struct Name {
    WireModel model;
    std::string_view text;
};
constexpr std::array kNames = {
    Name{WireModel::postal, "postal"},
    Name{WireModel::pipelined_postal, "pipelined-postal"},
    Name{WireModel::logp, "logp"},
    Name{WireModel::loggp, "loggp"},
};

}  // namespace

base::Result<WireModel> parse_wire_model(std::string_view text) {
    const auto found = std::ranges::find(kNames, text, &Name::text);
    if (found != kNames.end()) return found->model;
    return base::fail(Status::argument,
                      "'{}' is not a model; expected postal, pipelined-postal, logp or loggp",
                      text);
}

std::string_view name_of(WireModel model) {
    return std::ranges::find(kNames, model, &Name::model)->text;
}

MessageModel::MessageModel(const ModelParameters& parameters)
    : latency(parameters.latency),
      reduce(parameters.reduce),
      reduce_byte_fs(parameters.reduce_byte_fs) {
    switch (parameters.model) {
        case WireModel::postal:
            byte_fs = parameters.byte_fs;
            blocking = true;
            break;
        case WireModel::pipelined_postal:
            busy_base = parameters.issue;
            byte_fs = parameters.byte_fs;
            break;
        case WireModel::loggp:
            byte_fs = parameters.byte_fs;
            [[fallthrough]];
        case WireModel::logp:
            busy_base = parameters.overhead;
            receive = parameters.overhead;
            gap = parameters.gap;
            break;
    }
}

}  // namespace weft::plan
