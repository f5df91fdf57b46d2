// SPDX-License-Identifier: BSD-3-Clause
// choices.cpp - compares chosen algorithms with the best candidates by simulated times.
//
// Idea     Calls are drawn from a seed: collectives, numbers of ranks and nodes, sizes, costs and
//          processors. The selector chooses for each call as in a job. The simulator runs the
//          programs of all ranks of the candidates. The regret of a call is the simulated time of
//          the chosen algorithm divided by the least simulated time of a candidate.
// Holds    Up to kAllSimulated ranks, the simulator runs all candidates. With more ranks, it runs
//          only candidates whose predicted time is at most kWorthSimulating times the least. A file
//          can keep simulated times, because they do not depend on the selector.
// Next     docs/selection.md.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collectives/collective_traits.hpp"
#include "run/team/choice.hpp"
#include "tools/lab/cost/cost.hpp"
#include "tools/lab/program/command_line.hpp"

namespace {

using weft::Rank;
namespace collectives = weft::collectives;
namespace lab = weft::lab;
namespace plan = weft::plan;
namespace run = weft::run;

constexpr Rank kAllSimulated = 130;
constexpr double kWorthSimulating = 2;

/// Splitmix64: equal numbers on all machines.
class Numbers {
  public:
    explicit Numbers(std::uint64_t seed) : state_(seed) {}
    std::uint64_t below(std::uint64_t end) {
        std::uint64_t hash = state_ += 0x9e3779b97f4a7c15U;
        hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9U;
        hash = (hash ^ hash >> 27) * 0x94d049bb133111ebU;
        return (hash ^ hash >> 31) % end;
    }

