// SPDX-License-Identifier: BSD-3-Clause
// environment.hpp - every WEFT_* variable: one table of names, defaults and meanings.
//
// Idea     The table is the only place that has a variable's name. It reads a text into a field
//          of Settings and prints the field back, so the guide's page (docs/guide/environment.md),
//          the report of what is unknown and the agreement check of start-up all come from it.
// Why      Nothing deep inside calls getenv: the creator of a runtime reads an environment once and
//          hands plain Settings down, so many runtimes with different settings fit in one process.
// Holds    A variable that is set to nothing counts as not set. A value that cannot be used is a
//          Failure that names variable, value and expected form. Algorithm specs and names that
//          only upper rooms know (providers, instruction sets) are kept as text; their room judges
//          them.
// Next     units.hpp for the forms of sizes and times; run/runtime for who uses which setting.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace weft::base {

/// How a far rank learns that data for it has landed (link/fabric/notify.hpp).
enum class Notify : std::uint8_t {
    immediate,  ///< the completion data of a put arrives after its data
    cells,      ///< every aligned 8-byte word of a payload carries a tag
    delivery,   ///< the flag is put when the data is known to have landed
    fence,      ///< the flag is put at once, and fenced
    ordered,    ///< the flag is put at once, on a fabric that lands puts in order
    counter,    ///< the flag is put at once, and the target counts what has landed
};
inline constexpr std::array<std::string_view, 6> kNotifyNames{"immediate", "cells",   "delivery",
                                                              "fence",     "ordered", "counter"};
/// How node-mates get at buffers that do not lie in the heap.
enum class DirectChoice : std::uint8_t {
    automatic,  ///< pages are adopted where a buffer comes again; the kernel copies until then
    adopt,      ///< at first use
    copy,       ///< the kernel copies
    stage,      ///< never: everything passes through put targets
};
/// What happens after a wait has been reported.
enum class TimeoutAction : std::uint8_t { report, abort };
/// Driver of the engine besides the user's calls: none, a thread of the runtime, or such a thread
/// only in jobs of several nodes.
enum class ProgressMode : std::uint8_t { calls, thread, remote };
/// Whether one thread of the program calls at a time, or several at once.
enum class ThreadLevel : std::uint8_t { single, multiple };
/// What is reported; each level includes those before it. See log.hpp.
enum class LogLevel : std::uint8_t { warn, info, trace };

/// An algorithm that the user forces for one kind of call.
struct ForcedAlgorithm {
    std::string name;  ///< of the kind of call, as the command line writes it
    std::string spec;
    bool operator==(const ForcedAlgorithm&) const = default;
};

/// All settings, at their defaults unless read.
struct Settings {
    std::string provider;          ///< empty: the best that fits
    std::optional<Notify> notify;  ///< none: as the provider's profile prefers
    DirectChoice direct = DirectChoice::automatic;
    std::uint64_t heap_bytes = std::uint64_t{256} << 20;
    std::uint32_t banks = 512;
    std::uint64_t bank_bytes = std::uint64_t{2} << 20;
    std::uint64_t timeout_ns = 30'000'000'000;  ///< 0: waits are never reported
    TimeoutAction timeout_action = TimeoutAction::report;
    ProgressMode progress = ProgressMode::calls;
    ThreadLevel threads = ThreadLevel::single;
    std::uint32_t nodes = 0;               ///< virtual nodes; 0: as the launcher says
    std::optional<std::uint32_t> node_id;  ///< set by our launcher for each rank
    std::string reduce_isa;                ///< empty: the best of this processor
    std::string fabric_module;             ///< empty: looked for next to the library
    std::string fabric_address;            ///< empty: the provider chooses
    LogLevel log = LogLevel::warn;
    std::string unknown_log;             ///< a value of WEFT_LOG that is not a level
    bool stats = false;                  ///< rank 0 prints tables at the end
    std::string trace;                   ///< folder for a trace of the job; empty: none
    std::uint64_t trace_events = 65536;  ///< of each rank, kept for the trace
    std::string log_file;                ///< empty: stderr; may contain %r and %h
    std::string tuning;                  ///< a file of `weft tune`; empty: none
    std::string parameters;              ///< a file of `weft fit`; empty: none
    /// Lines about the contents of these files, for agreement_text(); who reads them writes these.
    std::string agreed_files;
    std::vector<ForcedAlgorithm> algorithms;  ///< sorted by name

    std::vector<std::string> given;    ///< names that were set, in order of the environment
    std::vector<std::string> unknown;  ///< WEFT_* names that nothing reads, likewise
    std::vector<std::string> ignored;  ///< variables that name files, under raised rights
};

/// The variable in which a launcher gives a rank the index of its virtual node.
inline constexpr const char* kNodeIdVariable = "WEFT_NODE_ID";
/// How the names of jobs begin that `weft run` starts (PMIX_NAMESPACE).
inline constexpr std::string_view kOwnJobPrefix = "weft-";

/// One line of the table.
struct Variable {
    std::string_view name;
    std::string_view fallback;  ///< what an unset variable means, in the form that could be set
    std::string_view form;      ///< what a value must look like
    std::string_view meaning;
    bool agreed;  ///< all ranks of a job must have the same value

    Result<void> (*read)(Settings& settings, std::string_view value);
    std::string (*print)(const Settings& settings);  ///< empty: none
    bool names_file;  ///< ignored if the program has raised rights (set-user-id, capabilities)
};
[[nodiscard]] std::span<const Variable> variables();

/// The variable that forces an algorithm for calls of this name: WEFT_ and the name in capitals.
[[nodiscard]] std::string algorithm_variable(std::string_view call_name);

/// Reads a null-terminated array of NAME=VALUE texts as `environ` is. `call_names` are the names
/// that an algorithm can be forced for.
[[nodiscard]] Result<Settings> read_settings(const char* const* environment,
                                             std::span<const std::string_view> call_names);

/// An environment in which this assignment, "NAME=VALUE", counts before all others of that name.
[[nodiscard]] std::vector<const char*> with_assignment(const char* const* environment,
                                                       const char* assignment);

/// Sentences for the user: unknown names, ignored variables, an unknown level of WEFT_LOG.
[[nodiscard]] std::vector<std::string> report_unknown(const Settings& settings);

/// The settings that must be the same on all ranks, one NAME=VALUE a line, independent of how the
/// values were written.
[[nodiscard]] std::string agreement_text(const Settings& settings);
/// The first line that differs, as "NAME is A here and B there"; empty if the texts are equal.
[[nodiscard]] std::string first_difference(std::string_view here, std::string_view there);

}  // namespace weft::base
