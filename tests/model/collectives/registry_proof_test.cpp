// SPDX-License-Identifier: BSD-3-Clause
// Goal: every algorithm of the registry, with every parameter that its entry proposes, is right for
// every number of ranks up to 64 and keeps its entry's promises.
// Method: the verifier, for n ranks and counts of 0, 1, n - 1, n and n + 1 elements (of the buffer,
// or of each block). Teams of up to 17 ranks try all roots, larger teams one root. Calls have up to
// five segments, and rank order if the algorithm supports it. Input and output are separate and in
// place; if ranks use each other's buffers, also in place on some ranks only. Nodes have every
// shape, and programs are also checked as rewritten by the runtime. The ordinary run covers up to
// 13 ranks, the full mode 64. The test names only "multiplying", so a new algorithm needs no change
// here.
#include <algorithm>
#include <bit>
#include <iterator>

#include "collectives/transfer.hpp"
#include "tests/model/collectives/node_proof.hpp"
#include "tests/support/full_mode.hpp"

namespace weft::collectives {
namespace {

constexpr Rank kAllRoots = 17;                       ///< largest team of which all roots are tried
constexpr std::uint32_t kSegments[] = {1, 2, 3, 5};  ///< numbers of segments

/// Proves calls of one spec, and that they keep the promises of its entry.
class SpecProof {
  public:
    SpecProof(std::string_view collective, const std::string& text)
        : text_(text),
          spec_(*parse_spec(text)),
          algorithm_(**find_algorithm(collective, spec_)),
          promised_(algorithm_.properties_of(spec_)) {}

    [[nodiscard]] const Algorithm& algorithm() const { return algorithm_; }
    [[nodiscard]] bool has_data() const { return algorithm_.collective != "barrier"; }
    /// Returns the number of proved calls; refused calls do not count.
    [[nodiscard]] int proved() const { return proved_; }
    /// Returns the next number of segments in a cycle.
    [[nodiscard]] std::uint32_t next_segments() {
        return kSegments[static_cast<std::size_t>(turn_++) % std::size(kSegments)];
    }

    [[nodiscard]] std::vector<Rank> roots(Rank size) const {
        if (!is_rooted(algorithm_.collective)) return {plan::kNoRank};
        if (size > kAllRoots) return {size / 3};
        std::vector<Rank> all;
        for (Rank root = 0; root < size; ++root) all.push_back(root);
        return all;
    }
    /// Returns element counts: none, fewer than ranks, equal, and not divisible.
    [[nodiscard]] std::vector<std::uint64_t> counts(Rank size) const {
        if (!has_data()) return {0};
        const auto n = static_cast<std::uint64_t>(size);
        return {0, 1, n - 1, n, n + 1};
    }
    [[nodiscard]] GenerateRequest request(Rank size, Rank root, std::uint64_t count,
                                          std::uint32_t segments) const {
        return {.size = size,
                .root = root,
                .segments = segments,
                .elements = contract(algorithm_.collective).vector_elements(size, count)};
    }

    /// Returns no programs if the algorithm refuses the call.
    [[nodiscard]] std::vector<plan::Program> programs(const GenerateRequest& request) const {
        return generate_if_served(algorithm_.collective, spec_, request);
    }

    /// Proves the call in rank order if the algorithm supports it, and in any order if its programs
    /// differ. If `localize_for` is not null, also proves the programs rewritten for that layout.
    /// Returns false after a failure.
    bool prove_call(GenerateRequest request, const plan::Layout* localize_for = nullptr) {
        request.ordered = true;
        const auto in_order = programs(request);
        if (!in_order.empty() && !judge_all(in_order, request, localize_for)) return false;
        request.ordered = false;
        const auto any_order = programs(request);
        return any_order.empty() || any_order == in_order ||
               judge_all(any_order, request, localize_for);
    }

