// SPDX-License-Identifier: BSD-3-Clause
// tune_mpi.cpp - measurements of `weft tune --mpi`.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/clock.hpp"
#include "base/read_file.hpp"
#include "base/units.hpp"
#include "run/job/measured_files.hpp"
#include "tools/cli/job_command.hpp"
#include "tools/cli/tune.hpp"
#include "tools/launch/process.hpp"
#include "tools/measure/statistics.hpp"

namespace weft::tools {

namespace {

/// weft counts as faster if it takes at most this fraction of the MPI library's time.
constexpr double kGain = 0.97;

/// Returns a job that times calls of the MPI with weft's layer preloaded. Each measurement sets the
/// ranks, the settings and the call.
MpiJob job_of(const std::string& mpi, const Words& launcher) {
    MpiJob job{.mpi = mpi,
               .preload = {layer_for(mpi)},
               .program = {peer_program(mpi)},
               .launcher = launcher.empty() ? default_launcher(mpi) : launcher};
    need(find_program(job.launcher.front()));
    return job;
}

/// Returns the MPI of a launcher, from its --version; empty for an unknown launcher.
std::string mpi_of_launcher(const std::string& launcher) {
    const std::string version =
        output_of(fmt::format("{} --version 2>/dev/null </dev/null", in_quotes(launcher))).text;
    for (const char* const name : {"Open MPI", "OpenRTE"})
        if (version.find(name) != std::string::npos) return "openmpi";
    return version.find("HYDRA") != std::string::npos ? "mpich" : "";
}

/// Returns a job for the MPI of the given launcher, or for each that is installed; at least one.
std::vector<MpiJob> jobs_of_mpis(const std::string& launcher) {
    const Words words = split_at_blanks(launcher);
    const std::string only = words.empty() ? "" : mpi_of_launcher(words.front());
    if (!words.empty() && only.empty())
        fail(Status::environment, "--launcher: {} --version names neither Open MPI nor MPICH",
             launcher);
    std::vector<MpiJob> jobs;
    Words reasons;
    for (const std::string name : {"openmpi", "mpich"}) {
        if (!only.empty() && name != only) continue;
        try {
            jobs.push_back(job_of(name, words));
        } catch (const Error& error) {
            reasons.push_back(fmt::format("{}: {}", name, error.what()));
        }
    }
    if (jobs.empty())
        fail(Status::environment, "no MPI can be measured: {}", fmt::join(reasons, "; "));
    for (const std::string& reason : reasons)
        fmt::print(stderr, "weft tune: left out: {}\n", reason);
    return jobs;
}

/// The file of ranges: lines `MPI RANKS COLLECTIVE FROM_BYTES weft|host`. host: the MPI library.
class RangesFile {
  public:
    explicit RangesFile(const std::string& path) : path_(path) {
        std::error_code unknown;
        if (!std::filesystem::exists(path, unknown)) return;
        std::istringstream stream(need(base::read_file(path, run::kMeasuredBytesMax), "--output"));
        for (std::string line; std::getline(stream, line);) {
            if (line.empty() || line.front() == '#') continue;
            if (!line.ends_with(" weft") && !line.ends_with(" host"))
                refuse("--output: {} is not a file of ranges: {}", path, line);
            lines_.push_back(line);
        }
    }
    /// start: the first three words of the lines.
    [[nodiscard]] bool has(const std::string& start) const {
        return std::ranges::any_of(lines_,
                                   [&](const auto& line) { return line.starts_with(start); });
    }
    void replace(const std::string& start, const Words& lines) {
        std::erase_if(lines_, [&](const std::string& line) { return line.starts_with(start); });
        lines_.insert(lines_.end(), lines.begin(), lines.end());
        replace_file("--output", path_,
                     fmt::format("# weft: faster library: MPI, ranks, collective, from bytes\n{}\n",
                                 fmt::join(lines_, "\n")));
    }

  private:
    std::string path_;
    Words lines_;
};

/// Times of one collective by bytes, in us: [0] of the MPI library, [1] of weft.
using TimesBySize = std::map<std::uint64_t, std::array<std::vector<double>, 2>>;

class MpiTuner {
  public:
    explicit MpiTuner(const TuneArguments& arguments)
        : arguments_(arguments), file_(arguments.output), begin_ns_(base::monotonic_ns()) {}

