// SPDX-License-Identifier: BSD-3-Clause
// Goal: the engine executes every kind of step and every form of block.
// Method: each handwritten program tests one feature. The verifier proves each program. Then random
// overlapping calls of all programs run on the virtual network, and must give the results that the
// contracts state.
#include <gtest/gtest.h>

#include <deque>

#include "plan/schedule/builder.hpp"
#include "plan/schedule/step.hpp"
#include "tests/support/draw_calls.hpp"
#include "tests/support/full_mode.hpp"
#include "tests/support/script.hpp"
#include "tools/verify/verify.hpp"

namespace weft::test {
namespace {

using plan::Block;
using plan::Builder;
using plan::Program;

struct HandMade {
    plan::Contract contract;
    std::function<Program(Rank rank, Rank size)> generate;
    /// Returns true if the programs may run on these nodes of the ranks.
    std::function<bool(const std::vector<int>& nodes)> fits;
    std::vector<std::uint64_t> elements;  ///< numbers to test; empty: see elements_of()
};

bool everywhere(const std::vector<int>&) {
    return true;
}
bool on_one_node(const std::vector<int>& nodes) {
    return std::ranges::all_of(nodes, [&](int node) { return node == nodes.front(); });
}

Program header(const char* name, Rank rank, Rank size, std::uint32_t units) {
    Program program;
    program.collective = name;
    program.algorithm = "by-hand";
    program.rank = rank;
    program.size = size;
    program.units = units;
    return program;
}

/// Returns a contract in which all ranks have outputs. `expected` returns the contents of an output
/// unit: the unit, the first and last rank that contribute, and the unit of their inputs.
plan::Contract contract_of(
    const char* name,
    std::function<plan::Expectation(Rank rank, Rank size, std::uint32_t unit)> expected) {
    return {.collective = name,
            .expected = [expected = std::move(expected)](const Program& program) {
                std::vector<plan::Expectation> list;
                for (std::uint32_t unit = 0; unit < program.units; ++unit)
                    list.push_back(expected(program.rank, program.size, unit));
                return list;
            }};
}

/// Returns a contract in which each rank gets the input of its left neighbor.
plan::Contract shift_contract(const char* name) {
    return contract_of(name, [](Rank rank, Rank size, std::uint32_t unit) {
        const Rank left = (rank + size - 1) % size;
        return plan::Expectation{unit, left, left, unit};
    });
}

Block strided(Block block, std::uint32_t stride) {
    block.stride = stride;
    return block;
}

/// Two lanes, one for each neighbor. The first also sends and awaits a signal that orders nothing.
HandMade both_ways() {
    return {
        .contract = contract_of("both_ways",
                                [](Rank rank, Rank size, std::uint32_t unit) {
                                    const Rank from = (rank + (unit < 2 ? size - 1 : 1)) % size;
                                    return plan::Expectation{unit, from, from, unit};
                                }),
        .generate =
            [](Rank rank, Rank size) {
                Builder builder(header("both_ways", rank, size, 4));
                const Rank left = (rank + size - 1) % size;
                const Rank right = (rank + 1) % size;
                builder.put(right, 0, plan::input(0, 2));
                builder.wait(left, 0);
                builder.flush();
                builder.copy(plan::output(0, 2), plan::slot(0, 0, 2));
                builder.signal(left, 2);
                builder.wait(right, 2);
                builder.begin_lane();
                builder.put(left, 1, plan::input(2, 2));
                builder.wait(right, 1);
                builder.flush();
                builder.copy(plan::output(2, 2), plan::slot(1, 2, 2));
                return std::move(builder).finish();
            },
        .fits = &everywhere,
        .elements = {4, 5, 3, 200, 11},
    };
}

/// Each rank exposes its input to its right neighbor, which reads it in place and signals the end.
HandMade read_in_place() {
    return {
        .contract = shift_contract("read_in_place"),
        .generate =
            [](Rank rank, Rank size) {
                Builder builder(header("read_in_place", rank, size, 3));
                const Rank left = (rank + size - 1) % size;
                const Rank right = (rank + 1) % size;
                builder.expose(right, 0, plan::input(0, 3));
                builder.wait(left, 0);
                builder.copy(plan::scratch(0, 0, 1), plan::mapped(left, 0, 0, 1));
                Block tail = plan::mapped(left, 0, 1, 2);
                tail.origin = 0;
                builder.copy(plan::scratch(0, 1, 2), tail);
                builder.signal(left, 1);
                builder.wait(right, 1);
                builder.copy(plan::output(0, 3), plan::scratch(0, 0, 3));
                return std::move(builder).finish();
            },
        .fits = &on_one_node,
        .elements = {3, 7, 100},
    };
}

/// The receiver exposes its output, and the sender puts there without staging.
HandMade put_into_output() {
    return {
        .contract = shift_contract("put_into_output"),
        .generate =
            [](Rank rank, Rank size) {
                Builder builder(header("put_into_output", rank, size, 4));
                const Rank left = (rank + size - 1) % size;
                const Rank right = (rank + 1) % size;
                builder.copy(plan::scratch(0, 0, 4), plan::input(0, 4));
                builder.expose(left, 0, plan::output(0, 4), plan::kWritten);
                builder.wait(right, 0);
                builder.put_mapped(right, 1, plan::mapped(right, 0, 0, 1), plan::scratch(0, 0, 1));
                Block tail = plan::mapped(right, 0, 1, 3);
                tail.origin = 0;
                builder.put_mapped(right, 2, tail, plan::scratch(0, 1, 3));
                builder.wait(left, 1);
                builder.wait(left, 2);
                return std::move(builder).finish();
            },
        .fits = &everywhere,
        .elements = {4, 9, 150},
    };
}

/// Adds one direction of a pipelined chain of reductions. A sender reuses a slot after kDepth
/// segments, when the receiver has signalled a credit.
void write_scan(Builder& builder, Rank from, Rank to, std::uint32_t number, std::uint32_t unit,
                bool ascending) {
    constexpr std::uint16_t kDepth = 3;
    const Block in = plan::per_segment(plan::input(unit));
    const Block out = plan::per_segment(plan::output(unit));
    const Block arrived = plan::per_segment(plan::slot(number, unit));
    builder.begin_loop();
    if (from != plan::kNoRank) {
        builder.wait(from, number);
        if (ascending)
            builder.reduce(out, {arrived, in});
        else
            builder.reduce(out, {in, arrived});
        builder.signal(from, number + 1, 0, kDepth);
    } else {
        builder.copy(out, in);
    }
    if (to != plan::kNoRank) {
        builder.wait(to, number + 1, 0, kDepth);
        builder.put(to, number, out);
    }
    builder.end_loop();
}

/// Two lanes, each a pipelined scan: in rank order over the first half of the units, in reverse
/// order over the second half.
HandMade two_scans(std::uint32_t segments) {
    return {
        .contract = contract_of("two_scans",
                                [segments](Rank rank, Rank size, std::uint32_t unit) {
                                    return unit < segments
                                               ? plan::Expectation{unit, 0, rank, unit}
                                               : plan::Expectation{unit, rank, size - 1, unit};
                                }),
        .generate =
            [segments](Rank rank, Rank size) {
                Program start = header("two_scans", rank, size, 2 * segments);
                start.segments = segments;
                start.depth = 3;
                Builder builder(std::move(start));
                const Rank below = rank == 0 ? plan::kNoRank : rank - 1;
                const Rank above = rank == size - 1 ? plan::kNoRank : rank + 1;
                write_scan(builder, below, above, 0, 0, /*ascending=*/true);
                builder.begin_lane();
                write_scan(builder, above, below, 2, segments, /*ascending=*/false);
                builder.reserve_slots(4);
                builder.reserve_slot_units(1);
                return std::move(builder).finish();
            },
        .fits = &everywhere,
        .elements = {2 * segments, 2 * segments + 3, segments, 20 * segments + 1},
    };
}

/// All ranks publish their input. Each reduces all inputs in rank order, its own from scratch.
HandMade published_sum() {
    return {
        .contract = contract_of("published_sum",
                                [](Rank, Rank size, std::uint32_t unit) {
                                    return plan::Expectation{unit, 0, size - 1, unit};
                                }),
        .generate =
            [](Rank rank, Rank size) {
                Builder builder(header("published_sum", rank, size, 1));
                builder.publish(0, plan::input());
                builder.copy(plan::scratch(1), plan::input());
                std::vector<Block> operands;
                for (Rank peer = 0; peer < size; ++peer) {
                    if (peer == rank) {
                        operands.push_back(plan::scratch(1));
                        continue;
                    }
                    builder.wait(peer, 0, plan::kFromPublished);
                    Block read = plan::slot(0);
                    read.buffer = plan::Buffer::published;
                    read.peer = peer;
                    operands.push_back(read);
                }
                builder.reduce(plan::output(), operands);
                builder.publish(1);
                for (Rank peer = 0; peer < size; ++peer)
                    if (peer != rank) builder.wait(peer, 1, plan::kFromPublished);
                return std::move(builder).finish();
            },
        .fits = &on_one_node,
        .elements = {1, 2, 3},
    };
}

/// Every rank sends each peer the units of the peer's residue class modulo n: one strided block to
/// even ranks, a list of blocks to odd ranks. The receiver lists the units in the same order.
HandMade transpose() {
    constexpr std::uint32_t kRows = 3;
    return {
        .contract = contract_of("transpose",
                                [](Rank rank, Rank size, std::uint32_t unit) {
                                    const auto n = static_cast<std::uint32_t>(size);
                                    const auto from = static_cast<Rank>(unit % n);
                                    return plan::Expectation{
                                        unit, from, from,
                                        unit / n * n + static_cast<std::uint32_t>(rank)};
                                }),
        .generate =
            [](Rank rank, Rank size) {
                const auto n = static_cast<std::uint32_t>(size);
                const auto me = static_cast<std::uint32_t>(rank);
                Builder builder(header("transpose", rank, size, kRows * n));
                const auto column = [&](Block first, bool as_list) {
                    std::vector<Block> blocks{strided(first, n)};
                    if (!as_list) return blocks;
                    blocks.clear();
                    for (std::uint32_t row = 0; row < kRows; ++row) {
                        Block unit = first;
                        unit.first = first.first + row * n;
                        unit.origin = unit.first;
                        unit.count = 1;
                        blocks.push_back(unit);
                    }
                    return blocks;
                };
                for (Rank peer = 0; peer < size; ++peer)
                    if (peer != rank)
                        builder.put(peer, me,
                                    column(plan::input(static_cast<std::uint32_t>(peer), kRows),
                                           peer % 2 == 1));
                for (Rank peer = 0; peer < size; ++peer)
                    if (peer != rank) builder.wait(peer, static_cast<std::uint32_t>(peer));
                builder.flush();
                // Slot `peer` holds the peer's units of column `me`, which become this rank's units
                // of column `peer`.
                builder.copy(column(plan::scratch(0, me, kRows), /*as_list=*/false),
                             column(plan::input(me, kRows), /*as_list=*/false));
                for (std::uint32_t peer = 0; peer < n; ++peer) {
                    if (peer == me) continue;
                    builder.copy(column(plan::output(peer, kRows), /*as_list=*/false),
                                 column(plan::slot(peer, me, kRows), rank % 2 == 1));
                }
                builder.copy(column(plan::output(me, kRows), /*as_list=*/false),
                             column(plan::scratch(0, me, kRows), /*as_list=*/false));
                builder.reserve_slots(n);
                return std::move(builder).finish();
            },
        .fits = &everywhere,
        .elements = {},  // elements_of() returns multiples of 3n, so that columns have equal units
    };
}

/// Rank 1 forwards rank 0's data by exposing the slot that holds it to the last rank.
HandMade forwarded_slot() {
    return {
        .contract = contract_of("forwarded_slot",
                                [](Rank rank, Rank size, std::uint32_t unit) {
                                    const Rank from = rank == 1 || rank == size - 1 ? 0 : rank;
                                    return plan::Expectation{unit, from, from, unit};
                                }),
        .generate =
            [](Rank rank, Rank size) {
                Builder builder(header("forwarded_slot", rank, size, 2));
                const Rank last = size - 1;
                if (rank == 0) builder.put(1, 0, plan::input(0, 2));
                if (rank == 1) {
                    builder.wait(0, 0);
                    builder.expose(last, 1, plan::slot(0, 0, 2));
                    builder.copy(plan::output(0, 2), plan::slot(0, 0, 2));
                    builder.wait(last, 2);
                } else if (rank == last) {
                    builder.wait(1, 1);
                    builder.copy(plan::output(0, 2), plan::mapped(1, 1, 0, 2));
                    builder.signal(1, 2);
                } else {
                    builder.flush();
                    builder.copy(plan::output(0, 2), plan::input(0, 2));
                }
                builder.reserve_slots(3);
                builder.reserve_slot_units(2);
                return std::move(builder).finish();
            },
        .fits = [](const std::vector<int>& nodes) { return nodes[1] == nodes.back(); },
        .elements = {2, 5, 61},
    };
}

/// Swaps two blocks, also with input and output in the same memory.
HandMade swapped_blocks() {
    return {
        .contract = contract_of("swapped_blocks",
                                [](Rank rank, Rank, std::uint32_t unit) {
                                    return plan::Expectation{unit, rank, rank, 1 - unit};
                                }),
        .generate =
            [](Rank rank, Rank size) {
                Builder builder(header("swapped_blocks", rank, size, 2));
                const Block to[] = {plan::output(0), plan::output(1)};
                const Block from[] = {plan::input(1), plan::input(0)};
                builder.copy(to, from);
                return std::move(builder).finish();
            },
        .fits = &everywhere,
        .elements = {2, 8, 8400},  // 8400 elements are copied in several pieces
    };
}

std::vector<HandMade> all_hand_made() {
    return {both_ways(),     read_in_place(), put_into_output(), two_scans(2),    two_scans(7),
            published_sum(), transpose(),     forwarded_slot(),  swapped_blocks()};
}

std::vector<std::uint64_t> elements_of(const HandMade& made, Rank size) {
    if (!made.elements.empty()) return made.elements;
    const auto units = static_cast<std::uint64_t>(3 * size);
    return {units, 2 * units, 5 * units};
}

std::vector<Program> programs_of(const HandMade& made, Rank size) {
    std::vector<Program> programs;
    for (Rank rank = 0; rank < size; ++rank) programs.push_back(made.generate(rank, size));
    return programs;
}

TEST(Steps, HandmadeProgramsKeepTheirContracts) {
    for (const HandMade& made : all_hand_made()) {
        for (Rank size = 3; size <= 6; ++size) {
            const std::vector<Program> programs = programs_of(made, size);
            for (const std::uint64_t elements : elements_of(made, size)) {
                const plan::Verdict verdict = plan::verify(
                    {.programs = programs, .contract = &made.contract, .elements = elements});
                EXPECT_TRUE(verdict.valid)
                    << made.contract.collective << " of " << size << " ranks: " << verdict.error;
            }
        }
    }
}

/// Runs a script of all programs that the layout permits.
void run_steps(std::uint64_t seed) {
    base::Random random = base::Random(seed).stream(5);
    const auto size = static_cast<Rank>(3 + random.below(4));
    std::vector<int> nodes(static_cast<std::size_t>(size), 0);
    const bool one_node = random.chance(1, 3);
    for (Rank rank = 0; !one_node && rank < size; ++rank)
        nodes[static_cast<std::size_t>(rank)] = static_cast<int>(random.below(3));
    VirtualProfile profile;
    profile.delivers_at_target = random.chance(1, 2);
    profile.refuse_half_percent = 20;
    profile.copy_percent = static_cast<std::uint32_t>(random.below(60));
    VirtualJob job(
        {.segment_bytes = 2 << 20, .node_of_rank = nodes, .seed = seed, .profile = profile});
    const VirtualTeam& team =
        job.add_team({.shape = {.cells = 32, .banks = 4, .bulk_banks = 4, .bulk_bytes = 32768},
                      .first_tick = base::kTickMask - random.below(40)});
    const std::vector<HandMade> all = all_hand_made();
    std::deque<TeamCall> palette;
    for (const HandMade& made : all) {
        if (!made.fits(nodes)) continue;
        for (const std::uint64_t elements : elements_of(made, size))
            palette.push_back(
                bind_programs(job, team,
                              {.collective = made.contract.collective,
                               .algorithm = "by-hand",
                               .elements = elements,
                               .algebra = random.chance(1, 2) ? Algebra::sum64 : Algebra::affine},
                              programs_of(made, size), made.contract));
    }
    const auto calls = draw_script(random, palette, 60);
    const ScriptOutcome outcome =
        Script(job, calls, {.seed = seed, .in_segment = seed % 2 == 0}).run();
    for (const std::string& error : outcome.errors) ADD_FAILURE() << error;
}

TEST(Steps, EveryFormOfStepGivesItsResultOnTheVirtualWire) {
    const std::uint64_t last = kSlow ? 40 : 150;
    for (std::uint64_t seed = 1; seed <= last && !HasFailure(); ++seed) run_steps(seed);
}

}  // namespace
}  // namespace weft::test
