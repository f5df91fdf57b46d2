// SPDX-License-Identifier: BSD-3-Clause
// Goal: offset forms lose nothing, and symmetric algorithms have one for all ranks.
// Method: round trips of known algorithms; number of classes counted by value and by hash.
#include "plan/schedule/offset_form.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "plan/schedule/builder.hpp"
#include "plan/schedule/canonical.hpp"
#include "tests/support/sample_programs.hpp"

namespace weft::plan {
namespace {

std::size_t classes(const std::vector<Program>& programs, Relative relative, bool units) {
    std::set<std::uint64_t> hashes;
    std::vector<OffsetForm> forms;
    for (const Program& program : programs) {
        OffsetForm form = offset_form(program, relative, units);
        EXPECT_EQ(at(form, program.rank), canonical(program));
        hashes.insert(class_hash(form));
        if (std::ranges::find(forms, form) == forms.end()) forms.push_back(std::move(form));
    }
    EXPECT_EQ(hashes.size(), forms.size());
    return forms.size();
}

TEST(OffsetForm, SymmetricAlgorithmsHaveOneClass) {
    EXPECT_EQ(classes(test::dissemination_barrier(11), Relative::ring, false), 1U);
    EXPECT_EQ(classes(test::ring(9), Relative::ring, true), 1U);
    EXPECT_EQ(classes(test::ring(9), Relative::ring, false), 9U);
}

TEST(OffsetForm, OrderOfOperandsTellsClassesApart) {
    // In rank order, each bit of the rank decides the order of the operands of one stage.
    EXPECT_EQ(classes(test::recursive_doubling(16), Relative::exclusive_or, false), 16U);
    EXPECT_EQ(classes(test::recursive_doubling(16), Relative::ring, false), 16U);
}

TEST(OffsetForm, HalvingBlocksAreAlikeBitByBit) {
    std::vector<Program> programs;
    for (Rank rank = 0; rank < 8; ++rank) {
        Builder build(Program{.rank = rank, .size = 8, .units = 8});
        const auto r = static_cast<std::uint32_t>(rank);
        std::uint32_t stage = 0;
        for (std::uint32_t half = 4; half > 0; half /= 2, ++stage) {
            const std::uint32_t mine = r & ~(half - 1);
            build.put(static_cast<Rank>(r ^ half), stage, scratch(0, mine ^ half, half));
            build.wait(static_cast<Rank>(r ^ half), stage);
            build.flush();
            build.reduce(scratch(0, mine, half), {scratch(0, mine, half), slot(stage, mine, half)});
        }
        programs.push_back(std::move(build).finish());
    }
    EXPECT_EQ(classes(programs, Relative::exclusive_or, true), 1U);
    const OffsetForm form = offset_form(programs[0], Relative::exclusive_or, true);
    for (Rank rank = 0; rank < 8; ++rank)
        EXPECT_EQ(at(form, rank), programs[static_cast<std::size_t>(rank)]);
}

TEST(OffsetForm, OnePublisherPerRankIsAlikeWithoutItsNumbers) {
    std::vector<Program> programs;
    for (Rank rank = 0; rank < 5; ++rank) {
        Builder build(Program{.rank = rank, .size = 5});
        build.publish(0, input());
        for (Rank ahead = 1; ahead < 5; ++ahead) {
            const Rank peer = (rank + ahead) % 5;
            build.wait(peer, 0, kFromPublished);
            build.copy(scratch(static_cast<std::uint32_t>(ahead)),
                       Block{.buffer = Buffer::published, .peer = peer});
        }
        programs.push_back(std::move(build).finish());
    }
    EXPECT_EQ(classes(programs, Relative::ring, false), 1U);
}

TEST(OffsetForm, AsymmetricProgramsComeBackToo) {
    classes(test::tree_allreduce(13, 4, 2), Relative::ring, false);
    classes(test::tree_allreduce(13, 4, 2), Relative::exclusive_or, true);
    classes(test::chain_broadcast(6, 4, 2), Relative::ring, true);
    EXPECT_EQ(classes(test::chain_broadcast(6, 4, 2), Relative::ring, false), 3U);
}

}  // namespace
}  // namespace weft::plan
