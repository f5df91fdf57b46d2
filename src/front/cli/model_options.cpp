// SPDX-License-Identifier: BSD-3-Clause
#include "front/cli/model_options.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "front/cli/command.hpp"
#include "plan/simulate/duration.hpp"

namespace weft::front {

base::Result<plan::CostParameters> read_parameters(const std::string& name) {
    for (const plan::CostParameters& named : plan::named_parameters())
        if (named.name == name) return named;
    std::ifstream file(name);
    if (!file) {
        std::string known;
        for (const plan::CostParameters& named : plan::named_parameters())
            known += fmt::format("{}{}", known.empty() ? "" : ", ", named.name);
        return base::fail(Status::argument,
                          "--params: '{}' is neither a file that can be read nor one of {}", name,
                          known);
    }
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    auto parameters = plan::parse_parameters(name, text);
    if (!parameters) return parameters.failure().within("--params");
    return parameters;
}

base::Result<plan::ModelParameters> read_model(const ModelArguments& arguments) {
    if (!arguments.params.empty()) {
        auto set = read_parameters(arguments.params);
        if (!set) return set.failure();
        return set->wire;
    }
    plan::ModelParameters parameters;
    const auto model = plan::parse_wire_model(arguments.model);
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
    Option params = add_option(
        command, "--params", arguments.params,
        "a named set (infiniband-2007, archer-xc30-min, archer-xc30-median) or a file of lines "
        "`key value`, in place of the numbers that follow");
    add_options(
        command,
        {{"--model", arguments.model, "postal, pipelined-postal, logp or loggp"},
         {"--latency-ns", arguments.latency, "from the end of a send to the arrival"},
         {"--issue-ns", arguments.issue, "pipelined-postal: of the sender for each message"},
         {"--ns-per-byte", arguments.per_byte, "of the sender for each byte"},
         {"--reduce-ns", arguments.reduce, "for each received message that is combined"},
         {"--reduce-ns-per-byte", arguments.reduce_per_byte, "for each byte that is combined"},
         {"--overhead-ns", arguments.overhead, "logp, loggp: of both ends for each message"},
         {"--gap-ns", arguments.gap, "logp, loggp: between two sends, or two receptions"}});
    params.excludes(command, {"--model", "--latency-ns", "--issue-ns", "--ns-per-byte",
                              "--reduce-ns", "--reduce-ns-per-byte", "--overhead-ns", "--gap-ns"});
}

}  // namespace weft::front