  private:
    bool judge_all(const std::vector<plan::Program>& list, const GenerateRequest& request,
                   const plan::Layout* localize_for) {
        return judge(list, request) &&
               (localize_for == nullptr ||
                judge(localized(*localize_for, list), request, "localized"));
    }
    bool judge(const std::vector<plan::Program>& list, const GenerateRequest& request,
               const char* how = "as generated") {
        // `mixed` also tries calls that are in place on some ranks only.
        const plan::Verdict verdict = plan::verify({.programs = list,
                                                    .contract = &contract(algorithm_.collective),
                                                    .elements = request.elements,
                                                    .mixed = promised_.direct});
        ++proved_;
        const std::string call =
            fmt::format("{} {} on {} ranks, {} nodes, root {}, {} elements in {} segments, {}",
                        algorithm_.collective, text_, request.size, request.layout.nodes(),
                        request.root, request.elements, request.segments, how);
        EXPECT_TRUE(verdict.valid) << call << ": " << verdict.error;
        EXPECT_TRUE(verdict.ordered || !request.ordered) << call;
        EXPECT_TRUE(verdict.bit_identical ||
                    !algorithm_.bit_identical_on(spec_, layout_of(request)))
            << call;
        if (has_data() && request.elements == 0) {
            EXPECT_EQ(verdict.messages, 0U) << call;
            EXPECT_FALSE(list.front().synchronizing) << call;
        } else {
            EXPECT_TRUE(verdict.synchronizing || !promised_.synchronizing) << call;
        }
        return verdict.valid;
    }