  private:
    std::uint64_t state_;
};

struct DrawnCall {
    std::string text;
    plan::Machine machine;
    Rank ranks = 1;
    run::CallClass call;
};

/// Returns the node of each rank. The first nodes get one rank more if the division is uneven.
std::vector<Rank> spread(Rank ranks, Rank nodes) {
    std::vector<Rank> node_of;
    for (Rank node = 0; node < nodes; ++node)
        node_of.insert(node_of.end(),
                       static_cast<std::size_t>(ranks / nodes + (node < ranks % nodes ? 1 : 0)),
                       node);
    return node_of;
}

struct CostSet {
    const char* name;
    plan::PutCost far;
    plan::Card card = {};
};

/// The usual provider, ranks of one node, a slow network, and a network whose NICs are shared.
std::vector<CostSet> cost_sets() {
    const plan::PutCost provider_cost = run::machine_over("").far;
    return {{"provider", provider_cost},
            {"memory", provider_cost},
            {"slow",
             {.latency = 30'000'000,
              .issue = 2'000'000,
              .receive = 1'000'000,
              .byte_fs = 8'000'000,
              .turn = 5'000'000}},
            {"card",
             {.latency = 1'200'000,
              .issue = 150'000,
              .receive = 100'000,
              .byte_fs = 80'000,
              .receive_byte_fs = 20'000,
              .turn = 1'000'000},
             {.message = 20'000, .byte_fs = 40'000}}};
}

/// Draws the number of ranks. Returns the number of nodes.
Rank draw_team(Numbers& numbers, const CostSet& set, std::uint64_t large_percent,
               DrawnCall& drawn) {
    constexpr std::array<Rank, 4> kOddRanks{65, 97, 127, 130};
    constexpr std::uint64_t kOddPercent = 10;
    const std::uint64_t kind = numbers.below(100);
    if (kind < large_percent) {
        const bool largest = numbers.below(2) == 1;
        drawn.ranks = largest ? 2304 : 1000;
        return largest ? 128 : 7;
    }
    drawn.ranks = kind < large_percent + kOddPercent ? kOddRanks[numbers.below(kOddRanks.size())]
                                                     : static_cast<Rank>(2 + numbers.below(63));
    const auto nodes_max = std::min<std::uint64_t>(8, static_cast<std::uint64_t>(drawn.ranks) - 1);
    const bool alone = numbers.below(3) == 0;
    const Rank nodes = alone ? drawn.ranks : static_cast<Rank>(2 + numbers.below(nodes_max));
    return set.name == std::string_view("memory") ? 1 : nodes;
}

/// Draws the most oversubscribed host. In half of the calls it has a processor for each rank.
void draw_host(Numbers& numbers, Rank nodes, DrawnCall& drawn) {
    plan::Machine& machine = drawn.machine;
    const Rank on_node = (drawn.ranks + nodes - 1) / nodes;
    machine.host_ranks = machine.host_processors = on_node;
    const std::uint64_t kind = numbers.below(4);
    if (kind > 1) return;
    machine.host_processors = std::max<Rank>(1, on_node / 4);
    if (kind == 1) return;
    // A single host with two processors, or a processor for each node.
    machine.host_processors = drawn.ranks > kAllSimulated ? 1 : 2;
    if (drawn.ranks <= kAllSimulated) machine.host_ranks = drawn.ranks;
}

DrawnCall draw(Numbers& numbers, const std::vector<CostSet>& sets, std::uint64_t large_percent) {
    DrawnCall drawn;
    const CostSet& set = sets[numbers.below(sets.size())];
    drawn.machine = run::machine_over("");
    drawn.machine.far = set.far;
    drawn.machine.card = set.card;
    const Rank nodes = draw_team(numbers, set, large_percent, drawn);
    drawn.machine.node_of = spread(drawn.ranks, nodes);
    drawn.machine.direct = numbers.below(3) > 0;
    draw_host(numbers, nodes, drawn);
    const auto& row = collectives::kCollectives[numbers.below(collectives::kCollectives.size())];
    const std::uint64_t bytes = std::uint64_t{8} << numbers.below(20);
    drawn.call.collective = collectives::kCollectives[static_cast<std::size_t>(row.even)].name;
    if (row.has_data()) {
        drawn.call.elements = bytes / sizeof(double);
        drawn.call.element_bytes = sizeof(double);
        drawn.call.bit_identical = row.reduces();
        drawn.call.counted = row.has_counts();
    }
    drawn.text = fmt::format("{} ranks={} nodes={} bytes={} costs={} direct={} host={}/{}",
                             row.name, drawn.ranks, nodes, bytes, set.name, drawn.machine.direct,
                             drawn.machine.host_ranks, drawn.machine.host_processors);
    return drawn;
}

/// Simulated times by call and algorithm.
class Simulated {
  public:
    explicit Simulated(const std::string& path) {
        std::ifstream file(path);
        std::string line;
        while (std::getline(file, line)) {
            const std::size_t tab = line.find('\t');
            times_[line.substr(tab + 1)] = std::stoll(line.substr(0, tab));
        }
        if (!path.empty()) out_.open(path, std::ios::app);
    }
    /// Returns nothing if the algorithm does not support the team size.
    std::optional<plan::Time> of(const DrawnCall& drawn, const plan::Candidate& candidate) {
        const std::string key = drawn.text + " " + candidate.algorithm;
        auto known = times_.find(key);
        if (known == times_.end()) {
            lab::Programs programs{.size = drawn.ranks};
            programs.program_of = candidate.program;
            programs.banks = candidate.banks;
            const auto call = lab::simulate_call(programs, run::buffer_of(drawn.ranks, drawn.call),
                                                 drawn.machine);
            known = times_.emplace(key, call ? call->in_stream : -1).first;
            if (out_.is_open()) out_ << known->second << '\t' << key << '\n' << std::flush;
        }
        return known->second < 0 ? std::nullopt : std::optional(known->second);
    }

  private:
    std::map<std::string, plan::Time> times_;
    std::ofstream out_;
};

struct Comparison {
    std::string chosen;
    std::string best;
    plan::Time chosen_time = 0;
    plan::Time best_time = 0;
    double milliseconds = 0;  ///< processor time of the choice

