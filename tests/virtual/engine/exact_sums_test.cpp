// SPDX-License-Identifier: BSD-3-Clause
// Goal: exact sums have the bits of a multi-precision reference with every algorithm, layout,
// number of ranks from 1 to 64 and order of deliveries.
// Method: all reducing collectives with the algorithms of the registry sum values that are hard to
// round, on the virtual wire.

#include "run/reduce/exact_sum.hpp"
#include "tests/support/call.hpp"
#include "tests/support/exact_reference.hpp"
#include "tests/support/full_mode.hpp"
#include "tests/support/generate_all.hpp"
#include "tests/support/survives.hpp"
#include "tests/support/virtual_job.hpp"

namespace weft::test {
namespace {

using run::ExactWindow;

struct Trial {
    std::string_view collective;
    std::string spec;
    Rank size;
    std::uint64_t seed;

    /// Returns the number of elements of a block.
    [[nodiscard]] std::size_t elements() const { return size > 9 ? 1 : 3; }
    [[nodiscard]] bool scatters() const { return collective == "reduce_scatter"; }
    [[nodiscard]] std::size_t blocks() const {
        return scatters() ? static_cast<std::size_t>(size) : 1;
    }
    /// Returns true if blocks of wide values need more put targets than the job has.
    [[nodiscard]] bool must_be_narrow() const { return scatters() && size > 16; }
    [[nodiscard]] Hard kind() const {
        return must_be_narrow() ? Hard::similar : static_cast<Hard>(seed % kHardKinds);
    }
    [[nodiscard]] std::vector<double> input(Rank rank) const {
        std::vector<double> values(blocks() * elements());
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] =
                hard_value<double>(kind(), seed * 977 + i, static_cast<std::uint64_t>(rank));
        return values;
    }
    /// Returns the expected output of a rank; empty: the rank has no result.
    [[nodiscard]] std::vector<double> expected(Rank rank, Rank root) const {
        const Rank ranks = collective == "scan" ? rank + 1 : collective == "exscan" ? rank : size;
        if (ranks == 0 || (collective == "reduce" && rank != root)) return {};
        std::vector<ReferenceSum> sums(blocks() * elements());
        for (Rank other = 0; other < ranks; ++other) {
            const auto values = input(other);
            for (std::size_t i = 0; i < sums.size(); ++i) sums[i].add(values[i]);
        }
        const auto first = scatters() ? static_cast<std::size_t>(rank) * elements() : 0;
        std::vector<double> result;
        for (std::size_t i = 0; i < elements(); ++i)
            result.push_back(sums[first + i].rounded_to<double>());
        return result;
    }
    /// Returns the window on which the ranks would agree, or the window of all values.
    [[nodiscard]] ExactWindow window() const {
        if (seed % 3 == 0 && !must_be_narrow()) return ExactWindow::all(Type::float64);
        auto bounds = ExactWindow::bounds({});
        for (Rank rank = 0; rank < size; ++rank) {
            const auto values = input(rank);
            const auto own = ExactWindow::bounds(run::range_of(
                run::best_kernels().exact(), Type::float64, values.data(), values.size()));
            for (std::size_t i = 0; i < own.size(); ++i) bounds[i] = std::max(bounds[i], own[i]);
        }
        return ExactWindow::within(bounds);
    }
};

/// Runs the programs until every rank has ended, in a random order of steps.
void run_all(VirtualJob& job, const VirtualTeam& team, const TeamCall& call,
             const std::vector<std::byte*>& buffers) {
    std::vector<run::Operation*> operations(buffers.size());
    const auto start = [&](Rank rank) {
        auto& operation = operations[static_cast<std::size_t>(rank)];
        if (operation != nullptr) return false;
        std::byte* const buffer = buffers[static_cast<std::size_t>(rank)];
        operation = &job.engine(rank).start(*team.states[static_cast<std::size_t>(rank)],
                                            call.programs[static_cast<std::size_t>(rank)],
                                            {buffer, buffer}, call.reducer);
        job.watch().record_issue(team.id, rank, *operation);
        return true;
    };
    const auto is_over = [](const run::Operation* operation) {
        return operation != nullptr && operation->ended();
    };
    for (int idle = 0; idle < 60'000 && !std::ranges::all_of(operations, is_over);)
        idle = job.step(start) ? 0 : idle + 1;
    ASSERT_TRUE(std::ranges::all_of(operations, is_over)) << job.describe();
}

/// Runs and checks the sum of a trial. Returns false if the algorithm does not serve the trial.
bool try_sum(const Trial& trial) {
    const std::size_t elements = trial.elements();
    const bool is_rooted = trial.collective == "reduce";
    const Rank root = is_rooted ? static_cast<Rank>(trial.seed) % trial.size : plan::kNoRank;
    const ExactWindow window = trial.window();
    const std::size_t words = trial.blocks() * elements * window.words();
    const auto nodes = static_cast<Rank>(1 + trial.seed % 3);
    const auto programs =
        generate_if_served(trial.collective, *collectives::parse_spec(trial.spec),
                           {.size = trial.size,
                            .root = root,
                            .segments = 1 + static_cast<std::uint32_t>(trial.seed % 2),
                            .elements = words,
                            .element_bytes = 8,
                            .layout = plan::Layout(trial.size, nodes == 1 ? trial.size : nodes)});
    if (programs.empty()) return false;
    std::vector<int> node_of;
    for (Rank rank = 0; rank < trial.size; ++rank)
        node_of.push_back(need_one_node(programs) || nodes == 1 ? 0 : rank / nodes);
    VirtualJob job({.segment_bytes = 4 << 20, .node_of_rank = node_of, .seed = trial.seed});
    const plan::Program& first = programs.front();
    const VirtualTeam& team = job.add_team({.shape = {.cells = first.slots * first.depth + 16,
                                                      .banks = 4,
                                                      .bulk_banks = 4,
                                                      .bulk_bytes = 1 << 18}});
    const TeamCall call = bind_programs(job, team,
                                        {.collective = std::string(trial.collective),
                                         .algorithm = trial.spec,
                                         .elements = words,
                                         .root = root},
                                        programs, collectives::contract(trial.collective));
    std::vector<std::byte*> buffers;
    for (Rank rank = 0; rank < trial.size; ++rank) {
        buffers.push_back(job.allocate(rank, words * 8));
        const auto values = trial.input(rank);
        auto* const to = reinterpret_cast<std::int64_t*>(buffers.back());
        for (std::size_t block = 0; block < trial.blocks(); ++block)
            run::to_words(window, Type::float64, values.data() + block * elements, elements,
                          to + block * elements * window.words());
    }
    run_all(job, team, call, buffers);
    for (Rank rank = 0; rank < trial.size && !testing::Test::HasFailure(); ++rank) {
        const std::vector<double> expected = trial.expected(rank, root);
        const auto block = trial.scatters() ? static_cast<std::size_t>(rank) : 0;
        std::vector<double> found(elements);
        run::from_words(
            window, Type::float64,
            reinterpret_cast<const std::int64_t*>(buffers[static_cast<std::size_t>(rank)]) +
                block * elements * window.words(),
            elements, found.data());
        for (std::size_t i = 0; i < expected.size(); ++i)
            EXPECT_TRUE(same_bits(found[i], expected[i]))
                << trial.collective << ' ' << trial.spec << ", " << trial.size << " ranks, seed "
                << trial.seed << ", rank " << rank << ": " << found[i] << ", expected "
                << expected[i];
    }
    return true;
}

class ExactSums : public testing::TestWithParam<std::string_view> {};

TEST_P(ExactSums, HaveTheBitsOfTheReferenceWithEveryAlgorithm) {
    std::uint64_t seed = 0;
    std::size_t served = 0;
    for (const std::string& spec : collectives::specs_to_try(GetParam())) {
        for (const Rank size : {1, 2, 3, 4, 5, 7, 8, 9, 16, 33, 64}) {
            ++seed;
            // Large jobs are slow: without the full mode, each algorithm has some of them.
            if (size > 9 && !full_mode() && seed % 5 != 0) continue;
            if (try_sum({GetParam(), spec, size, seed})) ++served;
            if (HasFailure()) return;
        }
    }
    EXPECT_GT(served, 20U);
}

INSTANTIATE_TEST_SUITE_P(Collectives, ExactSums,
                         testing::Values("allreduce", "reduce", "reduce_scatter", "scan", "exscan"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace weft::test
