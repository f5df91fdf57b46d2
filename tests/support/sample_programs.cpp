// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/sample_programs.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "plan/schedule/builder.hpp"
#include "tools/text/text.hpp"

namespace weft::test {

using plan::Builder;
using plan::Contract;
using plan::Expectation;
using plan::input;
using plan::output;
using plan::per_segment;
using plan::Program;
using plan::scratch;
using plan::slot;

namespace {

/// Returns a contract whose expectations of each unit are appended by units(program, unit, all).
template <class Units>
Contract contract_of(std::string collective, Units units) {
    return {.collective = std::move(collective), .expected = [units](const Program& program) {
                std::vector<Expectation> all;
                for (std::uint32_t unit = 0; unit < program.units; ++unit)
                    units(program, unit, all);
                return all;
            }};
}

/// Returns the programs of all ranks, with the header `head`. write(builder, rank) adds the steps
/// of a rank.
template <class Write>
std::vector<Program> write_all(Rank ranks, Program head, Write write) {
    std::vector<Program> programs;
    head.size = ranks;
    for (head.rank = 0; head.rank < ranks; ++head.rank) {
        Builder build(head);
        write(build, head.rank);
        programs.push_back(std::move(build).finish());
    }
    return programs;
}

/// Returns the header of a synchronizing program.
Program header(std::string collective, std::string algorithm) {
    Program program;
    program.collective = std::move(collective);
    program.algorithm = std::move(algorithm);
    program.synchronizing = true;
    return program;
}

/// Returns the header of a program with a loop over segments and `depth` copies of each slot.
Program pipelined(std::string collective, std::string algorithm, std::uint32_t segments,
                  std::uint32_t depth) {
    Program program = header(std::move(collective), std::move(algorithm));
    program.synchronizing = false;
    program.units = segments;
    program.segments = segments;
    program.depth = depth;
    return program;
}

}  // namespace

Contract allreduce_contract() {
    return contract_of("allreduce", [](const Program& program, std::uint32_t unit, auto& all) {
        all.push_back(
            {.unit = unit, .first_rank = 0, .last_rank = program.size - 1, .source_unit = unit});
    });
}

Contract broadcast_contract() {
    return contract_of("broadcast", [](const Program& program, std::uint32_t unit, auto& all) {
        all.push_back({.unit = unit,
                       .first_rank = program.root,
                       .last_rank = program.root,
                       .source_unit = unit});
    });
}

Contract barrier_contract() {
    return {.collective = "barrier", .must_synchronize = true, .expected = [](const Program&) {
                return std::vector<Expectation>();
            }};
}

std::vector<Program> recursive_doubling(Rank ranks) {
    return write_all(ranks, header("allreduce", "doubling"), [&](Builder& build, Rank rank) {
        build.copy(output(), input());
        std::uint32_t stage = 0;
        for (Rank distance = 1; distance < ranks; distance *= 2, ++stage) {
            const Rank peer = rank ^ distance;
            build.put(peer, stage, output());
            build.wait(peer, stage);
            build.flush();
            if (peer < rank)
                build.reduce(output(), {slot(stage), output()});
            else
                build.reduce(output(), {output(), slot(stage)});
        }
    });
}

std::vector<Program> all_to_all_reduce(Rank ranks) {
    return write_all(ranks, header("allreduce", "all-to-all"), [&](Builder& build, Rank rank) {
        std::vector<plan::Block> operands;
        const auto number = static_cast<std::uint32_t>(rank);
        for (Rank peer = 0; peer < ranks; ++peer) {
            if (peer != rank) build.put(peer, number, input(), plan::kShared);
        }
        for (Rank peer = 0; peer < ranks; ++peer) {
            const auto from = static_cast<std::uint32_t>(peer);
            operands.push_back(peer == rank ? input() : slot(from));
            if (peer != rank) build.wait(peer, from, plan::kShared);
        }
        build.flush();
        build.reserve_slots(static_cast<std::uint32_t>(ranks));
        build.reduce(output(), operands);
    });
}

std::vector<Program> ring(Rank ranks) {
    const auto n = static_cast<std::uint32_t>(ranks);
    Program head = header("allreduce", "ring");
    head.units = n;
    return write_all(ranks, std::move(head), [&](Builder& build, Rank rank) {
        const auto r = static_cast<std::uint32_t>(rank);
        const Rank next = (rank + 1) % ranks;
        const Rank previous = (rank + ranks - 1) % ranks;
        for (std::uint32_t s = 0; s + 1 < n; ++s) {
            const std::uint32_t out = (r + n - s) % n;
            const std::uint32_t in = (r + n - s - 1) % n;
            build.put(next, s, s == 0 ? input(out) : output(out));
            build.wait(previous, s);
            build.reduce(output(in), {slot(s, in), input(in)});
        }
        for (std::uint32_t s = 0; s + 1 < n; ++s) {
            const std::uint32_t out = (r + 1 + n - s) % n;
            const std::uint32_t in = (r + n - s) % n;
            build.put(next, n - 1 + s, output(out));
            build.wait(previous, n - 1 + s);
            if (s == 0) build.flush();
            build.copy(output(in), slot(n - 1 + s, in));
        }
    });
}

std::vector<Program> chain_broadcast(Rank ranks, std::uint32_t segments, std::uint32_t depth) {
    const auto lag = static_cast<std::uint16_t>(depth);
    constexpr std::uint32_t kData = 0, kCredit = 1;  // slots
    Program head = pipelined("broadcast", "chain", segments, depth);
    head.root = 0;
    return write_all(ranks, std::move(head), [&](Builder& build, Rank rank) {
        const bool last = rank + 1 == ranks;
        build.reserve_slots(2);
        build.reserve_slot_units(1);
        build.begin_loop();
        if (rank > 0) {
            build.wait(rank - 1, kData);
            build.copy(per_segment(output(0)), per_segment(slot(kData, 0)));
        } else {
            build.copy(per_segment(output(0)), per_segment(input(0)));
        }
        if (rank > 0) build.signal(rank - 1, kCredit, /*flags=*/0, lag);
        if (!last) {
            build.wait(rank + 1, kCredit, /*flags=*/0, lag);
            build.put(rank + 1, kData, per_segment(output(0)));
        }
        build.end_loop();
        build.flush();
    });
}

std::vector<Program> tree_allreduce(Rank ranks, std::uint32_t segments, std::uint32_t depth) {
    const auto lag = static_cast<std::uint16_t>(depth);
    // Slots 0 and 1 are for the data of the children. A credit allows its receiver to send a
    // segment.
    constexpr std::uint32_t kFromParent = 2, kCreditOfParent = 3;
    constexpr std::uint32_t kCreditsOfChildren = 4;  // and 5
    return write_all(
        ranks, pipelined("allreduce", "tree", segments, depth), [&](Builder& build, Rank rank) {
            build.reserve_slots(6);
            build.reserve_slot_units(1);
            const Rank parent = (rank - 1) / 2;
            const auto side = static_cast<std::uint32_t>((rank + 1) % 2);
            build.begin_loop();
            plan::Block sum = per_segment(input(0));
            for (std::uint32_t child = 0; child < 2; ++child) {
                const Rank from = 2 * rank + 1 + static_cast<Rank>(child);
                if (from >= ranks) continue;
                build.wait(from, child);
                const plan::Block to = per_segment(rank == 0 ? output(0) : scratch(child));
                build.reduce(to, {sum, per_segment(slot(child, 0))});
                sum = to;
                build.signal(from, kCreditOfParent, /*flags=*/0, lag);
            }
            if (rank > 0) {
                if (sum.buffer == plan::Buffer::input) {
                    // The other lane writes the output, which may be the same memory as the input,
                    // so this put must not read the input.
                    build.copy(per_segment(scratch(0)), sum);
                    sum = per_segment(scratch(0));
                }
                build.wait(parent, kCreditOfParent, /*flags=*/0, lag);
                build.put(parent, side, sum);
            }
            if (rank == 0) {
                for (std::uint32_t child = 0; child < 2; ++child) {
                    const Rank to = 1 + static_cast<Rank>(child);
                    if (to >= ranks) continue;
                    build.wait(to, kCreditsOfChildren + child, /*flags=*/0, lag);
                    build.put(to, kFromParent, per_segment(output(0)));
                }
            }
            build.end_loop();
            if (rank > 0) {
                build.begin_lane();
                build.begin_loop();
                build.wait(parent, kFromParent);
                build.copy(per_segment(output(0)), per_segment(slot(kFromParent, 0)));
                build.signal(parent, kCreditsOfChildren + side, /*flags=*/0, lag);
                for (std::uint32_t child = 0; child < 2; ++child) {
                    const Rank to = 2 * rank + 1 + static_cast<Rank>(child);
                    if (to >= ranks) continue;
                    build.wait(to, kCreditsOfChildren + child, /*flags=*/0, lag);
                    build.put(to, kFromParent, per_segment(output(0)));
                }
                build.end_loop();
            }
        });
}

std::vector<Program> dissemination_barrier(Rank ranks) {
    return write_all(ranks, header("barrier", "dissemination"), [&](Builder& build, Rank rank) {
        std::uint32_t round = 0;
        for (Rank distance = 1; distance < ranks; distance *= 2, ++round) {
            build.signal((rank + distance) % ranks, round);
            build.wait((rank + ranks - distance) % ranks, round);
        }
    });
}

std::vector<Sample> samples() {
    return {
        {"doubling 8", recursive_doubling(8), allreduce_contract()},
        {"all-to-all 5", all_to_all_reduce(5), allreduce_contract()},
        {"ring 5", ring(5), allreduce_contract()},
        {"chain 4x6", chain_broadcast(4, 6, 2), broadcast_contract()},
        {"tree 7x5", tree_allreduce(7, 5, 2), allreduce_contract()},
        {"barrier 6", dissemination_barrier(6), barrier_contract()},
    };
}

std::vector<Program> programs_of(std::string_view text) {
    std::string lines(text);
    std::replace(lines.begin(), lines.end(), ';', '\n');
    auto parsed = plan::parse_programs(lines);
    WEFT_CHECK(parsed.ok(), parsed.failure().text);
    return std::move(parsed).value();
}

}  // namespace weft::test
