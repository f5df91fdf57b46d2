// SPDX-License-Identifier: BSD-3-Clause
// list_command.cpp - `weft list`: every algorithm with its parameters, properties and source.
#include <fmt/format.h>

#include "tools/cli/answer.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/program_options.hpp"

namespace weft::tools {

namespace {

using collectives::Algorithm;
using collectives::Parameter;

struct ListArguments {
    std::string collective;
    bool json = false;
};

std::string properties_of(const Algorithm& algorithm) {
    std::string text;
    const auto add = [&text](bool holds, const char* word) {
        if (holds) text += fmt::format("{}{}", text.empty() ? "" : ", ", word);
    };
    add(algorithm.properties.ordered, "in rank order");
    add(algorithm.properties.bit_identical, "bit-identical");
    add(algorithm.properties.synchronizing, "synchronizing");
    add(collectives::is_rooted(algorithm.collective), "rooted");
    add(algorithm.properties.power_of_two, "powers of two only");
    add(algorithm.properties.for_nodes, "for nodes of several ranks");
    add(algorithm.properties.consecutive_nodes, "for nodes of consecutive ranks only");
    add(algorithm.properties.even_nodes, "for nodes of equally many ranks only");
    add(algorithm.properties.one_node, "for one node only");
    add(algorithm.properties.direct, "in the memory of local peers");
    add(algorithm.properties.notation, "named by its schedule too");
    return text;
}

void print_text(const Algorithm& algorithm) {
    fmt::print("{} {}: {}\n", algorithm.collective, algorithm.name, algorithm.summary);
    for (const Parameter& parameter : algorithm.parameters)
        fmt::print("    {}={}  {}\n", parameter.name,
                   parameter.fallback.empty() ? "..." : parameter.fallback, parameter.help);
    fmt::print("    {}\n    from {}\n", properties_of(algorithm), algorithm.source);
}

Json to_json(const Algorithm& algorithm) {
    Json parameters = Json::array();
    for (const Parameter& parameter : algorithm.parameters)
        parameters.push_back(
            {{"name", parameter.name}, {"default", parameter.fallback}, {"help", parameter.help}});
    const collectives::Properties& properties = algorithm.properties;
    return {{"collective", algorithm.collective},
            {"algorithm", algorithm.name},
            {"summary", algorithm.summary},
            {"source", algorithm.source},
            {"parameters", std::move(parameters)},
            {"ordered", properties.ordered},
            {"bit_identical", properties.bit_identical},
            {"synchronizing", properties.synchronizing},
            {"rooted", collectives::is_rooted(algorithm.collective)},
            {"power_of_two", properties.power_of_two},
            {"for_nodes", properties.for_nodes},
            {"consecutive_nodes", properties.consecutive_nodes},
            {"even_nodes", properties.even_nodes},
            {"one_node", properties.one_node},
            {"direct", properties.direct},
            {"notation", properties.notation}};
}

/// Calls with counts use the algorithms of equal blocks. If only sender and receiver know a count,
/// they use only direct sends.
bool serves(const Algorithm& algorithm, const collectives::CollectiveTraits& traits) {
    if (algorithm.collective != collectives::traits_of(traits.even).name) return false;
    return !traits.has_pairwise_counts() || algorithm.name == "flat" || algorithm.name == "direct";
}

base::Result<int> list(const ListArguments& arguments) {
    const collectives::CollectiveTraits* traits = nullptr;
    if (!arguments.collective.empty()) {
        const auto known = check_any_collective(arguments.collective);
        if (!known) return known.failure();
        traits = collectives::find_collective(arguments.collective);
    }
    Json all = Json::array();
    for (const Algorithm& algorithm : collectives::algorithms()) {
        if (traits != nullptr && !serves(algorithm, *traits)) continue;
        if (arguments.json) {
            all.push_back(to_json(algorithm));
        } else if (traits != nullptr && traits->has_pairwise_counts()) {
            fmt::print("{} {}: {}; the only way, since no rank knows more counts than its own\n",
                       traits->name, collectives::kPairwiseAlgorithm, algorithm.summary);
        } else {
            print_text(algorithm);
        }
    }
    if (arguments.json) print_json(Json{{"algorithms", std::move(all)}});
    return 0;
}

}  // namespace

void add_list_command(CLI::App& app, int& exit_status) {
    const auto [command, arguments] = add_command<ListArguments>(
        app, exit_status, "list", "the algorithms with their parameters, properties and sources",
        &list);
    add_option(*command, "collective", arguments->collective, "show only this collective");
    add_json_flag(*command, arguments->json);
}

}  // namespace weft::tools
