// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lab/program/json.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

namespace weft::lab {

std::string json_text(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

void print_json(const Json& value) {
    fmt::print("{}\n", value.dump());
    std::fflush(stdout);
}

Json read_json(const std::string& text) {
    return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace weft::lab
