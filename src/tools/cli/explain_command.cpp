// SPDX-License-Identifier: BSD-3-Clause
// explain_command.cpp - `weft explain`: the algorithm that a call would use, and predicted times
// of the others.
//
// Idea     Calls the runtime's selection for a team that options describe. By default this is a job
//          of `weft run` on this machine, whose nodes all share its processors.
// Next     docs/selection.md; run/team/choice.hpp.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/element_types.hpp"
#include "base/suggestion.hpp"
#include "collectives/registry.hpp"
#include "collectives/v_collective.hpp"
#include "run/job/measured_files.hpp"
#include "run/team/choice.hpp"
#include "run/team/offload.hpp"
#include "tools/cli/command.hpp"
#include "tools/cli/job_command.hpp"
#include "tools/cli/machine_facts.hpp"
#include "tools/cli/model_options.hpp"
#include "tools/cli/program_options.hpp"
#include "tools/cli/table.hpp"
#include "tools/launch/layout.hpp"

namespace weft::tools {

namespace {

struct ExplainArguments {
    std::string collective;
    Rank ranks = 0;
    std::string bytes = "8";
    std::string type = "double";
    std::string op = "sum";
    std::optional<Rank> nodes;
    std::string layout;
    std::optional<Rank> hosts;
    std::optional<int> processors;
    std::string provider;
    std::string params;
    std::string tuning;
    std::vector<std::string> algorithms;
    bool stage = false;
    bool copy = false;
    bool measure = false;
    bool json = false;
};

constexpr Rank kRanksMax = 1'000'000;

base::Result<void> check(const ExplainArguments& arguments) {
    if (arguments.ranks < 1 || arguments.ranks > kRanksMax)
        return base::fail(Status::argument, "--ranks: {} is not in 1..{}", arguments.ranks,
                          kRanksMax);
    if (arguments.nodes && !arguments.layout.empty())
        return base::fail(Status::argument, "--nodes and --layout exclude each other");
    const Rank nodes = arguments.nodes.value_or(1);
    if (nodes < 1 || nodes > arguments.ranks)
        return base::fail(Status::argument, "--nodes: {} is not in 1..{} (the ranks)", nodes,
                          arguments.ranks);
    return {};
}

/// Returns the node of each rank, as in `weft run`.
base::Result<std::vector<Rank>> nodes_of(const ExplainArguments& arguments) {
    if (!arguments.layout.empty()) return read_nodes(arguments.layout, arguments.ranks);
    const auto spread = spread_over_nodes(arguments.ranks, arguments.nodes.value_or(1));
    if (!spread) return spread.failure();
    return node_of_ranks(*spread);
}

/// Returns the option's value, or else that of the variable which a job would read.
std::string given_or(const std::string& option, const char* variable) {
    const char* const set = std::getenv(variable);
    return !option.empty() || set == nullptr ? option : set;
}

/// Cost of puts, and the processors of each node if a file gives them.
struct Costs {
    plan::Machine machine;
    std::optional<int> processors;
};

base::Result<Costs> costs_of(const ExplainArguments& arguments) {
    const std::string provider = given_or(arguments.provider, "WEFT_PROVIDER");
    const std::string params = given_or(arguments.params, "WEFT_PARAMETERS");
    if (params.empty()) {
        const auto known = run::providers_with_costs();
        // A job on one node reports "none".
        const bool any = provider.empty() || provider == "none";
        if (!any && std::ranges::find(known, provider) == known.end())
            return base::fail(Status::argument,
                              "{}: no cost data for provider '{}'; known: {} (others: --params "
                              "FILE){}",
                              arguments.provider.empty() ? "WEFT_PROVIDER" : "--provider", provider,
                              fmt::join(known, ", "), base::did_you_mean(provider, known));
        return Costs{run::machine_over(provider), {}};
    }
    const auto parameters = read_parameters(params);
    if (!parameters) return parameters.failure();
    if (!parameters->machine)
        return base::fail(Status::argument,
                          "--params {}: has no costs of local and remote puts (near_latency_ns, "
                          "far_latency_ns, ...)",
                          params);
    return Costs{parameters->measured.over(run::machine_over(provider)),
                 parameters->measured.processors()};
}

base::Result<plan::Machine> machine_of(const ExplainArguments& arguments) {
    auto costs = costs_of(arguments);
    if (!costs) return costs.failure();
    plan::Machine& machine = costs->machine;
    auto node_of = nodes_of(arguments);
    if (!node_of) return node_of.failure();
    machine.node_of = *std::move(node_of);
    machine.direct = !arguments.stage;
    if (arguments.copy) machine = plan::with_kernel_copies(std::move(machine));
    const Rank each_node = costs->processors ? machine.node_of.back() + 1 : 1;
    const int processors = costs->processors.value_or(usable_processors());
    const auto shared =
        share_processors(machine, arguments.ranks, arguments.hosts.value_or(each_node),
                         arguments.processors.value_or(processors));
    if (!shared) return shared.failure();
    return std::move(costs->machine);
}

base::Result<run::CallClass> call_of(const ExplainArguments& arguments, Collective even,
                                     bool counted) {
    if (!collectives::traits_of(even).has_data()) return run::class_of({.collective = even});
    const auto elements = read_elements(arguments.bytes, arguments.type);
    if (!elements) return elements.failure();
    const auto op = base::parse_op(arguments.op);
    if (!op) return op.failure().within("--op");
    run::CallClass call = run::class_of(
        {.collective = even, .count = elements->count, .type = elements->type, .op = *op});
    call.counted = counted;
    return call;
}

/// Adapts the candidates to calls with counts.
void adapt_to_counts(plan::Choice& choice, const collectives::CollectiveTraits& traits) {
    if (!traits.has_counts()) return;
    if (!traits.has_pairwise_counts()) {
        choice.reason += "; chosen by the mean count";
        return;
    }
    // These calls send directly from rank to rank, as these algorithms of equal blocks do.
    std::erase_if(choice.candidates, [](const plan::RankedCandidate& candidate) {
        return candidate.algorithm != "direct" && candidate.algorithm != "flat";
    });
    for (plan::RankedCandidate& candidate : choice.candidates)
        candidate.algorithm = collectives::kPairwiseAlgorithm;
    choice.chosen = 0;
    choice.reason = "the only one, as no rank knows more counts than its own";
}

base::Result<plan::Tuning> tuning_of(const ExplainArguments& arguments) {
    const std::string path = given_or(arguments.tuning, "WEFT_TUNING");
    if (path.empty()) return plan::Tuning();
    auto tuning = run::read_tuning(path);
    if (!tuning) return tuning.failure().within("--tuning");
    return tuning;
}

/// Measured times by algorithm in a job on this machine, or reasons of failures.
struct MeasuredTimes {
    std::map<std::string, double> us;
    std::map<std::string, std::string> failures;
};

/// Returns the words that start the described job, as far as this machine permits.
base::Result<std::vector<std::string>> words_of_job(const ExplainArguments& arguments) {
    if (arguments.hosts.value_or(1) != 1)
        return base::fail(Status::argument, "--measure: jobs run on this machine alone: --hosts 1");
    const auto self = own_program();
    if (!self) return self.failure();
    std::vector<std::string> words{*self, "run"};
    const auto add = [&](std::initializer_list<std::string> more) {
        words.insert(words.end(), more);
    };
    if (!arguments.layout.empty())
        add({"--layout", arguments.layout});
    else
        add({"-n", std::to_string(arguments.ranks), "--nodes",
             std::to_string(arguments.nodes.value_or(1))});
    if (arguments.stage || arguments.copy)
        add({"-x", fmt::format("WEFT_DIRECT={}", arguments.stage ? "stage" : "copy")});
    if (!arguments.provider.empty() && arguments.provider != "none")
        add({"-x", fmt::format("WEFT_PROVIDER={}", arguments.provider)});
    add({"--", *self, "bench", arguments.collective, "--json", "--seconds", "0.05"});
    if (collectives::find_collective(arguments.collective)->has_data())
        add({"--bytes", arguments.bytes, "--type", arguments.type, "--op", arguments.op});
    return words;
}

/// Adds a row of a bench to the times of its algorithm.
void take_row(const Json& row, const std::string& algorithm, MeasuredTimes& found) {
    if (row.at("checked").get<bool>())
        found.us[algorithm] = row.at("median_us").get<double>();
    else
        found.failures[algorithm] = "the result is wrong";
}

/// Measures all candidates in one job. If that fails, measures each in a separate job, so that a
/// failure of one does not affect the others.
base::Result<MeasuredTimes> measure(const plan::Choice& choice, const ExplainArguments& arguments) {
    constexpr double kSecondsMost = 120;
    const auto job = words_of_job(arguments);
    if (!job) return job.failure();
    std::vector<std::string> all = *job;
    for (const plan::RankedCandidate& candidate : choice.candidates)
        all.insert(all.end(), {"--algorithm", candidate.algorithm});
    MeasuredTimes found;
    if (const auto answer = json_of(all, kSecondsMost);
        answer && answer->at("results").size() == choice.candidates.size()) {
        for (std::size_t i = 0; i < choice.candidates.size(); ++i)
            take_row(answer->at("results").at(i), choice.candidates[i].algorithm, found);
        return found;
    }
    for (const plan::RankedCandidate& candidate : choice.candidates) {
        std::vector<std::string> words = *job;
        words.insert(words.end(), {"--algorithm", candidate.algorithm});
        if (const auto answer = json_of(words, kSecondsMost))
            take_row(answer->at("results").at(0), candidate.algorithm, found);
        else
            found.failures[candidate.algorithm] = answer.failure().text;
    }
    if (found.us.empty() && !found.failures.empty())
        return base::fail(Status::environment, "--measure: {}", found.failures.begin()->second);
    return found;
}

/// Returns a line that tells whether the call can be offloaded, and when that pays.
std::string offload_line(const ExplainArguments& arguments,
                         const collectives::CollectiveTraits& traits, Rank nodes) {
    if (const auto usual = run::usual_offload(traits.collective); !usual)
        return fmt::format("no: {}", usual.failure().text);
    const std::string provider = given_or(arguments.provider, "WEFT_PROVIDER");
    if (nodes < 2) return "no: the ranks share memory and use no network";
    if (provider.empty()) return "no: the usual provider has no triggered operations";
    const run::OffloadVerdict verdict = run::judge_offload(provider);
    if (!verdict.promised) return fmt::format("no: over {} {}", provider, verdict.why);
    return fmt::format(
        "over {}, {}: it pays if ranks are absent while others wait for them, because the network "
        "forwards their data; if all ranks are present, a started call is faster",
        provider, verdict.why);
}

/// Returns the report. With --measure, each candidate has `measured_us`: null after a failure.
Json report_of(const plan::Choice& choice, const ExplainArguments& arguments, Rank nodes,
               const std::string& offload, const MeasuredTimes* measured) {
    Json candidates = Json::array();
    for (const plan::RankedCandidate& candidate : choice.candidates) {
        candidates.push_back({{"algorithm", candidate.algorithm},
                              {"predicted_us", plan::nanoseconds(candidate.in_stream) * 1e-3},
                              {"alone_us", plan::nanoseconds(candidate.predicted) * 1e-3},
                              {"bit_identical", candidate.bit_identical},
                              {"ordered", candidate.ordered}});
        if (measured == nullptr) continue;
        const auto found = measured->us.find(candidate.algorithm);
        candidates.back()["measured_us"] =
            found != measured->us.end() ? Json(found->second) : Json();
    }
    return {{"collective", arguments.collective},
            {"ranks", arguments.ranks},
            {"nodes", nodes},
            {"chosen", choice.algorithm()},
            {"source", choice.measured_us ? "measured" : "model"},
            {"reason", choice.reason},
            {"offload", offload},
            {"measured_us", choice.measured_us ? Json(*choice.measured_us) : Json()},
            {"candidates", std::move(candidates)}};
}

void print_text(const Json& report, const MeasuredTimes* measured) {
    std::vector<Column> columns{{"predicted_us", "predicted_us", 14, 3}};
    if (measured != nullptr) columns.push_back({"measured_us", "measured_us", 14, 3});
    columns.push_back({.title = "order", .key = "ordered", .width = -6, .words = {"any", "rank"}});
    columns.push_back({"bit-identical", "bit_identical", -13});
    columns.push_back({"algorithm", "algorithm", -9});
    fmt::print("{}: {}\noffload: {}\n{}", json_text(report["chosen"]), json_text(report["reason"]),
               json_text(report["offload"]), table_head(columns));
    for (const Json& candidate : report["candidates"]) {
        fmt::print("{}", table_row(columns, candidate));
        if (measured == nullptr || !candidate["measured_us"].is_null()) continue;
        fmt::print("{:>16}({})\n", "", measured->failures.at(json_text(candidate["algorithm"])));
    }
}

base::Result<int> explain(const ExplainArguments& arguments) {
    if (auto known = check_any_collective(arguments.collective); !known) return known.failure();
    const collectives::CollectiveTraits& traits =
        *collectives::find_collective(arguments.collective);
    if (auto checked = check(arguments); !checked) return checked.failure();
    const auto call = call_of(arguments, traits.even, traits.has_counts());
    if (!call) return call.failure();
    const auto machine = machine_of(arguments);
    if (!machine) return machine.failure();
    const auto tuning = tuning_of(arguments);
    if (!tuning) return tuning.failure();
    auto choice = run::rank_algorithms(*machine, arguments.ranks, *call, *tuning,
                                       given_or(arguments.provider, "WEFT_PROVIDER"));
    if (!choice) return choice.failure();
    for (const std::string& algorithm : arguments.algorithms) {
        const auto spec = collectives::parse_spec(algorithm);
        if (!spec) return spec.failure().within("--algorithm");
        if (auto done = run::also_rank(*choice, *spec, *machine, arguments.ranks, *call); !done)
            return done.failure().within(fmt::format("--algorithm \"{}\"", algorithm));
    }
    adapt_to_counts(*choice, traits);
    std::optional<MeasuredTimes> measured;
    if (arguments.measure) {
        auto found = measure(*choice, arguments);
        if (!found) return found.failure();
        measured = *std::move(found);
    }
    const MeasuredTimes* const times = measured ? &*measured : nullptr;
    const Rank nodes = machine->node_of.back() + 1;
    const std::string offload = offload_line(arguments, traits, nodes);
    const Json report = report_of(*choice, arguments, nodes, offload, times);
    if (arguments.json)
        print_json(report);
    else
        print_text(report, times);
    return 0;
}

}  // namespace

void add_explain_command(CLI::App& app, int& exit_status) {
    const auto [command, arguments] = add_command<ExplainArguments>(
        app, exit_status, "explain", "the algorithm that a call would use, and why", &explain);
    add_option(*command, "collective", arguments->collective, "barrier, broadcast, allreduce, ...")
        .required();
    add_option(*command, "--ranks", arguments->ranks, "number of ranks").required();
    add_option(*command, "--bytes", arguments->bytes,
               "bytes of each rank's vector, or of a block; for v-collectives the mean block")
        .shows_default();
    add_option(*command, "--type", arguments->type, "element type").shows_default();
    add_option(*command, "--op", arguments->op, "reduction operation").shows_default();
    add_option(*command, "--nodes", arguments->nodes, "number of nodes; default: 1");
    add_option(*command, "--layout", arguments->layout,
               "ranks of each node, as in 3,1,4 or 18x128");
    add_option(
        *command, "--hosts", arguments->hosts,
        "number of machines that the nodes share; default: 1, as for `weft run --nodes`, or the "
        "number of nodes if --params has `processors`");
    add_option(*command, "--processors", arguments->processors,
               "processors of each host; default: those of --params, else those usable here");
    add_option(*command, "--provider", arguments->provider,
               "libfabric provider between nodes; default: WEFT_PROVIDER, else TCP");
    add_option(*command, "--params", arguments->params,
               "a file with the costs of local and remote puts, in place of the provider's costs; "
               "default: WEFT_PARAMETERS");
    add_option(*command, "--tuning", arguments->tuning,
               "a file of choices that `weft tune` has measured; default: WEFT_TUNING");
    add_option(*command, "--algorithm", arguments->algorithms,
               "predict this one, too; may be given several times")
        .one_value_each();
    add_flag(*command, "--stage", arguments->stage,
             "local peers do not reach each other's buffers, as with WEFT_DIRECT=stage");
    add_flag(*command, "--copy", arguments->copy,
             "the kernel copies between buffers of local peers, as with WEFT_DIRECT=copy");
    add_flag(*command, "--measure", arguments->measure,
             "also run each candidate on this machine, and print its time beside the prediction");
    add_json_flag(*command, arguments->json);
}

}  // namespace weft::tools
