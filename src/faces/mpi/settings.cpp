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
#include <string_view>

namespace weft::mpi {

namespace {

// lint: allow(variable): the variables of this layer; docs/guide/mpi-backing.md
constexpr std::string_view kPrefix = "WEFT_MPI_";

std::string variable_of(std::string_view suffix) {
    std::string name(kPrefix);
    for (const char c : suffix) name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return name;
}

/// Returns the FNV-1a hash of a text.
std::int64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return static_cast<std::int64_t>(hash);
}

void add_value(Settings& settings, const std::string& name, const std::string& text) {
    ComparedValue& added = settings.compared.emplace_back();
    std::snprintf(added.name, sizeof added.name, "%s", name.c_str());
    std::snprintf(added.text, sizeof added.text, "%s", text.c_str());
    added.hash = hash_of(text);
}

/// Returns the variable's value; nullptr: it is not set.
const char* read(Settings& settings, const std::string& name) {
    const char* const value = secure_getenv(name.c_str());
    add_value(settings, name, value == nullptr ? "not set" : "'" + std::string(value) + "'");
    return value;
}

/// Records that the value of the last read() is invalid. Only the first complaint is kept.
void complain(Settings& settings, const std::string& expected) {
    if (!settings.complaint.empty()) return;
    const ComparedValue& invalid = settings.compared.back();
    settings.complaint =
        std::string(invalid.name) + " is " + invalid.text + "; expected: " + expected;
}

/// Returns the variable's value; "" if it is not set, or not in `words` (with a complaint).
std::string read_word(Settings& settings, const std::string& name,
                      std::initializer_list<std::string_view> words) {
    const char* const value = read(settings, name);
    if (value == nullptr) return "";
    if (std::ranges::find(words, value) != words.end()) return value;
    std::string expected;
    for (const std::string_view one : words)
        expected.append(expected.empty() ? "" : " or ").append(one);
    complain(settings, expected);
    return "";
}

unsigned read_number(Settings& settings, const std::string& name, unsigned fallback) {
    const char* const value = read(settings, name);
    if (value == nullptr) return fallback;
    constexpr unsigned kMax = 1'000'000'000;
    unsigned number = 0;
    const char* const end = value + std::strlen(value);
    const auto [stop, error] = std::from_chars(value, end, number);
    if (error == std::errc{} && stop == end && number <= kMax) return number;
    complain(settings, "a whole number from 0 to " + std::to_string(kMax));
    return fallback;
}

/// Returns the content of the tuning file, or an empty string and the reason in `warning`. Reads
/// only regular files: opening a FIFO would wait for a writer.
std::string read_ranges_file(const std::string& name, std::string& warning) {
    namespace fs = std::filesystem;
    constexpr std::uintmax_t kBytesMax = std::uintmax_t{4} << 20;
    std::error_code failed;
    std::string content;
    const fs::file_status status = fs::status(name, failed);
    if (!fs::exists(status)) {
        const bool missing = status.type() == fs::file_type::not_found;
        warning = missing ? name + " does not exist" : name + ": " + failed.message();
    } else if (!fs::is_regular_file(status)) {
        warning = name + " is not a regular file";
    } else if (const std::uintmax_t bytes = fs::file_size(name, failed); failed) {
        warning = name + ": " + failed.message();
    } else if (bytes > kBytesMax) {
        warning = name + " has more than " + std::to_string(kBytesMax) + " bytes";
    } else {
        try {
            std::ifstream file(name, std::ios::binary);
            content.assign(std::istreambuf_iterator<char>(file), {});
            if (!file) warning = name + " cannot be read";
        } catch (const std::ios::failure&) {  // the buffer throws if a read fails
            warning = name + " cannot be read";
        }
    }
    return content;
}

/// Reads the tuning file, if a collective needs it.
void read_tuning(Settings& settings) {
    const std::string variable = variable_of("tuning");
    const char* const given = read(settings, variable);
    const std::string name = given == nullptr || settings.kinds_chosen == 0 ? "" : given;
    const std::string text = name.empty() ? "" : read_ranges_file(name, settings.warning);
    std::string line;
    settings.ranges = read_ranges(text, line);
    if (!line.empty()) settings.warning = name + ": this line is not understood: " + line;
    char value[64];
    std::snprintf(value, sizeof value, "of %zu bytes and hash %llx", text.size(),
                  static_cast<unsigned long long>(hash_of(text)));
    add_value(settings, "the content of the file in " + variable, value);
}

/// Prints unknown variables whose name begins with WEFT_MPI_, the warning and the complaint.
void report(const Settings& settings) {
    for (char** one = environ; *one != nullptr; ++one) {
        const std::string_view entry(*one);
        const std::string_view name = entry.substr(0, entry.find('='));
        const auto is_name = [&](const ComparedValue& known) { return name == known.name; };
        if (name.starts_with(kPrefix) && std::ranges::none_of(settings.compared, is_name))
            std::fprintf(stderr, "weft: %.*s is not a variable of weft\n",
                         static_cast<int>(name.size()), name.data());
    }
    if (!settings.warning.empty()) std::fprintf(stderr, "weft: %s\n", settings.warning.c_str());
    if (!settings.complaint.empty())
        std::fprintf(stderr, "weft: collectives stay with MPI: %s\n", settings.complaint.c_str());
}

}  // namespace

