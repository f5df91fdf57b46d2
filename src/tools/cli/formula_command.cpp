// SPDX-License-Identifier: BSD-3-Clause
// formula_command.cpp - `weft formula`: evaluates a paper's formula for given numbers.
//
// Holds    Without a name, lists all formulas with their arguments and usual values.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "tools/cli/command.hpp"
#include "tools/lab/cost/formulas.hpp"

namespace weft::tools {

namespace {

struct FormulaArguments {
    std::string name;
    std::vector<std::string> values;
    bool json = false;
};

lab::FormulaValue read_value(const std::string& text) {
    const std::size_t equals = std::min(text.find('='), text.size());
    lab::FormulaValue value{.name = text.substr(0, equals)};
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(std::min(text.data() + equals + 1, end), end, value.value);
    if (read.ec != std::errc{} || read.ptr != end) refuse("'{}': expected name=number", text);
    return value;
}

int list(bool json) {
    Json all = Json::array();
    for (const lab::Formula& formula : lab::formulas()) {
        Json arguments = Json::object();
        std::string text;
        for (const lab::FormulaArgument& argument : formula.arguments) {
            arguments[std::string(argument.name)] = argument.usual;
            text += fmt::format(" {}={}", argument.name, argument.usual);
        }
        if (!json)
            fmt::print("{}: {}\n   {}\n    from {}\n", formula.name, formula.what, text,
                       formula.source);
        all.push_back({{"formula", formula.name},
                       {"what", formula.what},
                       {"source", formula.source},
                       {"arguments", std::move(arguments)}});
    }
    if (json) print_json(Json{{"formulas", std::move(all)}});
    return 0;
}

int formula(const FormulaArguments& arguments) {
    if (arguments.name.empty()) return list(arguments.json);
    std::vector<lab::FormulaValue> given;
    for (const std::string& text : arguments.values) given.push_back(read_value(text));
    Json object{{"formula", arguments.name}};
    for (const auto& [name, value] : need(lab::evaluate_formula(arguments.name, given))) {
        object[std::string(name)] = value;
        if (!arguments.json) fmt::print("{:24} {}\n", name, value);
    }
    if (arguments.json) print_json(object);
    return 0;
}

}  // namespace

void add_formula_command(CLI::App& app) {
    const auto [command, arguments] =
        add_command<FormulaArguments>(app, "formula", "evaluate a formula of a paper", &formula);
    add_option(*command, "name", arguments->name, "name of a formula; without it, all are listed");
    add_option(*command, "values", arguments->values, "name=number for its arguments");
    add_json_flag(*command, arguments->json);
}

}  // namespace weft::tools
