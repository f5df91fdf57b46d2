// SPDX-License-Identifier: BSD-3-Clause
// json.hpp - JSON as programs write and read it.
//
// Why      Each file that writes or parses JSON itself compiles the writer or the parser: more than
//          a second. Here both are compiled once; building a value stays with its file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace weft::lab {

using Json = nlohmann::ordered_json;  ///< members stay in the order in which they were written

/// The characters of a string, anything else as it stands in a line of JSON.
[[nodiscard]] std::string json_text(const Json& value);
/// Prints the value on a line of stdout.
void print_json(const Json& value);
/// Value of the text; is_discarded() if the text is no JSON.
[[nodiscard]] Json read_json(const std::string& text);

}  // namespace weft::lab
