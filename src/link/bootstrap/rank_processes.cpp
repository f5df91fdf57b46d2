// SPDX-License-Identifier: BSD-3-Clause
#include "link/bootstrap/rank_processes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <utility>

#include "base/environment.hpp"
#include "base/units.hpp"

namespace weft::link {
namespace {

constexpr std::string_view kRankEntry = "PMIX_RANK=";
constexpr std::size_t kNamedMax = 8;  ///< largest number of ranks that a text names

/// Converts a text to a number. Returns nullopt if the text is not a number.
std::optional<Rank> parse_number(std::string_view text) {
    const auto number = base::parse_count(text, {.max = std::numeric_limits<Rank>::max()});
    return number ? std::optional(static_cast<Rank>(*number)) : std::nullopt;
}

std::string_view variable(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

}  // namespace

RankProcesses::RankProcesses(std::string_view job, std::vector<Rank> ranks, Rank me,
                             std::string folder)
    : job_(fmt::format("PMIX_NAMESPACE={}", job)),
      ranks_known_(!ranks.empty()),
      ranks_(std::move(ranks)),
      me_(me),
      folder_(std::move(folder)) {}

std::string RankProcesses::missing() {
    if (all_ranks_run() || rank_of("self") != me_) return "";
    find_processes();
    const bool knows_all = process_.size() > 1 || sees_launcher();
    std::string text;
    std::size_t count = 0;
    for (const Rank rank : ranks_) {
        const auto seen = process_.find(rank);
        if (seen != process_.end() ? rank_of(seen->second) == rank : !knows_all) continue;
        if (++count > kNamedMax) continue;
        text += fmt::format("{}rank {} ", count > 1 ? ", " : "", rank);
        text += seen != process_.end() ? fmt::format("(process {}) is gone", seen->second)
                                       : "has no process";
    }
    if (count > kNamedMax) text += fmt::format(", and {} more", count - kNamedMax);
    return text;
}

/// Returns the rank of a process, or -1 if it is not in this job or cannot be read.
Rank RankProcesses::rank_of(std::string_view process) const {
    std::ifstream file(fmt::format("{}/{}/environ", folder_, process), std::ios::binary);
    bool in_job = false;
    Rank rank = -1;
    for (std::string entry; std::getline(file, entry, '\0');) {
        if (entry == job_) in_job = true;
        if (entry.starts_with(kRankEntry))
            rank = parse_number(std::string_view(entry).substr(kRankEntry.size())).value_or(-1);
    }
    return in_job ? rank : -1;
}

bool RankProcesses::all_ranks_run() const {
    return ranks_known_ && process_.size() >= ranks_.size() &&
           std::ranges::all_of(
               process_, [&](const auto& seen) { return rank_of(seen.second) == seen.first; });
}

/// Records a process of each rank: the one with the lowest id, usually the launcher's child. A
/// recorded process is not replaced, because other processes of a rank may outlive it.
void RankProcesses::find_processes() {
    std::vector<Rank> processes;
    std::error_code error;
    for (std::filesystem::directory_iterator at(folder_, error), end; !error && at != end;
         at.increment(error))
        if (const auto process = parse_number(at->path().filename().native()))
            processes.push_back(*process);
    std::ranges::sort(processes);
    for (const Rank process : processes) {
        const std::string name = std::to_string(process);
        const Rank rank = rank_of(name);
        if (rank < 0 || process_.contains(rank)) continue;
        const auto place = std::ranges::lower_bound(ranks_, rank);
        const bool is_listed = place != ranks_.end() && *place == rank;
        if (!is_listed && ranks_known_) continue;
        if (!is_listed) ranks_.insert(place, rank);
        process_.emplace(rank, name);
    }
}

/// Returns true if the launcher is in this pid namespace. The launcher is the parent of this rank's
/// first process. A parent in another namespace has id 0.
bool RankProcesses::sees_launcher() const {
    std::string process = "self";
    while (rank_of(process) == me_) {
        std::ifstream file(fmt::format("{}/{}/stat", folder_, process));
        std::string text;
        std::getline(file, text);
        const std::size_t name_end = text.rfind(')');
        if (name_end == std::string::npos) return false;
        std::istringstream after(text.substr(name_end + 1));
        std::string state;
        if (!(after >> state >> process)) return false;
    }
    return process != "0";
}

/// Open MPI provides no list of ranks. They are known only if all ranks of the job are on this
/// node. Inside a batch job of Slurm, another launcher may pass on SLURM_GTIDS of the batch step;
/// this list is recognized because it usually lacks this rank.
std::vector<Rank> node_ranks_by_environment(Rank me) {
    std::vector<Rank> ranks;
    if (const auto size = parse_number(variable("OMPI_COMM_WORLD_SIZE"))) {
        if (size == parse_number(variable("OMPI_COMM_WORLD_LOCAL_SIZE")))
            for (Rank rank = 0; rank < *size; ++rank) ranks.push_back(rank);
    } else {
        for (const std::string_view entry : base::split_list(variable("SLURM_GTIDS")))
            if (const auto rank = parse_number(entry)) ranks.push_back(*rank);
    }
    std::ranges::sort(ranks);
    if (!std::ranges::binary_search(ranks, me)) ranks.clear();
    return ranks;
}

bool started_by_own_launcher() {
    return variable("PMIX_NAMESPACE").starts_with(base::kOwnJobPrefix);
}

RankProcesses processes_of_this_node(Rank me) {
    return {variable("PMIX_NAMESPACE"), node_ranks_by_environment(me), me};
}

}  // namespace weft::link
