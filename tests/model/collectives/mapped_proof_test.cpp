// SPDX-License-Identifier: BSD-3-Clause
// Goal: programs that use memory of other ranks move no more data than necessary. The verifier
// rejects a program without one of its synchronization steps: a rank could access memory before its
// owner exposes it, or after the owner has returned. registry_proof_test.cpp proves their results.
// Method: elements are counted from the steps. Each done signal (the last signal of a reader or
// writer to the owner of exposed memory), each wait and each write flag is removed once, and each
// exposed block is overwritten by its owner.
#include <algorithm>
#include <functional>

#include "collectives/registry.hpp"
#include "plan/schedule/builder.hpp"
#include "plan/schedule/canonical.hpp"
#include "plan/schedule/step.hpp"
#include "tests/model/collectives/proof.hpp"
#include "tools/text/text.hpp"

namespace weft::collectives {
namespace {

using plan::Block;
using plan::Buffer;
using plan::Program;
using plan::Step;
using plan::StepKind;

constexpr Rank kSizes[] = {2, 3, 4, 5, 8};
constexpr std::uint64_t kElements = 240;  ///< divides into equal blocks for all sizes

std::vector<Program> mapped_programs(std::string_view collective, Rank size, std::uint64_t elements,
                                     std::string_view spec = "mapped") {
    const Rank root = is_rooted(collective) ? size / 2 : plan::kNoRank;
    return generate_all(collective, *parse_spec(spec),
                        {.size = size, .root = root, .elements = elements});
}

std::vector<std::string_view> mapped_collectives() {
    std::vector<std::string_view> list;
    for (const Algorithm& algorithm : algorithms())
        if (algorithm.name == "mapped") list.push_back(algorithm.collective);
    return list;
}

/// Returns collective and spec of each algorithm that moves data only through exposed buffers.
std::vector<std::pair<std::string_view, std::string_view>> mapped_specs() {
    std::vector<std::pair<std::string_view, std::string_view>> list;
    for (const std::string_view collective : mapped_collectives())
        list.emplace_back(collective, "mapped");
    list.emplace_back("scan", "mapped-linear:pieces=3");
    return list;
}

TEST(MappedProof, MappedIsACandidateOnlyWithReachableMemory) {
    for (const std::string_view collective : mapped_collectives()) {
        for (const bool direct : {false, true}) {
            const auto specs = candidate_specs(collective, {.size = 4, .direct = direct});
            EXPECT_EQ(std::ranges::find(specs, "mapped", &AlgorithmSpec::name) != specs.end(),
                      direct)
                << collective;
        }
    }
    EXPECT_EQ(mapped_collectives().size(), collectives().size() - 1);  // all except the barrier
}

// --- data moved --------------------------------------------------------------------------------

/// Elements moved, summed over all ranks.
struct Moved {
    std::uint64_t copied_between_ranks = 0;
    std::uint64_t copied_locally = 0;  ///< within a rank's memory
    std::uint64_t read_by_reductions = 0;
    std::uint64_t written_by_reductions = 0;

