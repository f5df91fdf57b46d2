// SPDX-License-Identifier: BSD-3-Clause
// list_command.cpp - `weft list`: every algorithm with its parameters, properties and source.
#include <fmt/ranges.h>

#include <array>
#include <nlohmann/json.hpp>

#include "tools/cli/program_options.hpp"

namespace weft::tools {

namespace {

using collectives::Algorithm;
using collectives::Parameter;

struct ListArguments {
    std::string collective;
    bool json = false;
};

struct Property {
    bool collectives::Properties::*holds;  ///< nullptr for "rooted", a property of the collective
    const char* name;                      ///< in JSON
    const char* words;                     ///< in the text
};
using collectives::Properties;
constexpr std::array kProperties{
    Property{&Properties::ordered, "ordered", "in rank order"},
    Property{&Properties::bit_identical, "bit_identical", "bit-identical"},
    Property{&Properties::synchronizing, "synchronizing", "synchronizing"},
    Property{nullptr, "rooted", "rooted"},
    Property{&Properties::power_of_two, "power_of_two", "powers of two only"},
    Property{&Properties::for_nodes, "for_nodes", "for nodes of several ranks"},
    Property{&Properties::consecutive_nodes, "consecutive_nodes",
             "for nodes of consecutive ranks only"},
    Property{&Properties::even_nodes, "even_nodes", "for nodes with equal numbers of ranks only"},
    Property{&Properties::one_node, "one_node", "for one node only"},
    Property{&Properties::direct, "direct", "in the memory of local peers"},
    Property{&Properties::notation, "notation", "also named by its schedule"}};

bool has(const Algorithm& algorithm, const Property& property) {
    return property.holds == nullptr ? collectives::is_rooted(algorithm.collective)
                                     : algorithm.properties.*property.holds;
}

void print_text(const Algorithm& algorithm) {
    fmt::print("{} {}: {}\n", algorithm.collective, algorithm.name, algorithm.summary);
    for (const Parameter& parameter : algorithm.parameters)
        fmt::print("    {}={}  {}\n", parameter.name,
                   parameter.fallback.empty() ? "..." : parameter.fallback, parameter.help);
    std::vector<const char*> properties;
    for (const Property& property : kProperties)
        if (has(algorithm, property)) properties.push_back(property.words);
    fmt::print("    {}\n    from {}\n", fmt::join(properties, ", "), algorithm.source);
}

Json to_json(const Algorithm& algorithm) {
    Json parameters = Json::array();
    for (const Parameter& parameter : algorithm.parameters)
        parameters.push_back(
            {{"name", parameter.name}, {"default", parameter.fallback}, {"help", parameter.help}});
    Json object{{"collective", algorithm.collective},
                {"algorithm", algorithm.name},
                {"summary", algorithm.summary},
                {"source", algorithm.source},
                {"parameters", std::move(parameters)}};
    for (const Property& property : kProperties) object[property.name] = has(algorithm, property);
    return object;
}

/// Returns true if the algorithm serves the collective. Calls with counts use the algorithms for
/// equal blocks, but only direct sends if only sender and receiver have a count.
bool serves(const Algorithm& algorithm, const collectives::CollectiveTraits& traits) {
    if (algorithm.collective != collectives::traits_of(traits.even).name) return false;
    return !traits.has_pairwise_counts() || algorithm.name == "flat" || algorithm.name == "direct";
}

int list(const ListArguments& arguments) {
    const collectives::CollectiveTraits* const traits =
        arguments.collective.empty() ? nullptr : &known_collective(arguments.collective);
    Json all = Json::array();
    for (const Algorithm& algorithm : collectives::algorithms()) {
        if (traits != nullptr && !serves(algorithm, *traits)) continue;
        if (arguments.json) {
            all.push_back(to_json(algorithm));
        } else if (traits != nullptr && traits->has_pairwise_counts()) {
            fmt::print("{} {}: {}; the only algorithm, because a rank has only its own counts\n",
                       traits->name, collectives::kPairwiseAlgorithm, algorithm.summary);
        } else {
            print_text(algorithm);
        }
    }
    if (arguments.json) print_json(Json{{"algorithms", std::move(all)}});
    return 0;
}

}  // namespace

void add_list_command(CLI::App& app) {
    const auto [command, arguments] = add_command<ListArguments>(
        app, "list", "the algorithms with their parameters, properties and sources", &list);
    add_option(*command, "collective", arguments->collective, "show only this collective");
    add_json_flag(*command, arguments->json);
}

}  // namespace weft::tools