    std::string text_;
    AlgorithmSpec spec_;
    const Algorithm& algorithm_;
    Properties promised_;
    int turn_ = 0;
    int proved_ = 0;
};

std::vector<std::string_view> collectives_of_registry() {
    return {collectives().begin(), collectives().end()};
}

class RegistryProof : public ::testing::TestWithParam<std::string_view> {
  protected:
    template <class Visit>
    void for_each_spec(Visit visit) {
        for (const std::string& text : specs_to_try(GetParam())) {
            SpecProof proof(GetParam(), text);
            visit(text, proof);
        }
    }
};

bool prove_size(SpecProof& proof, Rank size) {
    const std::vector<Rank> roots = proof.roots(size);
    for (const Rank root : roots) {
        for (const std::uint64_t count : proof.counts(size)) {
            // Calls with a root use one number of segments for each root. Calls without a root, of
            // up to kAllRoots ranks, use all numbers.
            const bool all = roots.size() == 1 && size <= kAllRoots && proof.has_data();
            for (std::size_t turn = 0; turn < (all ? std::size(kSegments) : 1); ++turn) {
                auto request = proof.request(size, root, count, proof.next_segments());
                if (proof.algorithm().properties.for_nodes) request.layout = plan::Layout(size, 4);
                if (!proof.prove_call(request)) return false;
            }
        }
    }
    return true;
}

TEST_P(RegistryProof, EverySpecIsRightForEveryCountAndRoot) {
    const Rank size_max = test::full_mode() ? 64 : 13;
    for_each_spec([&](const std::string& text, SpecProof& proof) {
        for (Rank size = 1; size <= size_max; ++size)
            if (!prove_size(proof, size)) break;
        if (proof.algorithm().name == "multiplying") return;  // its schedules have other tests
        EXPECT_GT(proof.proved(), 0) << text << " was refused for all sizes";
    });
}

/// The runtime rewrites programs of algorithms that ignore nodes for the actual layout.
TEST_P(RegistryProof, ProgramsRewrittenForNodesStayRight) {
    for_each_spec([&](const std::string&, SpecProof& proof) {
        if (proof.algorithm().properties.for_nodes) return;
        for (const Rank size : {6, 8, 11}) {
            const Rank root = is_rooted(GetParam()) ? 3 : plan::kNoRank;
            for (const std::uint32_t segments : {1U, 3U}) {
                const auto request = proof.request(size, root, proof.has_data() ? 6 : 0, segments);
                for (Rank per_node = 1; per_node <= size; ++per_node) {
                    const plan::Layout layout(size, per_node);
                    if (!proof.prove_call(request, &layout)) return;
                }
            }
        }
    });
}

std::vector<plan::Layout> layouts() {
    std::vector<plan::Layout> list = irregular_layouts();
    list.push_back(dealt_layout(12, 3));
    for (Rank size = 1; size <= (test::full_mode() ? 6 : 5); ++size)
        std::ranges::copy(every_layout(size), std::back_inserter(list));
    std::ranges::copy(scattered_layouts(), std::back_inserter(list));
    for (Rank nodes = 1; nodes <= 10; ++nodes)
        for (Rank each = 1; each <= (nodes > 6 ? 5 : 6); ++each)
            list.emplace_back(nodes * each, each);
    return list;
}

TEST_P(RegistryProof, NodesOfEveryShapeAreRightOrRefused) {
    const std::vector<plan::Layout> all = layouts();
    // Each rank has a block for each rank, so the programs are long.
    const bool each_to_each =
        find_collective(GetParam())->contribution == Contribution::owner_own_block;
    for_each_spec([&](const std::string& text, SpecProof& proof) {
        if (!proof.algorithm().properties.for_nodes) return;
        std::size_t turn = 0;
        for (const plan::Layout& layout : all) {
            // Specs with parameters are tried with one root for each layout, and small teams.
            const bool variant = text != proof.algorithm().name;
            if (layout.size() > (variant || each_to_each ? 24 : 50)) continue;
            const std::vector<Rank> roots = proof.roots(layout.size());
            const std::size_t step = variant ? roots.size() : 1 + roots.size() / 7;
            for (std::size_t at = variant ? turn % roots.size() : 0; at < roots.size();
                 at += step) {
                auto request = proof.request(layout.size(), roots[at], proof.has_data() ? 6 : 0,
                                             proof.has_data() && turn++ % 2 == 0 ? 3 : 1);
                request.layout = layout;
                if (!proof.prove_call(request, &layout)) return;
            }
        }
        EXPECT_GT(proof.proved(), 20) << text;
    });
}

TEST_P(RegistryProof, PipelinesHaveConstantDescriptors) {
    for_each_spec([&](const std::string& text, SpecProof& proof) {
        const auto& parameters = proof.algorithm().parameters;
        const bool has_segments =
            std::ranges::find(parameters, "segments", &Parameter::name) != parameters.end();
        if (!has_segments || text.find("segments") != text.npos) return;
        if (delivers_directly(*parse_spec(text))) return;  // such buffers are sent whole
        std::uint64_t descriptors = 0;
        std::uint64_t messages = 0;
        for (const std::uint32_t segments : {3U, 9U, 48U}) {
            const Rank size = proof.algorithm().properties.power_of_two ? 16 : 13;
            const auto request =
                proof.request(size, is_rooted(GetParam()) ? 4 : plan::kNoRank, 1000, segments);
            const auto list = proof.programs(request);
            if (list.empty()) return;
            const auto verdict = prove(GetParam(), list, request.elements);
            EXPECT_TRUE(verdict.valid) << text << ": " << verdict.error;
            if (descriptors == 0) descriptors = verdict.descriptors_max;
            if (messages == 0) messages = verdict.messages / segments;
            EXPECT_EQ(verdict.descriptors_max, descriptors) << GetParam() << ' ' << text;
            EXPECT_EQ(verdict.messages, messages * segments) << GetParam() << ' ' << text;
        }
    });
}

TEST_P(RegistryProof, UnsupportedRequestsAreRefusedWithTheReason) {
    for (const Algorithm& algorithm : algorithms()) {
        if (algorithm.collective != GetParam()) continue;
        const Properties& properties = algorithm.properties;
        const AlgorithmSpec spec = *parse_spec(algorithm.name);
        const GenerateRequest usual{
            .size = 6, .root = is_rooted(GetParam()) ? 0 : plan::kNoRank, .elements = 6};
        const auto refusal = [&](const GenerateRequest& request) {
            const auto program = generate(GetParam(), spec, request);
            return program ? "" : program.failure().text;
        };
        GenerateRequest request = usual;
        request.ordered = true;
        if (properties.power_of_two) request.size = 8;
        if (!properties.ordered) {
            EXPECT_TRUE(refusal(request).find("combines ranks out of order") != std::string::npos)
                << algorithm.name;
        }
        if (properties.power_of_two) {
            EXPECT_TRUE(refusal(usual).find("power") != std::string::npos) << algorithm.name;
        }
        request = usual;
        request.layout = dealt_layout(6, 2);
        if (properties.consecutive_nodes) {
            EXPECT_TRUE(refusal(request).find("consecutive ranks") != std::string::npos);
        }
        request.layout = plan::Layout(6, 4);
        if (properties.even_nodes) {
            EXPECT_TRUE(refusal(request).find("the same number of ranks") != std::string::npos);
        }
        if (properties.one_node) {
            EXPECT_TRUE(refusal(request).find("all ranks on one node") != std::string::npos);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Collectives, RegistryProof, ::testing::ValuesIn(collectives_of_registry()),
                         [](const auto& given) { return std::string(given.param); });

}  // namespace
}  // namespace weft::collectives
