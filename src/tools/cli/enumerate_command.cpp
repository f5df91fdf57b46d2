// SPDX-License-Identifier: BSD-3-Clause
// enumerate_command.cpp - `weft enumerate`: all schedules of recursive multiplying for a
// number of ranks.
//
// Idea     With --best, the command instead searches for the cheapest schedule of all kinds under
//          the pipelined postal model (each message occupies its sender for --issue-ns and arrives
//          --latency-ns later). The search does not enumerate schedules.
// Next     collectives/notation/enumerate.hpp for the three kinds, optimum.hpp for the search.
#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "collectives/notation/optimum.hpp"
#include "tools/cli/program_options.hpp"

namespace weft::tools {

namespace {

using collectives::ScheduleFamily;

struct EnumerateArguments {
    Rank ranks = 0;
    std::string kind;
    std::string latency = "1340";
    std::string issue = "340";
    bool best = false;
    bool unordered = false;
    bool up_to = false;
    bool count = false;
    bool json = false;
};

/// Names of ScheduleFamily, by value.
constexpr std::array kKinds{"factored", "split", "merged"};

ScheduleFamily family_of(const std::string& kind) {
    return static_cast<ScheduleFamily>(std::ranges::find(kKinds, kind) - kKinds.begin());
}

/// Limit for the memory of the search, whose tables have an entry for each number of ranks.
constexpr Rank kBestRanksMax = 100'000'000;

collectives::StageCost read_cost(const EnumerateArguments& arguments) {
    const auto latency = need(base::parse_nanoseconds(arguments.latency), "--latency-ns");
    const auto issue = need(base::parse_nanoseconds(arguments.issue), "--issue-ns");
    // Limited so that sums over all ranks fit 64 bits.
    if (issue > 10'000'000'000) refuse("--issue-ns: {} is more than 10 ms", arguments.issue);
    return collectives::StageCost{latency, issue};
}

/// Counts only schedules with ascending factors, one for each set of factors.
std::uint64_t count_unordered(Rank ranks) {
    std::uint64_t count = 0;
    collectives::for_each_schedule(
        ranks, ScheduleFamily::factored, [&](const collectives::Schedule& schedule) {
            count += std::ranges::is_sorted(schedule, {}, &collectives::Stage::base) ? 1U : 0U;
            return true;
        });
    return count;
}

int print_counts(const EnumerateArguments& arguments) {
    const ScheduleFamily family = family_of(arguments.kind);
    // One pass counts the factored schedules of all numbers of ranks.
    const bool sieved = arguments.up_to && family == ScheduleFamily::factored;
    if (sieved) check_ranks(arguments.ranks, kBestRanksMax);
    std::vector<std::uint64_t> counts;
    if (sieved) counts = collectives::count_factored_up_to(arguments.ranks, arguments.unordered);
    std::uint64_t sum = 0;
    std::uint64_t most = 0;
    for (Rank ranks = arguments.up_to ? 2 : arguments.ranks; ranks <= arguments.ranks; ++ranks) {
        const std::uint64_t count = sieved ? counts[static_cast<std::size_t>(ranks)]
                                    : arguments.unordered
                                        ? count_unordered(ranks)
                                        : collectives::count_schedules(ranks, family);
        sum += count;
        most = std::max(most, count);
    }
    Json object{{"ranks", arguments.ranks}, {"kind", arguments.kind}, {"count", sum}};
    if (arguments.unordered) object["unordered"] = true;
    if (arguments.up_to) object["count_max"] = most;
    fmt::print("{}\n", arguments.json ? json_text(object) : fmt::to_string(sum));
    return 0;
}

/// Prints for how many numbers of ranks a split or a merge beats all factored schedules.
int print_improved(const EnumerateArguments& arguments, const collectives::StageCost& cost) {
    constexpr Rank kRanksMax = 100'000;  // each number of ranks is a search
    check_ranks(arguments.ranks, kRanksMax);
    const collectives::OptimumSearch search(arguments.ranks, cost);
    Rank improved = 0;
    for (Rank ranks = 2; ranks <= arguments.ranks; ++ranks) {
        const collectives::Optimum best = search.find(ranks);
        if (best.cost < best.factored) ++improved;
    }
    const Rank sizes = arguments.ranks - 1;
    if (arguments.json)
        print_json({{"ranks", arguments.ranks}, {"sizes", sizes}, {"improved", improved}});
    else
        fmt::print("{} of {}\n", improved, sizes);
    return 0;
}

int print_best(const EnumerateArguments& arguments) {
    if (!arguments.kind.empty() || arguments.count) refuse("--best excludes --kind and --count");
    check_ranks(arguments.ranks, kBestRanksMax);
    const auto cost = read_cost(arguments);
    if (arguments.up_to) return print_improved(arguments, cost);
    const auto best = collectives::OptimumSearch(arguments.ranks, cost).find(arguments.ranks);
    const auto nanoseconds = [](std::int64_t picoseconds) {
        return static_cast<double>(picoseconds) / plan::kPicosecondsPerNanosecond;
    };
    const std::string schedule = collectives::print(best.schedule);
    if (!arguments.json) {
        fmt::print("{}\n", schedule);
        return 0;
    }
    std::int64_t cover_cost = 0;
    collectives::Schedule cover;
    for (const Rank factor : collectives::cheapest_cover(arguments.ranks, cost)) {
        cover_cost += cost.latency + (factor - 1) * cost.message;
        cover.push_back({.base = factor});
    }
    print_json(Json{{"ranks", arguments.ranks},
                    {"kind", kKinds.at(static_cast<std::size_t>(best.family))},
                    {"schedule", schedule},
                    {"model_ns", nanoseconds(best.cost)},
                    {"factored_ns", nanoseconds(best.factored)},
                    {"cover", collectives::print(cover)},
                    {"cover_ns", nanoseconds(cover_cost)}});
    return 0;
}

int enumerate(const EnumerateArguments& arguments) {
    check_ranks(arguments.ranks, std::numeric_limits<Rank>::max());
    if (arguments.best) return print_best(arguments);
    if (arguments.kind.empty()) refuse("--kind is missing: factored, split or merged");
    const ScheduleFamily family = family_of(arguments.kind);
    if (!arguments.count && (arguments.unordered || arguments.up_to))
        refuse("--unordered and --up-to need --count or --best");
    if (arguments.unordered && family != ScheduleFamily::factored)
        refuse("--unordered is only valid with --kind factored");
    if (arguments.count) return print_counts(arguments);
    static std::array<char, 1U << 16> buffer;  // static: stdout uses it until the process ends
    std::setvbuf(stdout, buffer.data(), _IOFBF, buffer.size());
    // The schedule of one rank is empty: it is counted, but not listed.
    if (arguments.json)
        fmt::print("{{\"ranks\":{},\"kind\":\"{}\",\"count\":{},\"schedules\":[", arguments.ranks,
                   arguments.kind, collectives::count_schedules(arguments.ranks, family));
    const char* before = arguments.json ? "\"" : "";
    const auto print = [&](const collectives::Schedule& schedule) {
        const std::string text =
            before + collectives::print(schedule) + (arguments.json ? "\"" : "\n");
        before = arguments.json ? ",\"" : "";
        return std::fputs(text.c_str(), stdout) >= 0;
    };
    collectives::for_each_schedule(arguments.ranks, family, print);
    if (arguments.json) std::fputs("]}\n", stdout);
    std::fflush(stdout);
    return 0;
}

}  // namespace

void add_enumerate_command(CLI::App& app) {
    const auto [command, arguments] = add_command<EnumerateArguments>(
        app, "enumerate", "enumerate the schedules of recursive multiplying for a number of ranks",
        &enumerate);
    add_option(*command, "--ranks", arguments->ranks, "number of ranks").required();
    add_option(*command, "--kind", arguments->kind, "factored, split or merged")
        .one_of({kKinds.begin(), kKinds.end()});
    add_flag(*command, "--best", arguments->best,
             "print only the cheapest schedule of all kinds under the pipelined postal model");
    add_option(*command, "--latency-ns", arguments->latency, "latency of the model, per stage");
    add_option(*command, "--issue-ns", arguments->issue, "sender time of the model, per message");
    add_flag(*command, "--count", arguments->count, "print only the number of schedules");
    add_flag(*command, "--unordered", arguments->unordered,
             "with --count: count each set of factors once, in any order");
    add_flag(*command, "--up-to", arguments->up_to,
             "for all numbers of ranks from 2 to --ranks: print the sum of counts, or with --best "
             "for how many numbers a split or a merge is the cheapest schedule");
    add_json_flag(*command, arguments->json);
}

}  // namespace weft::tools
