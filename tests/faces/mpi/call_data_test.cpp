// SPDX-License-Identifier: BSD-3-Clause
// Goal: blocks for neighbors are copied only if weft cannot use the caller's memory, and erroneous
// arguments are refused each time.
// Method: a job of one rank sets the data of calls, and counts the blocks to pack or to unpack.
#include "faces/mpi/call_data.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "faces/mpi/prepared.hpp"

namespace weft::mpi {
namespace {

constexpr int kCount = 3;
constexpr std::size_t kBytes = kCount * sizeof(int);
using Sizes = std::vector<std::size_t>;

/// Memory of four blocks, and the arguments of a call.
struct Given {
    std::vector<int> memory = std::vector<int>(100);
    std::vector<int> counts = std::vector<int>(4, kCount);
    std::vector<int> places{0, 3, 6, 9};
    MPI_Datatype type = MPI_INT;

    [[nodiscard]] CallData set(const Entries& entries, const BlockUse& use) {
        CallData data;
        EXPECT_EQ(
            data.set_blocks({memory.data(), counts.data(), places.data(), &type}, entries, use),
            Why::served);
        return data;
    }
    [[nodiscard]] std::byte* at(int place) { return mpi::at(&memory[0], place * 4L); }
};

/// The two neighbors in each of two periodic dimensions of two ranks.
const Entries kTorus{{0, 0, 1, 1}, 2};

TEST(CallData, AdjacentBlocksForOneNeighborAreUsedInPlace) {
    Given given;
    const CallData data = given.set(kTorus, {});
    EXPECT_EQ(data.memory, given.memory.data());
    EXPECT_EQ(data.counts, (Sizes{2 * kBytes, 2 * kBytes}));
    EXPECT_EQ(data.displacements, (Sizes{0, 2 * kBytes}));
    EXPECT_TRUE(data.packings.empty());
    EXPECT_EQ(data.packed.bytes(), 0U);
}

TEST(CallData, BlocksInAnotherOrderAreUnpacked) {
    Given given;
    const CallData data = given.set(kTorus, {.receives = true, .order = BlockOrder::crossed});
    EXPECT_EQ(data.memory, data.packed.get());
    ASSERT_EQ(data.packings.size(), 4U);
    EXPECT_EQ(data.packings[0].memory, given.at(3));
    EXPECT_EQ(data.packings[0].packed, data.packed.get());
    EXPECT_EQ(data.packings[1].memory, given.at(0));
    EXPECT_EQ(data.packings[1].packed, data.packed.get() + kBytes);
    EXPECT_EQ(data.counts, (Sizes{2 * kBytes, 2 * kBytes}));
    EXPECT_EQ(data.displacements, (Sizes{0, 2 * kBytes}));
}

TEST(CallData, ARoundUsesOneBlockOfEachNeighborInPlace) {
    Given given;
    const BlockUse use{.receives = true, .order = BlockOrder::crossed, .round = 1};
    const CallData data = given.set(kTorus, use);
    EXPECT_EQ(data.memory, given.memory.data()) << "the block that arrives second is the first";
    EXPECT_EQ(data.counts, (Sizes{kBytes, kBytes}));
    EXPECT_EQ(data.displacements, (Sizes{0, 2 * kBytes}));
    EXPECT_TRUE(data.packings.empty());
    EXPECT_EQ(given.set(kTorus, {.round = 1}).memory, given.at(3));
}

TEST(CallData, BlocksWithGapsBetweenThemArePacked) {
    Given given;
    given.places = {0, 4, 8, 12};
    EXPECT_EQ(given.set(kTorus, {}).packings.size(), 4U);
    const CallData distinct = given.set(Entries::of_ranks(4), {});
    EXPECT_TRUE(distinct.packings.empty()) << "each neighbor has one block";
    EXPECT_EQ(distinct.displacements, (Sizes{0, 16, 32, 48}));
}

TEST(CallData, DataForSeveralBlocksIsReceivedOnce) {
    Given given;
    const CallData data = given.set(kTorus, {.receives = true, .shares = true});
    EXPECT_EQ(data.memory, given.memory.data());
    EXPECT_EQ(data.counts, (Sizes{kBytes, kBytes}));
    EXPECT_EQ(data.displacements, (Sizes{0, 2 * kBytes}));
    ASSERT_EQ(data.packings.size(), 2U) << "the second block of each neighbor";
    std::iota(given.memory.begin(), given.memory.begin() + 3, 7);
    EXPECT_EQ(data.packings[0].unpack(), MPI_SUCCESS);
    EXPECT_EQ(std::vector<int>(given.memory.begin() + 3, given.memory.begin() + 6),
              (std::vector<int>{7, 8, 9}));
}

TEST(CallData, MissingNeighborsAndEmptyBlocksNeedNoMemory) {
    Given given;
    given.counts = {0, 3, 3, 3};
    const CallData data = given.set({{0, 0, -1, 1}, 2}, {});
    EXPECT_EQ(data.memory, given.at(3));
    EXPECT_EQ(data.counts, (Sizes{kBytes, kBytes}));
    EXPECT_EQ(data.displacements, (Sizes{0, 2 * kBytes}));
    EXPECT_TRUE(data.packings.empty());
}

TEST(CallData, OverlappingBlocksAreReceivedSeparately) {
    Given given;
    given.places = {0, 0, 6, 9};
    EXPECT_TRUE(given.set(Entries::of_ranks(4), {}).packings.empty());
    EXPECT_EQ(given.set(Entries::of_ranks(4), {.receives = true}).packings.size(), 4U);
}

TEST(CallData, TypesWithGapsArePacked) {
    Given given;
    MPI_Datatype spread = MPI_DATATYPE_NULL;
    MPI_Type_vector(1, 1, 1, MPI_INT, &spread);
    MPI_Type_create_resized(spread, 0, 8, &given.type);
    MPI_Type_commit(&given.type);
    EXPECT_EQ(given.set(Entries::of_ranks(4), {}).packings.size(), 4U);
    MPI_Type_free(&spread);
    MPI_Type_free(&given.type);
}

TEST(Neighborhood, MembersOfAGridAgreeOnRoundsForReorderedBlocks) {
    const int one = 1;
    MPI_Comm ring = MPI_COMM_NULL;
    MPI_Cart_create(MPI_COMM_SELF, 1, &one, &one, 0, &ring);
    const auto neighbors = Neighborhood::of(ring);
    const CallKind kind = CallKind::neighbor_alltoall;  // both hosts reorder its blocks
    int exchanges = 0;
    for (int call = 0; call < 32; ++call) exchanges += neighbors->must_agree(kind) ? 1 : 0;
    EXPECT_EQ(exchanges, 2);
    EXPECT_FALSE(neighbors->must_agree(CallKind::neighbor_allgather));
    EXPECT_EQ(neighbors->rounds(kind, Form::blocking), 1);
    neighbors->agree(true);
    EXPECT_EQ(neighbors->rounds(kind, Form::blocking), 2);
    EXPECT_EQ(neighbors->rounds(kind, Form::persistent), 1);
    EXPECT_EQ(neighbors->rounds(CallKind::neighbor_allgather, Form::blocking), 1);
    MPI_Comm_free(&ring);
}

TEST(PreparedCall, RepeatedArgumentsOfANeighborCallAreCheckedUntilTheyAreAccepted) {
    const int one = 1;
    MPI_Comm ring = MPI_COMM_NULL;
    MPI_Cart_create(MPI_COMM_SELF, 1, &one, &one, 0, &ring);
    PreparedCall call(CallKind::neighbor_alltoall, {ring, 0, 1}, Form::started,
                      Neighborhood::of(ring));
    std::vector<int> memory{1, 2, 0, 0};
    const Elements in{&memory[0], 1, MPI_INT};
    const Elements negative{&memory[2], -1, MPI_INT};
    for (int repeated = 0; repeated < 2; ++repeated)
        EXPECT_EQ(call.neighbor_alltoall(in, negative), Why::arguments);
    for (int repeated = 0; repeated < 2; ++repeated) {
        memory[0] += 2;
        EXPECT_EQ(call.neighbor_alltoall(in, Elements{&memory[2], 1, MPI_INT}), Why::served);
        EXPECT_EQ(call.run(nullptr), WEFT_OK);
        EXPECT_EQ(call.finish(), MPI_SUCCESS);
        EXPECT_EQ(memory[2] + memory[3], memory[0] + memory[1]);
    }
    MPI_Comm_free(&ring);
}

}  // namespace
}  // namespace weft::mpi

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    MPI_Init(&argc, &argv);
    weft::mpi::own_comm = MPI_COMM_SELF;  // for questions about types
    const int failed = RUN_ALL_TESTS();
    MPI_Finalize();
    return failed;
}
