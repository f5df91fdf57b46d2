// SPDX-License-Identifier: BSD-3-Clause
// environment.hpp - table of all WEFT_* variables: names, defaults and meanings.
//
// Idea     A line of the table has a variable's name, default and meaning, and functions that read
//          a text into a field of Settings and print the field. The guide's page
//          (docs/guide/environment.md), the report of unknown names, and the check at start-up that
//          all ranks have equal settings are made from the table.
// Why      Only the creator of a runtime reads the environment, once, and passes plain Settings
//          down. So several runtimes with different settings can exist in one process.
// Holds    An empty variable counts as not set. An invalid value is a Failure that names variable,
//          value and expected form. Rooms check texts such as algorithm specs and provider names.
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

/// Method by which a rank detects delivered data from other nodes (link/fabric/notify.hpp).
enum class Notify : std::uint8_t {
    immediate,  ///< the immediate (remote completion data) of a put arrives after its data
    cells,      ///< every aligned 8-byte word of a payload has a tag
    delivery,   ///< the sender puts the flag when the data's delivery is confirmed
    fence,      ///< the sender puts the flag at once, with a fence before it
    ordered,    ///< the sender puts the flag at once; the network delivers puts in order
    counter,    ///< the sender puts the flag at once; the target counts deliveries
};
inline constexpr std::array<std::string_view, 6> kNotifyNames{"immediate", "cells",   "delivery",
                                                              "fence",     "ordered", "counter"};
/// Method for access to local peers' buffers outside the heap.
enum class DirectMode : std::uint8_t {
    automatic,  ///< the kernel copies at first; buffers used repeatedly are adopted (remapped)
    adopt,      ///< buffers are adopted at their first use, whichever malloc() the program has
    copy,       ///< the kernel always copies
    stage,      ///< data always passes through put targets
};
/// Effect of a wait of more than WEFT_TIMEOUT: a report, or a report and the end of the job.
enum class TimeoutAction : std::uint8_t { report, abort };
/// Effect of the death of a rank: the job ends, or only calls that involve the rank fail.
enum class FailureAction : std::uint8_t { end, proceed };
/// Driver of the engine besides calls: none, a thread, or a thread only in jobs of several nodes.
enum class ProgressMode : std::uint8_t { calls, thread, remote };
/// Threads of the program that call the library: one at a time, or several at the same time.
enum class ThreadLevel : std::uint8_t { single, multiple };
/// Property of a call by which its algorithm is chosen: predicted time, energy of all ranks, or
/// descriptors (puts and signals in the program) of the rank with the most.
enum class Objective : std::uint8_t { time, energy, descriptors };
inline constexpr std::array<std::string_view, 3> kObjectiveNames{"time", "energy", "descriptors"};
/// Amount of output; each level includes the preceding levels. See log.hpp.
enum class LogLevel : std::uint8_t { warn, info, trace };

struct ForcedAlgorithm {
    std::string name;  ///< name of the collective, as on the command line
    std::string spec;  ///< algorithm spec
    bool operator==(const ForcedAlgorithm&) const = default;
};

