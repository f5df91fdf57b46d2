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

void take_counts(const VerifyInput& input, const Execution& execution, Verdict& verdict) {
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

/// Declared or demanded synchronization must be there.
bool check_synchronizing(const VerifyInput& input, const Execution& execution, Verdict& verdict,
                         Reason& reason) {
    const Program& first = input.programs.front();
    const Independence independence = find_independence(execution, first.size);
    verdict.synchronizing = !independence.found;
    const bool demanded = input.contract != nullptr && input.contract->must_synchronize;
    if (verdict.synchronizing || !(demanded || first.synchronizing)) return true;
    return reason.no(fmt::format(
        "rank {} may end before rank {} has started, but the {} synchronizing", independence.rank,
        independence.independent, demanded ? "contract is" : "programs are declared"));
}

}  // namespace

Verdict verify(const VerifyInput& input) {
    Verdict verdict;
    verdict.error = malformed(input.programs);
    if (!verdict.error.empty()) return verdict;
    const Sizes sizes(input.programs, input.elements);
    Values values(input.programs.front().size, input.seed);
    for (const bool in_place : {false, true}) {
        if (in_place && !input.in_place) break;
        Execution execution(input.programs, input.contract, sizes, in_place, values);
        Reason reason;
        Agreement agreement;
        bool good = execution.run();
        if (!good) reason.no(execution.error());
        if (good && input.contract != nullptr)
            good = keeps_contract(input, execution, values, agreement, reason);
        if (!in_place) {
            take_counts(input, execution, verdict);
            verdict.ordered = good && agreement.ordered;
            verdict.bit_identical = good && agreement.bit_identical;
            if (good) good = check_synchronizing(input, execution, verdict, reason);
        }
        if (good) continue;
        verdict.error =
            in_place ? "with input and output in the same memory: " + reason.text : reason.text;
        return verdict;
    }
    verdict.valid = true;
    return verdict;
}

}  // namespace weft::plan