    int run(const MpiJob& job, const std::vector<std::uint64_t>& all_ranks,
            const std::vector<std::string>& collectives) {
        for (const std::uint64_t ranks : all_ranks) {
            for (const std::string& collective : collectives) {
                // The program calls MPI_Reduce_scatter_block.
                const std::string start =
                    fmt::format("{} {} {}{} ", job.mpi, ranks, collective,
                                collective == "reduce_scatter" ? "_block" : "");
                if (file_.has(start) && !arguments_.again) continue;
                const auto elapsed_ns = static_cast<double>(base::monotonic_ns() - begin_ns_);
                if (arguments_.total_seconds > 0 && elapsed_ns > arguments_.total_seconds * 1e9)
                    return 0;
                const TimesBySize times = measure(job, static_cast<Rank>(ranks), collective);
                if (times.empty()) return kAnswerIsNo;
                file_.replace(start, lines_of(start, job.mpi, times));
            }
        }
        return 0;
    }

  private:
    /// Returns no times if a result was wrong.
    TimesBySize measure(MpiJob job, Rank ranks, const std::string& collective) const {
        const double seconds = std::max(arguments_.seconds / (2.0 * arguments_.jobs), 1e-3);
        job.ranks = ranks;
        job.preload.push_back(yielding_library(job.mpi, ranks));
        append(job.program,
               {"--collective", collective, "--bytes", arguments_.bytes, "--type", arguments_.type,
                "--op", arguments_.op, "--seconds", fmt::format("{:g}", seconds), "--json"});
        TimesBySize times;
        const double deadline_s = 60 + 100 * arguments_.seconds;  // far above the expected time
        for (int number = 0; number < 2 * arguments_.jobs; ++number) {
            const bool served = number % 2 != 0;
            // lint: allow(variable): variables of src/faces/mpi; docs/guide/mpi-backing.md
            job.settings = {served ? "WEFT_MPI=on" : "WEFT_MPI=off"};
            const Json found =
                need(json_of(words_of(job), deadline_s),
                     fmt::format("{} of {} ranks of {}", collective, ranks, job.mpi));
            for (const Json& row : found.at("results")) {
                times[row.at("bytes").get<std::uint64_t>()][served ? 1 : 0].push_back(
                    row.at("median_us").get<double>());
                if (row.at("checked").get<bool>()) continue;
                fmt::print(stderr, "weft tune: {} on {} ranks by {}: the result is wrong\n",
                           collective, ranks, served ? "weft" : job.mpi);
                return TimesBySize{};
            }
        }
        return times;
    }

    /// Prints the times, and returns a line for each size at which the faster library changes.
    static Words lines_of(const std::string& start, const std::string& mpi,
                          const TimesBySize& times) {
        Words lines;
        std::string last;
        for (const auto& [bytes, both] : times) {
            const double host_us = lab::median(both[0]);
            const double weft_us = lab::median(both[1]);
            const std::string faster = weft_us <= kGain * host_us ? "weft" : "host";
            fmt::print("{:34}{:>6}  {} {:.3f} us, weft {:.3f} us: {}\n", start,
                       base::format_bytes(bytes), mpi, host_us, weft_us, faster);
            if (faster != last)
                lines.push_back(fmt::format("{}{} {}", start, lines.empty() ? 0 : bytes, faster));
            last = faster;
        }
        std::fflush(stdout);
        return lines;
    }

    const TuneArguments& arguments_;
    RangesFile file_;
    std::uint64_t begin_ns_;
};

}  // namespace

int tune_mpi(const TuneArguments& arguments, const std::vector<std::string>& collectives) {
    if (!arguments.layouts.empty() || arguments.exhaustive)
        refuse("--mpi excludes --layout and --exhaustive");
    if (is_in_job()) refuse("--mpi starts jobs; call it outside of a job");
    const auto ranks =
        need(base::parse_bytes_list(arguments.ranks.empty() ? "2" : arguments.ranks), "--ranks");
    if (std::ranges::min(ranks) < 2) refuse("--ranks: --mpi needs numbers from 2 on, as in 2,4");
    const std::vector<MpiJob> jobs = jobs_of_mpis(arguments.launcher);
    MpiTuner tuner(arguments);
    for (const MpiJob& job : jobs)
        if (const int status = tuner.run(job, ranks, collectives); status != 0) return status;
    return 0;
}

}  // namespace weft::tools
