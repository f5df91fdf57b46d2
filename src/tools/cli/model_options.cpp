// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/model_options.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/read_file.hpp"
#include "base/units.hpp"
#include "run/job/measured_files.hpp"
#include "run/team/choice.hpp"

namespace weft::tools {

namespace {

/// An option; the key of a file of parameters is its name with underscores, such as latency_ns.
struct ModelOption {
    const char* name;
    const char* usual;  ///< default value
    const char* help;
};
constexpr std::array<ModelOption, ModelArguments::kOptions> kModelOptions{
    {{"--model", "pipelined-postal", "postal, pipelined-postal, logp, loggp, lop or logfp"},
     {"--latency-ns", "0", "time from the end of a send to its arrival"},
     {"--issue-ns", "0", "pipelined-postal: sender time per message"},
     {"--ns-per-byte", "0", "sender time per byte"},
     {"--reduce-ns", "0", "time per received message that is combined"},
     {"--reduce-ns-per-byte", "0", "time per byte that is combined"},
     {"--overhead-ns", "0", "logp, loggp, lop, logfp: time at both ends per message"},
     {"--gap-ns", "0",
      "logp, loggp, logfp: least time between the starts of two sends, or of two receptions"},
     {"--parallel-ends", "0",
      "logp, loggp: 1 charges receptions and signals to another processor, as Hoefler and Moor"},
     {"--free-messages", "1", "logfp: messages in a row that no gap delays"},
     {"--pipeline-ns", "0", "lop: sender time of the first message in a row, 1/k of it for k"},
     {"--saturation-ns", "0", "lop: sender time that is added to message k, x (1 - 2^(1-k))"},
     {"--two-way-ns", "0", "extra latency of a message if its receiver has one in flight, too"},
     {"--two-way-ns-per-byte", "0", "the same for each byte"}}};

/// Converts a JSON file of `weft fit` to lines `key value`; returns other text unchanged.
base::Result<std::string> lines_of(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos || text[first] != '{') return text;
    const Json object = lab::read_json(text);
    if (object.is_discarded() || !object.contains("schema") ||
        object["schema"] != run::kParametersSchema || !object.contains("parameters") ||
        !object["parameters"].is_object())
        return base::fail(Status::argument, "expected a JSON object with the schema {}",
                          run::kParametersSchema);
    std::string lines;
    for (const auto& [key, value] : object["parameters"].items())
        lines += fmt::format("{} {}\n", key,
                             value.is_string() ? value.get<std::string>() : value.dump());
    return lines;
}

Rank node_count(const plan::Machine& machine) {
    return machine.node_of.empty() ? 1 : std::ranges::max(machine.node_of) + 1;
}

/// Sets the costs of messages in a machine whose local and remote messages have equal costs.
void set_message_costs(plan::Machine& machine, const lab::ModelParameters& wire) {
    const plan::MessageModel model = lab::message_model(wire);
    if (model.blocking || model.gap > 0 || model.has_bursts() || model.has_two_way())
        fail(Status::unsupported,
             "ranks share processors only under pipelined-postal, or logp and loggp with "
             "--gap-ns 0, without two-way costs: elsewhere a sender holds its processor while it "
             "waits");
    machine.near = {.latency = model.latency,
                    .issue = model.busy_base,
                    .receive = model.receive,
                    .byte_fs = model.byte_fs,
                    .turn = wire.turn};
    machine.reduce = model.reduce;
    machine.reduce_byte_fs = model.reduce_byte_fs;
}

}  // namespace

lab::CostParameters read_parameters(const std::string& name) {
    const auto sets = lab::named_parameters();
    const auto named = std::ranges::find(sets, name, &lab::CostParameters::name);
    if (named != sets.end()) return *named;
    const auto text = base::read_file(name, run::kMeasuredBytesMax);
    if (!text) {
        std::vector<std::string_view> known;
        for (const lab::CostParameters& set : sets) known.push_back(set.name);
        refuse("--params: {}; expected a file or one of {}", text.failure().text,
               fmt::join(known, ", "));
    }
    const auto lines = need(lines_of(*text), "--params " + name);
    return need(lab::parse_parameters(name, lines), "--params");
}

lab::CostParameters read_model(const ModelArguments& arguments) {
    if (!arguments.params.empty()) return read_parameters(arguments.params);
    lab::CostParameters parameters;
    for (std::size_t i = 0; i < kModelOptions.size(); ++i) {
        std::string key = kModelOptions[i].name + 2;
        std::ranges::replace(key, '-', '_');
        need(lab::set_parameter(parameters, key, arguments.values[i]), kModelOptions[i].name);
    }
    return parameters;
}

