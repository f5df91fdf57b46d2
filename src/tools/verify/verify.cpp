// SPDX-License-Identifier: BSD-3-Clause
#include "tools/verify/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "plan/schedule/canonical.hpp"
#include "tools/text/text.hpp"
#include "tools/verify/execute.hpp"

namespace weft::plan {

namespace {

/// Stores the first result for each expectation, to compare the results of other ranks with it.
class FirstResults {
  public:
    /// Returns the stored result; kUndefined, to be set by the caller, if there is none yet.
    Value& value_of(const Expectation& expected) {
        const std::uint64_t unit = std::uint64_t{expected.unit} << 32 | expected.source_unit;
        const std::uint64_t ranks =
            static_cast<std::uint64_t>(expected.first_rank) << 32 | as_u32(expected.last_rank);
        return values_.try_emplace(UnitAndRanks{unit, ranks}, kUndefined).first->second;
    }

  private:
    struct UnitAndRanks {
        std::uint64_t unit, ranks;
        bool operator==(const UnitAndRanks&) const = default;
    };
    struct Hash {
        std::size_t operator()(const UnitAndRanks& key) const {
            return (key.unit * 0x9e3779b97f4a7c15 ^ key.ranks) * 0xbf58476d1ce4e5b9 >> 7;
        }
    };
    std::unordered_map<UnitAndRanks, Value, Hash> values_;
};

/// Properties that keeps_contract() determines.
struct Agreement {
    bool ordered = true;        ///< all results combine contributions in rank order
    bool bit_identical = true;  ///< ranks with equal expectations have equal expression trees
};

/// Returns true if all results are as the contract requires; otherwise sets the reason.
bool keeps_contract(const VerifyInput& input, Execution& execution, Values& values,
                    Agreement& agreement, Reason& reason) {
    FirstResults first_results;
    for (const Program& program : input.programs) {
        for (const Expectation& expected : input.contract->expected(program)) {
            const auto fail = [&](std::string_view why) {
                return reason.fail("rank {} ends without its result: output[{}] {}", program.rank,
                                   expected.unit, why);
            };
            if (expected.unit >= program.units) return fail("is expected, but does not exist");
            const Value value = execution.memory().final_output(program.rank, expected.unit);
            if (value == kUndefined) return fail("was never written");
            Value& first = first_results.value_of(expected);
            if (first == value) continue;  // this tree has been checked at an earlier rank
            if (first != kUndefined) agreement.bit_identical = false;
            if (first == kUndefined) first = value;
            if (values.in_order(value, expected)) continue;
            agreement.ordered = false;
            const bool exact = program.size <= input.exact_ranks_max;
            const bool good = exact ? values.each_once(value, expected)
                                    : values.each_once_by_weight(value, expected);
            if (!good) return fail(values.difference(value, expected));
        }
    }
    return true;
}

/// A rank whose program may end before another rank has started.
struct Independence {
    bool found = false;    ///< false: every rank completes only after all ranks have entered
    Rank rank = 0;         ///< the rank that may end first
    Rank independent = 0;  ///< the rank that need not have started
};

/// Searches for a rank that may end before another rank has started. For each lane, computes the
/// set of ranks that must have started when the lane ends: a raise passes the set of its lane to
/// the lanes that wait for it. Each pass handles up to 512 members of these sets, to limit memory.
Independence find_independence(const Execution& execution, Rank ranks) {
    constexpr Rank kWords = 8;  // words of 64 ranks in a set
    const Order& order = execution.order();
    const std::span<const std::uint32_t> starts = execution.lane_starts();
    const std::size_t lanes = starts.back();
    const auto words = static_cast<std::size_t>(std::min<Rank>(kWords, (ranks + 63) / 64));
    std::vector<std::uint64_t> entered(lanes * words);               // by lane
    std::vector<std::uint64_t> sent(order.raises().size() * words);  // by raise
    std::vector<std::uint64_t> entered_at_end(words);                // union of a rank's lanes
    const auto width = static_cast<Rank>(words * 64);
    for (Rank base = 0; base < ranks; base += width) {
        std::ranges::fill(entered, 0);
        for (Rank rank = base; rank < std::min(ranks, base + width); ++rank) {
            const auto bit = static_cast<std::size_t>(rank - base);
            const auto index = static_cast<std::size_t>(rank);
            for (std::size_t lane = starts[index]; lane < starts[index + 1]; ++lane)
                entered[lane * words + bit / 64] |= std::uint64_t{1} << bit % 64;
        }
        for (const Order::Link& link : order.links()) {
            std::uint64_t* lane = &entered[link.lane * words];
            std::uint64_t* raise = &sent[link.raise * words];
            for (std::size_t i = 0; i < words; ++i) {
                if (link.wait)
                    lane[i] |= raise[i];
                else
                    raise[i] = lane[i];
            }
        }
        for (Rank rank = 0; rank < ranks; ++rank) {
            std::ranges::fill(entered_at_end, 0);
            if (rank >= base && rank < base + width)
                entered_at_end[static_cast<std::size_t>(rank - base) / 64] |= std::uint64_t{1}
                                                                              << (rank - base) % 64;
            const auto index = static_cast<std::size_t>(rank);
            for (std::size_t lane = starts[index]; lane < starts[index + 1]; ++lane) {
                for (std::size_t i = 0; i < words; ++i)
                    entered_at_end[i] |= entered[lane * words + i];
            }
            for (Rank other = base; other < std::min(ranks, base + width); other += 64) {
                const Rank left = std::min<Rank>(64, ranks - other);
                const std::uint64_t full =
                    left == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
                const std::uint64_t missing =
                    full & ~entered_at_end[static_cast<std::size_t>(other - base) / 64];
                if (missing != 0)
                    return {true, rank, other + static_cast<Rank>(std::countr_zero(missing))};
            }
        }
    }
    return {};
}

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

/// Sets verdict.synchronizing. Fails if the programs are declared or required to be, but are not.
bool check_synchronizing(const VerifyInput& input, const Execution& execution, Verdict& verdict,
                         Reason& reason) {
    const Program& first = input.programs.front();
    const Independence independence = find_independence(execution, first.size);
    verdict.synchronizing = !independence.found;
    const bool required = input.contract != nullptr && input.contract->must_synchronize;
    if (verdict.synchronizing || !(required || first.synchronizing)) return true;
    return reason.fail("rank {} may end before rank {} has started, but the {} synchronizing",
                       independence.rank, independence.independent,
                       required ? "contract is" : "programs are declared");
}

/// A case to execute: the ranks on which input and output are the same memory.
struct InPlaceCase {
    const char* prefix;          ///< start of error messages
    std::vector<bool> in_place;  ///< by rank
};

/// Returns the cases to execute. The first one, which determines counts and properties, has
/// separate memory on all ranks.
std::vector<InPlaceCase> in_place_cases(const VerifyInput& input) {
    const std::size_t ranks = input.programs.size();
    std::vector<InPlaceCase> list{{"", std::vector<bool>(ranks, false)}};
    if (input.in_place)
        list.push_back(
            {"with input and output in the same memory: ", std::vector<bool>(ranks, true)});
    for (const std::size_t first : {std::size_t{1}, std::size_t{0}}) {
        if (!input.mixed) break;
        InPlaceCase& half = list.emplace_back(
            InPlaceCase{first == 1 ? "with input and output in the same memory on odd ranks: "
                                   : "with input and output in the same memory on even ranks: ",
                        std::vector<bool>(ranks, false)});
        for (std::size_t rank = first; rank < ranks; rank += 2) half.in_place[rank] = true;
    }
    return list;
}

/// Returns the reason why the contract cannot be stated in the programs' units; empty if it can.
std::string unfit_units(const VerifyInput& input) {
    const Program& first = input.programs.front();
    if (input.contract == nullptr || first.pairwise) return {};
    if (input.contract->block_per_rank && first.units % as_u32(first.size) != 0)
        return fmt::format("units is {}, expected a multiple of the {} ranks", first.units,
                           first.size);
    if (first.units != 0 || input.elements == 0) return {};
    for (Program header : input.programs) {
        header.units = as_u32(first.size);
        if (input.contract->output_of(header).count > 0)
            return fmt::format("units is 0, expected 1 or more for {} elements", input.elements);
    }
    return {};
}

/// Returns the rank of another node whose memory a step reads, or writes other than by a put;
/// else kNoRank.
Rank accessed_remotely(const Layout& layout, const Program& program, const Step& step) {
    const auto is_remote = [&](Rank peer) { return !layout.near(peer, program.rank); };
    if (step.kind == StepKind::wait && (step.flags & kFromPublished) != 0 && is_remote(step.peer))
        return step.peer;
    const BlockList written = step.kind == StepKind::put ? BlockList{} : step.target;
    for (const BlockList list : {step.source, written}) {
        for (const Block& block : blocks_of(program, list)) {
            const bool of_peer =
                block.buffer == Buffer::published || block.buffer == Buffer::mapped;
            if (of_peer && is_remote(block.peer)) return block.peer;
        }
    }
    return kNoRank;
}

/// Describes the first access to memory that a rank cannot reach. Returns an empty text if all
/// ranks can reach all memory that they access.
std::string unreachable(const VerifyInput& input) {
    if (!input.layout.is_given()) return {};
    for (const Program& program : input.programs) {
        for (std::size_t i = 0; i < program.steps.size(); ++i) {
            const Step& step = program.steps[i];
            const Rank peer = accessed_remotely(input.layout, program, step);
            if (peer != kNoRank)
                return fmt::format("rank {} step {} ({}): memory of rank {} is on another node",
                                   program.rank, i, to_text(program, step), peer);
        }
    }
    return {};
}

}  // namespace

Verdict verify(const VerifyInput& input) {
    Verdict verdict;
    verdict.error = malformed(input.programs);
    if (verdict.error.empty()) verdict.error = unfit_units(input);
    if (verdict.error.empty()) verdict.error = unreachable(input);
    if (!verdict.error.empty()) return verdict;
    const Sizes sizes(input.programs, input.elements);
    Values values(input.programs.front().size, input.seed);
    bool first = true;
    for (const InPlaceCase& tested : in_place_cases(input)) {
        Execution execution(input.programs, input.contract, sizes, tested.in_place, values);
        Reason reason;
        Agreement agreement;
        bool good = execution.run();
        if (!good) reason.fail("{}", execution.error());
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
        verdict.error = tested.prefix + reason.text;
        return verdict;
    }
    verdict.valid = true;
    return verdict;
}

}  // namespace weft::plan
