// SPDX-License-Identifier: BSD-3-Clause
// table.hpp - text tables and outlines of the JSON objects that --json prints.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "tools/cli/command.hpp"

namespace weft::tools {

struct Column {
    std::string title;
    std::string key;           ///< member of a row; if it is an array, its largest element is shown
    int width = 10;            ///< in characters; negative: aligned to the left
    int digits = -1;           ///< decimals of a number that is no fraction; -1: as in JSON
    double scale = 1;          ///< factor of a fraction, or of a number with `digits`
    bool is_fraction = false;  ///< shown in per cent, without decimals; "none" if negative
    std::array<const char*, 2> words{"no", "yes"};  ///< texts of false and true
    const char* missing = "-";  ///< text if the member is null, empty or missing
};

/// Returns the column that shows whether the results of a row were right.
inline Column verdict() {
    return {.title = "", .key = "checked", .width = -5, .words = {"WRONG", "right"}};
}

[[nodiscard]] std::string table_head(std::span<const Column> columns);
/// Returns a row. After a text longer than its left-aligned column, the row continues on the next
/// line, so that columns stay aligned.
[[nodiscard]] std::string table_row(std::span<const Column> columns, const Json& row);
[[nodiscard]] std::string cell_of(const Column& column, const Json& row);

/// Returns "1 node" or "4 nodes".
[[nodiscard]] std::string counted(std::int64_t number, const char* noun);

/// Returns a line `name value` for each member. The members of an inner object are indented; an
/// array of objects becomes a table. depth: level of indentation.
[[nodiscard]] std::string outline(const Json& object, std::size_t depth = 0);

/// Prints measured rows: a table to which each add() appends a line, or a JSON object at the end.
/// On ranks that do not print, only collects rows.
class RowReport {
  public:
    /// head: members of the object before `results`. title: lines above the table.
    RowReport(bool prints, bool json, const Json& head, const std::string& title,
              std::vector<Column> columns);

    /// Returns true if add() prints.
    [[nodiscard]] bool shows_rows() const { return prints_ && !json_; }
    void add(const Json& row);
    /// With --json, prints the object. Returns kAnswerIsNo if `checked` is false in a row, else 0.
    [[nodiscard]] int finish() const;

  private:
    bool prints_;
    bool json_;
    std::vector<Column> columns_;
    Json object_;
};

}  // namespace weft::tools
