// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "faces/mpi/statistics.hpp"

namespace weft::mpi {

namespace {

// lint: allow(variable): variables of this layer; docs/guide/mpi-backing.md
constexpr std::string_view kPrefix = "WEFT_MPI_";
// lint: allow(variable): as above
constexpr std::string_view kMode = "WEFT_MPI";
// lint: allow(variable): as above
constexpr std::string_view kStatistics = "WEFT_MPI_STATS";
// lint: allow(variable): as above
constexpr std::string_view kTeamAfter = "WEFT_MPI_TEAM_AFTER";
// lint: allow(variable): as above
constexpr std::string_view kTuning = "WEFT_MPI_TUNING";
// lint: allow(variable): as above
constexpr std::string_view kProgress = "WEFT_MPI_PROGRESS";

std::string variable_of(std::string_view kind) {
    std::string name(kPrefix);
    for (const char c : kind) name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return name;
}

/// Returns all variables of the layer, in an order that is equal on all ranks.
std::vector<std::string> variables() {
    std::vector<std::string> names;
    for (const std::string_view name : {kMode, kStatistics, kTeamAfter, kTuning, kProgress})
        names.emplace_back(name);
    for (const std::string_view kind : kKindNames) names.push_back(variable_of(kind));
    return names;
}

std::optional<std::string> value_of(const std::string& name) {
    const char* const value = secure_getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void complain(Settings& settings, std::string_view name, const std::string& value,
              const std::string& expected) {
    if (!settings.complaint.empty()) return;
    settings.complaint = std::string(name) + " is '" + value + "'; expected: " + expected;
}

/// Returns the variable's value, or an empty string if it is not set or not in `words`.
std::string read_word(Settings& settings, std::string_view name,
                      std::initializer_list<std::string_view> words) {
    const auto value = value_of(std::string(name));
    if (!value || std::ranges::find(words, *value) != words.end()) return value.value_or("");
    std::string expected;
    for (const std::string_view one : words)
        expected.append(expected.empty() ? "" : " or ").append(one);
    complain(settings, name, *value, expected);
    return "";
}

unsigned read_number(Settings& settings, std::string_view name, unsigned fallback) {
    const auto value = value_of(std::string(name));
    if (!value) return fallback;
    constexpr unsigned kMax = 1'000'000'000;
    unsigned number = 0;
    const char* const end = value->data() + value->size();
    const auto [stop, error] = std::from_chars(value->data(), end, number);
    if (error == std::errc{} && stop == end && number <= kMax) return number;
    complain(settings, name, *value, "a whole number from 0 to " + std::to_string(kMax));
    return fallback;
}

/// Reads the file of ranges. Only regular files are read: opening a FIFO would wait for a writer.
void read_ranges_file(Settings& settings) {
    namespace fs = std::filesystem;
    constexpr std::uintmax_t kBytesMax = std::uintmax_t{4} << 20;
    std::error_code failed;
    if (!fs::exists(settings.ranges_file, failed)) {
        settings.warning = settings.ranges_file + " does not exist";
    } else if (!fs::is_regular_file(settings.ranges_file, failed)) {
        settings.warning = settings.ranges_file + " is not a regular file";
    } else if (fs::file_size(settings.ranges_file, failed) > kBytesMax) {
        settings.warning =
            settings.ranges_file + " has more than " + std::to_string(kBytesMax) + " bytes";
    } else {
        std::ifstream file(settings.ranges_file, std::ios::binary);
        settings.ranges.assign(std::istreambuf_iterator<char>(file), {});
        if (!file) settings.warning = settings.ranges_file + " cannot be read";
    }
}

/// Returns the FNV-1a hash of a text.
std::int64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return static_cast<std::int64_t>(hash);
}

/// Value of a setting on one rank.
struct RankValue {
    std::int64_t hash;
    char text[120];  ///< the start of the value, for a message
};

/// Returns the values to compare: all variables and the content of the file.
std::vector<RankValue> values_of_rank(const Settings& settings) {
    std::vector<RankValue> values;
    const auto add = [&values](const std::optional<std::string>& value) {
        const std::string text = value ? "'" + *value + "'" : "not set";
        RankValue& held = values.emplace_back(RankValue{.hash = hash_of(text), .text = {}});
        std::snprintf(held.text, sizeof held.text, "%s", text.c_str());
    };
    for (const std::string& name : variables()) add(value_of(name));
    add(settings.ranges);
    std::snprintf(values.back().text, sizeof values.back().text, "of %zu bytes and hash %llx",
                  settings.ranges.size(), static_cast<unsigned long long>(values.back().hash));
    return values;
}

/// Prints the first setting that differs, with its values on rank 0 and on another rank.
void print_difference(MPI_Comm comm, const std::vector<RankValue>& mine) {
    int rank = 0;
    int size = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    std::vector<RankValue> all(mine.size() * static_cast<std::size_t>(rank == 0 ? size : 0));
    const int bytes = static_cast<int>(mine.size() * sizeof(RankValue));
    PMPI_Gather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, 0, comm);
    std::vector<std::string> names = variables();
    names.push_back("the content of the file in " + std::string(kTuning));
    for (std::size_t at = 0; at < names.size(); ++at) {
        for (std::size_t other = at; other < all.size(); other += names.size()) {
            if (all[other].hash == mine[at].hash) continue;
            std::fprintf(stderr,
                         "weft: collectives stay with MPI: %s is %s on rank 0 and %s on rank %zu; "
                         "all ranks need the same value\n",
                         names[at].c_str(), mine[at].text, all[other].text, other / names.size());
            return;
        }
    }
}

}  // namespace