void add_model_arguments(CLI::App& command, ModelArguments& arguments) {
    Option params = add_option(
        command, "--params", arguments.params,
        "a named set (infiniband-2007, archer-xc30-min, archer-xc30-median) or a file of lines "
        "`key value`; replaces the options of the model");
    for (std::size_t i = 0; i < kModelOptions.size(); ++i) {
        const auto& [name, usual, help] = kModelOptions[i];
        arguments.values[i] = usual;
        add_option(command, name, arguments.values[i], help);
        params.excludes(command, {name});
    }
}

void share_processors(plan::Machine& machine, Rank ranks, Rank hosts, int processors) {
    const Rank nodes = node_count(machine);
    if (hosts < 1 || hosts > nodes) refuse("--hosts: {} is not in 1..{} (the nodes)", hosts, nodes);
    if (processors < 1) refuse("--processors: {} is less than 1", processors);
    std::vector<std::int64_t> on_host(static_cast<std::size_t>(hosts));
    if (machine.node_of.empty()) on_host.front() = ranks;
    for (const Rank node : machine.node_of)
        ++on_host[static_cast<std::size_t>(std::int64_t{node} * hosts / nodes)];
    machine.host_ranks = std::ranges::max(on_host);
    machine.host_processors = processors;
}

void complete_machine(lab::CostParameters& parameters, const MachineArguments& arguments,
                      std::vector<Rank> node_of, Rank ranks) {
    const bool has_two_costs = parameters.machine.has_value();  // of local and of remote puts
    if (arguments.copy && !has_two_costs)
        refuse(
            "--copy needs --params with a file of near and far puts "
            "(near_latency_ns, far_latency_ns, ...), as weft fit writes it");
    if (arguments.turn && has_two_costs)
        refuse("--turn-ns: --params has near_turn_ns and far_turn_ns");
    if (arguments.turn)
        parameters.wire.turn = need(base::parse_nanoseconds(*arguments.turn), "--turn-ns");
    plan::Machine machine;
    if (has_two_costs) machine = parameters.measured.over(run::machine_over(""));
    machine.node_of = std::move(node_of);
    if (arguments.copy) machine = plan::with_kernel_copies(std::move(machine));
    const std::optional<int> given = parameters.measured.processors();
    const std::optional<int> processors = arguments.processors ? arguments.processors : given;
    if (!processors && (arguments.hosts || arguments.turn))
        refuse("{} needs --processors (or a line `processors N` in the file of --params)",
               arguments.hosts ? "--hosts" : "--turn-ns");
    if (processors)
        share_processors(machine, ranks, arguments.hosts.value_or(node_count(machine)),
                         *processors);
    if (machine.oversubscribed() && ranks > lab::kSharingRanksMax)
        fail(Status::unsupported, "{} ranks share processors; expected at most {}", ranks,
             lab::kSharingRanksMax);
    if (!has_two_costs) {
        if (!machine.oversubscribed()) return;
        machine.node_of.clear();
        set_message_costs(machine, parameters.wire);
        machine.call = parameters.measured.over(machine).call;
    }
    parameters.machine = std::move(machine);
}

plan::PredictedCost simulate_call(const ProgramQuestion& question, const plan::Machine& machine) {
    lab::Programs programs{.size = question.request.size, .node_of = machine.node_of};
    programs.program_of = [&](Rank rank) { return generate_one(question, rank); };
    const plan::BufferSize buffer = question.buffer();
    programs.banks = [&] {
        return run::banks_of(generate_one(question, 0), buffer, machine.bank_bytes);
    };
    return need(lab::simulate_call(programs, buffer, machine));
}

void add_machine_arguments(CLI::App& command, MachineArguments& arguments) {
    add_option(
        command, "--processors", arguments.processors,
        "processors of each host, which its ranks share; default: those of --params, else one "
        "for each rank");
    add_option(command, "--hosts", arguments.hosts,
               "number of machines that the nodes share; default: one for each node");
    add_option(command, "--turn-ns", arguments.turn,
               "time until the next rank runs on a shared processor; only valid if near and far "
               "messages have equal costs");
    add_flag(command, "--copy", arguments.copy,
             "the kernel copies between buffers of local peers, as with WEFT_DIRECT=copy");
}

}  // namespace weft::tools
