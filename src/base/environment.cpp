// SPDX-License-Identifier: BSD-3-Clause
#include "base/environment.hpp"

#include <sys/auxv.h>

#include <algorithm>
#include <bit>

#include "base/suggestion.hpp"
#include "base/units.hpp"

namespace weft::base {
namespace {

constexpr std::string_view kPrefix = "WEFT_";
constexpr std::string_view kReserved = "WEFT_MPI";  ///< variables of the layer for MPI programs

// ---- Values that are one of a few words --------------------------------------------------------

constexpr std::array<std::string_view, 4> kDirectWords{"auto", "adopt", "copy", "stage"};
constexpr std::array<std::string_view, 2> kTimeoutActionWords{"report", "abort"};
constexpr std::array<std::string_view, 2> kOnFailureWords{"end", "continue"};
constexpr std::array<std::string_view, 3> kProgressWords{"calls", "thread", "remote"};
constexpr std::array<std::string_view, 2> kThreadWords{"single", "multiple"};
constexpr std::array<std::string_view, 2> kSwitchWords{"0", "1"};
constexpr std::array<std::string_view, 3> kLogWords{"warn", "info", "trace"};

/// Reads and prints an enumeration whose values are the indices of its words.
template <auto Field, const auto& Words>
struct Choice {
    static Result<void> read(Settings& settings, std::string_view value) {
        const auto found = std::find(Words.begin(), Words.end(), value);
        if (found == Words.end()) return fail(Status::argument, "unknown word");
        using Enum = std::remove_reference_t<decltype(settings.*Field)>;
        settings.*Field = static_cast<Enum>(found - Words.begin());
        return Done{};
    }
    static std::string print(const Settings& settings) {
        return std::string(Words.at(static_cast<std::size_t>(settings.*Field)));
    }
};

/// Reads a log level. For an unknown level, the default is used, and report_unknown() names it.
struct LogWord : Choice<&Settings::log, kLogWords> {
    static Result<void> read(Settings& settings, std::string_view value) {
        if (!Choice::read(settings, value)) settings.unknown_log = value;
        return Done{};
    }
};

struct NotifyWord {
    static Result<void> read(Settings& settings, std::string_view value) {
        const auto found = std::ranges::find(kNotifyNames, value);
        settings.notify.reset();
        if (value == "auto") return Done{};
        if (found == kNotifyNames.end()) return fail(Status::argument, "unknown word");
        settings.notify = static_cast<Notify>(found - kNotifyNames.begin());
        return Done{};
    }
    static std::string print(const Settings& settings) {
        return settings.notify
                   ? std::string(kNotifyNames[static_cast<std::size_t>(*settings.notify)])
                   : "auto";
    }
};

// ---- Other values ------------------------------------------------------------------------------

template <auto Field>
struct Text {
    static Result<void> read(Settings& settings, std::string_view value) {
        settings.*Field = value;
        return Done{};
    }
    static std::string print(const Settings& settings) { return settings.*Field; }
};

/// Name of a file or folder. A program with more rights than its user ignores it.
template <auto Field>
struct FileName : Text<Field> {
    static constexpr bool kNamesFile = true;
};
template <auto Field, std::uint64_t Multiple>
struct Bytes {
    static Result<void> read(Settings& settings, std::string_view value) {
        const auto bytes = WEFT_TRY(parse_bytes(value));
        if (bytes == 0 || bytes % Multiple != 0)
            return fail(Status::argument, "{} is not a positive multiple of {}", bytes, Multiple);
        settings.*Field = bytes;
        return Done{};
    }
    static std::string print(const Settings& settings) { return format_bytes(settings.*Field); }
};

template <auto Field, std::uint64_t Min, std::uint64_t Max>
struct Count {
    static Result<void> read(Settings& settings, std::string_view value) {
        const auto count = WEFT_TRY(parse_count(value, {.min = Min, .max = Max}));
        settings.*Field = static_cast<std::uint32_t>(count);
        return Done{};
    }
    static std::string print(const Settings& settings) {
        const std::optional<std::uint32_t> count = settings.*Field;
        return count ? fmt::format("{}", *count) : std::string();
    }
};

struct Banks : Count<&Settings::banks, 4, 65536> {
    static Result<void> read(Settings& settings, std::string_view value) {
        const Result<void> done = Count::read(settings, value);
        if (!done || std::has_single_bit(settings.banks)) return done;
        return fail(Status::argument, "{} is not a power of two", settings.banks);
    }
};

struct Timeout {
    static Result<void> read(Settings& settings, std::string_view value) {
        settings.timeout_ns = WEFT_TRY(parse_seconds(value));
        return Done{};
    }
    static std::string print(const Settings& settings) {
        return format_seconds(settings.timeout_ns);
    }
};

constexpr std::uint64_t kNodesMax = 0x7fffffff;

struct Nodes : Count<&Settings::nodes, 1, kNodesMax> {
    static std::string print(const Settings& settings) {
        return settings.nodes == 0 ? std::string() : Count::print(settings);
    }
};

// ---- The table ---------------------------------------------------------------------------------

/// Completes a line of the table with the functions of `Access`, the type of its value.
template <class Access>
constexpr Variable variable(Variable line) {
    line.read = &Access::read;
    line.print = &Access::print;
    line.names_file = requires {
        Access::kNamesFile;
    };
    return line;
}

constexpr std::array kVariables{
    variable<Text<&Settings::provider>>({"WEFT_PROVIDER", "", "a libfabric provider name",
                                         "network provider to use; not set: the best one that fits",
                                         true}),
    variable<NotifyWord>(
        {"WEFT_NOTIFY", "auto", "auto, cells, immediate, delivery, fence, ordered or counter",
         "method by which data arrives before its flag on a network. `auto`: the method that the "
         "provider's profile prefers; `cells` is for payloads of up to 48 bytes. A method that the "
         "provider does not guarantee is an error at start-up",
         true}),
    variable<Choice<&Settings::direct, kDirectWords>>(
        {"WEFT_DIRECT", "auto", "auto, adopt, copy or stage",
         "access of ranks of a node to each other's large buffers: in place, after shared pages "
         "have replaced the buffer's pages (`adopt`), by copies that the kernel makes (`copy`), or "
         "through put targets (`stage`). `auto`: copies at first, and adoption if a buffer is used "
         "repeatedly",
         true}),
    variable<Bytes<&Settings::heap_bytes, 4096>>(
        {"WEFT_HEAP_SIZE", "256M", "bytes, a multiple of 4K",
         "symmetric heap of each rank; only touched pages use memory", true}),
    variable<Banks>({"WEFT_BANKS", "512", "a power of two from 4 to 65536",
                     "banks of cells of a team, used one after the other", true}),
    variable<Bytes<&Settings::bank_bytes, 64>>({"WEFT_BANK_BYTES", "2M", "bytes, a multiple of 64",
                                                "size of one bank for bulk data of a team", true}),
    variable<Timeout>({"WEFT_TIMEOUT", "30", "seconds, such as 30 or 0.25; 0 means never",
                       "duration after which a wait is reported", false}),
    variable<Choice<&Settings::timeout_action, kTimeoutActionWords>>(
        {"WEFT_TIMEOUT_ACTION", "report", "report or abort",
         "whether a reported wait also ends the job", false}),
    variable<Choice<&Settings::on_failure, kOnFailureWords>>(
        {kOnFailureVariable, "end", "end or continue",
         "effect of the death of a rank: the `end` of the job, or only calls that involve the rank "
         "fail, and the others `continue`; set by `weft run --keep-going`",
         true}),
    variable<Choice<&Settings::progress, kProgressWords>>(
        {"WEFT_PROGRESS", "calls", "calls, thread or remote",
         "which code drives communication: `calls` into weft only, also a `thread` of its own, or "
         "this thread only between nodes (`remote`). The default of OpenSHMEM is `remote`",
         true}),
    variable<Choice<&Settings::threads, kThreadWords>>(
        {"WEFT_THREADS", "single", "single or multiple",
         "whether one thread of the program calls at a time, or several threads at the same time "
         "on different teams; the argument of weft_init_threads() counts too",
         false}),
    variable<Nodes>({"WEFT_NODES", "", "a whole number of 1 or more",
                     "number of virtual nodes into which the ranks are grouped, under any launcher",
                     true}),
    variable<Count<&Settings::node_id, 0, kNodesMax>>(
        {kNodeIdVariable, "", "a whole number", "the virtual node of this rank; set by `weft run`",
         false}),
    variable<Text<&Settings::reduce_isa>>(
        {"WEFT_REDUCE_ISA", "", "an instruction set's name",
         "instruction set of the reduction kernels; not set: the best one of this processor. After "
         "a wrong name, the error lists the possible ones",
         false}),
    variable<FileName<&Settings::fabric_module>>(
        {"WEFT_FABRIC_MODULE", "", "a file name",
         "path of `weft_fabric.so`; not set: next to the library", false}),
    variable<Text<&Settings::fabric_address>>(
        {"WEFT_FABRIC_ADDRESS", "", "an address of this machine",
         "address of the network interface that the provider uses", false}),
    variable<Text<&Settings::cards>>(
        {"WEFT_CARDS", "", "names of network cards, separated by commas, as `weft info` lists them",
         "network cards of this host that its ranks use; not set: all cards of the provider. Each "
         "rank uses the nearest one, and ranks spread over equally near ones",
         false}),
    variable<LogWord>(
        {"WEFT_LOG", "warn", "warn, info or trace",
         "reports: warnings only; also decisions with their reasons (provider, notify "
         "strategy, nodes, memory, each algorithm when first chosen); also a line for "
         "each call",
         false}),
    variable<Choice<&Settings::stats, kSwitchWords>>(
        {"WEFT_STATS", "0", "0 or 1",
         "1: at the end rank 0 prints tables: calls by collective, size and algorithm; waiting "
         "times and the awaited ranks; bytes by transfer method; and adopted buffers",
         true}),
    variable<FileName<&Settings::trace>>(
        {"WEFT_TRACE", "", "a folder, which is created if it does not exist",
         "at the end rank 0 writes the steps of all ranks with their times to a file there, which "
         "Perfetto opens",
         true}),
    variable<Bytes<&Settings::trace_events, 1>>({"WEFT_TRACE_EVENTS", "64K",
                                                 "a number, such as 100 or 64K",
                                                 "number of steps and calls of each rank that the "
                                                 "trace keeps, the last ones; 48 bytes each",
                                                 true}),
    variable<FileName<&Settings::log_file>>(
        {"WEFT_LOG_FILE", "", "a file name, in which %r is the rank and %h the host",
         "file to which `info` and `trace` append; not set: stderr", false}),
    variable<Choice<&Settings::objective, kObjectiveNames>>(
        {"WEFT_OBJECTIVE", "time", "time, energy or descriptors",
         "property that the choice of algorithms makes small: predicted time, energy of messages "
         "and bytes, or descriptors of the busiest rank. Other values than `time` ignore "
         "WEFT_TUNING",
         true}),
    variable<Count<&Settings::descriptors_max, 0, 1'000'000'000>>(
        {"WEFT_DESCRIPTORS_MAX", "0", "a whole number; 0 means no limit",
         "largest number of descriptors of a rank (puts and signals in its program; loops count "
         "once) that a chosen algorithm may have. With a limit, WEFT_TUNING is ignored",
         true}),
    variable<FileName<&Settings::tuning>>(
        {"WEFT_TUNING", "", "a file name",
         "choices of algorithms that `weft tune` has measured, preferred to predictions; the "
         "contents must be equal on all ranks",
         false}),
    variable<FileName<&Settings::parameters>>(
        {"WEFT_PARAMETERS", "", "a file name",
         "costs of puts that `weft fit` has measured, in place of the provider's costs; the "
         "contents must be equal on all ranks",
         false}),
};

struct Assignment {
    std::string_view name;
    std::string_view value;
};

/// Returns name and value of a text WEFT_...=VALUE. For other texts, the name is empty.
Assignment split_assignment(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !text.starts_with(kPrefix)) return {};
    return {text.substr(0, equals), text.substr(equals + 1)};
}

