// SPDX-License-Identifier: BSD-3-Clause
// fit_command.cpp - `weft fit`: what puts cost on the nodes of this job, measured and fitted.
//
// Holds    What a message takes is issue, latency and receive. Near, that is a flag that two pass
//          to each other, and a call; far, the mean of a call that goes one way and an exchange,
//          since in the latter each rank has to send before it can receive. Near puts take their
//          sender and their receiver what a call of a stream takes beyond entering it.
// Next     fit_measure.hpp for what is measured; docs/cost.md for the file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "front/cli/answer.hpp"
#include "front/cli/commands.hpp"
#include "front/cli/fit_measure.hpp"
#include "front/cli/job_command.hpp"
#include "front/cli/tuning_file.hpp"
#include "run/runtime/choice.hpp"
#include "run/runtime/measured_files.hpp"

namespace weft::front {

namespace {

struct FitArguments {
    std::string output;
    int repetitions = 300;
};

/// Three decimal places, as files of parameters have them at most.
double rounded(double value) {
    return std::max(0.0, std::round(value * 1000) / 1000);
}

/// Of what is given for each byte: six.
double fine(double value) {
    return std::max(0.0, std::round(value * 1e6) / 1e6);
}

bool is_near(const Way& way) {
    return way.name == std::string_view("near");
}

/// From the sender's begin to the receiver's end. On a node, of ranks that have a processor each,
/// even if those of this job do not.
double message_ns(const Way& way) {
    if (is_near(way)) return (way.flag_us + way.calls.alone_us) * 1000;
    return (way.calls.one_way_us + way.calls.exchange_us) / 2 * 1000;
}

double issue_ns(const Way& way) {
    const double all_ns = message_ns(way);
    if (is_near(way))
        return std::clamp((way.calls.broadcast_us - way.calls.alone_us) * 1000, 0.0, all_ns / 3);
    for (const Multicast& multicast : way.multicasts)
        if (multicast.mode == std::string_view("non-blocking") &&
            multicast.until == std::string_view("issued"))
            return std::clamp(multicast.line(&lab::Summary::median).slope * 1000, 0.0, all_ns);
    return all_ns / 3;
}

double receive_ns(const Way& way) {
    if (is_near(way)) return issue_ns(way);
    const double rest_ns = message_ns(way) - issue_ns(way);
    return way.receive_us ? std::clamp(*way.receive_us * 1000, 0.0, rest_ns) : rest_ns / 2;
}

/// From the turn of one rank to that of the next one on its processor, beyond what they do: between
/// two that only wait for each other half a round trip is one turn. Where ranks share none, what is
/// assumed of the provider.
double turn_ns(const Way& way, const plan::PutCost& assumed) {
    if (!way.shared_us) return plan::nanoseconds(assumed.turn);
    return std::max(0.0, *way.shared_us * 1000 - issue_ns(way) - receive_ns(way));
}

/// Of a message that goes one way. What is near is copied from where it was put, too.
double byte_ns(const Way& way) {
    return (is_near(way) ? way.blocks : way.turns).slope * 1000;
}

/// Beyond that, where both send.
double receive_byte_ns(const Way& way) {
    if (is_near(way)) return 0;
    return std::clamp(way.exchanges.slope * 1000 - byte_ns(way), 0.0, byte_ns(way));
}

/// The keys of one way, as lab/cost/parameters.hpp reads them.
void add_parameters(Json& parameters, const Way& way, const plan::PutCost& assumed) {
    const auto key = [&](const char* name) { return fmt::format("{}_{}", way.name, name); };
    parameters[key("latency_ns")] = rounded(message_ns(way) - issue_ns(way) - receive_ns(way));
    parameters[key("issue_ns")] = rounded(issue_ns(way));
    parameters[key("receive_ns")] = rounded(receive_ns(way));
    parameters[key("ns_per_byte")] = fine(byte_ns(way));
    if (!is_near(way)) parameters[key("receive_ns_per_byte")] = fine(receive_byte_ns(way));
    parameters[key("slot_ns")] = rounded((way.calls.slot_us - way.calls.cell_us) * 1000);
    parameters[key("turn_ns")] = rounded(turn_ns(way, assumed));
    if (is_near(way)) parameters["call_ns"] = rounded(way.calls.alone_us * 1000);
}

/// What two ranks copy takes half as long as one of them would need; the rest is waiting, for which
/// memory that need not be exposed stands, what exposing takes, and what each step takes.
void add_parameters(Json& parameters, const NearCopies& copies) {
    // In a job of several nodes each wait may look at the network, too.
    const double waits_ns = copies.of_job.intercept * 1000;
    const double expose_ns = rounded(copies.expose_us.value_or(0) * 1000);
    parameters["expose_ns"] = expose_ns;
    for (const auto& [way, line, exposed_ns] :
         {std::tuple{"mapped", copies.in_place, expose_ns}, {"kernel", copies.by_kernel, 0.0}}) {
        parameters[fmt::format("{}_ns", way)] =
            rounded(line.intercept * 1000 - waits_ns - exposed_ns);
        parameters[fmt::format("{}_ns_per_byte", way)] = fine(2 * line.slope * 1000);
    }
    const double combined = 2 * copies.reduced.slope * 1000;
    parameters["mapped_reduce_ns_per_byte"] =
        fine(combined - parameters["reduce_ns_per_byte"].get<double>());
}

void add_parameters(Json& parameters, const OwnMemory& memory) {
    parameters["copy_ns_per_byte"] = fine(memory.copy_ns_per_byte);
    parameters["cold_ns_per_byte"] = fine(memory.cold_ns_per_byte);
    parameters["cache_bytes"] = memory.cache_bytes;
}

void add_parameters(Json& parameters, const Adoption& adoption) {
    for (const auto& [what, line] :
         {std::pair{"adopt", adoption.adopt}, {"window", adoption.window}}) {
        parameters[fmt::format("{}_ns", what)] = rounded(line.intercept * 1000);
        parameters[fmt::format("{}_ns_per_page", what)] = rounded(line.slope * 1000);
    }
}

/// Adding a vector of doubles to another, in a cache.
double reduce_ns_per_byte() {
    constexpr std::size_t kElements = 4096;
    constexpr int kRounds = 200;
    const run::ReduceFn add = run::reduce_kernel(Type::float64, Op::sum);
    std::vector<double> sum(kElements, 1.0);
    const std::vector<double> other(kElements, 1.0);
    std::vector<double> times;
    for (int round = 0; round < kRounds; ++round) {
        const std::uint64_t begin = base::monotonic_ns();
        add(sum.data(), sum.data(), other.data(), kElements);
        times.push_back(static_cast<double>(base::monotonic_ns() - begin));
    }
    return lab::median(times) / (kElements * sizeof(double));
}

Json to_json(const Way& way, const Multicast& multicast) {
    Json times = Json::array();
    for (std::size_t i = 0; i < multicast.by_peers.size(); ++i)
        times.push_back({{"peers", i + 1},
                         {"min_us", multicast.by_peers[i].min},
                         {"median_us", multicast.by_peers[i].median}});
    Json object{{"way", way.name}, {"mode", multicast.mode}, {"until", multicast.until}};
    for (const auto& [name, statistic] :
         {std::pair{"min", &lab::Summary::min}, {"median", &lab::Summary::median}}) {
        const lab::Line line = multicast.line(statistic);
        object[name] = {
            {"alpha_p_us", line.intercept}, {"alpha_r_us", line.slope}, {"r2", line.r2}};
    }
    object["times"] = std::move(times);
    return object;
}

/// What was measured on all ranks.
struct Fitted {
    std::vector<Way> ways;
    std::optional<NearCopies> copies;
    std::optional<Adoption> adoption;
    OwnMemory memory;
};

Json report_of(Runtime& runtime, const Fitted& fitted) {
    const plan::Machine assumed = run::machine_over(runtime.provider());
    Json parameters = Json::object();
    Json multicasts = Json::array();
    Json turns = Json::array();
    Json blocks = Json::array();
    for (const Way& way : fitted.ways) {
        add_parameters(parameters, way, is_near(way) ? assumed.near : assumed.far);
        for (const Multicast& multicast : way.multicasts)
            multicasts.push_back(to_json(way, multicast));
        turns.push_back({{"way", way.name},
                         {"half_us", way.turns.intercept},
                         {"ns_per_byte", way.turns.slope * 1000},
                         {"r2", way.turns.r2}});
        blocks.push_back(
            {{"way", way.name}, {"ns_per_byte", way.blocks.slope * 1000}, {"r2", way.blocks.r2}});
        if (way.shared_us) turns.back()["shared_us"] = *way.shared_us;
        if (way.bound) turns.back()["bound"] = true;
    }
    parameters["reduce_ns_per_byte"] = fine(reduce_ns_per_byte());
    if (fitted.copies) add_parameters(parameters, *fitted.copies);
    add_parameters(parameters, fitted.memory);
    if (fitted.adoption) add_parameters(parameters, *fitted.adoption);
    return {{"schema", run::kParametersSchema},
            {"machine", machine_name()},
            {"provider", runtime.provider()},
            {"ranks", runtime.world().size()},
            {"nodes", runtime.nodes()},
            {"parameters", std::move(parameters)},
            {"multicasts", std::move(multicasts)},
            {"turns", std::move(turns)},
            {"blocks", std::move(blocks)}};
}

void print_text(const Json& report) {
    fmt::print("{} ranks on {} nodes, {}\n", report["ranks"].get<int>(), report["nodes"].get<int>(),
               lab::json_text(report["provider"]));
    for (const Json& multicast : report["multicasts"])
        for (const char* statistic : {"min", "median"}) {
            const Json& line = multicast[statistic];
            fmt::print("{:5} {:13} {:7} {:7} alpha_p {:9.3f} us  alpha_r {:9.3f} us  R^2 {:.3f}\n",
                       lab::json_text(multicast["way"]), lab::json_text(multicast["mode"]),
                       lab::json_text(multicast["until"]), statistic,
                       line["alpha_p_us"].get<double>(), line["alpha_r_us"].get<double>(),
                       line["r2"].get<double>());
        }
    for (const Json& turns : report["turns"])
        if (turns.contains("bound"))
            fmt::print(
                "{} turns: not measured, as rank 0 and its peer are bound to different "
                "processors\n",
                lab::json_text(turns["way"]));
    for (const auto& [key, value] : report["parameters"].items())
        fmt::print("{} {}\n", key, value.get<double>());
}

base::Result<int> fit(const FitArguments& arguments) {
    Runtime runtime;
    if (runtime.world().size() < 2) {
        runtime.finalize();
        return base::fail(Status::argument, "one rank has no peers: weft run -n 9 weft fit");
    }
    FitMeasure measure(runtime, arguments.repetitions);
    Fitted fitted{.ways = measure.ways()};
    fitted.copies = measure.copies(fitted.ways);
    fitted.memory = measure.own_memory();
    fitted.adoption = measure.adoption();
    base::Result<void> written;
    if (runtime.world().rank() == 0) {
        const Json report = report_of(runtime, fitted);
        print_text(report);
        if (!arguments.output.empty())
            written = write_file("--output", arguments.output, report.dump(2) + "\n");
    }
    runtime.finalize();
    if (!written) return written.failure();
    return 0;
}

int run_fit(const FitArguments& arguments) {
    try {
        const auto status = fit(arguments);
        return status ? *status : refuse("fit", status.failure());
    } catch (const Error& error) {
        return refuse("fit", {error.status(), error.what()});
    }
}

}  // namespace

void add_fit_command(CLI::App& app, int& exit_status) {
    auto arguments = std::make_shared<FitArguments>();
    CLI::App& command = add_command(
        app, "fit", "measure what puts cost on the nodes of this job (start it with weft run)");
    add_option(command, "--output", arguments->output,
               "write a file of parameters for --params of cost, simulate and explain");
    add_option(command, "--repetitions", arguments->repetitions, "samples of each figure")
        .within(3, 100'000)
        .shows_default();
    on_run(command, exit_status, [arguments] { return run_fit(*arguments); });
}

}  // namespace weft::front
