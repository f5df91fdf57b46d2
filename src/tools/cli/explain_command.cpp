// SPDX-License-Identifier: BSD-3-Clause
// explain_command.cpp - `weft explain`: predicted times of algorithms, and which a call would use.
//
// Idea     Calls the runtime's selection for a team that options describe. By default this is a job
//          of `weft run` on this machine, whose nodes all share its processors. The times of the
//          candidates are simulated.
// Next     docs/selection.md; run/team/choice.hpp.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/element_types.hpp"
#include "base/suggestion.hpp"
#include "base/units.hpp"
#include "run/job/measured_files.hpp"
#include "run/team/choice.hpp"
#include "tools/cli/job_command.hpp"
#include "tools/cli/model_options.hpp"
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
    std::string objective;
    std::string descriptors_max;
    std::vector<std::string> algorithms;
    bool stage = false;
    bool copy = false;
    bool measure = false;
    bool json = false;
};

constexpr Rank kRanksMax = 1'000'000;

/// Returns the node of each rank, as in `weft run`.
std::vector<Rank> nodes_of(const ExplainArguments& arguments) {
    if (!arguments.layout.empty()) return read_nodes(arguments.layout, arguments.ranks);
    return node_of_ranks(need(spread_over_nodes(arguments.ranks, arguments.nodes.value_or(1))));
}

/// Returns the option's value, or else that of the variable which a job would read.
std::string given_or(const std::string& option, const char* variable) {
    const char* const set = std::getenv(variable);
    return !option.empty() || set == nullptr ? option : set;
}

plan::Machine machine_of(const ExplainArguments& arguments) {
    const std::string provider = given_or(arguments.provider, "WEFT_PROVIDER");
    const std::string params = given_or(arguments.params, "WEFT_PARAMETERS");
    const auto known = run::providers_with_costs();
    // `weft info` reports the provider "none" in a job on one node.
    if (params.empty() && !provider.empty() && provider != "none" &&
        std::ranges::find(known, provider) == known.end())
        refuse("{}: no cost data for provider '{}'; known: {} (others: --params FILE){}",
               arguments.provider.empty() ? "WEFT_PROVIDER" : "--provider", provider,
               fmt::join(known, ", "), base::did_you_mean(provider, known));
    plan::Machine machine = run::machine_over(provider);
    std::optional<int> file_processors;  // of each node
    if (!params.empty()) {
        const lab::CostParameters parameters = read_parameters(params);
        if (!parameters.machine)
            refuse(
                "--params {}: has no costs of local and remote puts (near_latency_ns, "
                "far_latency_ns, ...)",
                params);
        machine = parameters.measured.over(machine);
        file_processors = parameters.measured.processors();
    }
    machine.node_of = nodes_of(arguments);
    machine.direct = !arguments.stage;
    if (arguments.copy) machine = plan::with_kernel_copies(std::move(machine));
    // The processors in a file are those of each node, so each node is then a host.
    const Rank default_hosts = file_processors ? machine.node_of.back() + 1 : 1;
    share_processors(machine, arguments.ranks, arguments.hosts.value_or(default_hosts),
                     arguments.processors.value_or(file_processors.value_or(usable_processors())));
    return machine;
}