/// Returns the WEFT_* entries in the lines of an agreement text.
std::vector<Assignment> assignments_of(std::string_view text) {
    std::vector<Assignment> entries;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const Assignment entry = split_assignment(text.substr(0, end));
        if (!entry.name.empty()) entries.push_back(entry);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return entries;
}

/// Returns the value of a variable in an agreement text, or nullopt.
std::optional<std::string_view> value_in(std::string_view text, std::string_view name) {
    for (const Assignment& entry : assignments_of(text))
        if (entry.name == name) return entry.value;
    return std::nullopt;
}

std::string quoted(std::optional<std::string_view> value) {
    return value && !value->empty() ? fmt::format("\"{}\"", *value) : std::string("not set");
}

/// Stores the value of an entry in its setting, or its name among the unknown or ignored names.
Result<void> read_assignment(Settings& settings, const Assignment& entry,
                             std::span<const std::string_view> call_names) {
    for (const Variable& candidate : kVariables) {
        if (candidate.name != entry.name) continue;
        // A program with more rights than its user, such as a set-user-id program, has AT_SECURE.
        if (candidate.names_file && ::getauxval(AT_SECURE) != 0) {
            settings.ignored.emplace_back(entry.name);
            return Done{};
        }
        if (const Result<void> read = candidate.read(settings, entry.value); !read)
            return fail(Status::argument, "{}={}: expected {} ({})", entry.name, entry.value,
                        candidate.form, read.failure().text);
        settings.given.emplace_back(entry.name);
        return Done{};
    }
    for (const std::string_view call : call_names) {
        if (algorithm_variable(call) != entry.name) continue;
        settings.algorithms.push_back({std::string(call), std::string(entry.value)});
        settings.given.emplace_back(entry.name);
        return Done{};
    }
    if (!entry.name.starts_with(kReserved)) settings.unknown.emplace_back(entry.name);
    return Done{};
}

}  // namespace

