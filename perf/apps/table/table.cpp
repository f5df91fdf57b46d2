// SPDX-License-Identifier: BSD-3-Clause
// table.cpp - all ranks count keys in one hash table that is spread over them.
//
// Idea     Keys are draws of a counter-based generator: draw k is a function of seed and k. Rank
//          r of n counts the draws r, r + n, r + 2n, ... So any number of ranks counts the same
//          keys. Keys with small numbers are drawn most often, so ranks often add to the same slot
//          at the same time.
// Holds    With --check rank 0 counts all draws in a std::unordered_map and compares each slot.
//          Then it looks up each key, and as many keys that no rank added.
// Next     distributed_table.hpp for the table; README.md for how to run it.
#include <fmt/format.h>

#include <vector>

#include "perf/apps/common/application.hpp"
#include "perf/apps/table/counts.hpp"
#include "perf/apps/table/distributed_table.hpp"

namespace {

using apps::Check;
using apps::CommandLine;
using apps::DistributedTable;

struct Options {
    std::uint64_t draws = 20'000;
    std::uint64_t distinct = 5'000;
    std::uint64_t slots = 0;  ///< slots of all ranks; 0: twice `distinct`
    std::uint64_t seed = 1;
};

void declare(CommandLine& line, Options& options) {
    line.option("--draws", options.draws, "Number of keys to count, on all ranks together")
        .within(1, 1'000'000'000);
    line.option("--distinct", options.distinct, "Different keys to draw from")
        .within(1, 1'000'000'000);
    line.option("--slots", options.slots,
                "Slots of all ranks together, rounded up to a multiple of the ranks; default: "
                "twice the different keys")
        .within(1, 1'000'000'000);
    line.option("--seed", options.seed, "Seed of the generator");
}

/// Returns key number `index` of a seed. Keys are odd, so never kNoKey, which is 0.
std::uint64_t key_at(std::uint64_t seed, std::uint64_t index) {
    return apps::mix(apps::mix(seed) + index) | 1U;
}

std::uint64_t draw(const Options& options, std::uint64_t number) {
    const std::uint64_t word = apps::mix(apps::mix(~options.seed) + number);
    const double unit = static_cast<double>(word >> 11) * 0x1.0p-53;
    return key_at(options.seed,
                  static_cast<std::uint64_t>(unit * unit * static_cast<double>(options.distinct)));
}

apps::Counts count_serially(const Options& options) {
    apps::Counts counts;
    for (std::uint64_t number = 0; number < options.draws; ++number)
        ++counts[draw(options, number)];
    return counts;
}

/// Compares slots and lookups with the serial count. Runs on rank 0, while no rank adds.
Check compare(const Options& options, DistributedTable& table, int ranks, apps::Report& report) {
    const apps::Counts expected = count_serially(options);
    std::vector<apps::Slot> slots;
    for (weft::Rank rank = 0; rank < ranks; ++rank) {
        const std::vector<apps::Slot> part = table.slots_of(rank);
        slots.insert(slots.end(), part.begin(), part.end());
    }
    const apps::CountFaults faults = apps::compare_counts(slots, expected);
    std::uint64_t wrong_searches = 0;
    for (const auto& [key, count] : expected) {
        wrong_searches += table.count_of(key) != count;
        wrong_searches += table.count_of(key ^ 1U).has_value();  // an even key: no rank added it
    }
    report["keys_found"] = expected.size() - faults.missing;
    report["keys_missing"] = faults.missing;
    report["keys_unexpected"] = faults.unexpected;
    report["keys_repeated"] = faults.repeated;
    report["counts_wrong"] = faults.wrong;
    report["searches_wrong"] = wrong_searches;
    return faults.all() == 0 && wrong_searches == 0 ? Check::right : Check::wrong;
}

/// Collective: calls work(key) for each of this rank's draws. Returns the seconds of
/// the slowest rank.
template <class Work>
double for_own_draws(weft::Team team, const Options& options, Work work) {
    team.barrier();
    const apps::Stopwatch watch;
    const auto ranks = static_cast<std::uint64_t>(team.size());
    for (auto number = static_cast<std::uint64_t>(team.rank()); number < options.draws;
         number += ranks)
        work(draw(options, number));
    return team.allreduce(watch.seconds(), weft::Op::max);
}

Check work(apps::Job& job, const Options& options) {
    weft::Team world = job.world;
    const auto ranks = static_cast<std::uint64_t>(world.size());
    const std::uint64_t slots = options.slots == 0 ? 2 * options.distinct : options.slots;
    DistributedTable table(world, (slots + ranks - 1) / ranks);

    std::uint64_t uncounted = 0;
    const double add_s =
        for_own_draws(world, options, [&](std::uint64_t key) { uncounted += !table.add(key); });
    uncounted = world.allreduce(uncounted, weft::Op::sum);
    if (uncounted != 0)
        throw apps::InvalidInput(
            fmt::format("--slots: {} were full, so {} of {} draws could not be "
                        "counted; expected more slots than different keys",
                        table.slots(), uncounted, options.draws));
    const std::uint64_t probes = world.allreduce(table.probes(), weft::Op::sum);

    // The reduction above also acts as the barrier after the last count.
    std::uint64_t lost = 0;
    const double search_s = for_own_draws(
        world, options, [&](std::uint64_t key) { lost += table.count_of(key).value_or(0) == 0; });
    lost = world.allreduce(lost, weft::Op::sum);

    apps::Report& report = job.report;
    report["draws"] = options.draws;
    report["slots"] = table.slots();
    report["probes_per_add"] = static_cast<double>(probes) / static_cast<double>(options.draws);
    report["adds_per_s"] = static_cast<double>(options.draws) / add_s;
    report["searches_per_s"] = static_cast<double>(options.draws) / search_s;
    Check check = Check::none;
    if (job.check) {
        if (world.rank() == 0) check = compare(options, table, world.size(), report);
        check = apps::broadcast_check(world, check);  // waiting ranks make progress for rank 0
    }
    report["searches_lost"] = lost;
    job.failed = lost != 0;
    return check;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    return apps::run({.name = "table",
                      .summary = "Counts keys in a hash table that is spread over the ranks.",
                      .declare = [&](CommandLine& line) { declare(line, options); },
                      .work = [&](apps::Job& job) { return work(job, options); }},
                     argc, argv);
}
