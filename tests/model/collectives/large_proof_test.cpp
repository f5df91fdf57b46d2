// SPDX-License-Identifier: BSD-3-Clause
// Goal: every algorithm of the registry is right for 1,000 and 4,097 ranks (1,024 and 4,096 if it
// needs a power of two).
// Method: execution with fingerprints as data, in rank order if the algorithm supports it, with
// roots at a third of the ranks and at 0, separate and in place. Barriers are executed
// symbolically. For 4,097 ranks, only the full mode covers calls of many steps, such as a step for
// each pair of ranks. A planted mistake must be detected at these sizes.
#include <chrono>
#include <cstdio>

#include "plan/schedule/builder.hpp"
#include "plan/schedule/step.hpp"
#include "tests/model/collectives/node_proof.hpp"
#include "tests/support/full_mode.hpp"

namespace weft::collectives {
namespace {

/// An algorithm to prove, with its ranks and their nodes.
struct Subject {
    const Algorithm* algorithm = nullptr;
    std::string spec;
    plan::Layout layout;
};

GenerateRequest request_of(const Subject& subject, Rank root) {
    const AlgorithmSpec spec = *parse_spec(subject.spec);
    const auto size = static_cast<std::uint64_t>(subject.layout.size());
    GenerateRequest request{.size = subject.layout.size(),
                            .root = is_rooted(subject.algorithm->collective) ? root : plan::kNoRank,
                            .elements = subject.algorithm->collective == "barrier" ? 0 : size,
                            .ordered = true,
                            .layout = subject.layout};
    // Keeps the rank order if the algorithm supports it.
    request.ordered = generate(subject.algorithm->collective, spec, request).ok();
    return request;
}

plan::FingerprintVerdict judge(const Subject& subject, const GenerateRequest& request,
                               bool in_place, const Change& change = {}) {
    return prove_by_fingerprints(subject.algorithm->collective, *parse_spec(subject.spec), request,
                                 in_place, change);
}

/// Returns the number of a rank's steps and of the units that the steps read: the cost of executing
/// the program.
std::uint64_t work_of(const plan::Program& program) {
    std::uint64_t work = program.units;
    for (const plan::Step& step : program.steps) {
        ++work;
        for (const plan::Block& block :
             std::span(program.blocks).subspan(step.source.start, step.source.count))
            work += block.count;
    }
    return work * program.segments;
}

/// Estimates the work of all ranks from the programs of four ranks.
std::uint64_t work_of(const Subject& subject, GenerateRequest request) {
    const AlgorithmSpec spec = *parse_spec(subject.spec);
    const auto work_at = [&](Rank rank) -> std::uint64_t {
        request.rank = rank;
        const auto program = generate(subject.algorithm->collective, spec, request);
        if (program) return work_of(*program);
        ADD_FAILURE() << subject.spec << ": " << program.failure().text;
        return 0;
    };
    const auto others = static_cast<std::uint64_t>(request.size - 1);
    return work_at(std::max(request.root, 0)) +
           others * (work_at(1) + work_at(request.size / 2) + work_at(request.size - 1)) / 3;
}

/// Ranks on one node, for algorithms whose ranks use each other's memory. Real nodes have fewer.
constexpr Rank kNodeRanks = 257;

/// Returns true if the algorithm is to be proved for this number of ranks. Algorithms within one
/// node are proved only once, with kNodeRanks ranks.
bool is_subject(const Algorithm& algorithm, Rank ranks) {
    return !algorithm.properties.one_node || ranks <= 1000;
}

/// Returns every algorithm by its plain name, or its first variant if it needs parameters.
/// Algorithms for nodes occur twice, with different sizes of nodes.
std::vector<Subject> subjects(Rank ranks) {
    std::vector<Subject> list;
    for (const Algorithm& algorithm : algorithms()) {
        if (!is_subject(algorithm, ranks)) continue;
        const Rank size =
            algorithm.properties.one_node ? kNodeRanks
            : algorithm.properties.power_of_two
                ? static_cast<Rank>(std::bit_ceil(static_cast<std::uint32_t>(ranks) - 1))
                : ranks;
        std::string spec(algorithm.name);
        const bool needs_parameters = std::ranges::any_of(
            algorithm.parameters, &std::string_view::empty, &Parameter::fallback);
        if (needs_parameters)
            spec =
                algorithm.variants({.size = size, .stage = {.latency = 4, .message = 1}}).front();
        const Rank each = size % 17 == 0 ? 17 : 8;
        if (!algorithm.properties.for_nodes) {
            list.push_back({&algorithm, spec, plan::Layout(size, size)});
            continue;
        }
        for (const Rank on_node : {each, Rank{48}}) {
            const plan::Layout layout(size, on_node);
            if (algorithm.properties.fit(layout)) list.push_back({&algorithm, spec, layout});
        }
    }
    return list;
}

/// Proves all subjects, except calls whose work_of() exceeds `work_max`.
void prove_all(Rank ranks, std::uint64_t work_max) {
    const auto begin = std::chrono::steady_clock::now();
    int proved = 0;
    std::vector<std::string> left_out;
    for (const Subject& subject : subjects(ranks)) {
        const std::string name =
            fmt::format("{} {} on {} ranks, {} nodes", subject.algorithm->collective, subject.spec,
                        subject.layout.size(), subject.layout.nodes());
        for (const Rank root : {subject.layout.size() / 3, Rank{0}}) {
            const GenerateRequest request = request_of(subject, root);
            const std::uint64_t work = work_of(subject, request);
            if (work > work_max) {
                left_out.push_back(name);
                break;
            }
            if (subject.algorithm->collective == "barrier") {  // no data: checks the order
                const auto verdict = prove("barrier", subject.spec, request);
                EXPECT_TRUE(verdict.valid) << name << ": " << verdict.error;
            } else {
                // Rooted calls are in place for root 0 and separate for the other root. Without a
                // root the two modes alternate; the full mode tries both if they take little work.
                for (const bool in_place : {false, true}) {
                    const bool alternate = in_place == (proved % 2 == 0);
                    if (request.root == plan::kNoRank
                            ? !alternate && !(test::full_mode() && work < 20'000'000)
                            : in_place != (root == 0))
                        continue;
                    const auto verdict = judge(subject, request, in_place);
                    EXPECT_TRUE(verdict.valid)
                        << name << ", root " << request.root << (in_place ? ", in place: " : ": ")
                        << verdict.error;
                }
            }
            ++proved;
            if (request.root == plan::kNoRank) break;
        }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%d ranks: %d calls proved in %.1f s, %zu left to the full run\n", ranks, proved,
                took.count(), left_out.size());
    if (work_max == ~std::uint64_t{0}) {
        EXPECT_TRUE(left_out.empty());
    }
    const auto subject_count = std::ranges::count_if(
        algorithms(), [=](const Algorithm& algorithm) { return is_subject(algorithm, ranks); });
    EXPECT_GE(proved + static_cast<int>(left_out.size()), static_cast<int>(subject_count));
}

constexpr std::uint64_t kAll = ~std::uint64_t{0};

TEST(LargeProof, EveryAlgorithmIsRightForAThousandRanks) {
    prove_all(1000, kAll);
}

TEST(LargeProof, EveryAlgorithmIsRightFor4097Ranks) {
    prove_all(4097, test::full_mode() ? kAll : 1'000'000);
}

Subject subject_of(std::string_view collective, const char* spec, Rank ranks) {
    const auto algorithm = find_algorithm(collective, *parse_spec(spec));
    return {*algorithm, spec, plan::Layout(ranks, ranks)};
}

/// Returns the n-th step of a kind.
plan::Step& step_of(plan::Program& program, plan::StepKind kind, int n) {
    for (plan::Step& step : program.steps)
        if (step.kind == kind && n-- == 0) return step;
    ADD_FAILURE() << "no such step";
    return program.steps.front();
}

struct Mistake {
    const char* collective;
    const char* spec;
    Rank ranks;
    Change change;
    const char* error;  ///< start of the error
};

using ChangeProgram = void (*)(plan::Program& program);

Change on(Rank rank, ChangeProgram change) {
    return [=](plan::Program& program) {
        if (program.rank == rank) change(program);
    };
}

/// Mistakes in the use of peers' memory: the wrong peer, the wrong order, a peer without a signal.
std::vector<Mistake> mapped_mistakes() {
    return {
        {"allgather", "mapped", 257,
         on(100,
            [](plan::Program& program) {
                auto& from = program.blocks[step_of(program, plan::StepKind::copy, 7).source.start];
                const auto& other =
                    program.blocks[step_of(program, plan::StepKind::copy, 8).source.start];
                from.index = other.index;
            }),
         "rank 100 step "},
        {"allreduce", "mapped", 257,
         on(100,
            [](plan::Program& program) {
                auto& step = step_of(program, plan::StepKind::reduce, 0);
                std::swap(program.blocks[step.source.start], program.blocks[step.source.start + 9]);
            }),
         "rank "},
        {"broadcast", "mapped", 257,
         on(100,
            [](plan::Program& program) {
                step_of(program, plan::StepKind::signal, 0).kind = plan::StepKind::flush;
            }),
         "rank 0 step "},
    };
}

std::vector<Mistake> mistakes() {
    return {
        // Swaps the operands of one reduction.
        {"allreduce", "recursive-doubling", 4097,
         on(1234,
            [](plan::Program& program) {
                auto& step = step_of(program, plan::StepKind::reduce, 3);
                std::swap(program.blocks[step.source.start], program.blocks[step.source.start + 1]);
            }),
         "rank "},
        // Adds data of an earlier stage again.
        {"allreduce", "recursive-doubling", 4097,
         on(1234,
            [](plan::Program& program) {
                auto& step = step_of(program, plan::StepKind::reduce, 5);
                const auto& earlier = step_of(program, plan::StepKind::reduce, 4);
                const plan::Block blocks[] = {program.blocks[step.source.start],
                                              program.blocks[step.source.start + 1]};
                const plan::Block again =
                    program.blocks[earlier.source.start].buffer == plan::Buffer::slot
                        ? program.blocks[earlier.source.start]
                        : program.blocks[earlier.source.start + 1];
                step.source.start = static_cast<std::uint32_t>(program.blocks.size());
                program.blocks.insert(program.blocks.end(), {blocks[0], blocks[1], again});
                step.source.count = step.operands = 3;
            }),
         "rank "},
        // Sends one block out of a thousand to two ranks, and another block to none.
        {"alltoall", "direct", 1000,
         on(777,
            [](plan::Program& program) {
                step_of(program, plan::StepKind::put, 500).source =
                    step_of(program, plan::StepKind::put, 499).source;
            }),
         "rank 278 ends without its result: output[777] has a wrong value"},
        // Waits for a rank that does not send.
        {"allgather", "ring", 1000,
         on(999,
            [](plan::Program& program) { step_of(program, plan::StepKind::wait, 998).peer = 5; }),
         "rank 999 step "},
        // Sends to a rank that is not the parent.
        {"reduce", "binomial", 4097,
         on(2048,
            [](plan::Program& program) { step_of(program, plan::StepKind::put, 0).peer = 1; }),
         "rank "},
        // Sends the first copy's source in the first put, and omits a wait.
        {"scan", "recursive-doubling", 4097,
         on(4000,
            [](plan::Program& program) {
                step_of(program, plan::StepKind::put, 0).source =
                    step_of(program, plan::StepKind::copy, 0).source;
                step_of(program, plan::StepKind::wait, 1).kind = plan::StepKind::flush;
            }),
         "rank 4000 "},
    };
}

TEST(LargeProof, OneMistakeAmongThousandsOfRanksIsDetected) {
    std::vector<Mistake> all = mistakes();
    std::ranges::copy(mapped_mistakes(), std::back_inserter(all));
    for (const Mistake& mistake : all) {
        const Subject subject = subject_of(mistake.collective, mistake.spec, mistake.ranks);
        const GenerateRequest request = request_of(subject, 0);
        const auto verdict = judge(subject, request, /*in_place=*/false, mistake.change);
        EXPECT_FALSE(verdict.valid) << mistake.collective << ' ' << mistake.spec;
        EXPECT_TRUE(verdict.error.starts_with(mistake.error))
            << mistake.collective << ' ' << mistake.spec << ": " << verdict.error;
    }
}

}  // namespace
}  // namespace weft::collectives
