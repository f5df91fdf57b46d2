// SPDX-License-Identifier: BSD-3-Clause
// Goal: every algorithm of the registry gives right results on the virtual wire, whatever the
// network does.
// Method: all names and parameter values worth trying, for some sizes, roots, pieces, seeds and kinds
// of elements;
// inputs and outputs are the same memory in half of the calls, and calls follow each other in the
// same slots.
#include "tests/support/full_mode.hpp"
#include "tests/support/generate_all.hpp"
#include "tests/support/survives.hpp"

namespace weft::test {
namespace {

using collectives::GenerateRequest;

/// One node, nodes of two and three ranks, and ranks dealt like cards.
plan::Layout layout_of(Rank size, std::uint64_t trial) {
    const auto nodes = static_cast<Rank>(1 + trial / 2 % 4);
    if (nodes < 4) return {size, nodes == 1 ? size : nodes};
    std::vector<Rank> node_of;
    for (Rank rank = 0; rank < size; ++rank) node_of.push_back(rank % 3);
    return plan::Layout::of(node_of);
}

class EveryAlgorithm : public testing::TestWithParam<std::string_view> {};

TEST_P(EveryAlgorithm, GivesWhatASerialFoldGives) {
    const std::string_view collective = GetParam();
    std::uint64_t trial = 0;
    std::uint64_t survived = 0;
    for (const std::string& spec : collectives::specs_to_try(collective)) {
        for (const Rank size : {1, 2, 3, 4, 5, 7, 8, 9}) {
            ++trial;
            const bool ordered = trial % 2 == 0;
            const std::uint32_t segments =
                collective == "barrier" ? 1U : 1U + static_cast<std::uint32_t>(trial % 3);
            const GenerateRequest request{.size = size,
                                          .root = collectives::is_rooted(collective)
                                                      ? static_cast<Rank>(trial) % size
                                                      : plan::kNoRank,
                                          .segments = segments,
                                          .elements = collective == "barrier" ? 0U : 8U * segments,
                                          .ordered = ordered,
                                          .layout = layout_of(size, trial)};
            const auto programs =
                generate_if_served(collective, *collectives::parse_spec(spec), request);
            if (programs.empty()) continue;
            std::string why;
            EXPECT_TRUE(survives(programs, collectives::contract(collective),
                                 {.seeds = full_mode() ? 200U : 2U,
                                  .first_seed = trial,
                                  .commutes = !ordered,
                                  .why = &why}))
                << collective << ' ' << spec << " on " << size << " ranks: " << why;
            ++survived;
        }
    }
    EXPECT_GE(survived, trial * 2 / 5);  // some need a power of two, or cannot keep rank order
}

INSTANTIATE_TEST_SUITE_P(Collectives, EveryAlgorithm,
                         testing::ValuesIn(collectives::collectives().begin(),
                                           collectives::collectives().end()),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace weft::test
