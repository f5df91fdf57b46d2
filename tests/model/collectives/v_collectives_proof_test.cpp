// SPDX-License-Identifier: BSD-3-Clause
// Goal: calls with blocks of different sizes are right, also with empty blocks, and messages
// have no bytes beyond the blocks.
// Method: the verifier, on every algorithm for counts that all ranks know, and on exchanges with
// random counts that only sender and receiver know.
#include <numeric>

#include "base/random.hpp"
#include "collectives/v_collective.hpp"
#include "plan/schedule/step.hpp"
#include "tests/model/collectives/exchange_proof.hpp"
#include "tests/model/collectives/proof.hpp"

namespace weft::collectives {
namespace {

using Counts = std::vector<std::uint64_t>;

/// Returns counts: repeated 0, 1, 2 (pattern 0), one nonzero (1), growing (2), equal (3), or zero
/// (4).
Counts counts_of(int size, int pattern) {
    Counts counts(static_cast<std::size_t>(size), 0);
    for (std::size_t rank = 0; rank < counts.size(); ++rank) {
        if (pattern == 0) counts[rank] = rank % 3;
        if (pattern == 1 && rank == counts.size() / 2) counts[rank] = 11;
        if (pattern == 2) counts[rank] = rank * rank + 1;
        if (pattern == 3) counts[rank] = 2;
    }
    return counts;
}
constexpr int kPatterns = 5;

std::uint64_t sum_of(const Counts& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

/// Returns one node (kind 0), nodes of three ranks (1), or ranks dealt to two nodes (2).
plan::Layout layout_of(int size, int kind) {
    if (kind == 0) return {size, size};
    if (kind == 1) return {size, std::min(size, 3)};
    std::vector<Rank> node_of;
    for (Rank rank = 0; rank < size; ++rank) node_of.push_back(rank % 2);
    return plan::Layout::of(node_of);
}

TEST(VCollectiveProof, EveryAlgorithmIsRightForAllCounts) {
    int proven = 0;
    for (const std::string_view collective : {"allgather", "reduce_scatter"}) {
        for (const std::string& spec : specs_to_try(collective)) {
            for (const int size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17}) {
                for (int pattern = 0; pattern < kPatterns; ++pattern) {
                    const Counts counts = counts_of(size, pattern);
                    const auto segments = 1U + static_cast<std::uint32_t>(pattern + size) % 3;
                    const GenerateRequest request{.size = size,
                                                  .segments = segments,
                                                  .elements = sum_of(counts),
                                                  .layout = layout_of(size, (size + pattern) % 3),
                                                  .counts = counts};
                    if (!generate(collective, *parse_spec(spec), request)) continue;
                    const auto verdict = prove(collective, spec, request);
                    ASSERT_TRUE(verdict.valid) << collective << ' ' << spec << ' ' << size
                                               << " pattern " << pattern << ": " << verdict.error;
                    EXPECT_TRUE(verdict.bit_identical);
                    EXPECT_TRUE(verdict.synchronizing || size == 1 || sum_of(counts) == 0)
                        << collective << ' ' << spec << ' ' << size;
                    ++proven;
                }
            }
        }
    }
    EXPECT_GT(proven, 500);
}

TEST(VCollectiveProof, EachBlockIsSentAsOftenAsWithEqualBlocks) {
    for (const int size : {2, 5, 8, 17}) {
        const Counts counts = counts_of(size, 2);
        const GenerateRequest request{.size = size, .elements = sum_of(counts), .counts = counts};
        const auto others = static_cast<std::uint64_t>(size - 1);
        for (const char* spec : {"ring", "direct", "bruck", "bruck:k=3"}) {
            const auto verdict = prove("allgather", spec, request);
            ASSERT_TRUE(verdict.valid) << spec << ": " << verdict.error;
            EXPECT_EQ(verdict.bytes_total, others * sum_of(counts) * 8) << spec << ' ' << size;
        }
        for (const char* spec : {"ring", "pairwise"}) {
            const auto verdict = prove("reduce_scatter", spec, request);
            ASSERT_TRUE(verdict.valid) << spec << ": " << verdict.error;
            EXPECT_EQ(verdict.bytes_total, others * sum_of(counts) * 8) << spec << ' ' << size;
        }
    }
}

TEST(VCollectiveProof, AWrongNumberOfCountsIsRefused) {
    const Counts three{1, 2, 3};
    const auto few =
        generate("allgather", *parse_spec("ring"), {.size = 4, .elements = 6, .counts = three});
    ASSERT_FALSE(few.ok());
    EXPECT_EQ(few.failure().text, "counts: 3 given, expected one for each block of allgather");
    const auto without_blocks = generate("broadcast", *parse_spec("flat"),
                                         {.size = 3, .root = 0, .elements = 6, .counts = three});
    EXPECT_FALSE(without_blocks.ok());
}

/// Element counts by sender and receiver.
struct Matrix {
    int size = 0;
    std::uint64_t piece = 1;                       ///< maximum number of elements in a segment
    std::vector<Counts> counts;                    ///< [from][to]
    std::uint64_t mapped_min = ~std::uint64_t{0};  ///< elements from which receivers read in place

