// SPDX-License-Identifier: BSD-3-Clause
// faults.hpp - what can be planted into a scenario, to show that the farm finds it.
//
// Idea     A fault stands for a mistake in one room: a wrong bank rule, an engine that does not
//          wait for what it must, a team that takes memory which is still in use, a request that
//          does not follow its writes. It is planted from outside: by a window, a wire, a fabric
//          or a caller that does wrong, never by code in the library.
// Next     run.cpp plants them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::farm {

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

struct FaultEntry {
    Fault fault;
    std::string_view room;
    std::string_view name;
    std::string_view what;
};

inline constexpr std::array kFaults{
    FaultEntry{Fault::late_barrier, "window", "late-barrier", "a barrier is numbered too late"},
    FaultEntry{Fault::count_only, "window", "count-only", "calls are counted, not their order"},
    FaultEntry{Fault::one_bank, "window", "one-bank", "one bank of cells where the rule has four"},
    FaultEntry{Fault::one_small_bank, "window", "one-small-bank", "the same for small bulk banks"},
    FaultEntry{Fault::false_synchronizing, "window", "false-synchronizing",
               "calls without data are taken as synchronizing"},
    FaultEntry{Fault::early_reuse, "engine", "early-reuse", "sources are overwritten too early"},
    FaultEntry{Fault::forgotten_refusal, "engine", "forgotten-refusal",
               "a put that was refused is not repeated"},
    FaultEntry{Fault::ignored_arrivals, "engine", "ignored-arrivals",
               "arrivals without an immediate are not looked for"},
    FaultEntry{Fault::skipped_credit, "engine", "skipped-credit", "credits are not awaited"},
    FaultEntry{Fault::skipped_wait, "engine", "skipped-wait", "one wait of rank 1 is left out"},
    FaultEntry{Fault::forgotten_failure, "engine", "forgotten-failure",
               "a rank whose team has failed signals for it again"},
    FaultEntry{Fault::shared_region, "team", "shared-region", "two living teams have one region"},
    FaultEntry{Fault::ticks_again, "team", "ticks-again", "a region's ticks begin anew"},
    FaultEntry{Fault::early_free, "team", "early-free",
               "a region is given on while members still use it"},
    FaultEntry{Fault::swapped_ranks, "team", "swapped-ranks",
               "one member has two others in another order"},
    FaultEntry{Fault::no_fence, "request", "no-fence", "fence does nothing"},
    FaultEntry{Fault::early_delivery, "request", "early-delivery",
               "writes count as delivered before they are"},
    FaultEntry{Fault::early_immediates, "request", "early-immediates",
               "writes are counted before they have landed"},
    FaultEntry{Fault::overtaking, "request", "overtaking", "a flag may overtake its data"},
    FaultEntry{Fault::torn_words, "request", "torn-words", "words that are taken as whole tear"},
};

[[nodiscard]] constexpr std::optional<Fault> fault_named(std::string_view name) {
    for (const FaultEntry& entry : kFaults)
        if (entry.name == name) return entry.fault;
    return std::nullopt;
}

}  // namespace weft::farm
