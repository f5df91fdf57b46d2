// SPDX-License-Identifier: BSD-3-Clause
// main.cpp - weft_farm: runs scenarios, prints a line for each, and shortens failing scenarios.
//
// Idea     Runs seeds up to a number of seeds or minutes. --fault plants a fault into each
//          scenario. --controls runs seeds with each fault planted, and fails unless a seed detects
//          the fault.
// Next     docs/reliability.md for the results so far; scenario.hpp for the scenario of a seed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>

#include "tests/virtual/farm/shrink.hpp"

namespace weft::farm {

namespace {

constexpr std::uint64_t kControlSeeds = 200;  ///< tried for each planted fault
constexpr std::size_t kShortMax = 12;         ///< acts that may remain after shortening

/// Options of the command line.
struct Options {
    std::uint64_t seeds = 100;
    double minutes = 0;              ///< 0: the number of seeds limits the run
    std::uint64_t seed = 1;          ///< first seed
    std::size_t acts = 100;          ///< number of acts of a scenario
    std::uint64_t schedule = 0;      ///< seed of the order of events
    std::vector<std::size_t> calls;  ///< indices of the acts to run; empty: all
    Fault fault = Fault::none;
    std::vector<Fault> controls;  ///< faults that --controls plants; empty: all
    bool twice = false;           ///< run each seed twice and compare the traces
    bool quiet = false;           ///< print failing seeds only
};

constexpr const char* kUsage =
    "usage: farm [--seeds N] [--minutes M] [--seed S | --seed clock] [--acts A] [--quiet]\n"
    "            [--schedule K] [--calls I,J,...] [--twice] [--fault NAME] [--controls [NAMES]]\n"
    "  Runs random jobs on virtual networks and looks for errors.\n"
    "  --seeds     number of seeds (100); --minutes: limit on the time instead\n"
    "  --seed      first seed (1); clock: taken from the clock\n"
    "  --acts      number of calls of a job (100)\n"
    "  --schedule, --calls   repeat a failure as printed\n"
    "  --twice     run each seed twice; the ranks must run in the same order\n"
    "  --fault     plant this fault; --fault list: print the names\n"
    "  --controls  plant each fault, or each of NAMES: it must be detected within\n"
    "              200 seeds and shortened to 12 calls\n";

/// Prints a shortened scenario and the command that repeats it.
void print_failing(const Scenario& scenario, const FailingPart& failing, const Options& options) {
    fmt::print("  shrunk to {} calls on {}: {}\n", failing.part.size(), to_text(scenario),
               failing.wrong);
    for (const std::size_t act : failing.part)
        fmt::print("    {:4}: {}\n", act, to_text(scenario, scenario.acts[act]));
    std::string fault;
    for (const FaultEntry& entry : kFaults)
        if (entry.fault == scenario.fault) fault = fmt::format(" --fault {}", entry.name);
    fmt::print("  repeat: tests/farm --seeds 1 --seed {} --acts {} --schedule {} --calls {}{}\n",
               scenario.seed, options.acts, failing.schedule, fmt::join(failing.part, ","), fault);
    std::fflush(stdout);
}

/// Returns the indices of all acts.
std::vector<std::size_t> all_acts(const Scenario& scenario) {
    std::vector<std::size_t> all(scenario.acts.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
}

/// Runs seeds with this fault until one fails, and shortens its scenario. Returns false if no seed
/// fails or too many acts remain.
bool detect_fault(const FaultEntry& entry, const Options& options) {
    for (std::uint64_t seed = options.seed; seed < options.seed + kControlSeeds; ++seed) {
        const Scenario scenario = draw_scenario(seed, entry.fault, options.acts);
        Report report = run_in_child(scenario, all_acts(scenario), 0);
        if (report.wrong.empty()) continue;
        const FailingPart failing =
            shrink(scenario, {all_acts(scenario), 0, std::move(report.wrong)});
        fmt::print("{}: {} ({}): detected at seed {}\n", entry.component, entry.name,
                   entry.description, seed);
        print_failing(scenario, failing, options);
        return failing.part.size() <= kShortMax;
    }
    fmt::print("{}: {}: NOT DETECTED within {} seeds\n", entry.component, entry.name,
               kControlSeeds);
    return false;
}

int run_controls(const Options& options) {
    int missed = 0;
    for (const FaultEntry& entry : kFaults) {
        const bool selected =
            options.controls.empty() ||
            std::ranges::find(options.controls, entry.fault) != options.controls.end();
        if (selected && !detect_fault(entry, options)) ++missed;
    }
    fmt::print("{} faults missed\n", missed);
    return missed == 0 ? 0 : 1;
}

/// Runs a seed and adds its number of operations to `operations`. Returns false if it failed.
bool run_seed(std::uint64_t seed, const Options& options, std::uint64_t& operations) {
    const Scenario scenario = draw_scenario(seed, options.fault, options.acts);
    const std::vector<std::size_t> part =
        options.calls.empty() ? all_acts(scenario) : options.calls;
    Report report = run_in_child(scenario, part, options.schedule);
    operations += report.operations;
    if (options.twice && report.wrong.empty()) {
        const Report again = run_in_child(scenario, part, options.schedule);
        if (again.trace != report.trace || again.switches != report.switches)
            report.wrong = "a second run of the seed differs";
    }
    if (!options.quiet || !report.wrong.empty())
        fmt::print("seed {}: {}, {} operations, {} switches, trace {:x}: {}\n", seed,
                   to_text(scenario), report.operations, report.switches, report.trace,
                   report.wrong.empty() ? "ok" : "FAILS: " + report.wrong);
    std::fflush(stdout);
    if (report.wrong.empty()) return true;
    if (options.calls.empty())
        print_failing(scenario, shrink(scenario, {part, options.schedule, report.wrong}), options);
    return false;
}

int run_seeds(const Options& options) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(60 * options.minutes);
    std::uint64_t operations = 0;
    std::uint64_t failures = 0;
    std::uint64_t seed = options.seed;
    while (failures < 5) {  // each failure takes long to shorten
        const bool is_over =
            options.minutes > 0 ? Clock::now() >= end : seed - options.seed >= options.seeds;
        if (is_over) break;
        if (!run_seed(seed++, options, operations)) ++failures;
    }
    fmt::print("{} seeds from {} on, {} operations, {} failed\n", seed - options.seed, options.seed,
               operations, failures);
    return failures == 0 ? 0 : 1;
}

/// Reads a number. Returns false if the text is not a number.
template <class Number>
bool read(std::string_view text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size();
}

/// Calls visit() for each entry of a comma-separated list. Returns false when a call does.
template <class Visit>
bool each_of(std::string_view list, Visit visit) {
    while (true) {
        const std::size_t comma = list.find(',');
        if (!visit(list.substr(0, comma))) return false;
        if (comma == std::string_view::npos) return true;
        list.remove_prefix(comma + 1);
    }
}

bool read_seed(std::string_view text, std::uint64_t& seed) {
    if (text != "clock") return read(text, seed);
    seed = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) /
           1000;
    return true;
}

bool read_fault(std::string_view text, Fault& fault) {
    const auto named = fault_named(text);
    fault = named.value_or(Fault::none);
    return named.has_value();
}

/// Reads an option with a value.
bool read_option(std::string_view name, std::string_view text, Options& options) {
    if (name == "--seeds") return read(text, options.seeds);
    if (name == "--minutes") return read(text, options.minutes);
    if (name == "--seed") return read_seed(text, options.seed);
    if (name == "--acts") return read(text, options.acts);
    if (name == "--schedule") return read(text, options.schedule);
    if (name == "--fault") return read_fault(text, options.fault);
    if (name == "--calls")
        return each_of(
            text, [&](std::string_view act) { return read(act, options.calls.emplace_back()); });
    return false;
}

int usage() {
    fmt::print(stderr, "{}", kUsage);
    return 2;
}

int run(std::span<char* const> arguments) {
    Options options;
    bool controls = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string_view name = arguments[i];
        const bool has_value = i + 1 < arguments.size();
        if (name == "--twice") {
            options.twice = true;
        } else if (name == "--quiet") {
            options.quiet = true;
        } else if (name == "--controls") {
            controls = true;
            if (!has_value || *arguments[i + 1] == '-') continue;
            const bool known = each_of(arguments[++i], [&](std::string_view fault) {
                return read_fault(fault, options.controls.emplace_back());
            });
            if (!known) return usage();
        } else if (name == "--fault" && has_value && std::strcmp(arguments[i + 1], "list") == 0) {
            for (const FaultEntry& entry : kFaults)
                fmt::print("{:10} {:20} {}\n", entry.component, entry.name, entry.description);
            return 0;
        } else if (!has_value || !read_option(name, arguments[++i], options)) {
            return usage();
        }
    }
    return controls ? run_controls(options) : run_seeds(options);
}

}  // namespace

}  // namespace weft::farm

int main(int argc, char** argv) {
    return weft::farm::run({argv + 1, static_cast<std::size_t>(argc - 1)});
}
