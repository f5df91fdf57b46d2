// SPDX-License-Identifier: BSD-3-Clause
// job.hpp - one running job: its ranks, the events that it waits for, and how it ends.
//
// Idea     Everything that can happen (a rank ends, output arrives, an abort, a signal) is a file
//          in one epoll set. Its ready list is in order of arrival, so of several ranks that die
//          together the first one is known.
// Holds    The first thing that goes wrong decides the status; then all ranks get SIGTERM, two
//          seconds, SIGKILL. Ranks that run weft print on SIGTERM what they wait for.
// Next     process.hpp for children, pmix_server.hpp for their PMIx server.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "front/launch/file_descriptor.hpp"
#include "front/launch/guardian.hpp"
#include "front/launch/label_pipes.hpp"
#include "front/launch/launch.hpp"
#include "front/launch/pmix_server.hpp"
#include "front/launch/process.hpp"
#include "front/launch/scratch_folder.hpp"

namespace weft::front {

/// The signals that end the launcher, read from a file instead of interrupting it.
class EndingSignals {
  public:
    EndingSignals();
    ~EndingSignals();
    EndingSignals(const EndingSignals&) = delete;
    EndingSignals& operator=(const EndingSignals&) = delete;

    [[nodiscard]] int file() const { return file_.number(); }
    /// What was blocked before: what children start with.
    [[nodiscard]] const sigset_t& former_mask() const { return former_mask_; }
    /// The next signal that has arrived, or 0.
    [[nodiscard]] int take() const;

  private:
    sigset_t former_mask_ = {};
    struct sigaction former_pipe_action_ = {};
    FileDescriptor file_;
};

class Job {
  public:
    explicit Job(const JobOptions& options) : options_(options) {}
    ~Job();
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    [[nodiscard]] base::Result<void> start();
    /// Returns the exit status of the job once all its ranks have ended.
    [[nodiscard]] int watch();

  private:
    using Clock = std::chrono::steady_clock;
    struct RankProcess {
        pid_t pid = 0;
        FileDescriptor ended;  ///< becomes readable when the process ends; closed once reaped
    };
    enum class Source : std::uint32_t { signals, server, rank, output };

    base::Result<void> start_rank(Rank rank, SpawnOptions& spawning);
    base::Result<void> add_to_watched(int file, Source source, std::size_t index);
    [[nodiscard]] int milliseconds_to_wait() const;
    void handle(Source source, std::size_t index);
    void handle_signal();
    void handle_server_event();
    void handle_rank_end(Rank rank);
    [[nodiscard]] Rank cause_among_the_ending(Rank first_seen) const;
    void report_end(Rank rank, int ending);
    void handle_deadlines();
    void check_outsiders();

    void fail(int status, const std::string& reason);
    void report_outsiders() const;
    void signal_ranks(int signal);

    const JobOptions& options_;
    EndingSignals signals_;
    FileDescriptor watched_;  ///< the epoll set
    std::unique_ptr<ScratchFolder> folder_;
    std::unique_ptr<Guardian> guardian_;
    PmixServer* server_ = nullptr;  ///< lives as long as the process
    std::vector<RankProcess> processes_;
    std::vector<LabelPipe> outputs_;
    FileDescriptor no_input_;
    std::vector<cpu_set_t> cores_;
    std::vector<Rank> node_of_;
    Rank running_ = 0;
    std::optional<Rank> outsider_;  ///< a rank that exited with status 0 and never joined

    std::optional<int> status_;                  ///< decided by the first thing that went wrong
    std::optional<Clock::time_point> deadline_;  ///< of the job
    std::optional<Clock::time_point> grace_deadline_;  ///< set once the ranks got SIGTERM
};

}  // namespace weft::front