Settings read_settings() {
    Settings settings;
    settings.statistics = read_word(settings, variable_of("stats"), {"0", "1"}) == "1";
    settings.progress = read_word(settings, variable_of("progress"), {"on", "off"}) != "off";
    settings.calls_before_team =
        read_number(settings, variable_of("team_after"), settings.calls_before_team);
    // lint: allow(variable): the mode of all collectives
    const std::string mode = read_word(settings, "WEFT_MPI", {"on", "off", "auto"});
    for (std::size_t kind = 0; kind < kKindNames.size(); ++kind) {
        const std::string own =
            read_word(settings, variable_of(kKindNames[kind]), {"on", "off", "auto"});
        if (mode == "off" || own == "off") continue;
        settings.kinds_on |= 1U << kind;
        if ((own.empty() ? mode : own) == "auto") settings.kinds_chosen |= 1U << kind;
    }
    settings.exact_sums = read_word(settings, variable_of("exact_sum"), {"0", "1"}) == "1";
    if (settings.exact_sums) {  // MPI's own sums are not exact: weft serves all calls it can
        settings.calls_before_team = 0;
        settings.kinds_chosen = 0;
    }
    read_tuning(settings);
    return settings;
}

bool compare_settings(MPI_Comm comm, Settings& settings, bool threads) {
    int rank = 0;
    int size = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    const std::vector<ComparedValue>& mine = settings.compared;
    std::vector<ComparedValue> first = mine;  // the values on rank 0
    PMPI_Bcast(first.data(), static_cast<int>(first.size() * sizeof(ComparedValue)), MPI_BYTE, 0,
               comm);
    std::size_t at = 0;
    while (at < mine.size() && mine[at].hash == first[at].hash) ++at;
    // Minima: the first differing value and the first rank that has it; -1 if any rank has threads.
    const std::array<std::int64_t, 2> given{static_cast<std::int64_t>(at) * size + rank,
                                            threads ? -1 : 0};
    std::array<std::int64_t, 2> least{};
    PMPI_Allreduce(given.data(), least.data(), 2, MPI_INT64_T, MPI_MIN, comm);
    const auto index = static_cast<std::size_t>(least[0] / size);
    const bool equal = index == mine.size();
    if (equal && rank == 0) report(settings);
    if (!equal) {
        const int other = static_cast<int>(least[0] % size);
        ComparedValue value = mine[index];  // becomes the value on the rank `other`
        PMPI_Bcast(&value, sizeof value, MPI_BYTE, other, comm);
        if (rank == 0)
            std::fprintf(stderr,
                         "weft: collectives stay with MPI: %s is %s on rank 0 and %s on rank %d; "
                         "all ranks need the same value\n",
                         value.name, mine[index].text, value.text, other);
    }
    settings.threads_anywhere = least[1] != 0;
    return equal && settings.complaint.empty();
}

}  // namespace weft::mpi
