// SPDX-License-Identifier: BSD-3-Clause
// environment.hpp - table of all WEFT_* variables: names, defaults and meanings.
//
// Idea     The table is the only place that has a variable's name. It reads a text into a field of
//          Settings and prints the field. The guide's page (docs/guide/environment.md), the report
//          of unknown names and the agreement check of start-up use it.
// Why      Only the creator of a runtime reads the environment, once, and passes plain Settings
//          down. Many runtimes with different settings fit in one process.
// Holds    An empty variable counts as not set. An invalid value is a Failure that names variable,
//          value and expected form. Algorithm specs and names that only upper rooms know
//          (providers, instruction sets) remain text; their room checks them.
// Next     units.hpp for the forms of sizes and times; run/job for the use of settings.
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

/// Method by which a remote rank learns that its data is delivered (link/fabric/notify.hpp).
enum class Notify : std::uint8_t {
    immediate,  ///< the completion data of a put arrives after its data
    cells,      ///< every aligned 8-byte word of a payload carries a tag
    delivery,   ///< the flag is put after the data is known to be delivered
    fence,      ///< the flag is put at once, and fenced
    ordered,    ///< the flag is put at once, on a fabric that delivers puts in order
    counter,    ///< the flag is put at once, and the target counts deliveries
};
inline constexpr std::array<std::string_view, 6> kNotifyNames{"immediate", "cells",   "delivery",
                                                              "fence",     "ordered", "counter"};
/// Method for access to local peers' buffers outside the heap.
enum class DirectChoice : std::uint8_t {
    /// The kernel copies at first; buffers that are used again are adopted.
    automatic,
    adopt,  ///< pages are adopted at first use
    copy,   ///< the kernel copies
    stage,  ///< data always passes through put targets
};
/// Action after the report of a wait.
enum class TimeoutAction : std::uint8_t { report, abort };
/// Driver of the engine besides the user's calls: none, a thread of the runtime, or such a thread
/// only in jobs of several nodes.
enum class ProgressMode : std::uint8_t { calls, thread, remote };
/// Threads of the program that call the library: one at a time, or several at once.
enum class ThreadLevel : std::uint8_t { single, multiple };
/// Amount of output; each level includes the preceding ones. See log.hpp.
enum class LogLevel : std::uint8_t { warn, info, trace };

struct ForcedAlgorithm {
    std::string name;  ///< name of the kind of call, as on the command line
    std::string spec;
    bool operator==(const ForcedAlgorithm&) const = default;
};

/// All settings, at their defaults unless read.
struct Settings {
    std::string provider;          ///< empty: the best available
    std::optional<Notify> notify;  ///< empty: preference of the provider's profile
    DirectChoice direct = DirectChoice::automatic;
    std::uint64_t heap_bytes = std::uint64_t{256} << 20;
    std::uint32_t banks = 512;
    std::uint64_t bank_bytes = std::uint64_t{2} << 20;
    std::uint64_t timeout_ns = 30'000'000'000;  ///< 0: waits are never reported
    TimeoutAction timeout_action = TimeoutAction::report;
    ProgressMode progress = ProgressMode::calls;
    ThreadLevel threads = ThreadLevel::single;
    std::uint32_t nodes = 0;               ///< virtual nodes; 0: nodes of the launcher
    std::optional<std::uint32_t> node_id;  ///< set by `weft run` for each rank
    std::string reduce_isa;                ///< empty: the best of this processor
    std::string fabric_module;             ///< empty: next to the library
    std::string fabric_address;            ///< empty: the provider chooses
    LogLevel log = LogLevel::warn;
    std::string unknown_log;             ///< value of WEFT_LOG, if it is not a level
    bool stats = false;                  ///< rank 0 prints tables at the end
    std::string trace;                   ///< folder for a trace of the job; empty: no trace
    std::uint64_t trace_events = 65536;  ///< number of each rank's events that the trace keeps
    std::string log_file;                ///< empty: stderr; may contain %r and %h
    std::string tuning;                  ///< file of `weft tune`; empty: no file
    std::string parameters;              ///< file of `weft fit`; empty: no file
    /// Lines about the contents of these files, for agreement_text(). Written by the reader
    /// of the files.
    std::string agreed_files;
    std::vector<ForcedAlgorithm> algorithms;  ///< sorted by name

    std::vector<std::string> given;    ///< names that were set, in order of the environment
    std::vector<std::string> unknown;  ///< unknown WEFT_* names, in order of the environment
    std::vector<std::string> ignored;  ///< variables with file names, ignored under raised rights
};

/// Variable in which a launcher gives a rank the index of its virtual node.
inline constexpr const char* kNodeIdVariable = "WEFT_NODE_ID";
/// Prefix of the names of jobs that `weft run` starts (PMIX_NAMESPACE).
inline constexpr std::string_view kOwnJobPrefix = "weft-";

/// One line of the table.
struct Variable {
    std::string_view name;
    std::string_view fallback;  ///< meaning of an unset variable, in the form of a value
    std::string_view form;      ///< description of valid values
    std::string_view meaning;
    bool agreed;  ///< all ranks of a job must have the same value

    Result<void> (*read)(Settings& settings, std::string_view value);
    std::string (*print)(const Settings& settings);  ///< empty: no value
    bool names_file;  ///< ignored if the program has raised rights (set-user-id, capabilities)
};
[[nodiscard]] std::span<const Variable> variables();

/// Returns the variable that forces an algorithm for calls of this name: WEFT_ and the
/// name in capitals.
[[nodiscard]] std::string algorithm_variable(std::string_view call_name);

/// Reads a null-terminated array of NAME=VALUE texts, such as `environ`. `call_names`: calls for
/// which an algorithm can be forced.
[[nodiscard]] Result<Settings> read_settings(const char* const* environment,
                                             std::span<const std::string_view> call_names);

/// Returns an environment in which `assignment`, "NAME=VALUE", precedes all others of that name.
/// Its entries must outlive the result.
[[nodiscard]] std::vector<const char*> with_assignment(const char* const* environment,
                                                       const char* assignment);

/// Returns messages for the user: unknown names, ignored variables, an unknown level of WEFT_LOG.
[[nodiscard]] std::vector<std::string> report_unknown(const Settings& settings);

/// Returns the settings that must be equal on all ranks, as lines NAME=VALUE. Does not depend on
/// the spelling of values.
[[nodiscard]] std::string agreement_text(const Settings& settings);
/// Returns the first line that differs, as "NAME is A here and B there"; empty if the
/// texts are equal.
[[nodiscard]] std::string first_difference(std::string_view here, std::string_view there);

}  // namespace weft::base