Settings read_settings() {
    Settings settings;
    settings.statistics = read_word(settings, kStatistics, {"0", "1"}) == "1";
    settings.progress = read_word(settings, kProgress, {"on", "off"}) != "off";
    settings.calls_before_team = read_number(settings, kTeamAfter, settings.calls_before_team);
    const std::string mode = read_word(settings, kMode, {"on", "off", "auto"});
    for (std::size_t kind = 0; kind < kKindNames.size(); ++kind) {
        const std::string own =
            read_word(settings, variable_of(kKindNames[kind]), {"on", "off", "auto"});
        if (mode == "off" || own == "off") continue;
        settings.kinds_on |= 1U << kind;
        if ((own.empty() ? mode : own) == "auto") settings.kinds_chosen |= 1U << kind;
    }
    if (settings.kinds_chosen != 0)
        settings.ranges_file = value_of(std::string(kTuning)).value_or("");
    if (!settings.ranges_file.empty()) read_ranges_file(settings);
    return settings;
}

Comparison compare_settings(MPI_Comm comm, const Settings& settings, bool threads) {
    const std::vector<RankValue> mine = values_of_rank(settings);
    const auto* const bytes = reinterpret_cast<const char*>(mine.data());
    const std::int64_t hash = hash_of({bytes, mine.size() * sizeof(RankValue)});
    // The maximum of ~hash is the complement of the smallest hash.
    const std::array<std::int64_t, 3> given{hash, ~hash, threads ? 1 : 0};
    std::array<std::int64_t, 3> largest{};
    PMPI_Allreduce(given.data(), largest.data(), static_cast<int>(given.size()), MPI_INT64_T,
                   MPI_MAX, comm);
    const bool equal = largest[0] == ~largest[1];
    if (!equal) print_difference(comm, mine);
    return {.equal = equal, .threads_anywhere = largest[2] != 0};
}

void report_unknown_variables() {
    const std::vector<std::string> known = variables();
    for (char** one = environ; *one != nullptr; ++one) {
        const std::string_view entry(*one);
        const std::string_view name = entry.substr(0, entry.find('='));
        if (name.starts_with(kPrefix) && std::ranges::find(known, name) == known.end())
            std::fprintf(stderr, "weft: %.*s is not a variable of weft\n",
                         static_cast<int>(name.size()), name.data());
    }
}

}  // namespace weft::mpi