/// All settings, at their defaults unless read.
struct Settings {
    std::string provider;          ///< empty: the best available
    std::optional<Notify> notify;  ///< nullopt: preference of the provider's profile
    DirectMode direct = DirectMode::automatic;
    std::uint64_t heap_bytes = std::uint64_t{256} << 20;  ///< size of each rank's symmetric heap
    std::uint32_t banks = 512;                            ///< banks of cells of a team
    std::uint64_t bank_bytes = std::uint64_t{2} << 20;    ///< size of a bank of the largest class
    std::uint64_t timeout_ns = 30'000'000'000;            ///< 0: waits are never reported
    TimeoutAction timeout_action = TimeoutAction::report;
    FailureAction on_failure = FailureAction::end;
    ProgressMode progress = ProgressMode::calls;
    ThreadLevel threads = ThreadLevel::single;
    std::uint32_t nodes = 0;               ///< virtual nodes; 0: nodes of the launcher
    std::optional<std::uint32_t> node_id;  ///< set by `weft run` for each rank
    std::string reduce_isa;                ///< instruction set; empty: the best of this processor
    std::string fabric_module;             ///< file name; empty: next to the library
    std::string fabric_address;            ///< local address; empty: chosen by open_port()
    std::string cards;                     ///< names of network cards, with commas; empty: all
    LogLevel log = LogLevel::warn;
    std::string unknown_log;             ///< value of WEFT_LOG if it is not a level, else empty
    bool stats = false;                  ///< rank 0 prints tables at the end
    std::string trace;                   ///< folder for a trace of the job; empty: no trace
    std::uint64_t trace_events = 65536;  ///< number of each rank's events that the trace keeps
    std::string log_file;                ///< empty: stderr; may contain %r and %h
    Objective objective = Objective::time;
    std::uint32_t descriptors_max = 0;  ///< of a chosen algorithm; 0: no limit
    std::string tuning;                 ///< file of `weft tune`; empty: no file
    std::string parameters;             ///< file of `weft fit`; empty: no file
    /// Lines for agreement_text() about the files `tuning` and `parameters`, which run/job reads.
    std::string agreed_files;
    std::vector<ForcedAlgorithm> algorithms;  ///< sorted by name

    std::vector<std::string> given;    ///< names that were set, in order of the environment
    std::vector<std::string> unknown;  ///< unknown WEFT_* names, in order of the environment
    std::vector<std::string> ignored;  ///< variables ignored because of Variable::names_file
};

/// Variable that `weft run` sets for each rank: the index of its virtual node.
inline constexpr const char* kNodeIdVariable = "WEFT_NODE_ID";
/// Variable that `weft run --keep-going` sets to "continue".
inline constexpr const char* kOnFailureVariable = "WEFT_ON_FAILURE";
/// Prefix of the names of jobs that `weft run` starts (PMIX_NAMESPACE).
inline constexpr std::string_view kOwnJobPrefix = "weft-";

/// One line of the table.
struct Variable {
    std::string_view name;
    std::string_view fallback;  ///< default, in the form of a value; may be empty
    std::string_view form;      ///< description of valid values
    std::string_view meaning;
    bool agreed;  ///< all ranks of a job must have the same value

    Result<void> (*read)(Settings& settings, std::string_view value);
    std::string (*print)(const Settings& settings);  ///< returns "" if the setting has no value
    bool names_file;  ///< ignored in a process with elevated privileges
};
[[nodiscard]] std::span<const Variable> variables();

/// Returns the variable that forces a collective's algorithm: WEFT_ and the name in capitals.
[[nodiscard]] std::string algorithm_variable(std::string_view call_name);

/// Reads a null-terminated array of NAME=VALUE texts, such as `environ`. `call_names`: names of the
/// collectives for which an algorithm can be forced.
Result<Settings> read_settings(const char* const* environment,
                               std::span<const std::string_view> call_names);

/// Returns a null-terminated copy of the environment with `assignment`, "NAME=VALUE", before all
/// other entries, so that it takes effect. The result points into the arguments.
[[nodiscard]] std::vector<const char*> with_assignment(const char* const* environment,
                                                       const char* assignment);

/// Returns messages for the user: unknown names, ignored variables, an unknown level of WEFT_LOG.
[[nodiscard]] std::vector<std::string> report_unknown(const Settings& settings);

/// Returns the settings that must be equal on all ranks, as lines NAME=VALUE. Equal values have
/// equal lines, even if users wrote them differently (64K, 65536).
[[nodiscard]] std::string agreement_text(const Settings& settings);
/// Returns the first difference of two agreement texts, as "NAME is A here and B there", or empty.
[[nodiscard]] std::string first_difference(std::string_view here, std::string_view there);

}  // namespace weft::base
