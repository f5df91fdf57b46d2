// SPDX-License-Identifier: BSD-3-Clause
// Goal: every algorithm of the registry, with every parameter that it names as worth trying, is right for every number
// of ranks up to 64.
// Method: the verifier, for counts of 0, 1, n - 1, n and n + 1 elements (of the vector, or of each rank's block), from all
// roots up to 17 ranks and from one above, in one to three pieces, in rank order where the algorithm can; those that know the
// nodes on nodes of four, of which the last may be smaller. The ordinary run goes to 13 ranks, the full one to 64.
#include "tests/support/full_mode.hpp"
#include "tests/unit/collectives/proof.hpp"

namespace weft::collectives {
namespace {

constexpr int kAllRoots = 17;

GenerateRequest request_of(const Algorithm& algorithm, int size, Rank root, std::uint64_t count) {
    GenerateRequest request{
        .size = size,
        .root = is_rooted(algorithm.collective) ? root : plan::kNoRank,
        .elements = contract(algorithm.collective).vector_elements(size, count)};
    if (algorithm.properties.for_nodes) request.layout = plan::Layout(size, 4);
    return request;
}

/// A barrier has no data.
std::vector<std::uint64_t> counts_for(const Algorithm& algorithm, std::uint64_t n) {
    if (algorithm.collective == "barrier") return {0};
    return {0, 1, n - 1, n, n + 1};
}

/// Proves one spec, size by size; false once something was wrong.
class EverySize {
  public:
    EverySize(std::string_view collective, const std::string& spec)
        : spec_(*parse_spec(spec)), algorithm_(**find_algorithm(collective, spec_)) {}

    bool prove_size(int size) {
        const bool all = is_rooted(algorithm_.collective) && size <= kAllRoots;
        for (Rank root = all ? 0 : size / 3; root < (all ? size : size / 3 + 1); ++root) {
            for (const std::uint64_t count :
                 counts_for(algorithm_, static_cast<std::uint64_t>(size)))
                if (!prove_one(request_of(algorithm_, size, root, count))) return false;
        }
        return true;
    }
    /// Calls that were proved: sizes that the algorithm refuses do not count.
    [[nodiscard]] std::uint64_t proved() const { return proved_; }
    [[nodiscard]] bool names_a_schedule() const { return algorithm_.name == "multiplying"; }

  private:
    bool prove_one(GenerateRequest request) {
        request.segments = 1 + turn_++ % 3;
        request.ordered = true;
        if (!generate(algorithm_.collective, spec_, request)) request.ordered = false;
        if (!generate(algorithm_.collective, spec_, request)) return true;  // not for this size
        const plan::Verdict verdict = prove(algorithm_.collective, spec_, request);
        ++proved_;
        EXPECT_TRUE(verdict.valid && (verdict.ordered || !request.ordered))
            << algorithm_.collective << ' ' << print(spec_) << " on " << request.size
            << " ranks, root " << request.root << ", " << request.elements << " elements in "
            << request.segments << " pieces: " << verdict.error;
        return verdict.valid;
    }

    AlgorithmSpec spec_;
    const Algorithm& algorithm_;
    std::uint32_t turn_ = 0;
    std::uint64_t proved_ = 0;
};

std::vector<std::string_view> collectives_of_registry() {
    std::vector<std::string_view> names;
    for (const Algorithm& algorithm : algorithms())
        if (std::ranges::find(names, algorithm.collective) == names.end())
            names.push_back(algorithm.collective);
    return names;
}

class EverySizeProof : public ::testing::TestWithParam<std::string_view> {};

TEST_P(EverySizeProof, EverySpecIsRightForEveryCountAndRoot) {
    const int most = test::full_mode() ? 64 : 13;
    for (const std::string& spec : specs_to_try(GetParam())) {
        EverySize every(GetParam(), spec);
        for (int size = 1; size <= most; ++size) {
            if (!every.prove_size(size)) break;
        }
        if (every.names_a_schedule()) continue;  // its schedules have tests of their own
        EXPECT_GT(every.proved(), 0U) << GetParam() << ' ' << spec << " was refused for all sizes";
    }
}

INSTANTIATE_TEST_SUITE_P(Collectives, EverySizeProof,
                         ::testing::ValuesIn(collectives_of_registry()),
                         [](const auto& given) { return std::string(given.param); });

}  // namespace
}  // namespace weft::collectives
