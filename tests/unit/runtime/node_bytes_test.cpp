// SPDX-License-Identifier: BSD-3-Clause
// Goal: for a program that uses buffers in place, binding computes the bytes that the ranks of a
// node access in their buffers: the bytes of this rank, times the number of ranks. From this
// number, the engine decides whether stores bypass the caches.
// Method: tests bind programs with buffers of known size.
#include <gtest/gtest.h>

#include "collectives/registry.hpp"
#include "run/bind/bind.hpp"

namespace weft::run {
namespace {

constexpr std::uint64_t kElements = 6000;
constexpr std::uint64_t kBytes = 8 * kElements;

std::uint64_t node_bytes(std::string_view collective, const char* spec, Rank rank,
                         const std::vector<bool>* near = nullptr) {
    const collectives::GenerateRequest request{
        .rank = rank,
        .size = 6,
        .root = collectives::is_rooted(collective) ? 1 : plan::kNoRank,
        .elements = kElements,
        .element_bytes = 8};
    auto program =
        collectives::generate(collective, collectives::parse_spec(spec).value(), request);
    EXPECT_TRUE(program.ok()) << program.failure().text;
    const auto bound =
        bind(*std::move(program),
             {.elements = kElements,
              .element_bytes = 8,
              .shape = {.cells = 64, .banks = 2, .bulk_banks = 2, .bulk_bytes = 1U << 20},
              .near = near});
    EXPECT_TRUE(bound.ok()) << bound.failure().text;
    return bound->node_bytes;
}

TEST(NodeBytes, InputAndOutputOfAllRanksAreCounted) {
    EXPECT_EQ(node_bytes("alltoall", "mapped", 0), 6 * 2 * kBytes);
    EXPECT_EQ(node_bytes("allgather", "mapped", 0), 6 * (kBytes + kBytes / 6));
    EXPECT_EQ(node_bytes("allreduce", "mapped", 3), 6 * 2 * kBytes);
    EXPECT_EQ(node_bytes("broadcast", "mapped", 3), 6 * kBytes) << "output";
}

/// A receiver of a scatter reads the root's buffer in place, and writes one block of its output.
TEST(NodeBytes, ARankThatExposesNoBufferCountsItsOwnOutput) {
    EXPECT_EQ(node_bytes("scatter", "mapped", 0), 6 * kBytes / 6);
}

TEST(NodeBytes, OnlyRanksOfThisNodeAreCounted) {
    const std::vector<bool> near{true, true, true, false, false, false};
    EXPECT_EQ(node_bytes("alltoall", "mapped", 0, &near), 3 * 2 * kBytes);
}

/// Data moves through put targets in pieces that stay in the caches.
TEST(NodeBytes, DataInPutTargetsIsNotCounted) {
    EXPECT_EQ(node_bytes("alltoall", "direct", 0), 0U);
}

}  // namespace
}  // namespace weft::run