std::span<const Variable> variables() {
    return kVariables;
}

std::string algorithm_variable(std::string_view call_name) {
    std::string name(kPrefix);
    for (const char c : call_name)
        name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return name;
}

Result<Settings> read_settings(const char* const* environment,
                               std::span<const std::string_view> call_names) {
    Settings settings;
    std::vector<std::string_view> seen;
    for (; environment != nullptr && *environment != nullptr; ++environment) {
        const Assignment entry = split_assignment(*environment);
        if (entry.name.empty()) continue;
        // The first of two entries with one name counts, as with getenv.
        if (std::find(seen.begin(), seen.end(), entry.name) != seen.end()) continue;
        seen.push_back(entry.name);
        if (entry.value.empty()) continue;
        WEFT_TRY(read_assignment(settings, entry, call_names));
    }
    std::sort(settings.algorithms.begin(), settings.algorithms.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return settings;
}

std::vector<const char*> with_assignment(const char* const* environment, const char* assignment) {
    std::vector<const char*> made{assignment};
    for (; environment != nullptr && *environment != nullptr; ++environment)
        made.push_back(*environment);
    made.push_back(nullptr);
    return made;
}

std::vector<std::string> report_unknown(const Settings& settings) {
    std::vector<std::string> reports;
    std::vector<std::string_view> known;  // without the common prefix
    for (const Variable& variable : kVariables)
        known.push_back(variable.name.substr(kPrefix.size()));
    std::string names;
    for (const std::string& name : settings.unknown) {
        names += (names.empty() ? "" : ", ") + name;
        const std::string_view meant = nearest(name.substr(kPrefix.size()), known);
        if (!meant.empty()) names += fmt::format(" (did you mean {}{}?)", kPrefix, meant);
    }
    if (!names.empty())
        reports.push_back(fmt::format(
            "{} in the environment: no such variable (docs/guide/environment.md lists them)",
            names));
    for (const std::string& name : settings.ignored)
        reports.push_back(fmt::format(
            "{} is ignored: it names a file, and this program has more rights than its user",
            name));
    if (!settings.unknown_log.empty())
        reports.push_back(fmt::format("WEFT_LOG={}: expected warn, info or trace; warn is used",
                                      settings.unknown_log));
    return reports;
}

std::string agreement_text(const Settings& settings) {
    std::string text;
    for (const Variable& variable : kVariables)
        if (variable.agreed)
            text += fmt::format("{}={}\n", variable.name, variable.print(settings));
    for (const ForcedAlgorithm& forced : settings.algorithms)
        text += fmt::format("{}={}\n", algorithm_variable(forced.name), forced.spec);
    return text + settings.agreed_files;
}

std::string first_difference(std::string_view here, std::string_view there) {
    for (const std::string_view lines : {here, there})
        for (const Assignment& entry : assignments_of(lines)) {
            const auto ours = value_in(here, entry.name);
            const auto theirs = value_in(there, entry.name);
            if (ours != theirs)
                return fmt::format("{} is {} here and {} there", entry.name, quoted(ours),
                                   quoted(theirs));
        }
    return {};
}

}  // namespace weft::base
