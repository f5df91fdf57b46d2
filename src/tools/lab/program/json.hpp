// SPDX-License-Identifier: BSD-3-Clause
// json.hpp - prints and reads JSON.
//
// Holds    Members keep their order of insertion. Files that read members of a value must include
//          <nlohmann/json.hpp>, which costs a second of compile time.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weft::lab {

using Json = nlohmann::ordered_json;

/// Returns the characters of a string; for other values, their JSON text.
[[nodiscard]] std::string json_text(const Json& value);
/// Prints the value on a line of stdout.
void print_json(const Json& value);
/// Parses the text; is_discarded() is true if it is not valid JSON or is nested too deeply.
[[nodiscard]] Json read_json(const std::string& text);

}  // namespace weft::lab
