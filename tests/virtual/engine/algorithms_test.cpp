// SPDX-License-Identifier: BSD-3-Clause
// Goal: every algorithm of the registry gives right results on the virtual wire for every delivery
// order.
// Method: the test runs the specs of specs_to_try(), for several sizes, roots, segments, seeds and
// element types, and for blocks of different sizes where all ranks know the counts. Half of the
// calls are in place, and successive calls use the same slots.
#include <numeric>

#include "tests/support/full_mode.hpp"
#include "tests/support/generate_all.hpp"
#include "tests/support/survives.hpp"

namespace weft::test {
namespace {

using collectives::GenerateRequest;

/// Returns one node, nodes of two or three ranks, or ranks dealt round-robin to three nodes.
plan::Layout layout_of(Rank size, std::uint64_t trial) {
    const auto nodes = static_cast<Rank>(1 + trial / 2 % 4);
    if (nodes < 4) return {size, nodes == 1 ? size : nodes};
    std::vector<Rank> node_of;
    for (Rank rank = 0; rank < size; ++rank) node_of.push_back(rank % 3);
    return plan::Layout::of(node_of);
}

class EveryAlgorithm : public testing::TestWithParam<std::string_view> {};

/// Returns the trial's request. If `counts` is not empty, the blocks have these sizes.
GenerateRequest request_of(std::string_view collective, Rank size, std::uint64_t trial,
                           const std::vector<std::uint64_t>& counts) {
    const bool has_data = collective != "barrier";
    const std::uint32_t segments = has_data ? 1U + static_cast<std::uint32_t>(trial % 3) : 1U;
    const std::uint64_t sum = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    return {.size = size,
            .root = collectives::is_rooted(collective) ? static_cast<Rank>(trial) % size
                                                       : plan::kNoRank,
            .segments = segments,
            .elements = !counts.empty() ? sum
                        : has_data      ? 8U * segments
                                        : 0U,
            .ordered = trial % 2 == 0,
            .layout = layout_of(size, trial),
            .counts = counts};
}

/// Returns true if the algorithm serves the request. Expects right results of its programs.
bool try_call(std::string_view collective, const std::string& spec, const GenerateRequest& request,
              std::uint64_t trial) {
    const auto programs = generate_if_served(collective, *collectives::parse_spec(spec), request);
    if (programs.empty()) return false;
    std::string why;
    EXPECT_TRUE(survives(programs, collectives::contract(collective),
                         {.seeds = full_mode() ? 200U
                                   : kSlow     ? 1U
                                               : 2U,
                          .first_seed = trial,
                          .elements = request.counts.empty() ? 0 : request.elements,
                          .commutes = !request.ordered,
                          .why = &why}))
        << collective << ' ' << spec << " on " << request.size << " ranks: " << why;
    return true;
}

TEST_P(EveryAlgorithm, ResultsAgreeWithASerialFold) {
    const std::string_view collective = GetParam();
    const bool has_form_with_counts = collective == "allgather" || collective == "reduce_scatter";
    std::uint64_t trial = 0;
    std::uint64_t survived = 0;
    for (const std::string& spec : collectives::specs_to_try(collective)) {
        for (const Rank size : {1, 2, 3, 4, 5, 7, 8, 9}) {
            ++trial;
            if (try_call(collective, spec, request_of(collective, size, trial, {}), trial))
                ++survived;
            if (!has_form_with_counts) continue;
            std::vector<std::uint64_t> counts;
            for (Rank rank = 0; rank < size; ++rank)
                counts.push_back(static_cast<std::uint64_t>(rank) * trial % 7 *
                                 (rank == 1 ? 3 : 1));
            const GenerateRequest request = request_of(collective, size, trial, counts);
            if (request.elements > 0) try_call(collective, spec, request, trial);
        }
    }
    // Some algorithms need 2^k ranks, or cannot keep rank order.
    EXPECT_GE(survived, trial * 2 / 5);
}

INSTANTIATE_TEST_SUITE_P(Collectives, EveryAlgorithm,
                         testing::ValuesIn(collectives::collectives().begin(),
                                           collectives::collectives().end()),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace weft::test