    friend bool operator==(const Moved&, const Moved&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Moved& moved) {
        return out << moved.copied_between_ranks << " copied between ranks, "
                   << moved.copied_locally << " locally; reductions read "
                   << moved.read_by_reductions << " and write " << moved.written_by_reductions;
    }
};

Moved moved_by(const std::vector<Program>& programs, std::uint64_t elements) {
    Moved moved;
    for (const Program& program : programs) {
        const auto partition = program.partition(elements);
        const auto size_of = [&](plan::BlockList list) {
            std::uint64_t size = 0;
            for (const Block& block : plan::blocks_of(program, list))
                size += partition.size(block.first, block.count);
            return size;
        };
        const auto has_mapped = [&](plan::BlockList list) {
            return std::ranges::any_of(plan::blocks_of(program, list), [](const Block& block) {
                return block.buffer == Buffer::mapped;
            });
        };
        for (const Step& step : program.steps) {
            EXPECT_NE(step.kind, StepKind::put);
            if (step.kind == StepKind::copy)
                (has_mapped(step.source) || has_mapped(step.target) ? moved.copied_between_ranks
                                                                    : moved.copied_locally) +=
                    size_of(step.source);
            if (step.kind != StepKind::reduce) continue;
            moved.read_by_reductions += size_of(step.source);
            moved.written_by_reductions += size_of(step.target);
        }
    }
    return moved;
}

TEST(MappedProof, MovedElementsMatchTheFormulas) {
    for (const Rank size : kSizes) {
        const auto n = static_cast<std::uint64_t>(size);
        const std::uint64_t m = 12 * n;
        const std::uint64_t block = m / n;
        const auto moved = [&](std::string_view collective) {
            return moved_by(mapped_programs(collective, size, m), m);
        };
        // A broadcast has one buffer: the counted local copy from input to output does nothing.
        EXPECT_EQ(moved("broadcast"),
                  (Moved{.copied_between_ranks = (n - 1) * m, .copied_locally = m}));
        // Longer than kReduceTwiceBytes, so that two ranks also reduce by slices.
        const std::uint64_t long_elements = n << 20;
        EXPECT_EQ(moved_by(mapped_programs("allreduce", size, long_elements), long_elements),
                  (Moved{.read_by_reductions = n * long_elements,
                         .written_by_reductions = n * long_elements}));
        for (const std::string_view collective : {"reduce", "reduce_scatter"})
            EXPECT_EQ(moved(collective),
                      (Moved{.read_by_reductions = n * m, .written_by_reductions = m}));
        for (const std::string_view collective : {"gather", "scatter"})
            EXPECT_EQ(moved(collective),
                      (Moved{.copied_between_ranks = (n - 1) * block, .copied_locally = block}));
        for (const std::string_view collective : {"allgather", "alltoall"})
            EXPECT_EQ(moved(collective), (Moved{.copied_between_ranks = n * (n - 1) * block,
                                                .copied_locally = n * block}));
        EXPECT_EQ(moved_by(mapped_programs("scan", size, m, "mapped-linear:pieces=5"), m),
                  (Moved{.copied_locally = m,
                         .read_by_reductions = 2 * (n - 1) * m,
                         .written_by_reductions = (n - 1) * m}));
    }
}

/// Each rank reads both inputs, reduces into scratch and copies the result to its output.
TEST(MappedProof, TwoRanksReduceShortBuffersSeparately) {
    const std::uint64_t m = 1 << 10;
    EXPECT_EQ(
        moved_by(mapped_programs("allreduce", 2, m), m),
        (Moved{
            .copied_locally = 2 * m, .read_by_reductions = 4 * m, .written_by_reductions = 2 * m}));
}

TEST(MappedProof, BlocksOfDifferentSizesAreMovedOnce) {
    const std::vector<std::uint64_t> counts{3, 0, 7, 1};
    const GenerateRequest request{.size = 4, .elements = 11, .counts = counts};
    const AlgorithmSpec spec = *parse_spec("mapped");
    EXPECT_EQ(moved_by(generate_all("allgather", spec, request), 11),
              (Moved{.copied_between_ranks = 3 * 11, .copied_locally = 11}));
    EXPECT_EQ(moved_by(generate_all("reduce_scatter", spec, request), 11),
              (Moved{.read_by_reductions = 4 * 11, .written_by_reductions = 11}));
}

// --- faulty programs ---------------------------------------------------------------------------

// insert() and erase() need a program with one lane.
void insert(Program& program, std::size_t at, const Step& step) {
    program.steps.insert(program.steps.begin() + static_cast<std::ptrdiff_t>(at), step);
    ++program.lanes.front().count;
}
void erase(Program& program, std::size_t at) {
    program.steps.erase(program.steps.begin() + static_cast<std::ptrdiff_t>(at));
    --program.lanes.front().count;
}

/// Returns the verifier's error for changed programs, without a check of contents.
std::string error_of(const std::vector<Program>& programs) {
    return plan::verify({.programs = programs, .elements = kElements}).error;
}

/// Calls visit(programs, rank, index of the step) for all steps of a kind in all programs.
void for_each_step(
    StepKind kind,
    const std::function<void(std::vector<Program>, std::size_t, std::size_t)>& visit) {
    for (const auto& [collective, spec] : mapped_specs()) {
        for (const Rank size : kSizes) {
            SCOPED_TRACE(fmt::format("{} {} of {} ranks", collective, spec, size));
            const auto programs = mapped_programs(collective, size, kElements, spec);
            ASSERT_EQ(error_of(programs), "");
            for (std::size_t rank = 0; rank < programs.size(); ++rank) {
                ASSERT_EQ(programs[rank].lanes.size(), 1U);
                for (std::size_t at = 0; at < programs[rank].steps.size(); ++at)
                    if (programs[rank].steps[at].kind == kind) visit(programs, rank, at);
            }
        }
    }
}

/// In these programs all signals are done signals.
TEST(MappedProof, AMissingDoneSignalIsRefused) {
    int refused = 0;
    for_each_step(
        StepKind::signal, [&](std::vector<Program> programs, std::size_t rank, std::size_t at) {
            const Step done = programs[rank].steps[at];
            erase(programs[rank], at);
            EXPECT_NE(error_of(programs).find("waits forever"), std::string::npos);
            Program& owner = programs[static_cast<std::size_t>(done.peer)];
            const auto wait = std::ranges::find_if(owner.steps, [&](const Step& step) {
                return step.kind == StepKind::wait && step.signal == done.signal;
            });
            ASSERT_NE(wait, owner.steps.end());
            erase(owner, static_cast<std::size_t>(wait - owner.steps.begin()));
            EXPECT_NE(error_of(programs).find("a done signal is missing"), std::string::npos)
                << error_of(programs);
            ++refused;
        });
    EXPECT_GT(refused, 500);
}

TEST(MappedProof, AMissingWaitIsRefused) {
    int refused = 0;
    for_each_step(StepKind::wait,
                  [&](std::vector<Program> programs, std::size_t rank, std::size_t at) {
                      erase(programs[rank], at);
                      EXPECT_NE(error_of(programs), "");
                      ++refused;
                  });
    EXPECT_GT(refused, 1000);
}

/// The owner saves its input and later writes it to the exposed block. In place this does not
/// change the block, so the verifier can only report the conflicting access.
TEST(MappedProof, AnOwnerThatWritesExposedMemoryIsRefused) {
    int refused = 0;
    for_each_step(StepKind::expose, [&](std::vector<Program> programs, std::size_t rank,
                                        std::size_t at) {
        Program& owner = programs[rank];
        Block block = owner.blocks[owner.steps[at].source.start];
        block.buffer = Buffer::output;
        const Block original[] = {plan::input(block.first, block.count)};
        const Block saved[] = {plan::scratch(owner.scratch, block.first, block.count)};
        ++owner.scratch;
        const Step overwrite{.kind = StepKind::copy,
                             .target = plan::intern_blocks(owner.blocks, {&block, 1}),
                             .source = plan::intern_blocks(owner.blocks, saved)};
        const Step save{.kind = StepKind::copy,
                        .target = overwrite.source,
                        .source = plan::intern_blocks(owner.blocks, original)};
        const auto last = std::ranges::find(owner.steps.rbegin(), owner.steps.rend(),
                                            StepKind::expose, &Step::kind);
        insert(owner, static_cast<std::size_t>(owner.steps.rend() - last), overwrite);
        insert(owner, 0, save);
        EXPECT_NE(error_of(programs), "") << rank << ": " << to_text(owner, owner.steps[at + 1]);
        ++refused;
    });
    EXPECT_GT(refused, 500);
}

/// In place, one step swaps two blocks. Two single copies would overwrite a block before it is
/// read.
TEST(MappedProof, ASwapByTwoSingleCopiesIsRefused) {
    int refused = 0;
    for_each_step(StepKind::copy, [&](std::vector<Program> programs, std::size_t rank,
                                      std::size_t at) {
        Program& program = programs[rank];
        const Step both = program.steps[at];
        if (both.source.count != 2) return;
        program.steps[at].target.count = program.steps[at].source.count = 1;
        insert(program, at + 1,
               {.kind = StepKind::copy,
                .target = {both.target.start + 1, 1},
                .source = {both.source.start + 1, 1}});
        const plan::Contract& contract = collectives::contract("alltoall");
        EXPECT_NE(plan::verify({.programs = programs, .contract = &contract, .elements = kElements})
                      .error,
                  "");
        ++refused;
    });
    EXPECT_GT(refused, 10);
}

TEST(MappedProof, AWriteIntoMemoryExposedForReadingIsRefused) {
    int refused = 0;
    for_each_step(
        StepKind::expose, [&](std::vector<Program> programs, std::size_t rank, std::size_t at) {
            std::uint8_t& flags = programs[rank].steps[at].flags;
            if ((flags & plan::kWritten) == 0) return;
            flags = 0;
            EXPECT_NE(error_of(programs).find("exposed for reading only"), std::string::npos);
            ++refused;
        });
    EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace weft::collectives
