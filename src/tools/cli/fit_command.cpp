// SPDX-License-Identifier: BSD-3-Clause
// fit_command.cpp - `weft fit`: measures, and fits the costs of puts on the nodes of this job.
//
// Idea     All measurements are repeated in several passes, because machines have modes that last
//          for seconds or minutes; passes.hpp selects passes.
// Holds    A message costs issue + latency + receive. The sum of a local message is the time of a
//          flag between two ranks plus that of a call. The sum of a remote message is the mean of a
//          one-way call and an exchange, because in an exchange each rank sends before it receives.
//          `issue` and `receive` of a local message are each the time of a repeated broadcast
//          without the cost of a call. All times of a cost come from one pass.
// Next     fit.hpp for the measurements; docs/selection.md for the file.
#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "plan/select/machine.hpp"
#include "run/job/measured_files.hpp"
#include "run/team/choice.hpp"
#include "tools/cli/fit.hpp"
#include "tools/lab/cost/parameters.hpp"
#include "tools/measure/passes.hpp"

namespace weft::tools {

namespace {

struct FitArguments {
    std::string output;
    int repetitions = 300;
    int passes = 5;
    double pause = 3;
};

/// Size of the messages and copies whose costs are compared between passes.
constexpr double kTypicalBytes = 16384;

/// Rounds to three decimal places, the maximum in files of parameters.
double rounded(double value) {
    return std::max(0.0, std::round(value * 1000) / 1000);
}

/// Returns the time from the start of the send to the end of the reception. A local peer is assumed
/// to have its own processor, even if the ranks of this job share processors.
double message_ns(const PeerTimes& kind) {
    if (kind.is_near()) return (kind.flag_us + kind.calls.alone_us) * 1000;
    return (kind.calls.one_way_us + kind.calls.exchange_us) / 2 * 1000;
}

double issue_ns(const PeerTimes& kind) {
    const double all_ns = message_ns(kind);
    if (kind.is_near())
        return std::clamp((kind.calls.broadcast_us - kind.calls.alone_us) * 1000, 0.0, all_ns / 3);
    for (const Multicast& multicast : kind.multicasts)
        if (multicast.mode == std::string_view("non-blocking") &&
            multicast.until == std::string_view("issued"))
            return std::clamp(multicast.line(&lab::Summary::median).slope * 1000, 0.0, all_ns);
    return all_ns / 3;
}

double receive_ns(const PeerTimes& kind) {
    if (kind.is_near()) return issue_ns(kind);
    const double rest_ns = message_ns(kind) - issue_ns(kind);
    return kind.receive_us ? std::clamp(*kind.receive_us * 1000, 0.0, rest_ns) : rest_ns / 2;
}

/// Returns the time until the next rank runs on a shared processor: half a round trip of two ranks
/// on one processor, without the message; at least the default cost. If ranks share no processor,
/// returns `assumed`, the provider's cost.
double turn_ns(const PeerTimes& kind, const plan::PutCost& assumed) {
    if (!kind.shared_us) return plan::nanoseconds(assumed.turn);
    return std::max(plan::nanoseconds(plan::kSharedMemory.turn),
                    *kind.shared_us * 1000 - message_ns(kind));
}

/// Returns the time per byte of a one-way message. A local message includes the copy out of the
/// put target. A remote message does not: this copy is the separate cost `copy_ns` per byte.
double byte_ns(const PeerTimes& kind, double copy_ns) {
    if (kind.is_near()) return kind.blocks.slope * 1000;
    return std::max(0.0, kind.calls.received.slope * 1000 - copy_ns);
}

/// Returns the additional time per byte if both ranks send.
double receive_byte_ns(const PeerTimes& kind, double copy_ns) {
    if (kind.is_near()) return 0;
    // In an exchange each rank also copies the block that it keeps.
    return std::clamp(kind.calls.both_ways_us * 1000 - copy_ns, 0.0, byte_ns(kind, copy_ns));
}

/// Adds the keys of local or remote puts, as tools/lab/cost/parameters.hpp reads them.
void add_parameters(Json& parameters, const PeerTimes& kind, double copy_ns,
                    const plan::PutCost& assumed) {
    const auto key = [&](const char* name) { return fmt::format("{}_{}", kind.name, name); };
    parameters[key("latency_ns")] = rounded(message_ns(kind) - issue_ns(kind) - receive_ns(kind));
    parameters[key("issue_ns")] = rounded(issue_ns(kind));
    parameters[key("receive_ns")] = rounded(receive_ns(kind));
    parameters[key("ns_per_byte")] = lab::parseable_nanoseconds_per_byte(byte_ns(kind, copy_ns));
    if (!kind.is_near())
        parameters[key("receive_ns_per_byte")] =
            lab::parseable_nanoseconds_per_byte(receive_byte_ns(kind, copy_ns));
    parameters[key("slot_ns")] = rounded((kind.calls.slot_us - kind.calls.cell_us) * 1000);
    parameters[key("turn_ns")] = rounded(turn_ns(kind, assumed));
    if (kind.is_near()) parameters["call_ns"] = rounded(kind.calls.alone_us * 1000);
}

/// Adds the costs of copies. Each of two ranks copies half of the bytes, so the slope is half of
/// the cost per byte. The intercept is a sum: the wait (measured with symmetric memory, which is
/// not exposed), the exposure, and the fixed cost of the copy.
void add_parameters(Json& parameters, const NearCopies& copies) {
    // In a job of several nodes, the waits include polls of the network.
    const double waits_ns = lab::fit_line_relative(copies.of_job).intercept * 1000;
    const double expose_ns = rounded(copies.expose_us.value_or(0) * 1000);
    parameters["expose_ns"] = copies.expose_us ? expose_ns : plan::nanoseconds(plan::kExpose);
    for (const auto& [name, points, exposed_ns, usual] :
         {std::tuple{"mapped", copies.in_place, expose_ns, plan::kMapped},
          {"kernel", copies.by_kernel, 0.0, plan::kKernelCopy}}) {
        const lab::Line line = lab::fit_line_relative(points);
        // Noise may make this difference of times negative.
        const double fixed_ns = rounded(line.intercept * 1000 - waits_ns - exposed_ns);
        parameters[fmt::format("{}_ns", name)] = fixed_ns > 0 ? fixed_ns : plan::nanoseconds(usual);
        parameters[fmt::format("{}_ns_per_byte", name)] =
            lab::parseable_nanoseconds_per_byte(2 * line.slope * 1000);
    }
    const double combined = 2 * lab::fit_line_relative(copies.reduced).slope * 1000;
    parameters["mapped_reduce_ns_per_byte"] = lab::parseable_nanoseconds_per_byte(
        combined - parameters["reduce_ns_per_byte"].get<double>());
}

void add_parameters(Json& parameters, const OwnMemory& memory) {
    parameters["copy_ns_per_byte"] = lab::parseable_nanoseconds_per_byte(memory.copy_ns_per_byte);
    parameters["cold_ns_per_byte"] = lab::parseable_nanoseconds_per_byte(memory.cold_ns_per_byte);
    parameters["unpack_ns_per_byte"] =
        lab::parseable_nanoseconds_per_byte(memory.unpack_ns_per_byte);
    parameters["cache_bytes"] = memory.cache_bytes;
}

void add_parameters(Json& parameters, const Adoption& adoption) {
    for (const auto& [what, points] :
         {std::pair{"adopt", adoption.adopt}, {"window", adoption.window}}) {
        const lab::Line line = lab::fit_line(points);
        parameters[fmt::format("{}_ns", what)] = rounded(line.intercept * 1000);
        parameters[fmt::format("{}_ns_per_page", what)] = rounded(line.slope * 1000);
    }
}

Json to_json(const PeerTimes& kind, const Multicast& multicast) {
    Json times = Json::array();
    for (std::size_t i = 0; i < multicast.by_peers.size(); ++i)
        times.push_back({{"peers", i + 1},
                         {"min_us", multicast.by_peers[i].min},
                         {"median_us", multicast.by_peers[i].median}});
    Json object{{"way", kind.name}, {"mode", multicast.mode}, {"until", multicast.until}};
    for (const auto& [name, statistic] :
         {std::pair{"min", &lab::Summary::min}, {"median", &lab::Summary::median}}) {
        const lab::Line line = multicast.line(statistic);
        object[name] = {
            {"alpha_p_us", line.intercept}, {"alpha_r_us", line.slope}, {"r2", line.r2}};
    }
    object["times"] = std::move(times);
    return object;
}

/// Returns the results of the passes that have them.
template <class Measured>
std::vector<Measured> present(const std::vector<FitPass>& passes,
                              std::optional<Measured> FitPass::*results) {
    std::vector<Measured> found;
    for (const FitPass& pass : passes)
        if (pass.*results) found.push_back(*(pass.*results));
    return found;
}

template <class Measured>
lab::Points middle_of(const std::vector<Measured>& passes, lab::Points Measured::*points) {
    std::vector<lab::Points> all;
    for (const Measured& pass : passes) all.push_back(pass.*points);
    return lab::middle_points(all);
}

/// Returns the medians of the passes with remapped buffers, or of all passes if none has any.
std::optional<NearCopies> middle_copies(const std::vector<FitPass>& passes) {
    std::vector<NearCopies> all = present(passes, &FitPass::copies);
    const auto adopts = [](const NearCopies& copies) { return copies.expose_us.has_value(); };
    if (std::ranges::any_of(all, adopts)) std::erase_if(all, std::not_fn(adopts));
    if (all.empty()) return std::nullopt;
    NearCopies middle{.of_job = middle_of(all, &NearCopies::of_job),
                      .in_place = middle_of(all, &NearCopies::in_place),
                      .by_kernel = middle_of(all, &NearCopies::by_kernel),
                      .reduced = middle_of(all, &NearCopies::reduced)};
    std::vector<double> exposed_us;
    for (const NearCopies& copies : all)
        if (copies.expose_us) exposed_us.push_back(*copies.expose_us);
    if (!exposed_us.empty()) middle.expose_us = lab::median(exposed_us);
    return middle;
}

std::optional<Adoption> middle_adoption(const std::vector<FitPass>& passes) {
    const std::vector<Adoption> all = present(passes, &FitPass::adoption);
    if (all.empty()) return std::nullopt;
    return Adoption{middle_of(all, &Adoption::adopt), middle_of(all, &Adoption::window)};
}

/// Returns one kind of peers of the chosen pass. The small difference between the times of one and
/// both directions is noisy, so it is the median of all passes.
std::optional<PeerTimes> middle_peers(const std::vector<FitPass>& passes, std::size_t chosen,
                                      std::optional<PeerTimes> FitPass::*kind) {
    std::optional<PeerTimes> found = passes[chosen].*kind;
    if (!found) return found;
    std::vector<double> both_ways_us;
    for (const PeerTimes& times : present(passes, kind))
        both_ways_us.push_back(times.calls.both_ways_us);
    found->calls.both_ways_us = lab::median(both_ways_us);
    return found;
}

/// Returns the results for the file: medians of all passes for copies, one chosen pass for others.
FitPass chosen_of(const std::vector<FitPass>& passes, const lab::ChosenPasses& chosen) {
    return {.near = middle_peers(passes, chosen.near, &FitPass::near),
            .far = middle_peers(passes, chosen.far, &FitPass::far),
            .copies = middle_copies(passes),
            .memory = passes[chosen.memory].memory,
            .adoption = middle_adoption(passes),
            .flags_us = {}};
}

Json parameters_of(const FitPass& costs, const plan::Machine& assumed) {
    Json parameters = Json::object();
    const double copy_ns = costs.memory.copy_ns_per_byte;
    if (costs.near) add_parameters(parameters, *costs.near, copy_ns, assumed.near);
    if (costs.far) add_parameters(parameters, *costs.far, copy_ns, assumed.far);
    parameters["reduce_ns_per_byte"] =
        lab::parseable_nanoseconds_per_byte(costs.memory.reduce_ns_per_byte);
    if (costs.copies) add_parameters(parameters, *costs.copies);
    add_parameters(parameters, costs.memory);
    if (costs.adoption) add_parameters(parameters, *costs.adoption);
    return parameters;
}

void add_measured(Json& report, const PeerTimes& kind) {
    for (const Multicast& multicast : kind.multicasts)
        report["multicasts"].push_back(to_json(kind, multicast));
    Json turns{{"way", kind.name},
               {"half_us", kind.round_trips.intercept},
               {"ns_per_byte", kind.round_trips.slope * 1000},
               {"r2", kind.round_trips.r2}};
    if (kind.shared_us) turns["shared_us"] = *kind.shared_us;
    if (kind.bound) turns["bound"] = true;
    report["turns"].push_back(std::move(turns));
    report["blocks"].push_back(
        {{"way", kind.name}, {"ns_per_byte", kind.blocks.slope * 1000}, {"r2", kind.blocks.r2}});
}

Json passes_of(const std::vector<lab::Pass>& passes, const lab::ChosenPasses& chosen) {
    Json array = Json::array();
    for (std::size_t i = 0; i < passes.size(); ++i) {
        Json flags = Json::array();
        for (const double flag : passes[i].flags_ns) flags.push_back(rounded(flag));
        Json pass{{"flag_ns", std::move(flags)}, {"memory_ns", rounded(passes[i].memory_ns)}};
        for (const auto& [name, cost] : {std::pair{"near_ns", passes[i].near_ns},
                                         {"far_ns", passes[i].far_ns},
                                         {"copies_ns", passes[i].copies_ns}})
            if (cost) pass[name] = rounded(*cost);
        pass["taken"] = Json::array();
        if (i == chosen.near && passes[i].near_ns) pass["taken"].push_back("near");
        if (i == chosen.far && passes[i].far_ns) pass["taken"].push_back("far");
        if (i == chosen.memory) pass["taken"].push_back("memory");
        array.push_back(std::move(pass));
    }
    return array;
}

/// Returns the values by which passes are compared.
lab::Pass summary_of(const FitPass& pass) {
    lab::Pass summary{.memory_ns = kTypicalBytes * pass.memory.copy_ns_per_byte};
    if (pass.copies) {
        const lab::Line line = lab::fit_line_relative(pass.copies->in_place);
        summary.copies_ns = (line.intercept + kTypicalBytes * line.slope) * 1000;
    }
    for (const double flag_us : pass.flags_us) summary.flags_ns.push_back(flag_us * 1000);
    const auto cost_ns = [&](const PeerTimes& kind) {
        return message_ns(kind) + kTypicalBytes * byte_ns(kind, pass.memory.copy_ns_per_byte);
    };
    if (pass.near) summary.near_ns = cost_ns(*pass.near);
    if (pass.far) summary.far_ns = cost_ns(*pass.far);
    return summary;
}

Json report_of(Runtime& runtime, const std::vector<FitPass>& passes,
               const std::vector<lab::Pass>& summaries, const lab::ChosenPasses& chosen) {
    const FitPass costs = chosen_of(passes, chosen);
    Json report{{"schema", run::kParametersSchema},
                {"machine", machine_name()},
                {"provider", runtime.provider()},
                {"ranks", runtime.world().size()},
                {"nodes", runtime.nodes()},
                {"parameters", parameters_of(costs, run::machine_over(runtime.provider()))},
                {"passes", passes_of(summaries, chosen)}};
    for (const char* what : {"multicasts", "turns", "blocks"}) report[what] = Json::array();
    if (costs.near) add_measured(report, *costs.near);
    if (costs.far) add_measured(report, *costs.far);
    return report;
}

void print_text(const Json& report) {
    fmt::print("{} ranks on {} nodes, {}\n", report["ranks"].get<int>(), report["nodes"].get<int>(),
               json_text(report["provider"]));
    for (const Json& multicast : report["multicasts"])
        for (const char* statistic : {"min", "median"}) {
            const Json& line = multicast[statistic];
            fmt::print("{:5} {:13} {:7} {:7} alpha_p {:9.3f} us  alpha_r {:9.3f} us  R^2 {:.3f}\n",
                       json_text(multicast["way"]), json_text(multicast["mode"]),
                       json_text(multicast["until"]), statistic, line["alpha_p_us"].get<double>(),
                       line["alpha_r_us"].get<double>(), line["r2"].get<double>());
        }
    for (const Json& turns : report["turns"])
        if (turns.contains("bound"))
            fmt::print(
                "{} turns: not measured, because rank 0 and its peer are bound to different "
                "processors\n",
                json_text(turns["way"]));
    for (const auto& [key, value] : report["parameters"].items())
        fmt::print("{} {}\n", key, value.get<double>());
}

void print_pass(const lab::Pass& pass, std::size_t number, int passes) {
    std::string text = fmt::format("pass {} of {}: 16 KiB copied {:.2f} us", number, passes,
                                   pass.memory_ns * 1e-3);
    for (const auto& [name, cost] :
         {std::pair{"near", pass.near_ns}, {"in place", pass.copies_ns}, {"far", pass.far_ns}})
        if (cost) text += fmt::format(", {} {:.2f} us", name, *cost * 1e-3);
    if (!pass.flags_ns.empty())
        text += fmt::format(", a flag {:.0f} to {:.0f} ns", std::ranges::min(pass.flags_ns),
                            std::ranges::max(pass.flags_ns));
    fmt::print(stderr, "weft fit: {}\n", text);
}

void print_modes(const lab::ChosenPasses& chosen) {
    if (!chosen.flags_differ()) return;
    fmt::print(
        stderr,
        "weft fit: the time of a flag from rank to rank varied from {:.0f} to {:.0f} ns: the "
        "machine has modes, or was busy. Near costs are those of the fastest mode; in other modes "
        "calls take longer, and other algorithms may be the fastest\n",
        chosen.flag_min_ns, chosen.flag_max_ns);
}

FitPass measure_pass(FitRanks& ranks, PutMeasure& puts, MemoryMeasure& memory) {
    FitPass found;
    if (!ranks.local_peers().empty()) found.near = puts.measure("near", ranks.local_peers());
    if (!ranks.remote_peers().empty()) found.far = puts.measure("far", ranks.remote_peers());
    found.copies = memory.copies();
    puts.time_flag();
    found.memory = memory.own_memory();
    found.adoption = memory.adoption();
    puts.time_flag();
    found.flags_us = puts.take_flags();
    return found;
}

/// Returns the report on rank 0, which prints progress; null on other ranks.
Json fit_in_passes(Runtime& runtime, const FitArguments& arguments) {
    FitRanks ranks(runtime.world());
    PutMeasure puts(ranks, arguments.repetitions);
    MemoryMeasure memory(ranks, arguments.repetitions);
    std::vector<FitPass> passes;
    std::vector<lab::Pass> summaries;
    const bool reports = runtime.world().rank() == 0;
    while (std::ssize(passes) < arguments.passes) {
        if (!passes.empty() && arguments.pause > 0) ranks.pause(arguments.pause);
        passes.push_back(measure_pass(ranks, puts, memory));
        if (!reports) continue;
        summaries.push_back(summary_of(passes.back()));
        print_pass(summaries.back(), summaries.size(), arguments.passes);
    }
    if (!reports) return {};
    const lab::ChosenPasses chosen = lab::choose_passes(summaries);
    print_modes(chosen);
    return report_of(runtime, passes, summaries, chosen);
}

int fit(const FitArguments& arguments) {
    Runtime runtime;
    const bool alone = runtime.world().size() < 2;
    const Json report = alone ? Json() : fit_in_passes(runtime, arguments);
    runtime.finalize();
    if (alone) refuse("one rank has no peers: weft run -n 9 weft fit");
    if (report.is_null()) return 0;
    print_text(report);
    if (!arguments.output.empty()) write_file("--output", arguments.output, report.dump(2) + "\n");
    return 0;
}

}  // namespace

void add_fit_command(CLI::App& app) {
    const auto [command, arguments] = add_command<FitArguments>(
        app, "fit", "measure the costs of puts on the nodes of this job (start it with weft run)",
        &fit, "weft fit");
    add_option(*command, "--output", arguments->output,
               "write a file of parameters for --params of cost, simulate and explain");
    add_option(*command, "--repetitions", arguments->repetitions, "samples of each figure")
        .within(3, 100'000);
    add_option(*command, "--passes", arguments->passes,
               "number of repetitions of all measurements, because a machine may change its speed")
        .within(1, 1000);
    add_option(*command, "--pause", arguments->pause, "seconds between two passes")
        .within(0.0, 3600.0);
}

}  // namespace weft::tools
