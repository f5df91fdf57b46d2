// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/reference.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/element_types.hpp"
#include "base/environment.hpp"
#include "collectives/registry.hpp"
#include "run/team/choice.hpp"
#include "tools/lab/cost/parameters.hpp"

namespace weft::tools {

namespace {

std::vector<std::string> split(const std::string& text, char between) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
        end = text.find(between, begin);
        parts.push_back(text.substr(begin, end - begin));
    }
    return parts;
}

/// Reads the parser's text of a value's kind and restriction, such as TEXT:{a,b} or UINT:INT in [0
/// - 9].
void read_type(const std::string& type, OptionText& text) {
    const std::size_t colon = type.find(':');
    text.value = type.substr(0, colon);
    if (colon == std::string::npos) return;
    const std::string rule = type.substr(colon + 1);
    const std::size_t range = rule.find('[');
    if (rule.starts_with('{') && rule.ends_with('}')) {
        text.choices = split(rule.substr(1, rule.size() - 2), ',');
    } else if (range != std::string::npos) {
        text.range = rule.substr(range + 1, rule.find(']') - range - 1);
    }
}

void read_footer(const std::string& footer, CommandText& text) {
    const std::size_t title = std::min(footer.find(lab::kExamplesTitle), footer.size());
    text.footer = footer.substr(0, title);
    while (text.footer.ends_with('\n')) text.footer.pop_back();
    for (const std::string& line : split(footer.substr(title), '\n'))
        if (line.starts_with("  ")) text.examples.push_back(line.substr(2));
}

template <class Names>
std::vector<std::string> words(const Names& names) {
    return {names.begin(), names.end()};
}

/// Returns suggested values of options with equal meaning in all commands.
std::vector<std::string> suggestions_for(const std::string& option) {
    if (option == "--type") return words(base::type_names());
    if (option == "--op") return words(base::op_names());
    if (option == "--provider") return words(run::providers_with_costs());
    if (option == "--bind") return {"none", "core"};
    if (option == "--placement") return {"ordered", "paper"};
    if (option == "--objective") return {"time", "energy", "memory", "edp"};
    if (option == "--model") return {"postal", "pipelined-postal", "logp", "loggp"};
    std::vector<std::string> found;
    if (option == "--params")
        for (const lab::CostParameters& set : lab::named_parameters()) found.emplace_back(set.name);
    if (option == "-x")
        for (const base::Variable& variable : base::variables()) found.emplace_back(variable.name);
    if (option == "--algorithm") {
        found = {"auto", "all"};
        for (const collectives::Algorithm& algorithm : collectives::algorithms())
            if (std::ranges::find(found, algorithm.name) == found.end())
                found.emplace_back(algorithm.name);
    }
    return found;
}

OptionText describe_option(const CLI::Option& option) {
    constexpr std::size_t kListMax = 1;
    OptionText text;
    for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
    if (text.names.empty()) text.names.push_back(option.get_name(true, false));
    if (option.get_items_expected_max() > 0) read_type(option.get_type_name(), text);
    // The command, not the parser, may check an argument that names a collective.
    if (text.choices.empty() && text.names.front() == "collective")
        for (const std::string_view name : collectives::kCollectiveNames)
            text.choices.emplace_back(name);
    if (text.choices.empty()) text.suggestions = suggestions_for(text.names.back());
    text.fallback = option.get_default_str();
    if (text.fallback.starts_with('[') && text.fallback.ends_with(']'))
        text.fallback = text.fallback.substr(1, text.fallback.size() - 2);
    text.help = option.get_description();
    text.required = option.get_required();
    text.repeats = static_cast<std::size_t>(option.get_items_expected_max()) > kListMax;
    return text;
}

Json to_json(const OptionText& option) {
    return {{"names", option.names},     {"value", option.value},
            {"choices", option.choices}, {"suggestions", option.suggestions},
            {"range", option.range},     {"default", option.fallback},
            {"help", option.help},       {"required", option.required},
            {"repeats", option.repeats}};
}

Json to_json(const std::vector<OptionText>& options) {
    Json all = Json::array();
    for (const OptionText& option : options) all.push_back(to_json(option));
    return all;
}

}  // namespace

Reference describe(const CLI::App& app) {
    Reference reference;
    reference.summary = app.get_description();
    for (const CLI::Option* option : app.get_options())
        reference.options.push_back(describe_option(*option));
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        CommandText text;
        text.name = command->get_name();
        text.summary = command->get_description();
        read_footer(command->get_footer(), text);
        text.runs_program = command->get_allow_extras();
        for (const CLI::Option* option : command->get_options())
            (option->get_positional() ? text.arguments : text.options)
                .push_back(describe_option(*option));
        reference.commands.push_back(std::move(text));
    }
    return reference;
}

Json to_json(const Reference& reference) {
    Json commands = Json::array();
    for (const CommandText& command : reference.commands)
        commands.push_back({{"name", command.name},
                            {"summary", command.summary},
                            {"footer", command.footer},
                            {"examples", command.examples},
                            {"arguments", to_json(command.arguments)},
                            {"options", to_json(command.options)}});
    return {{"version", WEFT_VERSION},
            {"options", to_json(reference.options)},
            {"commands", std::move(commands)}};
}

}  // namespace weft::tools
