// SPDX-License-Identifier: BSD-3-Clause
// Goal: collectives that move blocks, and scans, are right for every size and root, with exactly the rounds,
// messages and bytes of their formulas. Method: the verifier; the formulas are computed apart.
#include <algorithm>
#include <bit>

#include "tests/unit/collectives/proof.hpp"

namespace weft::collectives {
namespace {

/// `count` elements in each block (in the vector, for scans).
plan::Verdict prove_call(std::string_view collective, const std::string& spec,
                         GenerateRequest request, std::uint64_t count) {
    request.elements = contract(collective).vector_elements(request.size, count);
    return prove(collective, spec, request);
}

std::uint64_t bits_of(std::uint64_t n, std::uint64_t& most) {
    std::uint64_t sum = 0;
    for (std::uint64_t v = 0; v < n; ++v) {
        const auto bits = static_cast<std::uint64_t>(std::popcount(v));
        sum += bits;
        most = std::max(most, bits);
    }
    return sum;
}

/// Digits in base k that are not 0, of all numbers below n.
std::uint64_t digits_of(std::uint64_t k, std::uint64_t n) {
    std::uint64_t sum = 0;
    for (std::uint64_t v = 0; v < n; ++v)
        for (std::uint64_t rest = v; rest > 0; rest /= k) sum += rest % k != 0 ? 1 : 0;
    return sum;
}

std::uint64_t rounds_in_base(std::uint64_t k, std::uint64_t n) {
    std::uint64_t rounds = 0;
    for (std::uint64_t reach = 1; reach < n; reach *= k) ++rounds;
    return rounds;
}

/// Numbers below n with one digit in base k that is not 0.
std::uint64_t single_digits(std::uint64_t k, std::uint64_t n) {
    std::uint64_t sum = 0;
    for (std::uint64_t reach = 1; reach < n; reach *= k) sum += std::min(k - 1, (n - 1) / reach);
    return sum;
}

struct Figures {
    std::uint64_t rounds, messages, sent_max, total, reduced_max;  ///< bytes in blocks
};

/// All sizes with one element a block.
void expect_figures(std::string_view collective, const std::string& spec,
                    const std::function<Figures(std::uint64_t n)>& figures_of,
                    bool power_of_two = false) {
    for (std::uint64_t n = 1; n <= 64; ++n) {
        if (power_of_two && !std::has_single_bit(n)) continue;
        const auto verdict = prove_call(collective, spec, {.size = static_cast<int>(n)}, 1);
        const Figures figures = figures_of(n);
        ASSERT_TRUE(verdict.valid)
            << collective << ' ' << spec << ' ' << n << ": " << verdict.error;
        EXPECT_EQ(verdict.rounds, figures.rounds) << collective << ' ' << spec << ' ' << n;
        EXPECT_EQ(verdict.messages, figures.messages) << collective << ' ' << spec << ' ' << n;
        EXPECT_EQ(verdict.bytes_sent_max, figures.sent_max * 8) << collective << ' ' << spec << n;
        EXPECT_EQ(verdict.bytes_total, figures.total * 8) << collective << ' ' << spec << ' ' << n;
        EXPECT_EQ(verdict.reduced_bytes_max, figures.reduced_max * 8) << spec << ' ' << n;
        EXPECT_EQ(verdict.signals, 0U);
        EXPECT_TRUE(verdict.bit_identical);
        EXPECT_TRUE(verdict.synchronizing);
    }
}

std::uint64_t one_if(bool holds) {
    return holds ? 1 : 0;
}

TEST(BlocksProof, AllgathersSendEachBlockOnce) {
    const auto with = [](auto rounds_of, auto messages_of) {
        return [=](std::uint64_t n) {
            return Figures{rounds_of(n), messages_of(n), n - 1, n * (n - 1), 0};
        };
    };
    const auto all_pairs = [](std::uint64_t n) { return n * (n - 1); };
    expect_figures("allgather", "ring", with([](std::uint64_t n) { return n - 1; }, all_pairs));
    expect_figures("allgather", "direct",
                   with([](std::uint64_t n) { return one_if(n > 1); }, all_pairs));
    expect_figures("allgather", "recursive-doubling",
                   with([](std::uint64_t n) { return rounds_in_base(2, n); },
                        [](std::uint64_t n) { return n * rounds_in_base(2, n); }),
                   true);
    for (const std::uint64_t k : {2U, 3U, 5U, 64U})
        expect_figures("allgather", fmt::format("bruck:k={}", k),
                       with([=](std::uint64_t n) { return rounds_in_base(k, n); },
                            [=](std::uint64_t n) { return n * single_digits(k, n); }));
}

TEST(BlocksProof, AlltoallsSendBlocksOnceOrByDigits) {
    expect_figures("alltoall", "direct", [](std::uint64_t n) {
        return Figures{one_if(n > 1), n * (n - 1), n - 1, n * (n - 1), 0};
    });
    for (const std::uint64_t k : {2U, 3U, 5U, 64U})
        expect_figures("alltoall", fmt::format("bruck:k={}", k), [=](std::uint64_t n) {
            return Figures{rounds_in_base(k, n), n * single_digits(k, n), digits_of(k, n),
                           n * digits_of(k, n), 0};
        });
}

TEST(BlocksProof, ReduceScattersSendAllButTheOwnBlock) {
    expect_figures("reduce_scatter", "pairwise", [](std::uint64_t n) {
        return Figures{one_if(n > 1), n * (n - 1), n - 1, n * (n - 1), n - 1};
    });
    expect_figures("reduce_scatter", "ring", [](std::uint64_t n) {
        return Figures{n - 1, n * (n - 1), n - 1, n * (n - 1), n - 1};
    });
    expect_figures(
        "reduce_scatter", "recursive-halving",
        [](std::uint64_t n) {
            const std::uint64_t rounds = rounds_in_base(2, n);
            return Figures{rounds, n * rounds, n - 1, n * (n - 1), n - 1};
        },
        true);
}

TEST(BlocksProof, RecursiveHalvingFoldsInPairsWhereThereIsNoPowerOfTwo) {
    for (std::uint64_t n = 3; n <= 64; ++n) {
        if (std::has_single_bit(n)) continue;
        const std::uint64_t p = std::bit_floor(n);
        const std::uint64_t folded = n - p;
        const std::uint64_t steps = rounds_in_base(2, p);
        const auto verdict =
            prove_call("reduce_scatter", "recursive-halving", {.size = static_cast<int>(n)}, 1);
        ASSERT_TRUE(verdict.valid) << n << ": " << verdict.error;
        EXPECT_TRUE(verdict.ordered && verdict.bit_identical && verdict.synchronizing);
        // A chain may miss the fold: whoever speaks for nobody else starts at once.
        EXPECT_GE(verdict.rounds, steps + 1) << n;
        EXPECT_LE(verdict.rounds, steps + 2) << n;
        EXPECT_EQ(verdict.messages, p * steps + 2 * folded) << n;
        EXPECT_EQ(verdict.bytes_sent_max, n * 8) << n;
        EXPECT_EQ(verdict.bytes_total, (n * (p - 1) + folded * (n + 1)) * 8) << n;
        std::uint64_t most = 0;
        for (std::uint64_t w = 0; w < p; ++w) {
            std::uint64_t reduced = w < folded ? n : 0;
            for (std::uint64_t stride = 2; stride <= p; stride *= 2)
                for (std::uint64_t like = w % stride; like < p; like += stride)
                    reduced += like < folded ? 2 : 1;
            most = std::max(most, reduced);
        }
        EXPECT_EQ(verdict.reduced_bytes_max, most * 8) << n;
    }
}

TEST(BlocksProof, GathersAndScattersGoAlongTheirTrees) {
    for (int size = 1; size <= 64; ++size) {
        const auto n = static_cast<std::uint64_t>(size);
        std::uint64_t bits_max = 0;
        const std::uint64_t bits = bits_of(n, bits_max);
        for (Rank root = 0; root < size; ++root) {
            if (size > 17 && root != size / 3) continue;
            for (const char* collective : {"gather", "scatter"}) {
                const GenerateRequest request{.size = size, .root = root};
                const auto flat = prove_call(collective, "flat", request, 1);
                ASSERT_TRUE(flat.valid) << collective << ' ' << size << ": " << flat.error;
                EXPECT_EQ(flat.rounds, one_if(n > 1));
                EXPECT_EQ(flat.messages, n - 1);
                EXPECT_EQ(flat.bytes_total, (n - 1) * 8);
                const auto tree = prove_call(collective, "binomial", request, 1);
                ASSERT_TRUE(tree.valid) << collective << ' ' << size << ": " << tree.error;
                EXPECT_EQ(tree.rounds, bits_max) << collective << ' ' << size;
                EXPECT_EQ(tree.messages, n - 1);
                EXPECT_EQ(tree.bytes_total, bits * 8) << collective << ' ' << size;
            }
        }
    }
}

TEST(BlocksProof, ScansKeepRankOrder) {
    for (int size = 1; size <= 64; ++size) {
        const auto n = static_cast<std::uint64_t>(size);
        for (const char* collective : {"scan", "exscan"}) {
            const bool exclusive = collective[0] == 'e';
            const auto linear =
                prove_call(collective, "linear", {.size = size, .ordered = true}, 2);
            ASSERT_TRUE(linear.valid && linear.ordered) << collective << size << linear.error;
            EXPECT_EQ(linear.rounds, n - 1);
            EXPECT_EQ(linear.messages, n - 1);
            EXPECT_EQ(linear.bytes_total, (n - 1) * 16);
            EXPECT_EQ(linear.reduced_bytes_max, n > (exclusive ? 2 : 1) ? 16U : 0U) << n;
            const auto doubling =
                prove_call(collective, "recursive-doubling", {.size = size, .ordered = true}, 2);
            ASSERT_TRUE(doubling.valid && doubling.ordered) << collective << size << doubling.error;
            const std::uint64_t steps = rounds_in_base(2, n);
            EXPECT_LE(doubling.rounds, steps) << n;
            EXPECT_TRUE(doubling.rounds == steps || !std::has_single_bit(n)) << n;
            std::uint64_t messages = 0;
            for (std::uint64_t far = 1; far < n; far *= 2) messages += n - far;
            EXPECT_EQ(doubling.messages, messages);
            EXPECT_EQ(doubling.bytes_total, messages * 16);
            if (!exclusive) {
                EXPECT_EQ(doubling.reduced_bytes_max, steps * 16) << n;
            }
        }
    }
}

TEST(BlocksProof, EveryAlgorithmIsRightForEveryCountPieceAndRoot) {
    for (const std::string_view collective :
         {"gather", "scatter", "allgather", "alltoall", "reduce_scatter", "scan", "exscan"}) {
        for (const std::string& spec : specs_to_try(collective)) {
            for (const int size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 17}) {
                for (const std::uint64_t count : {0, 1, size - 1, size, size + 1}) {
                    for (const std::uint32_t segments : {1U, 2U, 5U}) {
                        GenerateRequest request{
                            .size = size, .root = size / 2, .segments = segments, .elements = 1};
                        if (!generate(collective, *parse_spec(spec), request)) continue;
                        const auto verdict = prove_call(collective, spec, request, count);
                        ASSERT_TRUE(verdict.valid) << collective << ' ' << spec << ' ' << size
                                                   << " of " << count << ": " << verdict.error;
                        request.ordered = true;
                        if (!generate(collective, *parse_spec(spec), request)) continue;
                        EXPECT_TRUE(prove_call(collective, spec, request, count).ordered)
                            << collective << ' ' << spec << ' ' << size;
                    }
                }
            }
        }
    }
}

TEST(BlocksProof, ProgramsRewrittenForNodesStayRight) {
    for (const std::string_view collective :
         {"gather", "scatter", "allgather", "alltoall", "reduce_scatter", "scan", "exscan"}) {
        for (const std::string& spec : specs_to_try(collective)) {
            for (const Rank size : {6, 8}) {
                const GenerateRequest request{
                    .size = size,
                    .root = 1,
                    .segments = 2,
                    .elements = contract(collective).vector_elements(size, 2)};
                if (!generate(collective, *parse_spec(spec), request)) continue;
                const auto programs = generate_all(collective, *parse_spec(spec), request);
                for (const Rank per_node : {2, 3, size}) {
                    const auto verdict =
                        prove(collective, on_nodes(programs, per_node), request.elements);
                    EXPECT_TRUE(verdict.valid) << collective << ' ' << spec << " on nodes of "
                                               << per_node << ": " << verdict.error;
                }
            }
        }
    }
}

TEST(BlocksProof, SizesThatAreNotServedAreRefusedWithTheReason) {
    const auto refused =
        generate("allgather", *parse_spec("recursive-doubling"), {.size = 6, .elements = 6});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.failure().text,
              "allgather recursive-doubling requires a power-of-two number of ranks, got 6");
    const auto unordered = generate("reduce_scatter", *parse_spec("ring"),
                                    {.size = 6, .elements = 6, .ordered = true});
    ASSERT_FALSE(unordered.ok());
    EXPECT_EQ(
        unordered.failure().text,
        "reduce_scatter ring combines ranks out of order, and the operation does not commute");
}

}  // namespace
}  // namespace weft::collectives
