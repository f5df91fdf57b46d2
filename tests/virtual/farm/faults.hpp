// SPDX-License-Identifier: BSD-3-Clause
// faults.hpp - faults that can be planted into a scenario, to show that the farm detects them.
//
// Idea     A fault represents a mistake in one component: a wrong bank rule, an engine with a
//          missing wait, a team that uses memory of another team, a request that overtakes its
//          writes. A faulty window, wire, fabric or caller plants the fault from outside; the
//          library has no code for faults.
// Next     world.cpp, rank.cpp and scenario.cpp plant the faults.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::farm {

/// The faults are described in kFaults. From no_fence on they need a fabric.
enum class Fault : std::uint8_t {
    none,
    late_barrier,
    count_only,
    one_bank,
    one_small_bank,
    false_synchronizing,
    early_reuse,
    forgotten_refusal,
    ignored_arrivals,
    skipped_credit,
    skipped_wait,
    forgotten_failure,
    shared_region,
    ticks_again,
    early_free,
    swapped_ranks,
    no_fence,
    early_delivery,
    early_immediates,
    overtaking,
    torn_words,
};

/// A row of kFaults.
struct FaultEntry {
    Fault fault;
    std::string_view component;  ///< component that would have the mistake
    std::string_view name;       ///< value of --fault and --controls
    std::string_view description;
};

inline constexpr std::array kFaults{
    FaultEntry{Fault::late_barrier, "window", "late-barrier", "a barrier is inserted too late"},
    FaultEntry{Fault::count_only, "window", "count-only",
               "calls are counted, but their order is ignored"},
    FaultEntry{Fault::one_bank, "window", "one-bank",
               "one bank of cells where the rule assumes four"},
    FaultEntry{Fault::one_small_bank, "window", "one-small-bank",
               "one small bulk bank where the rule assumes four"},
    FaultEntry{Fault::false_synchronizing, "window", "false-synchronizing",
               "calls without data count as synchronizing"},
    FaultEntry{Fault::early_reuse, "engine", "early-reuse", "sources are overwritten too early"},
    FaultEntry{Fault::forgotten_refusal, "engine", "forgotten-refusal",
               "a put that was refused is not repeated"},
    FaultEntry{Fault::ignored_arrivals, "engine", "ignored-arrivals",
               "data that arrives without an immediate is ignored"},
    FaultEntry{Fault::skipped_credit, "engine", "skipped-credit", "credits are not awaited"},
    FaultEntry{Fault::skipped_wait, "engine", "skipped-wait", "one wait of rank 1 is missing"},
    FaultEntry{Fault::forgotten_failure, "engine", "forgotten-failure",
               "a rank forgets that its team has failed"},
    FaultEntry{Fault::shared_region, "team", "shared-region",
               "two teams use one region at the same time"},
    FaultEntry{Fault::ticks_again, "team", "ticks-again",
               "the ticks of a reused region start at 1 again"},
    FaultEntry{Fault::early_free, "team", "early-free",
               "a region is reused while members still use it"},
    FaultEntry{Fault::swapped_ranks, "team", "swapped-ranks", "one member swaps two other members"},
    FaultEntry{Fault::no_fence, "request", "no-fence", "fence does nothing"},
    FaultEntry{Fault::early_delivery, "request", "early-delivery",
               "writes count as delivered too early"},
    FaultEntry{Fault::early_immediates, "request", "early-immediates",
               "writes are counted before their data arrives"},
    FaultEntry{Fault::overtaking, "request", "overtaking", "a flag may overtake its data"},
    FaultEntry{Fault::torn_words, "request", "torn-words", "words that must be whole are torn"},
};

[[nodiscard]] constexpr std::optional<Fault> fault_named(std::string_view name) {
    for (const FaultEntry& entry : kFaults)
        if (entry.name == name) return entry.fault;
    return std::nullopt;
}

}  // namespace weft::farm
