// SPDX-License-Identifier: BSD-3-Clause
// simulate.cpp - times the simulator's engines and the search for schedules.
//
// Idea     Each case runs several times. The minimum and the median are printed, because other load
//          on a machine only adds time. Generation is part of a case if the engine needs programs.
// Next     docs/selection.md for the engines.
#include "tools/simulate/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "collectives/notation/optimum.hpp"
#include "collectives/registry.hpp"
#include "tools/lab/program/command_line.hpp"
#include "tools/lab/program/json.hpp"
#include "tools/measure/statistics.hpp"
#include "tools/simulate/events.hpp"
#include "tools/simulate/noise.hpp"
#include "tools/simulate/wire_model.hpp"

namespace {

using weft::Rank;
using weft::lab::Json;
namespace lab = weft::lab;
namespace plan = weft::plan;
namespace collectives = weft::collectives;

struct SimulatedCall {
    std::string collective;
    std::string spec;
    Rank ranks;
};

const std::string kMillionRanks = "a4,a4,a4,a5,a5,a5,a5,a5,a5";  ///< a schedule

lab::SimulationInputs inputs(plan::Time noise) {
    lab::SimulationInputs settings;
    settings.model = weft::lab::message_model(
        {.latency = 500'000, .issue = 100'000, .reduce = 10'000, .byte_fs = 400'000});
    settings.noise = weft::lab::Noise(weft::lab::Distribution::uniform, noise);
    return settings;
}

plan::Stages stages_of(const SimulatedCall& call) {
    const auto spec = collectives::parse_spec(call.spec);
    return *collectives::generate_stages(call.collective, *spec,
                                         {.size = call.ranks, .elements = 8});
}

const plan::BufferSize kEightBytes{.elements = 8, .element_bytes = 1};
constexpr collectives::StageCost kStageCost{.latency = 1340, .message = 340};

/// Builds the image of all programs in this thread, because the goals are for one core.
lab::ImagePart image_of(const plan::Stages& stages, const plan::MessageModel& model) {
    lab::ImagePart part(model, kEightBytes);
    static_cast<void>(weft::lab::add_programs(part, stages, 0, stages.size()));
    return part;
}

struct CaseResult {
    std::uint64_t count = 0;  ///< messages, or schedules
    std::uint64_t waits = 0;
    double makespan_ns = 0;  ///< or the sum of costs; equal in all runs
};

CaseResult result_of(const weft::base::Result<lab::Outcome>& outcome, std::uint64_t waits) {
    return {outcome->messages, waits, static_cast<double>(outcome->makespan) / 1000};
}

using CaseRun = std::function<CaseResult()>;

/// Returns a simulation by the structured engine.
CaseRun structured(const SimulatedCall& call, plan::Time noise = 0) {
    return [=] {
        const auto outcome = lab::simulate_structured(stages_of(call), kEightBytes, inputs(noise));
        return result_of(outcome, outcome->events - outcome->messages);
    };
}

enum class Engine : std::uint8_t { generic, events };

/// Returns a simulation of generated programs.
CaseRun by_programs(Engine engine, const SimulatedCall& call, plan::Time noise = 0) {
    return [=] {
        const lab::SimulationInputs settings = inputs(noise);
        const lab::ImagePart part = image_of(stages_of(call), settings.model);
        return result_of(engine == Engine::events ? lab::simulate_events({&part, 1}, settings)
                                                  : lab::simulate_generic({&part, 1}, settings),
                         part.waits());
    };
}

/// Returns a simulation of ranks in classes of equal ranks.
CaseRun folded(const SimulatedCall& call) {
    return [=] {
        const auto outcome = lab::simulate_folded(stages_of(call), kEightBytes, inputs(0));
        return result_of(outcome, outcome->events - outcome->messages);
    };
}

/// Enumerates all schedules of all sizes up to 128, with their costs.
CaseResult enumerate() {
    CaseResult all;
    std::int64_t least = 0;
    for (Rank size = 2; size <= 128; ++size) {
        std::int64_t best = std::numeric_limits<std::int64_t>::max();
        for (int family = 0; family < 3; ++family)
            collectives::for_each_schedule(
                size, static_cast<collectives::ScheduleFamily>(family),
                [&](const collectives::Schedule& schedule) {
                    ++all.count;
                    best = std::min(best, collectives::cost_of(schedule, kStageCost));
                    return true;
                });
        least += best;
    }
    all.makespan_ns = static_cast<double>(least);
    return all;
}

CaseResult search() {
    const collectives::OptimumSearch search(999'983, kStageCost);
    return {1, 0, static_cast<double>(search.find(999'983).cost)};
}

struct Case {
    const char* name;
    double goal_s;  ///< 0: none
    CaseRun run;
};

std::vector<Case> make_cases() {
    const SimulatedCall million{"allreduce", kMillionRanks, 1'000'000};
    return {
        {"structured, 10^6 ranks, noise", 0.1, structured(million, 50'000)},
        {"structured, 10^6 ranks", 0.1, structured(million)},
        {"structured, dissemination, 2^20 ranks", 0.1,
         structured({"barrier", "dissemination", 1 << 20})},
        {"structured, 15,625,000 ranks", 2,
         structured({"allreduce", "a8,a5,a5,a5,a5,a5,a5,a5,a5,a5", 15'625'000})},
        {"generic and generation, 10^6 ranks, noise", 1,
         by_programs(Engine::generic, million, 50'000)},
        {"events and generation, 10^5 ranks", 0,
         by_programs(Engine::events, {"allreduce", "a4,a4,a2,a5,a5,a5,a5,a5", 100'000})},
        {"folded, 10^9 ranks", 0.01,
         folded({"allreduce", "a10,a10,a10,a10,a10,a10,a10,a10,a10", 1'000'000'000})},
        {"folded, merge of 10^9+7 ranks", 0.01,
         folded({"allreduce", "m7g100000000a10,a10,a10,a10,a10,a10,a10,a10,n7g100000000a10",
                 1'000'000'007})},
        {"enumerate and cost, n <= 128", 0.1, enumerate},
        {"search for the best schedule, n = 999,983", 0.1, search},
    };
}

std::string processor() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
    return "unknown processor";
}

}  // namespace

int main(int argument_count, char** arguments) {
    int repeats = 5;
    bool json = false;
    std::string name_part;
    weft::lab::CommandLine line{"simulate", "Times of the simulator's engines."};
    line.option("--repeats", repeats, "How often each case runs").within(1, 1000);
    line.option("--case", name_part, "Only cases whose name contains this");
    line.flag("--json", json, "One JSON object on stdout");
    if (const auto status = line.read(argument_count, arguments)) return *status;
    Json rows = Json::array();
    const std::string machine =
        fmt::format("{}, {} threads", processor(), std::thread::hardware_concurrency());
    if (!json)
        fmt::print("{}\n{:44} {:>10} {:>10} {:>8} {:>14} {:>14} {:>10}\n", machine, "case",
                   "least s", "median s", "goal s", "messages", "waits", "M/s");
    for (const Case& timed_case : make_cases()) {
        if (std::string_view(timed_case.name).find(name_part) == std::string_view::npos) continue;
        std::vector<double> seconds;
        CaseResult result;
        for (int i = 0; i < repeats; ++i) {
            const std::uint64_t begin = weft::base::monotonic_ns();
            result = timed_case.run();
            seconds.push_back(static_cast<double>(weft::base::monotonic_ns() - begin) * 1e-9);
        }
        const double least = std::ranges::min(seconds);
        const double median = weft::lab::median(seconds);
        rows.push_back({{"case", timed_case.name},
                        {"least_s", least},
                        {"median_s", median},
                        {"goal_s", timed_case.goal_s},
                        {"messages", result.count},
                        {"waits", result.waits},
                        {"makespan_ns", result.makespan_ns}});
        if (json) continue;
        fmt::print("{:44} {:>10.4f} {:>10.4f} {:>8} {:>14} {:>14} {:>10.1f}\n", timed_case.name,
                   least, median, timed_case.goal_s > 0 ? fmt::format("{}", timed_case.goal_s) : "",
                   result.count, result.waits, static_cast<double>(result.count) / least * 1e-6);
        std::fflush(stdout);
    }
    if (json) weft::lab::print_json(Json{{"machine", machine}, {"rows", rows}});
    return 0;
}
