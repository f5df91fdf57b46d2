// SPDX-License-Identifier: BSD-3-Clause
// Goal: the list of algorithms is complete and consistent, and unusable requests are refused with
// the reason.
// Method: a walk over the list; a table of unusable requests.
#include "collectives/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "plan/schedule/canonical.hpp"

namespace weft::collectives {
namespace {

TEST(Registry, EveryEntryIsCompleteAndFoundByItsName) {
    std::set<std::string> seen;
    for (const Algorithm& algorithm : algorithms()) {
        EXPECT_TRUE(seen.insert(fmt::format("{} {}", algorithm.collective, algorithm.name)).second);
        EXPECT_NE(find_contract(algorithm.collective), nullptr) << algorithm.collective;
        EXPECT_EQ(contract(algorithm.collective).collective, algorithm.collective);
        EXPECT_FALSE(algorithm.summary.empty() || algorithm.source.empty()) << algorithm.name;
        const auto spec = parse_spec(algorithm.name);
        ASSERT_TRUE(spec.ok() && !spec->is_schedule()) << algorithm.name;
        EXPECT_EQ((*find_algorithm(algorithm.collective, *spec))->name, algorithm.name);
    }
    for (const std::string_view collective : collectives()) {
        EXPECT_TRUE(std::ranges::any_of(algorithms(), [&](const Algorithm& algorithm) {
            return algorithm.collective == collective;
        })) << collective;
    }
}

struct Unusable {
    const char* collective;
    const char* spec;
    GenerateRequest request;
    const char* message;  ///< start of the message
};
const Unusable kUnusable[] = {
    {"allgathr", "a2", {.size = 2}, "unknown collective 'allgathr'; known: "},
    {"allreduce", "rings", {.size = 2}, "character 1: allreduce has no algorithm 'rings'"},
    {"barrier", "a2", {.size = 2}, "character 1: barrier has no algorithm in the notation"},
    {"allreduce", "a2", {.size = 0}, "ranks: 0 given, at least 1 is needed"},
    {"allreduce", "a2", {.rank = 2, .size = 2}, "rank: 2 is not in 0..1"},
    {"allreduce", "a2", {.size = 2, .segments = 0}, "segments: 0 is less than 1"},
    {"broadcast", "flat", {.size = 2, .root = 2}, "root: 2 is not in 0..1"},
    {"broadcast", "flat", {.size = 2}, "root: -1 is not in 0..1"},
    {"broadcast",
     "flat:k=2",
     {.size = 2, .root = 0},
     "character 6: flat has no parameter 'k'; it has segments"},
    {"barrier",
     "central:k=2",
     {.size = 2},
     "character 9: central has no parameter 'k'; it has none"},
    {"barrier", "dissemination:k=0", {.size = 2}, "character 17: k=0 is not in 1.."},
    {"broadcast",
     "flat:segments=x",
     {.size = 2, .root = 0},
     "character 15: segments=x is not a whole number"},
    {"allreduce", "multiplying", {.size = 2}, "character 1: multiplying needs a schedule"},
    {"allreduce",
     "multiplying:schedule=a2",
     {.size = 2},
     "character 22: schedule must be in the notation"},
    {"allreduce",
     "multiplying:schedule=(a2,a3)",
     {.size = 8},
     "character 27: n=8 is not divisible by S*B=2*3"},
};

TEST(Registry, UnusableRequestsAreRefusedWithTheReason) {
    for (const Unusable& c : kUnusable) {
        const auto spec = parse_spec(c.spec);
        ASSERT_TRUE(spec.ok()) << c.spec;
        const auto program = generate(c.collective, *spec, c.request);
        ASSERT_FALSE(program.ok()) << c.spec;
        EXPECT_EQ(program.failure().status, Status::argument);
        EXPECT_TRUE(program.failure().text.starts_with(c.message)) << program.failure().text;
    }
}

TEST(Registry, UnusableTreesAreRefusedWithTheReason) {
    for (const auto& [tree, message] : std::vector<std::pair<std::string, std::string>>{
             {"binomial", "character 23: tree must be (binomial)"},
             {"(a2)", "character 24: tree must be (binomial)"},
             {"(oak)", "character 24: unknown tree 'oak'"},
             {"(binomial:k=2)", "character 35: binomial has no parameter 'k'; it has none"},
             {"(kary:d=2)", "character 31: kary has no parameter 'd'"},
             {"(kary:k=0)", "character 31: k=0 is not in 1.."}}) {
        const auto program = generate("allreduce", *parse_spec("reduce-broadcast:tree=" + tree),
                                      {.size = 4, .elements = 1});
        ASSERT_FALSE(program.ok()) << tree;
        EXPECT_TRUE(program.failure().text.starts_with(message)) << program.failure().text;
    }
}

/// If equal lists of blocks are stored repeatedly (repeats_blocks), only the table of blocks grows.
/// Predictions use this form.
TEST(Registry, RepeatedBlocksChangeOnlyTheTable) {
    int repeated = 0;
    for (const std::string_view collective : collectives()) {
        for (const std::string& text : specs_to_try(collective)) {
            for (const plan::Layout& layout : {plan::Layout(8, 4), plan::Layout(9, 3)}) {
                GenerateRequest request{.rank = 2,
                                        .size = layout.size(),
                                        .root = is_rooted(collective) ? 4 : plan::kNoRank,
                                        .segments = 3,
                                        .elements = 90,
                                        .layout = layout};
                const auto once = generate(collective, *parse_spec(text), request);
                request.repeats_blocks = true;
                const auto with_repeats = generate(collective, *parse_spec(text), request);
                ASSERT_EQ(once.ok(), with_repeats.ok()) << collective << ' ' << text;
                if (!once) continue;
                EXPECT_EQ(plan::canonical(*with_repeats), plan::canonical(*once))
                    << collective << ' ' << text << ", " << layout.size() << " ranks";
                repeated += with_repeats->blocks.size() > once->blocks.size() ? 1 : 0;
            }
        }
    }
    EXPECT_GT(repeated, 100);
}

/// If a rank refused a call that other ranks accept, those ranks would wait forever.
TEST(Registry, RefusalsAreEqualOnAllRanks) {
    int refused = 0;
    int made = 0;
    const auto visit = [&](std::string_view collective, const std::string& text,
                           GenerateRequest request) {
        const AlgorithmSpec spec = *parse_spec(text);
        std::string first;
        for (request.rank = 0; request.rank < request.size; ++request.rank) {
            const auto program = generate(collective, spec, request);
            const std::string why = program ? "" : program.failure().text;
            if (request.rank == 0) first = why;
            ASSERT_EQ(why, first) << collective << ' ' << text << " at rank " << request.rank
                                  << " of " << request.size << ", " << request.layout.nodes()
                                  << " nodes, " << request.segments << " segments";
        }
        ++(first.empty() ? made : refused);
    };
    for (const std::string_view collective : collectives()) {
        std::vector<std::string> specs = specs_to_try(collective);
        for (const std::string_view inner : collectives()) {
            for (const std::string& part : specs_to_try(inner)) {
                for (const char* key : {"node", "net", "down"}) {
                    std::string text = fmt::format("hierarchical:{}=({})", key, part);
                    if (find_algorithm(collective, *parse_spec(part)) || inner == "broadcast" ||
                        inner == "exscan" || inner == "reduce" || inner == "scatter" ||
                        inner == "gather")
                        specs.push_back(std::move(text));
                }
            }
        }
        std::ranges::sort(specs);
        specs.erase(std::ranges::unique(specs).begin(), specs.end());
        const std::vector<Rank> mixed{5, 9, 5, 5, 9, 7, 7, 5, 9};
        for (const plan::Layout& layout :
             {plan::Layout(8, 4), plan::Layout(9, 3), plan::Layout(11, 4), plan::Layout(5, 5),
              plan::Layout::of(mixed)}) {
            for (const std::string& spec : specs) {
                for (const std::uint32_t segments : {1U, 3U}) {
                    GenerateRequest request{.size = layout.size(),
                                            .root = is_rooted(collective) ? 4 : plan::kNoRank,
                                            .segments = segments,
                                            .layout = layout};
                    for (const std::uint64_t elements : {std::uint64_t{0}, std::uint64_t{90}}) {
                        if ((collective == "barrier") != (elements == 0)) continue;
                        request.elements = elements;
                        visit(collective, spec, request);
                    }
                }
            }
        }
    }
    EXPECT_GT(refused, 100);
    EXPECT_GT(made, 5000);
}

TEST(Registry, TheSameRequestGivesTheSameProgram) {
    const auto spec = *parse_spec("m1g2a3,n1g3a2");
    const GenerateRequest request{.rank = 3, .size = 7, .segments = 2, .elements = 10};
    EXPECT_EQ(*generate("allreduce", spec, request), *generate("allreduce", spec, request));
}

}  // namespace
}  // namespace weft::collectives