    [[nodiscard]] double regret() const {
        return static_cast<double>(chosen_time) / static_cast<double>(best_time);
    }
};

plan::Choice select(const DrawnCall& drawn, plan::Scope scope) {
    const auto candidates = run::candidates_for(drawn.machine, drawn.ranks, drawn.call);
    return *plan::select(drawn.machine, drawn.ranks, *candidates,
                         run::buffer_of(drawn.ranks, drawn.call),
                         {.bit_identical = drawn.call.bit_identical}, scope);
}

Comparison compare(const DrawnCall& drawn, Simulated& simulated, bool in_detail) {
    Comparison comparison;
    const std::clock_t begin = std::clock();
    comparison.chosen = select(drawn, plan::Scope::chosen).algorithm();
    comparison.milliseconds = static_cast<double>(std::clock() - begin) * 1e3 / CLOCKS_PER_SEC;
    const plan::Choice all = select(drawn, plan::Scope::all);
    const auto least = static_cast<double>(all.candidates[all.chosen].in_stream);
    for (const plan::RankedCandidate& ranked : all.candidates) {
        const auto predicted = static_cast<double>(ranked.in_stream);
        const bool is_chosen = ranked.algorithm == comparison.chosen;
        const bool is_slow = drawn.ranks > kAllSimulated && predicted > kWorthSimulating * least;
        if (!ranked.fulfils || (is_slow && !is_chosen)) continue;
        const auto candidate =
            run::candidate_for(drawn.machine, drawn.ranks, drawn.call, ranked.algorithm);
        const auto time = simulated.of(drawn, *candidate);
        if (!time) continue;
        if (in_detail)
            fmt::print("{:>14.3f} us, predicted {:>14.3f} us, {:.3f}: {}\n",
                       plan::nanoseconds(*time) * 1e-3, predicted * 1e-6,
                       predicted / static_cast<double>(*time), ranked.algorithm);
        if (is_chosen) comparison.chosen_time = *time;
        if (!comparison.best.empty() && *time >= comparison.best_time) continue;
        comparison.best_time = *time;
        comparison.best = ranked.algorithm;
    }
    return comparison;
}

/// Distribution of a value over calls, with a text about each call.
class Distribution {
  public:
    void add(double value, std::string text) { all_.emplace_back(value, std::move(text)); }
    void print(const std::string& name) {
        if (all_.empty()) return;
        std::ranges::sort(all_);
        fmt::print("{:24} {:5} calls: median {:.3f}, 95 % {:.3f}, 99 % {:.3f}, largest {:.3f}\n",
                   name, all_.size(), quantile(0.5), quantile(0.95), quantile(0.99),
                   all_.back().first);
    }
    /// Prints the calls with the largest values above `least`.
    void print_largest(std::size_t count, double least) const {
        for (std::size_t i = all_.size(); i-- > 0 && i + count >= all_.size();)
            if (all_[i].first > least) fmt::print("  {:.3f} {}\n", all_[i].first, all_[i].second);
    }

  private:
    [[nodiscard]] double quantile(double share) const {
        return all_[static_cast<std::size_t>(share * static_cast<double>(all_.size() - 1))].first;
    }

    std::vector<std::pair<double, std::string>> all_;
};

}  // namespace

int main(int argument_count, char** arguments) {
    int calls = 2000;
    int seed = 1;
    int large = 5;
    std::optional<int> detail;
    int worst = 20;
    std::string cache;
    lab::CommandLine line{"choices", "Compares chosen algorithms with the best candidates."};
    line.option("--calls", calls, "Number of calls").within(1, 1'000'000);
    line.option("--seed", seed, "Seed of the calls").within(0, 1'000'000);
    line.option("--large", large, "Percent of calls of 1000 and 2304 ranks").within(0, 100);
    line.option("--detail", detail, "Simulate this call only, and print all candidates")
        .within(0, 1'000'000);
    line.option("--worst", worst, "How many of the worst calls to print").within(0, 1'000'000);
    line.option("--cache", cache, "File that keeps simulated times between runs");
    if (const auto status = line.read(argument_count, arguments)) return *status;
    const std::vector<CostSet> sets = cost_sets();
    Simulated simulated(cache);
    Numbers numbers(static_cast<std::uint64_t>(seed));
    std::map<std::string, Distribution> regrets;
    Distribution times;
    for (int i = 0; i < calls; ++i) {
        const DrawnCall drawn = draw(numbers, sets, static_cast<std::uint64_t>(large));
        if (detail && *detail != i) continue;
        const Comparison comparison = compare(drawn, simulated, detail.has_value());
        const std::string text =
            fmt::format("{}: {}: {}, best {} ({:.1f} us)", i, drawn.text, comparison.chosen,
                        comparison.best, plan::nanoseconds(comparison.best_time) * 1e-3);
        const bool oversubscribed = drawn.machine.oversubscribed();
        for (const std::string& key :
             {std::string("all"),
              std::string(oversubscribed ? "shared processors" : "own processors"),
              std::string(drawn.ranks > kAllSimulated ? "1000 and more ranks" : "up to 130")})
            regrets[key].add(comparison.regret(), text);
        times.add(comparison.milliseconds, text);
    }
    for (auto& [name, values] : regrets) values.print(name);
    constexpr double kWorthPrinting = 1.02;
    regrets["all"].print_largest(static_cast<std::size_t>(worst), kWorthPrinting);
    times.print("ms of a first choice");
    times.print_largest(3, 0);
    return 0;
}
