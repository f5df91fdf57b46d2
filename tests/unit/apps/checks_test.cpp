// SPDX-License-Identifier: BSD-3-Clause
// Goal: the applications' checks detect wrong results; blocks and the serial solver are right.
// Method: tests change one element of a right result, or compare with small cases computed by hand.
// For heat, two halves of the plate never exchange edges, or use edges of the previous step.
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "perf/apps/cg/conjugate_gradient.hpp"
#include "perf/apps/common/blocks.hpp"
#include "perf/apps/common/differences.hpp"
#include "perf/apps/heat/plate.hpp"
#include "perf/apps/table/counts.hpp"

namespace apps {
namespace {

TEST(Differences, OneDifferentElementIsCounted) {
    const std::vector<double> want{1, -4, 0.5};
    EXPECT_EQ(count_different(want, want), 0U);
    EXPECT_EQ(relative_difference(want, want), 0);
    std::vector<double> have = want;
    have[2] += 1e-9;
    EXPECT_EQ(count_different(have, want), 1U);
    EXPECT_NEAR(relative_difference(have, want), 0.25e-9, 1e-12);
    have[2] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(count_different(have, want), 1U);
    EXPECT_EQ(relative_difference(have, want), std::numeric_limits<double>::infinity());
    EXPECT_THROW((void)relative_difference(std::span(have).first(2), want), std::invalid_argument);
    const std::vector<double> zero{0};
    EXPECT_EQ(count_different(zero, std::vector<double>{-0.0}), 1U) << "bits are compared";
    EXPECT_EQ(relative_difference(std::vector<double>{1e-300}, zero),
              std::numeric_limits<double>::infinity());
}

TEST(Blocks, EachItemBelongsToTheOwnerOfItsBlock) {
    const std::vector<std::int64_t> sizes{0, 3, 0, 0, 4, 1, 0};
    for (const Blocks& blocks : {Blocks(8, 3), Blocks(2, 5), Blocks(0, 4), Blocks(sizes)}) {
        std::int64_t next = 0;
        for (int block = 0; block < blocks.count(); ++block) {
            EXPECT_EQ(blocks.begin(block), next);
            for (; next < blocks.end(block); ++next) EXPECT_EQ(blocks.owner(next), block);
            EXPECT_LE(blocks.size(block), blocks.largest());
        }
        EXPECT_EQ(next, blocks.items());
    }
    EXPECT_EQ(Blocks(8, 3).largest(), 3);
    EXPECT_EQ(Blocks(sizes).largest(), 4);
}

TEST(SerialSolver, ComputesAKnownSolutionAndDetectsAnIndefiniteMatrix) {
    // [4 1; 1 3] x = [1; 2] has the solution x = [1/11; 7/11].
    SparseRows matrix;
    matrix.add(0, 4);
    matrix.add(1, 1);
    matrix.end_row();
    matrix.add(0, 1);
    matrix.add(1, 3);
    matrix.end_row();
    const Solution solution = solve_serially(matrix, std::vector<double>{1, 2}, {});
    EXPECT_TRUE(solution.converged);
    EXPECT_LE(solution.iterations, 3);
    EXPECT_NEAR(solution.x[0], 1.0 / 11, 1e-12);
    EXPECT_NEAR(solution.x[1], 7.0 / 11, 1e-12);
    matrix.values[0] = -4;
    EXPECT_FALSE(solve_serially(matrix, std::vector<double>{1, 0}, {}).definite);
}

enum class Exchange { right, none, late };

/// Computes a plate in parts, one above the other. Before each step, neighboring parts exchange
/// their edges rightly, never, or one step late. Returns the cells of the plate, row by row.
std::vector<double> heat(std::int64_t parts, Exchange exchange, int steps) {
    constexpr std::int64_t kColumns = 5;
    const std::int64_t rows = 6 / parts;
    std::vector<std::vector<double>> memory;
    std::vector<Field> now, next;
    for (std::int64_t part = 0; part < parts; ++part) {
        const Area area{part * rows, 0, rows, kColumns};
        for (std::vector<Field>* fields : {&now, &next}) {
            memory.emplace_back(area.framed_cells());
            fields->emplace_back(area, memory.back());
            fields->back().initialize();
        }
    }
    for (int step = 0; step < steps; ++step) {
        // `next` still has the cells of the previous step.
        const std::vector<Field>& from = exchange == Exchange::late && step > 0 ? next : now;
        for (std::size_t lower = 1; lower < now.size() && exchange != Exchange::none; ++lower)
            for (std::int64_t column = 0; column < kColumns; ++column) {
                now[lower - 1].at(rows, column) = from[lower].at(0, column);
                now[lower].at(-1, column) = from[lower - 1].at(rows - 1, column);
            }
        for (std::size_t part = 0; part < now.size(); ++part)
            next[part].step(now[part], 0, rows, 0, kColumns);
        std::swap(now, next);
    }
    std::vector<double> cells;
    for (const Field& field : now)
        for (std::int64_t row = 0; row < rows; ++row)
            cells.insert(cells.end(), &field.at(row, 0), &field.at(row, 0) + kColumns);
    return cells;
}

TEST(Plate, MissingOrLateEdgesAreDetected) {
    for (const int steps : {2, 3, 10}) {
        const std::vector<double> want = heat(1, Exchange::none, steps);
        EXPECT_EQ(count_different(heat(2, Exchange::right, steps), want), 0U);
        // Each half has a row of 5 cells beside the other half.
        EXPECT_GE(count_different(heat(2, Exchange::none, steps), want), 10U);
        EXPECT_GE(count_different(heat(2, Exchange::late, steps), want), 10U);
    }
}

TEST(Counts, EachKindOfFaultIsCounted) {
    const Counts expected{{11, 1}, {13, 5}};
    const std::vector<Slot> right{{kNoKey, 0}, {13, 5}, {11, 1}, {kNoKey, 0}};
    EXPECT_EQ(compare_counts(right, expected).all(), 0U);
    const auto with = [&](std::size_t at, Slot slot) {
        std::vector<Slot> slots = right;
        slots[at] = slot;
        return compare_counts(slots, expected);
    };
    EXPECT_EQ(with(1, {13, 4}).wrong, 1U);
    EXPECT_EQ(with(0, {kNoKey, 1}).wrong, 1U);
    EXPECT_EQ(with(0, {17, 1}).unexpected, 1U);
    EXPECT_EQ(with(0, {13, 5}).repeated, 1U);
    EXPECT_EQ(with(2, {kNoKey, 0}).missing, 1U);
    EXPECT_EQ(with(2, {13, 5}).all(), 2U);  // one missing, one repeated
}

}  // namespace
}  // namespace apps
