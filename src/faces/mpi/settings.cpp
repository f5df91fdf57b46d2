// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "faces/mpi/statistics.hpp"

namespace weft::mpi {

namespace {

// lint: allow(variable): those of this layer; docs/guide/mpi-backing.md
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

/// Reads values, and keeps the first complaint about one.
class Reader {
  public:
    explicit Reader(std::string& complaint) : complaint_(complaint) {}

    /// Returns the value, or an empty string if the variable is not set or not one of the words.
    std::string word(std::string_view name, std::initializer_list<std::string_view> words) {
        const auto value = value_of(std::string(name));
        if (!value || std::ranges::find(words, *value) != words.end()) return value.value_or("");
        std::string expected;
        for (const std::string_view one : words) {
            if (!expected.empty()) expected += " or ";
            expected += one;
        }
        complain(name, *value, expected);
        return "";
    }
    unsigned number(std::string_view name, unsigned otherwise) {
        const auto value = value_of(std::string(name));
        if (!value) return otherwise;
        constexpr unsigned kMax = 1'000'000'000;
        unsigned number = 0;
        const char* const end = value->data() + value->size();
        const auto [stop, error] = std::from_chars(value->data(), end, number);
        if (error == std::errc{} && stop == end && number <= kMax) return number;
        complain(name, *value, "a whole number from 0 to " + std::to_string(kMax));
        return otherwise;
    }

  private:
    void complain(std::string_view name, const std::string& value, const std::string& expected) {
        if (!complaint_.empty()) return;
        complaint_ = std::string(name) + " is '" + value + "'; expected: " + expected;
    }
    std::string& complaint_;
};

/// Returns each variable with its value, one a line. A value may be any text, so its
/// length precedes it.
std::string text_of_settings() {
    std::string text;
    for (const std::string& name : variables()) {
        const auto value = value_of(name);
        text += name + (value ? ' ' + std::to_string(value->size()) + ' ' + *value : "") + '\n';
    }
    return text;
}

/// Returns the FNV-1a hash.
std::int64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return static_cast<std::int64_t>(hash);
}

/// Returns the value of a variable, by index, in a text of text_of_settings(). For messages.
std::string value_in(std::string_view text, std::size_t index) {
    for (std::size_t line = 0;; ++line) {
        const std::size_t name_end = text.find_first_of(" \n");
        std::string value = "not set";
        std::size_t end = name_end;
        if (text[name_end] == ' ') {
            std::size_t bytes = 0;
            const char* const digits = text.data() + name_end + 1;
            const auto read = std::from_chars(digits, text.data() + text.size(), bytes);
            const auto begin = static_cast<std::size_t>(read.ptr - text.data()) + 1;
            value = '\'' + std::string(text.substr(begin, bytes)) + '\'';
            end = begin + bytes;
        }
        if (line == index) return value;
        text.remove_prefix(end + 1);
    }
}

/// Prints the first variable that differs, with its values on rank 0 and on another rank.
void print_difference(const std::vector<std::string>& texts) {
    const std::vector<std::string> names = variables();
    for (std::size_t index = 0; index < names.size(); ++index) {
        const std::string here = value_in(texts[0], index);
        for (std::size_t rank = 1; rank < texts.size(); ++rank) {
            const std::string there = value_in(texts[rank], index);
            if (there == here) continue;
            std::fprintf(stderr,
                         "weft: collectives stay with MPI: %s is %s on rank 0 and %s on rank %zu; "
                         "all ranks need the same value\n",
                         names[index].c_str(), here.c_str(), there.c_str(), rank);
            return;
        }
    }
}

void gather_differences(MPI_Comm comm, const std::string& mine) {
    int rank = 0;
    int size = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    const int length = static_cast<int>(mine.size());
    std::vector<int> lengths(static_cast<std::size_t>(size));
    PMPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, comm);
    std::vector<int> places(lengths.size());
    int all = 0;
    for (std::size_t at = 0; rank == 0 && at < lengths.size(); ++at) {
        places[at] = all;
        all += lengths[at];
    }
    std::string joined(static_cast<std::size_t>(all), '\0');
    PMPI_Gatherv(mine.data(), length, MPI_CHAR, joined.data(), lengths.data(), places.data(),
                 MPI_CHAR, 0, comm);
    if (rank != 0) return;
    std::vector<std::string> texts;
    for (std::size_t at = 0; at < lengths.size(); ++at)
        texts.push_back(joined.substr(static_cast<std::size_t>(places[at]),
                                      static_cast<std::size_t>(lengths[at])));
    print_difference(texts);
}

}  // namespace

Settings read_settings(std::string& complaint) {
    Settings settings;
    Reader reader(complaint);
    settings.statistics = reader.word(kStatistics, {"0", "1"}) == "1";
    settings.progress = reader.word(kProgress, {"on", "off"}) != "off";
    settings.calls_before_team = reader.number(kTeamAfter, settings.calls_before_team);
    settings.tuning_file = value_of(std::string(kTuning)).value_or("");
    const std::string mode = reader.word(kMode, {"on", "off", "auto"});
    for (std::size_t kind = 0; kind < kKindNames.size(); ++kind) {
        const std::string own = reader.word(variable_of(kKindNames[kind]), {"on", "off", "auto"});
        if (mode == "off" || own == "off") continue;
        settings.kinds_on |= 1U << kind;
        if ((own.empty() ? mode : own) == "auto") settings.kinds_chosen |= 1U << kind;
    }
    return settings;
}

Comparison compare_settings(MPI_Comm comm, bool threads) {
    const std::string mine = text_of_settings();
    const std::int64_t hash = hash_of(mine);
    // The largest complement belongs to the smallest hash.
    const std::array<std::int64_t, 3> given{hash, ~hash, threads ? 1 : 0};
    std::array<std::int64_t, 3> largest{};
    PMPI_Allreduce(given.data(), largest.data(), static_cast<int>(given.size()), MPI_INT64_T,
                   MPI_MAX, comm);
    const bool equal = largest[0] == ~largest[1];
    if (!equal) gather_differences(comm, mine);
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
