// SPDX-License-Identifier: BSD-3-Clause
#include "plan/verify/verify.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plan/verify/facts.hpp"
#include "plan/verify/form.hpp"

namespace weft::plan {

namespace {

std::uint64_t largest(const std::vector<std::uint64_t>& counts) {
    return counts.empty() ? 0 : *std::ranges::max_element(counts);
}

void set_counts(const VerifyInput& input, const Execution& execution, Verdict& verdict) {
    const Counts& counts = execution.counts();
    verdict.rounds = execution.order().chain_max();
    verdict.messages = counts.messages;
    verdict.signals = counts.signals;
    verdict.bytes_total = counts.elements_sent * input.element_bytes;
    verdict.bytes_sent_max = largest(counts.sent) * input.element_bytes;
    verdict.reduced_bytes_max = largest(counts.reduced) * input.element_bytes;
    verdict.slots_max = largest(counts.slots);
    for (const Program& program : input.programs)
        verdict.descriptors_max =
            std::max<std::uint64_t>(verdict.descriptors_max, program.descriptors());
}

/// Sets verdict.synchronizing. Fails if the programs do not synchronize, but are declared or
/// required to.
bool check_synchronizing(const VerifyInput& input, const Execution& execution, Verdict& verdict,
                         Reason& reason) {
    const Program& first = input.programs.front();
    const Independence independence = find_independence(execution, first.size);
    verdict.synchronizing = !independence.found;
    const bool demanded = input.contract != nullptr && input.contract->must_synchronize;
    if (verdict.synchronizing || !(demanded || first.synchronizing)) return true;
    return reason.no("rank {} may end before rank {} has started, but the {} synchronizing",
                     independence.rank, independence.independent,
                     demanded ? "contract is" : "programs are declared");
}

/// A case to execute: the ranks on which input and output are the same memory.
struct Sharing {
    const char* prefix;          ///< start of error messages
    std::vector<bool> in_place;  ///< by rank
};

/// Returns the cases to execute. The first one, which determines counts and properties, has
/// separate memory on all ranks.
std::vector<Sharing> sharings(const VerifyInput& input) {
    const std::size_t ranks = input.programs.size();
    std::vector<Sharing> list{{"", std::vector<bool>(ranks, false)}};
    if (input.in_place)
        list.push_back(
            {"with input and output in the same memory: ", std::vector<bool>(ranks, true)});
    for (const std::size_t first : {std::size_t{1}, std::size_t{0}}) {
        if (!input.mixed) break;
        Sharing& some = list.emplace_back(
            Sharing{first == 1 ? "with input and output in the same memory on odd ranks: "
                               : "with input and output in the same memory on even ranks: ",
                    std::vector<bool>(ranks, false)});
        for (std::size_t rank = first; rank < ranks; rank += 2) some.in_place[rank] = true;
    }
    return list;
}

}  // namespace

Verdict verify(const VerifyInput& input) {
    Verdict verdict;
    verdict.error = malformed(input.programs);
    if (!verdict.error.empty()) return verdict;
    const Sizes sizes(input.programs, input.elements);
    Values values(input.programs.front().size, input.seed);
    bool first = true;
    for (const Sharing& sharing : sharings(input)) {
        Execution execution(input.programs, input.contract, sizes, sharing.in_place, values);
        Reason reason;
        Agreement agreement;
        bool good = execution.run();
        if (!good) reason.no("{}", execution.error());
        if (good && input.contract != nullptr)
            good = keeps_contract(input, execution, values, agreement, reason);
        if (first) {
            set_counts(input, execution, verdict);
            verdict.ordered = good && agreement.ordered;
            verdict.bit_identical = good && agreement.bit_identical;
            if (good) good = check_synchronizing(input, execution, verdict, reason);
        }
        first = false;
        if (good) continue;
        verdict.error = sharing.prefix + reason.text;
        return verdict;
    }
    verdict.valid = true;
    return verdict;
}

}  // namespace weft::plan