/// Returns the preference that the options or the variables of a job state.
plan::Preference preference_of(const ExplainArguments& arguments) {
    plan::Preference preference;
    const std::string objective = given_or(arguments.objective, "WEFT_OBJECTIVE");
    const auto found = std::ranges::find(base::kObjectiveNames, objective);
    if (found == base::kObjectiveNames.end() && !objective.empty())
        refuse("{}: '{}' is unknown, expected time, energy or descriptors",
               arguments.objective.empty() ? "WEFT_OBJECTIVE" : "--objective", objective);
    if (!objective.empty())
        preference.objective = static_cast<base::Objective>(found - base::kObjectiveNames.begin());
    const std::string most = given_or(arguments.descriptors_max, "WEFT_DESCRIPTORS_MAX");
    if (!most.empty())
        preference.descriptors_max = static_cast<std::uint32_t>(
            need(base::parse_count(most, {.min = 0, .max = 1'000'000'000}),
                 arguments.descriptors_max.empty() ? "WEFT_DESCRIPTORS_MAX" : "--max-descriptors"));
    return preference;
}

run::CallClass call_of(const ExplainArguments& arguments, Collective even, bool counted) {
    if (!collectives::traits_of(even).has_data()) return run::class_of({.collective = even});
    const auto elements = read_elements(arguments.bytes, arguments.type);
    const auto op = need(base::parse_op(arguments.op), "--op");
    run::CallClass call = run::class_of(
        {.collective = even, .count = elements.count, .type = elements.type, .op = op});
    call.counted = counted;
    return call;
}

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

/// Measured times in us by algorithm, in jobs on this machine, or reasons of failures.
using MeasuredTimes = std::map<std::string, base::Result<double>>;

/// Returns the words that start the described job, as far as this machine permits.
Words bench_job(const ExplainArguments& arguments) {
    if (arguments.hosts.value_or(1) != 1)
        refuse("--measure: jobs run on this machine alone: --hosts 1");
    Words options{"--layout", arguments.layout};
    if (arguments.layout.empty())
        options = {"-n", std::to_string(arguments.ranks), "--nodes",
                   std::to_string(arguments.nodes.value_or(1))};
    if (arguments.stage || arguments.copy)
        append(options, {"-x", arguments.stage ? "WEFT_DIRECT=stage" : "WEFT_DIRECT=copy"});
    if (!arguments.provider.empty() && arguments.provider != "none")
        append(options, {"-x", fmt::format("WEFT_PROVIDER={}", arguments.provider)});
    Words command{"bench", arguments.collective, "--json", "--seconds", "0.05"};
    if (known_collective(arguments.collective).has_data())
        append(command,
               {"--bytes", arguments.bytes, "--type", arguments.type, "--op", arguments.op});
    return words_of_job(options, command);
}

base::Result<double> time_of(const Json& row) {
    if (row.at("checked").get<bool>()) return row.at("median_us").get<double>();
    return base::fail(Status::environment, "the result is wrong");
}

/// Measures all candidates in one job. If that fails, measures each in a separate job, so that a
/// failure of one does not affect the others.
MeasuredTimes measure(const plan::Choice& choice, const ExplainArguments& arguments) {
    constexpr double kJobSecondsMax = 120;
    const Words job = bench_job(arguments);
    Words all = job;
    for (const plan::RankedCandidate& candidate : choice.candidates)
        append(all, {"--algorithm", candidate.algorithm});
    MeasuredTimes found;
    if (const auto answer = json_of(all, kJobSecondsMax);
        answer && answer->at("results").size() == choice.candidates.size()) {
        for (std::size_t i = 0; i < choice.candidates.size(); ++i)
            found.emplace(choice.candidates[i].algorithm, time_of(answer->at("results").at(i)));
        return found;
    }
    for (const plan::RankedCandidate& candidate : choice.candidates) {
        Words words = job;
        append(words, {"--algorithm", candidate.algorithm});
        const auto answer = json_of(words, kJobSecondsMax);
        found.emplace(candidate.algorithm, answer ? time_of(answer->at("results").at(0))
                                                  : base::Result<double>(answer.failure()));
    }
    const auto failed = [](const auto& entry) { return !entry.second; };
    if (std::ranges::all_of(found, failed) && !found.empty())
        fail(Status::environment, "--measure: {}", found.begin()->second.failure().text);
    return found;
}

/// Returns the report. With --measure, each candidate has `measured_us`: null after a failure.
Json report_of(const plan::Choice& choice, const ExplainArguments& arguments, Rank nodes,
               const MeasuredTimes& measured) {
    const bool shows_resources = !preference_of(arguments).is_usual();
    Json candidates = Json::array();
    for (const plan::RankedCandidate& candidate : choice.candidates) {
        candidates.push_back({{"algorithm", candidate.algorithm},
                              {"predicted_us", plan::nanoseconds(candidate.in_stream) * 1e-3},
                              {"alone_us", plan::nanoseconds(candidate.alone) * 1e-3},
                              {"bit_identical", candidate.bit_identical},
                              {"ordered", candidate.ordered}});
        if (shows_resources) {
            candidates.back()["energy_uj"] = static_cast<double>(candidate.energy_pj) * 1e-6;
            candidates.back()["descriptors"] = candidate.descriptors;
        }
        if (!arguments.measure) continue;
        const auto& measured_us = measured.at(candidate.algorithm);
        candidates.back()["measured_us"] = measured_us ? Json(*measured_us) : Json();
    }
    return {{"collective", arguments.collective},
            {"ranks", arguments.ranks},
            {"nodes", nodes},
            {"chosen", choice.algorithm()},
            {"source", choice.measured_us ? "measured" : "model"},
            {"reason", choice.reason},
            {"measured_us", choice.measured_us ? Json(*choice.measured_us) : Json()},
            {"candidates", std::move(candidates)}};
}

void print_text(const Json& report, const MeasuredTimes& measured) {
    std::vector<Column> columns{{"predicted_us", "predicted_us", 14, 3}};
    if (!measured.empty()) columns.push_back({"measured_us", "measured_us", 14, 3});
    if (report["candidates"].front().contains("descriptors")) {
        columns.push_back({"energy_uj", "energy_uj", 14, 3});
        columns.push_back({"descriptors", "descriptors", 11});
    }
    columns.push_back({.title = "order", .key = "ordered", .width = -6, .words = {"any", "rank"}});
    columns.push_back({"bit-identical", "bit_identical", -13});
    columns.push_back({"algorithm", "algorithm", -9});
    fmt::print("{}: {}\n{}", json_text(report["chosen"]), json_text(report["reason"]),
               table_head(columns));
    for (const Json& candidate : report["candidates"]) {
        fmt::print("{}", table_row(columns, candidate));
        if (measured.empty() || !candidate["measured_us"].is_null()) continue;
        const auto& failed = measured.at(json_text(candidate["algorithm"]));
        fmt::print("{:>16}({})\n", "", failed.failure().text);
    }
}

/// Replaces the selector's predictions by the times that `weft simulate` gives, except for
/// candidates whose programs of all ranks are too long.
void simulate_candidates(plan::Choice& choice, const plan::Machine& machine, Rank ranks,
                         const run::CallClass& call) {
    constexpr std::size_t kStepsMax = 12'000'000;
    if (machine.oversubscribed() && ranks > lab::kSharingRanksMax) return;
    const std::string chosen = choice.algorithm();
    for (plan::RankedCandidate& ranked : choice.candidates) {
        const auto candidate = need(run::candidate_for(machine, ranks, call, ranked.algorithm));
        const auto middle = need(candidate.program(ranks / 2));
        if (middle.steps.size() * static_cast<std::size_t>(ranks) > kStepsMax) continue;
        lab::Programs programs{.size = ranks, .node_of = machine.node_of};
        programs.program_of = candidate.program;
        programs.banks = candidate.banks;
        const auto simulated =
            need(lab::simulate_call(programs, run::buffer_of(ranks, call), machine));
        ranked.alone = simulated.alone;
        ranked.in_stream = simulated.in_stream;
        ranked.messages = simulated.messages;
    }
    std::ranges::stable_sort(choice.candidates, {}, [&](const plan::RankedCandidate& ranked) {
        return ranked.order(call.preference.objective);
    });
    const auto found =
        std::ranges::find(choice.candidates, chosen, &plan::RankedCandidate::algorithm);
    choice.chosen = static_cast<std::size_t>(found - choice.candidates.begin());
    if (choice.reason.starts_with("least predicted"))
        choice.reason = plan::reason_of(choice, machine, call.needs());
}

int explain(const ExplainArguments& arguments) {
    const collectives::CollectiveTraits& traits = known_collective(arguments.collective);
    if (arguments.ranks < 1 || arguments.ranks > kRanksMax)
        refuse("--ranks: {} is not in 1..{}", arguments.ranks, kRanksMax);
    if (arguments.nodes && !arguments.layout.empty())
        refuse("--nodes and --layout exclude each other");
    if (const Rank nodes = arguments.nodes.value_or(1); nodes < 1 || nodes > arguments.ranks)
        refuse("--nodes: {} is not in 1..{} (the ranks)", nodes, arguments.ranks);
    auto call = call_of(arguments, traits.even, traits.has_counts());
    if (traits.has_data()) call.preference = preference_of(arguments);  // not for barriers
    const auto machine = machine_of(arguments);
    const std::string tuning_file = given_or(arguments.tuning, "WEFT_TUNING");
    const auto tuning =
        tuning_file.empty() ? plan::Tuning() : need(run::read_tuning(tuning_file), "--tuning");
    auto choice = need(run::rank_algorithms(machine, arguments.ranks, call, tuning,
                                            given_or(arguments.provider, "WEFT_PROVIDER")));
    for (const std::string& algorithm : arguments.algorithms) {
        const auto spec = need(collectives::parse_spec(algorithm), "--algorithm");
        need(run::also_rank(choice, spec, machine, arguments.ranks, call),
             fmt::format("--algorithm \"{}\"", algorithm));
    }
    simulate_candidates(choice, machine, arguments.ranks, call);
    adapt_to_counts(choice, traits);
    const auto measured = arguments.measure ? measure(choice, arguments) : MeasuredTimes();
    const Json report = report_of(choice, arguments, machine.node_of.back() + 1, measured);
    if (arguments.json)
        print_json(report);
    else
        print_text(report, measured);
    return 0;
}

}  // namespace

void add_explain_command(CLI::App& app) {
    const auto [command, arguments] = add_command<ExplainArguments>(
        app, "explain", "the algorithm that a call would use, and why", &explain);
    add_option(*command, "collective", arguments->collective, "barrier, broadcast, allreduce, ...")
        .required();
    add_option(*command, "--ranks", arguments->ranks, "number of ranks").required();
    add_option(*command, "--bytes", arguments->bytes,
               "bytes of each rank's buffer, or of a block; for v-collectives the mean block");
    add_option(*command, "--type", arguments->type, "element type");
    add_option(*command, "--op", arguments->op, "reduction operation");
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
    add_option(*command, "--objective", arguments->objective,
               "choose by time, energy or descriptors; default: WEFT_OBJECTIVE, else time");
    add_option(*command, "--max-descriptors", arguments->descriptors_max,
               "most puts and signals in a rank's program, of chosen algorithms; default: "
               "WEFT_DESCRIPTORS_MAX");
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
