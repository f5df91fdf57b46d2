// SPDX-License-Identifier: BSD-3-Clause
// Goal: algorithms take exactly the rounds, messages, bytes and reductions of their formulas, for
// up to 64 ranks.
// Method: the verifier's counts are compared with formulas of the number of ranks and the
// root, for buffers that divide evenly. registry_proof_test.cpp proves results for all other
// counts, segments and nodes.
#include "tests/model/collectives/figures.hpp"

namespace weft::collectives {
namespace {

// --- blocks for each rank ----------------------------------------------------------------------

TEST(BlocksProof, AllgathersSendEachBlockOnce) {
    const auto all_pairs = [](Count n) { return n * (n - 1); };
    const auto expect = [&](const std::string& spec, auto rounds_of, auto messages_of) {
        expect_all("allgather", spec, one_per_rank, [&](Count n, Count) {
            return Figures{rounds_of(n), messages_of(n), all_pairs(n), n - 1};
        });
    };
    expect(
        "ring", [](Count n) { return n - 1; }, all_pairs);
    expect(
        "direct", [](Count n) { return one_if(n > 1); }, all_pairs);
    expect("recursive-doubling", log2_ceil, [](Count n) { return n * log2_ceil(n); });
    for (const Count k : {2U, 3U, 5U, 64U})
        expect(
            fmt::format("bruck:k={}", k), [=](Count n) { return rounds_in_base(k, n); },
            [=](Count n) { return n * single_digits(k, n); });
}

TEST(BlocksProof, AlltoallsSendBlocksOnceOrOncePerDigit) {
    expect_all("alltoall", "direct", one_per_rank, [](Count n, Count) {
        return Figures{one_if(n > 1), n * (n - 1), n * (n - 1), n - 1};
    });
    for (const Count k : {2U, 3U, 5U, 64U})
        expect_all("alltoall", fmt::format("bruck:k={}", k), one_per_rank, [=](Count n, Count) {
            return Figures{rounds_in_base(k, n), n * single_digits(k, n),
                           n * nonzero_digits_below(k, n), nonzero_digits_below(k, n)};
        });
}

TEST(BlocksProof, ReduceScattersSendAllButTheOwnBlock) {
    expect_all("reduce_scatter", "pairwise", one_per_rank, [](Count n, Count) {
        return Figures{one_if(n > 1), n * (n - 1), n * (n - 1), n - 1, n - 1};
    });
    expect_all("reduce_scatter", "ring", one_per_rank, [](Count n, Count) {
        return Figures{n - 1, n * (n - 1), n * (n - 1), n - 1, n - 1};
    });
}

TEST(BlocksProof, RecursiveHalvingFoldsPairsForOtherSizes) {
    // The fold leaves p numbers: each of the first `folded` numbers a pair of ranks.
    // One half of the blocks are those of the pairs' first ranks and of half of the other numbers.
    struct Halves {
        Count p = 1, folded = 0;
        /// Returns the number of blocks in a half whose numbers equal `number` modulo `stride`.
        [[nodiscard]] Count blocks(bool second, Count number, Count stride) const {
            const Count border = folded + (p - folded + 1) / 2;
            Count count = 0;
            for (Count w = number % stride; w < p; w += stride)
                if (w < folded || second == (w >= border)) ++count;
            return count;
        }
        [[nodiscard]] Count messages() const {
            Count count = 2 * folded;
            for (Count w = 0; w < p; ++w)
                for (Count bit = 1; bit < p; bit *= 2) {
                    const Count other = w ^ bit;
                    if (w >= folded && other >= folded) ++count;
                    if (w < folded || other < folded)
                        for (const bool second : {false, true})
                            count += one_if(blocks(second, other, 2 * bit) > 0);
                }
            return count;
        }
        [[nodiscard]] Count reduced_max() const {
            Count largest = 0;
            for (Count w = 0; w < p; ++w)
                for (const bool second : {false, true}) {
                    Count reduced = w < folded ? blocks(second, 0, 1) : 0;
                    for (Count stride = 2; stride <= p; stride *= 2)
                        reduced += blocks(second, w, stride) +
                                   (w < folded ? 0 : blocks(!second, w, stride));
                    largest = std::max(largest, reduced);
                }
            return largest;
        }
    };
    expect_all("reduce_scatter", "recursive-halving", one_per_rank, [&](Count n, Count) {
        const Count p = std::bit_floor(n);
        if (p == n) return Figures{log2_floor(n), n * log2_floor(n), n * (n - 1), n - 1, n - 1};
        const Halves halves{p, n - p};
        return Figures{log2_floor(n) + 1, halves.messages(), n * (n - 1), n - 1,
                       halves.reduced_max()};
    });
}

TEST(BlocksProof, HalvingSendsAsMuchAsARingInFewerRounds) {
    // After `levels` halvings, ranks with equal numbers modulo 2^levels form a ring.
    for (const Count levels : {1, 2}) {
        const std::string spec = fmt::format("halving:levels={},then=(ring)", levels);
        for (Count groups : {3, 5, 6, 9}) {
            const Count n = groups << levels;
            const auto size = static_cast<Rank>(n);
            const auto scattered = prove("reduce_scatter", spec, {.size = size, .elements = n});
            EXPECT_EQ(scattered.rounds, levels + groups - 1) << n;
            EXPECT_EQ(scattered.messages, n * (levels + groups - 1)) << n;
            EXPECT_EQ(scattered.bytes_sent_max, (n - 1) * 8) << n;
            const auto reduced = prove("allreduce", spec, {.size = size, .elements = n});
            EXPECT_EQ(reduced.rounds, 2 * (levels + groups - 1)) << n;
            EXPECT_EQ(reduced.bytes_sent_max, 2 * (n - 1) * 8) << n;
        }
    }
    // With 12 numbers for 13 ranks, the longest chain begins with the two rounds of the pair. After
    // four rounds of a ring it ends at another rank.
    const auto folded =
        prove("allreduce", "halving:levels=2,then=(ring)", {.size = 13, .elements = 12});
    EXPECT_EQ(folded.rounds, 2 + 2 + 4 + 2);
    // Each level may have an algorithm of its own.
    const auto nested = prove("allreduce", "halving:levels=1,then=(halving:levels=1,then=(a3))",
                              {.size = 12, .elements = 12});
    EXPECT_EQ(nested.rounds, 2 * 2 + 1);
    EXPECT_EQ(nested.bytes_sent_max, 2 * (6 + 3) * 8 + 2 * 3 * 8);
}

TEST(BlocksProof, GathersAndScattersFollowTheirTrees) {
    for (const char* collective : {"gather", "scatter"}) {
        expect_all(collective, "flat", one_per_rank, [](Count n, Count) {
            return Figures{one_if(n > 1), n - 1, n - 1, kOpen};
        });
        expect_all(collective, "binomial", one_per_rank, [](Count n, Count) {
            return Figures{digits_max(2, n), n - 1, nonzero_digits_below(2, n), kOpen};
        });
    }
}

TEST(BlocksProof, ScansKeepRankOrder) {
    for (const char* collective : {"scan", "exscan"}) {
        const bool exclusive = collective[0] == 'e';
        expect_all(collective, "linear", one_per_rank, [&](Count n, Count) {
            return Figures{n - 1, n - 1, n * (n - 1), n * one_if(n > 1),
                           n * one_if(n > (exclusive ? 2 : 1))};
        });
        expect_all(collective, "recursive-doubling", one_per_rank, [&](Count n, Count) {
            Count messages = 0;
            for (Count distance = 1; distance < n; distance *= 2) messages += n - distance;
            return Figures{std::has_single_bit(n) ? log2_ceil(n) : kOpen, messages, messages * n,
                           kOpen, exclusive ? kOpen : n * log2_ceil(n)};
        });
        for (Rank size = 1; size <= 64; ++size) {
            const GenerateRequest request{.size = size, .elements = 2, .ordered = true};
            EXPECT_TRUE(prove(collective, "linear", request).ordered) << size;
            const auto doubling = prove(collective, "recursive-doubling", request);
            EXPECT_TRUE(doubling.ordered) << size;
            EXPECT_LE(doubling.rounds, log2_ceil(static_cast<Count>(size)));
        }
    }
}

TEST(BlocksProof, Doubling123HasTheRoundsAndReductionsOfItsPaper) {
    for (const char* collective : {"exscan", "scan"}) {
        const bool exclusive = collective[0] == 'e';
        for (Rank size = 1; size <= 130; ++size) {
            const auto n = static_cast<Count>(size);
            const auto programs = generate_all(collective, *parse_spec("doubling-123"),
                                               {.size = size, .elements = 1, .ordered = true});
            const auto verdict = prove(collective, programs, 1);
            const std::string call = fmt::format("{} on {} ranks", collective, size);
            Count rounds = n > 2 ? 2 : n - 1;  // for n > 2: ceil(log2(4/3 (n - 1)))
            for (Count covered = 3; covered + 1 < n; covered *= 2) ++rounds;
            Count messages = n - 1 + (n > 2 ? n - 2 : 0);
            for (Count distance = 3; distance + 1 < n; distance *= 2) messages += n - 1 - distance;
            expect_figures(verdict, {kOpen, messages, messages, kOpen, kOpen}, call);
            EXPECT_TRUE(verdict.ordered) << call;
            EXPECT_EQ(put_rounds(programs), rounds) << call;
            // A message may overtake those of earlier rounds, which its data does not need.
            EXPECT_LE(verdict.rounds, rounds) << call;
            EXPECT_LE(verdict.reduced_bytes_max, 8 * (rounds + one_if(!exclusive))) << call;
        }
    }
}

TEST(TreeProof, ScatterAllgatherMovesTheBytesOfItsFormula) {
    expect_all("broadcast", "scatter-allgather", one_per_rank, [](Count n, Count) {
        // The ring skips data that the scatter has already delivered, and sends a signal instead.
        return Figures{.rounds = n - 1 + digits_max(2, n),
                       .messages = (n - 1) * (n + 1) - nonzero_digits_below(2, n),
                       .total = n * (n - 1),
                       .sent_max = kOpen,
                       .signals = nonzero_digits_below(2, n)};
    });
}

// --- buffers in blocks -------------------------------------------------------------------------

TEST(AllreduceCounts, HalvingDoublingHasTheCountsOfRabenseifner) {
    const auto elements = [](Count n) { return 2 * std::bit_floor(n); };
    expect_all("allreduce", "halving-doubling", elements, [&](Count n, Count) {
        const Count p = std::bit_floor(n);
        const Count m = elements(n);
        const Count folds = one_if(n != p);
        const Count both_ways = 2 * (m - m / p);
        return Figures{2 * log2_floor(n) + 3 * folds, kOpen,
                       p * both_ways + (n - p) * (m / 2 * 3 + m), both_ways + folds * (m / 2 + m),
                       both_ways / 2 + folds * m / 2};
    });
}

TEST(AllreduceCounts, BinaryBlocksSendUpAndDownOnce) {
    expect_all("allreduce", "binary-blocks", power_of_two_up_to, [](Count n, Count) {
        const Count m = std::bit_floor(n);
        Figures figures{2 * log2_floor(n), kOpen};
        Count larger = 0;
        for (Count block = m; block > 0; block /= 2) {
            if ((n & block) == 0) continue;
            const bool has_smaller = (n & (block - 1)) != 0;
            // Within the block, to the next larger block and to the next smaller block.
            const Count sent =
                2 * (m - m / block) + (larger != 0 ? m / block : 0) + (has_smaller ? m / block : 0);
            figures.total += block * sent;
            figures.sent_max = std::max(figures.sent_max, sent);
            figures.reduced_max = std::max(figures.reduced_max, m - (has_smaller ? 0 : m / block));
            larger = block;
        }
        return figures;
    });
}

TEST(AllreduceCounts, ARingSendsToOneNeighbor) {
    for (const char* spec : {"ring", "pairwise-ring"})
        expect_all("allreduce", spec, one_per_rank, [](Count n, Count) {
            return Figures{2 * (n - 1), 2 * n * (n - 1), 2 * n * (n - 1), 2 * (n - 1), n - 1};
        });
}

TEST(ReduceCounts, ARingSendsOneBufferFromEachRank) {
    for (const char* spec : {"ring", "pairwise-ring"})
        expect_all("reduce", spec, one_per_rank, [](Count n, Count) {
            return Figures{n * one_if(n > 1), (n + 1) * (n - 1), (n + 1) * (n - 1),
                           n * one_if(n > 1), n - 1};
        });
}

TEST(AllreduceCounts, PairwiseRingsKeepRankOrder) {
    for (Rank size = 1; size <= 40; ++size)
        for (const char* collective : {"allreduce", "reduce"}) {
            const auto verdict = prove(collective, "pairwise-ring",
                                       {.size = size,
                                        .root = is_rooted(collective) ? size / 2 : plan::kNoRank,
                                        .elements = static_cast<Count>(size) + 3,
                                        .ordered = true});
            EXPECT_TRUE(verdict.valid && verdict.ordered) << collective << size << verdict.error;
        }
}

TEST(AllreduceCounts, ACensusTakesTheLeastRounds) {
    for (const Count k : {2U, 3U, 4U, 5U, 16U}) {
        const auto spec = *parse_spec(fmt::format("census:k={}", k));
        for (Rank size = 1; size <= 130; ++size) {
            const auto n = static_cast<Count>(size);
            const auto verdict = prove("allreduce", spec, {.size = size, .elements = 1});
            const Count rounds = rounds_in_base(k, n);
            Count power = 1;
            while (power < n) power *= k;
            const std::string call = fmt::format("k={} on {} ranks", k, size);
            expect_figures(verdict,
                           {.rounds = rounds,
                            .messages = power == n ? n * (k - 1) * rounds : kOpen,
                            .total = verdict.messages,
                            .sent_max = verdict.messages / n,
                            .reduced_max = kOpen},
                           call);
            EXPECT_LE(verdict.messages, n * (k - 1) * rounds) << call;
            EXPECT_TRUE(verdict.synchronizing) << call;
            EXPECT_TRUE((verdict.ordered && verdict.bit_identical) || n > k) << call;
        }
    }
    EXPECT_FALSE(prove("allreduce", "census:k=3", {.size = 7, .elements = 1}).bit_identical);
}

/// Returns the number of elements that rank `number` sends in a gather of m elements to rank `top`:
/// m divided by 2^(1 + the highest bit in which both numbers differ).
Count gathered(Count m, Count number, Count top) {
    return number == top ? 0 : m >> std::bit_width(number ^ top);
}

/// Returns the number of messages in the longest chain of fold, halving and gather. Ranks 0 to
/// `pairs` - 1 (of p after the fold) each stand for a folded pair, and start after two messages.
Count halving_rounds(Count p, Count pairs, Count top) {
    std::vector<Count> depth(p);
    for (Count number = 0; number < pairs; ++number) depth[number] = 2;
    for (Count bit = 1; bit < p; bit *= 2) {
        const std::vector<Count> before = depth;
        for (Count number = 0; number < p; ++number)
            depth[number] = std::max(before[number], before[number ^ bit] + 1);
    }
    for (Count bit = p / 2; bit > 0; bit /= 2)
        for (Count number = 0; number < p; ++number)
            if (((number ^ top) & (bit | ~(2 * bit - 1))) == 0)
                depth[number] = std::max(depth[number], depth[number ^ bit] + 1);
    return *std::ranges::max_element(depth);
}

TEST(ReduceCounts, HalvingDoublingHasTheCountsOfRabenseifner) {
    const auto elements = [](Count n) { return 2 * std::bit_floor(n); };
    expect_all("reduce", "halving-doubling", elements, [&](Count n, Count root) {
        const Count p = std::bit_floor(n);
        const Count pairs = n - p;
        const Count m = elements(n);
        const Count steps = log2_floor(n);
        const Count folds = pairs > 0 ? m / 2 : 0;
        const Count top = root < 2 * pairs ? root / 2 : root - pairs;
        Count sent_max = 2 * folds;  // by a rank whose partner represents the pair
        for (Count number = 0; number < p; ++number)
            sent_max = std::max(
                sent_max, m - m / p + (number < pairs ? m / 2 : 0) + gathered(m, number, top));
        return Figures{halving_rounds(p, pairs, top), p * steps + p - 1 + 3 * pairs,
                       p * m - m + 3 * pairs * m / 2 + steps * m / 2, sent_max, m - m / p + folds};
    });
}

TEST(ReduceCounts, BinaryBlocksSendUpOnce) {
    expect_all("reduce", "binary-blocks", power_of_two_up_to, [](Count n, Count root) {
        const Count p = std::bit_floor(n);
        const Count m = p;
        const Count top = root >= p ? 0 : root;
        // Each rank of a smaller block sends m elements: halves within its block, and the rest to
        // the next larger block.
        Figures figures{2 * log2_floor(n), n == p ? p * log2_floor(n) + p - 1 : kOpen, (n - p) * m,
                        n > p ? m : 0, n > p ? m : m - m / p};
        for (Count number = 0; number < p; ++number) {
            const Count sent =
                m - m / p + gathered(m, number, top) + (root >= p && number == 0 ? m / p : 0);
            figures.total += sent;
            figures.sent_max = std::max(figures.sent_max, sent);
        }
        return figures;
    });
}

// --- exchanges of whole buffers ----------------------------------------------------------------

TEST(AllreduceProof, RecursiveDoublingIsRightForEverySize) {
    for (const char* spec : {"recursive-doubling", "butterfly"}) {
        for (Rank size = 1; size <= 64; ++size) {
            const auto n = static_cast<Count>(size);
            const bool is_power = std::has_single_bit(n);
            if (!is_power && std::string_view(spec) == "butterfly") continue;
            const auto verdict = prove("allreduce", spec, {.size = size, .elements = 1});
            ASSERT_TRUE(verdict.valid && verdict.ordered) << size << ": " << verdict.error;
            EXPECT_GE(verdict.rounds, log2_ceil(n)) << n;
            EXPECT_LE(verdict.rounds, is_power ? log2_ceil(n) : log2_ceil(n) + 1) << n;
            if (is_power) {
                EXPECT_EQ(verdict.descriptors_max, verdict.rounds);
            }
        }
    }
}

TEST(AllreduceProof, EliminationAddsAtMostOneRoundForAnySize) {
    expect_all("allreduce", "elimination", one_per_rank, [](Count n, Count) {
        Count messages = 0;
        for (Count groups = n, width = 1; groups > 1; groups /= 2, width *= 2)
            messages += 2 * width * (groups / 2 + groups % 2);
        return Figures{kOpen, messages, messages * n, kOpen, kOpen};
    });
    for (Rank size = 1; size <= 64; ++size) {
        const auto n = static_cast<Count>(size);
        const auto verdict = prove("allreduce", "elimination", {.size = size, .elements = 7});
        EXPECT_GE(verdict.rounds, log2_ceil(n));
        // The longest chain may skip a rank that is folded in late.
        EXPECT_LE(verdict.rounds, log2_ceil(n) + one_if(!std::has_single_bit(n))) << size;
    }
}

// --- barriers ----------------------------------------------------------------------------------

void expect_barrier(const std::string& spec, Rank size, Count rounds, Count signals) {
    const auto verdict = prove("barrier", spec, {.size = size, .elements = 0});
    ASSERT_TRUE(verdict.valid && verdict.synchronizing) << spec << ' ' << size << verdict.error;
    EXPECT_EQ(verdict.rounds, rounds) << spec << ' ' << size;
    EXPECT_EQ(verdict.messages, 0U) << spec;
    if (signals != kOpen) {
        EXPECT_EQ(verdict.signals, signals) << spec << ' ' << size;
    }
}

TEST(BarrierProof, EveryRadixTakesTheRoundsOfItsFormula) {
    for (Rank size = 1; size <= 64; ++size) {
        const auto n = static_cast<Count>(size);
        for (Count k = 1; k <= std::max<Count>(1, n - 1); ++k)
            expect_barrier(fmt::format("dissemination:k={}", k), size, rounds_in_base(k + 1, n),
                           kOpen);
        for (const Count k : {1U, 2U, 3U, 4U, 9U, 63U})
            expect_barrier(fmt::format("tree:k={}", k), size, 2 * kary_levels(k, n), 2 * (n - 1));
        expect_barrier("central", size, 2 * one_if(n > 1), 2 * (n - 1));
    }
}

}  // namespace
}  // namespace weft::collectives