    [[nodiscard]] std::uint64_t at(Rank from, Rank to) const {
        return counts[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
    }
    [[nodiscard]] Exchange exchange() const {
        Exchange exchange{.collective = "exchange", .piece = piece};
        for (Rank rank = 0; rank < size; ++rank) {
            auto& sent = exchange.sent.emplace_back();
            auto& received = exchange.received.emplace_back();
            for (Rank peer = 0; peer < size; ++peer) {
                add(sent, peer, at(rank, peer));
                add(received, peer, at(peer, rank));
            }
        }
        return exchange;
    }

  private:
    void add(std::vector<Message>& list, Rank peer, std::uint64_t count) const {
        if (count > 0) list.push_back({peer, count, count >= mapped_min});
    }
};

Matrix draw_matrix(base::Random& random, int size) {
    Matrix matrix{.size = size, .piece = 1 + random.below(4), .counts = {}};
    const std::uint64_t count_max = 1 + random.below(30);
    for (int from = 0; from < size; ++from) {
        Counts& row = matrix.counts.emplace_back();
        for (int to = 0; to < size; ++to)
            row.push_back(random.chance(1, 3) ? 0 : random.below(count_max + 1));
    }
    return matrix;
}

TEST(ExchangeProof, MessagesInPiecesArriveComplete) {
    base::Random random(7);
    for (int size = 1; size <= 17; ++size) {
        for (int trial = 0; trial < 6; ++trial) {
            const Matrix matrix = draw_matrix(random, size);
            std::uint64_t pieces = 0;
            std::uint64_t elements = 0;
            for (Rank from = 0; from < size; ++from) {
                for (Rank to = 0; to < size; ++to) {
                    if (from == to) continue;
                    elements += matrix.at(from, to);
                    pieces += (matrix.at(from, to) + matrix.piece - 1) / matrix.piece;
                }
            }
            const auto verdict = matrix.exchange().verify();
            ASSERT_TRUE(verdict.valid) << size << " trial " << trial << ": " << verdict.error;
            EXPECT_EQ(verdict.messages, pieces);
            EXPECT_EQ(verdict.bytes_total, elements * 8);
            EXPECT_FALSE(verdict.synchronizing && size > 2 && pieces == 0);
        }
    }
}

TEST(ExchangeProof, MappedMessagesAreCopiedOnceAndUndivided) {
    base::Random random(8);
    for (int size = 2; size <= 12; ++size) {
        for (int trial = 0; trial < 6; ++trial) {
            Matrix matrix = draw_matrix(random, size);
            matrix.mapped_min = random.below(15);
            std::uint64_t pieces = 0;
            std::uint64_t mapped = 0;
            for (Rank from = 0; from < size; ++from) {
                for (Rank to = 0; to < size; ++to) {
                    const std::uint64_t count = matrix.at(from, to);
                    if (from == to || count == 0) continue;
                    if (count >= matrix.mapped_min)
                        ++mapped;
                    else
                        pieces += (count + matrix.piece - 1) / matrix.piece;
                }
            }
            const auto verdict = matrix.exchange().verify();
            ASSERT_TRUE(verdict.valid) << size << " trial " << trial << ": " << verdict.error;
            EXPECT_EQ(verdict.messages, pieces);
            EXPECT_GE(verdict.signals, 2 * mapped);
        }
    }
}

/// The sender must not end or write before the receiver has read the exposed data.
TEST(ExchangeProof, MappedMessagesWithoutADoneSignalAreRefused) {
    const Matrix matrix{.size = 2, .piece = 4, .counts = {{0, 9}, {0, 0}}, .mapped_min = 5};
    std::vector<plan::Program> programs = matrix.exchange().programs();
    ASSERT_EQ(programs[0].steps.size(), 2U);  // expose, wait
    ASSERT_EQ(programs[1].steps.size(), 3U);  // wait, copy, signal
    for (plan::Program& program : programs) {
        program.steps.pop_back();
        --program.lanes.front().count;
    }
    const auto verdict = plan::verify({.programs = programs, .elements = 0, .in_place = false});
    EXPECT_NE(verdict.error.find("a done signal is missing"), std::string::npos) << verdict.error;
}

TEST(ExchangeProof, RanksWithoutDataForEachOtherDoNotCommunicate) {
    Matrix matrix{.size = 5, .piece = 10, .counts = std::vector<Counts>(5, Counts(5, 0))};
    matrix.counts[1][3] = 7;
    const auto programs = matrix.exchange().programs();
    EXPECT_EQ(programs[1].steps.size(), 1U);
    EXPECT_EQ(programs[3].steps.size(), 2U);
    EXPECT_TRUE(programs[0].steps.empty());
    const auto verdict = matrix.exchange().verify();
    ASSERT_TRUE(verdict.valid) << verdict.error;
    EXPECT_EQ(verdict.messages, 1U);
    EXPECT_EQ(verdict.signals, 0U);
    EXPECT_FALSE(verdict.synchronizing);
}

TEST(ExchangeProof, DifferentCountsOfSenderAndReceiverAreInvalid) {
    Matrix sender{.size = 2, .piece = 4, .counts = {{0, 3}, {0, 0}}};
    Matrix receiver{.size = 2, .piece = 4, .counts = {{0, 2}, {0, 0}}};
    const std::vector<plan::Program> programs{sender.exchange().programs()[0],
                                              receiver.exchange().programs()[1]};
    const auto verdict = plan::verify({.programs = programs, .elements = 0, .in_place = false});
    EXPECT_FALSE(verdict.valid);
    EXPECT_NE(verdict.error.find("finds no unit of 2 elements"), std::string::npos)
        << verdict.error;
    sender.mapped_min = receiver.mapped_min = 1;
    const std::vector<plan::Program> mapped{sender.exchange().programs()[0],
                                            receiver.exchange().programs()[1]};
    const auto other = plan::verify({.programs = mapped, .elements = 0, .in_place = false});
    EXPECT_NE(other.error.find("finds no unit of 2 elements"), std::string::npos) << other.error;
}

TEST(ExchangeProof, ALoopWithMoreCopiesThanSegmentsIsInvalid) {
    const Exchange exchange = Matrix{.size = 2, .piece = 1, .counts = {{0, 9}, {0, 0}}}.exchange();
    std::vector<plan::Program> programs = exchange.programs();
    const plan::Contract contract = exchange.contract();
    for (plan::Program& program : programs) program.segments = 3;
    const auto verdict = plan::verify(
        {.programs = programs, .contract = &contract, .elements = 0, .in_place = false});
    EXPECT_FALSE(verdict.valid);
    EXPECT_NE(verdict.error.find("requires 4 segments for 2 copies, but there are 3"),
              std::string::npos)
        << verdict.error;
}

}  // namespace
}  // namespace weft::collectives
