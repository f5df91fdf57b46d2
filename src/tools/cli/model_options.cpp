// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/model_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/read_file.hpp"
#include "plan/simulate/duration.hpp"
#include "run/job/measured_files.hpp"
#include "tools/cli/answer.hpp"

namespace weft::tools {

namespace {

/// Converts a JSON file of `weft fit` to lines `key value`; returns other text unchanged.
base::Result<std::string> lines_of(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos || text[first] != '{') return text;
    const Json object = lab::read_json(text);
    if (object.is_discarded() || object.value("schema", "") != run::kParametersSchema ||
        !object.contains("parameters") || !object["parameters"].is_object())
        return base::fail(Status::argument, "is no JSON object of the schema {}",
                          run::kParametersSchema);
    std::string lines;
    for (const auto& [key, value] : object["parameters"].items())
        lines += fmt::format("{} {}\n", key,
                             value.is_string() ? value.get<std::string>() : value.dump());
    return lines;
}

}  // namespace

base::Result<lab::CostParameters> read_parameters(const std::string& name) {
    const auto sets = lab::named_parameters();
    const auto named = std::ranges::find(sets, name, &lab::CostParameters::name);
    if (named != sets.end()) return *named;
    const auto text = base::read_file(name, run::kMeasuredBytesMax);
    if (!text) {
        std::vector<std::string_view> known;
        for (const lab::CostParameters& set : sets) known.push_back(set.name);
        return base::fail(Status::argument, "--params: {}; expected a file or one of {}",
                          text.failure().text, fmt::join(known, ", "));
    }
    const auto lines = lines_of(*text);
    if (!lines) return lines.failure().within("--params " + name);
    auto parameters = lab::parse_parameters(name, *lines);
    if (!parameters) return parameters.failure().within("--params");
    return parameters;
}

base::Result<lab::ModelParameters> read_model(const ModelArguments& arguments) {
    if (!arguments.params.empty()) {
        auto set = read_parameters(arguments.params);
        if (!set) return set.failure();
        return set->wire;
    }
    lab::ModelParameters parameters;
    const auto model = lab::parse_wire_model(arguments.model);
    if (!model) return model.failure().within("--model");
    parameters.model = *model;
    struct Field {
        const char* name;
        const std::string& text;
        std::int64_t& value;
        bool per_byte;
    };
    for (const Field& field :
         {Field{"--latency-ns", arguments.latency, parameters.latency, false},
          Field{"--issue-ns", arguments.issue, parameters.issue, false},
          Field{"--ns-per-byte", arguments.per_byte, parameters.byte_fs, true},
          Field{"--reduce-ns", arguments.reduce, parameters.reduce, false},
          Field{"--reduce-ns-per-byte", arguments.reduce_per_byte, parameters.reduce_byte_fs, true},
          Field{"--overhead-ns", arguments.overhead, parameters.overhead, false},
          Field{"--gap-ns", arguments.gap, parameters.gap, false}}) {
        const auto value = field.per_byte ? plan::parse_nanoseconds_per_byte(field.text)
                                          : plan::parse_nanoseconds(field.text);
        if (!value) return value.failure().within(field.name);
        field.value = *value;
    }
    return parameters;
}

void add_model_arguments(CLI::App& command, ModelArguments& arguments) {
    const auto add = [&](const char* name, std::string& value, const char* help) {
        add_option(command, name, value, help).shows_default();
    };
    Option params = add_option(
        command, "--params", arguments.params,
        "a named set (infiniband-2007, archer-xc30-min, archer-xc30-median) or a file of lines "
        "`key value`; replaces the options of the model");
    add("--model", arguments.model, "postal, pipelined-postal, logp or loggp");
    add("--latency-ns", arguments.latency, "time from the end of a send to its arrival");
    add("--issue-ns", arguments.issue, "pipelined-postal: sender time per message");
    add("--ns-per-byte", arguments.per_byte, "sender time per byte");
    add("--reduce-ns", arguments.reduce, "time per received message that is combined");
    add("--reduce-ns-per-byte", arguments.reduce_per_byte, "time per byte that is combined");
    add("--overhead-ns", arguments.overhead, "logp, loggp: time at both ends per message");
    add("--gap-ns", arguments.gap, "logp, loggp: least time between two sends, or two receptions");
    params.excludes(command, {"--model", "--latency-ns", "--issue-ns", "--ns-per-byte",
                              "--reduce-ns", "--reduce-ns-per-byte", "--overhead-ns", "--gap-ns"});
}

}  // namespace weft::tools
