// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/table.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

#include "base/units.hpp"

namespace weft::tools {

namespace {

/// Adds a cell to a line, after one space if aligned to the right, or two if aligned to the left.
void add_cell(std::string& line, const Column& column, const std::string& cell) {
    const bool first = line.empty();
    if (column.width >= 0)
        line += fmt::format("{}{:>{}}", first ? "" : " ", cell, column.width);
    else
        line += fmt::format("{}{:<{}}", first ? "" : "  ", cell, -column.width);
}

/// Removes blanks at the end, and appends a line end.
std::string as_line(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
}

std::string value_text(const std::string& name, const Json& value) {
    if (value.is_null() || value == "") return "-";
    if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
    if (value.is_array()) {
        std::string text;
        for (const Json& part : value)
            text += fmt::format("{}{}", text.empty() ? "" : ", ", json_text(part));
        return text.empty() ? "-" : text;
    }
    if (value == std::numeric_limits<std::size_t>::max()) return "no limit";
    if (name.ends_with("bytes") && value.is_number_unsigned())
        return base::format_bytes(value.get<std::uint64_t>());
    return json_text(value);
}

std::string table_of(const Json& rows, const std::string& indent) {
    std::vector<Column> columns;
    for (const auto& [name, ignored] : rows.front().items())
        columns.push_back({name, name, -static_cast<int>(name.size())});
    Json texts = Json::array();
    for (const Json& row : rows) {
        Json& text = texts.emplace_back();
        for (Column& column : columns) {
            const std::string cell = value_text(column.key, row.value(column.key, Json()));
            column.width = std::min(column.width, -static_cast<int>(cell.size()));
            text[column.key] = cell;
        }
    }
    std::string table = indent + table_head(columns);
    for (const Json& text : texts) table += indent + table_row(columns, text);
    return table;
}

}  // namespace

std::string outline(const Json& object, std::size_t depth) {
    constexpr std::size_t kNameWidth = 24;
    const std::string indent(2 * depth, ' ');
    std::string text;
    for (const auto& [name, value] : object.items()) {
        if (value.is_object())
            text += fmt::format("{}{}\n{}", indent, name, outline(value, depth + 1));
        else if (value.is_array() && !value.empty() && value.front().is_object())
            text += fmt::format("{}{}\n{}", indent, name, table_of(value, indent + "  "));
        else
            text += fmt::format("{}{:<{}} {}\n", indent, name, kNameWidth - indent.size(),
                                value_text(name, value));
    }
    return text;
}

std::string cell_of(const Column& column, const Json& row) {
    const auto found = row.find(column.key);
    if (found == row.end() || found->empty()) return column.missing;
    if (found->is_boolean()) return column.words.at(found->get<bool>() ? 1 : 0);
    const Json& value =
        found->is_array() ? *std::max_element(found->begin(), found->end()) : *found;
    if (!value.is_number() || (column.digits < 0 && !column.is_fraction)) return json_text(value);
    const double number = value.get<double>() * column.scale;
    if (!column.is_fraction) return fmt::format("{:.{}f}", number, column.digits);
    return number < 0 ? "none" : fmt::format("{:.0f} %", 100 * number);
}

std::string table_head(std::span<const Column> columns) {
    std::string line;
    for (const Column& column : columns) add_cell(line, column, column.title);
    return as_line(line);
}

std::string table_row(std::span<const Column> columns, const Json& row) {
    std::string text;
    std::string line;
    for (const Column& column : columns) {
        const std::string cell = cell_of(column, row);
        add_cell(line, column, cell);
        const auto excess = static_cast<std::ptrdiff_t>(cell.size()) + std::min(column.width, 0);
        if (column.width >= 0 || excess <= 0 || &column == &columns.back()) continue;
        text += line + "\n";
        line.assign(line.size() - static_cast<std::size_t>(excess), ' ');
    }
    return text + as_line(line);
}

std::string counted(std::int64_t number, const char* noun) {
    return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

RowReport::RowReport(bool prints, bool json, const Json& head, const std::string& title,
                     std::vector<Column> columns)
    : prints_(prints), json_(json), columns_(std::move(columns)), object_(head) {
    object_["results"] = Json::array();
    if (!shows_rows()) return;
    fmt::print("{}\n{}", title, table_head(columns_));
    std::fflush(stdout);
}

void RowReport::add(const Json& row) {
    object_["results"].push_back(row);
    if (!shows_rows()) return;
    fmt::print("{}", table_row(columns_, row));
    std::fflush(stdout);
}

int RowReport::finish() const {
    if (prints_ && json_) print_json(object_);
    const bool right = std::ranges::all_of(
        object_["results"], [](const Json& row) { return row.at("checked").get<bool>(); });
    return right ? 0 : kAnswerIsNo;
}

}  // namespace weft::tools
