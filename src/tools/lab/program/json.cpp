// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lab/program/json.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

namespace weft::lab {

namespace {
constexpr int kDepthMax = 32;  // arrays and objects in each other; the files of weft have fewer
}

std::string json_text(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

void print_json(const Json& value) {
    fmt::print("{}\n", value.dump());
    std::fflush(stdout);
}

Json read_json(const std::string& text) {
    bool too_deep = false;  // copies and dump() recurse into nested values
    const auto at_depth = [&](int depth, Json::parse_event_t, const Json&) {
        too_deep |= depth > kDepthMax;
        return !too_deep;
    };
    Json read = Json::parse(text, at_depth, /*allow_exceptions=*/false);
    return too_deep ? Json(Json::value_t::discarded) : read;
}

}  // namespace weft::lab
