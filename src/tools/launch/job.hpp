// SPDX-License-Identifier: BSD-3-Clause
// job.hpp - one running job: its ranks, the events that it waits for, and its end.
//
// Idea     Every event (end of a rank, output, abort, signal) makes a file in one epoll set ready.
//          epoll returns ready files in order of events, so it shows which rank ended first.
// Holds    The first failure decides the status. Then all ranks get SIGTERM and, two seconds later,
//          SIGKILL. On SIGTERM, ranks that run weft print the waits that block them. The loop never
//          blocks in a write (output.hpp) or in a wait for the end of a process.
// Next     process.hpp for children, pmix_server.hpp for their PMIx server.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/result.hpp"
#include "tools/launch/guardian.hpp"
#include "tools/launch/launch.hpp"
#include "tools/launch/launcher_signals.hpp"
#include "tools/launch/output.hpp"
#include "tools/launch/pmix_server.hpp"
#include "tools/launch/process.hpp"

namespace weft::tools {

class LaunchedJob {
  public:
    explicit LaunchedJob(const JobOptions& options)
        : options_(options), spared_(children_of_this_process()) {}
    ~LaunchedJob();

    void start();
    /// Runs until all ranks have ended. Returns the exit status of the job.
    [[nodiscard]] int watch();

  private:
    using Clock = std::chrono::steady_clock;
    struct RankProcess {
        pid_t pid = 0;               ///< 0: never started
        base::FileDescriptor ended;  ///< becomes readable when the process ends
        bool reaped = false;

        [[nodiscard]] bool exists() const { return pid != 0 && !reaped; }
    };
    void open_files();
    void start_rank(Rank rank, const SpawnOptions& spawning);
    static void wrap(const Wrapper& wrapper, SpawnOptions& own);
    void make_pipes(Rank rank, SpawnOptions& own, base::FileDescriptor (&pipe_ends)[2]);
    /// Makes watch() call handler() whenever the file is readable.
    void watch_file(int file, std::function<void()> handler);
    [[nodiscard]] bool try_to_watch(int file);  ///< again, with the same handler
    void end_remaining_processes();
    [[nodiscard]] bool is_over() const;
    [[nodiscard]] bool all_output_written() const;
    [[nodiscard]] int milliseconds_to_wait() const;
    void handle_signal();
    void handle_stop_request();
    void handle_server_event();
    void end_if_aborted();
    void handle_rank_end(Rank rank);
    void handle_output(std::size_t index);
    void handle_written();
    void reap_ended_ranks();
    [[nodiscard]] std::optional<Rank> next_to_reap();
    [[nodiscard]] bool reap(Rank rank);
    void judge_end(Rank rank, int ending);
    void handle_deadlines();
    void give_up_if_unkillable();
    void check_outsider();
    void reap_orphans();

    void lose_rank(Rank rank, int status, const std::string& reason);
    void end_job(int status, const std::string& reason);
    [[nodiscard]] std::string outsiders_text() const;
    void print_message(const std::string& text);
    void signal_ranks(int signal);

    const JobOptions& options_;
    LauncherSignals signals_;
    base::FileDescriptor watched_;                             ///< the epoll set
    std::unordered_map<int, std::function<void()>> handlers_;  ///< by watched file
    std::optional<ScratchFolder> folder_;
    std::optional<Guardian> guardian_;
    /// The guardian, and children that this process had before the job, when it ran another program
    /// (exec in a shell).
    std::vector<pid_t> spared_;
    PmixServer* server_ = nullptr;  ///< never destroyed: the server exists until the process ends
    std::vector<RankProcess> processes_;        ///< for each rank
    std::shared_ptr<OutputWriter> writers_[2];  ///< standard output and error; may be one writer
    std::vector<LabelPipe> outputs_;            ///< only with --label: two for each rank
    std::vector<std::size_t> paused_;  ///< indices of outputs_ that wait for room in their writer
    base::FileDescriptor no_input_;    ///< /dev/null
    std::vector<cpu_set_t> cores_;     ///< only with --bind core
    TerminalForeground terminal_;      ///< given to a debugger that runs a rank
    std::vector<Rank> node_of_;        ///< node of each rank; empty: no virtual nodes
    Rank running_ = 0;                 ///< number of ranks that are not reaped
    std::deque<Rank> ended_;           ///< ended ranks to reap, in the order of their ends
    bool children_changed_ = false;    ///< there may be orphans to reap
    std::optional<Rank> outsider_;     ///< a rank that exited with status 0 without joining

    int deaths_ = 0;                             ///< ranks that failed in a job that keeps going
    std::optional<int> status_;                  ///< decided by the first failure
    std::optional<Clock::time_point> deadline_;  ///< from --timeout
    std::optional<Clock::time_point> grace_deadline_;  ///< time of SIGKILL; set with SIGTERM
    std::optional<Clock::time_point> cause_deadline_;  ///< end of the wait in next_to_reap()
    bool ranks_are_killed_ = false;
    bool ranks_are_given_up_ = false;  ///< ranks have survived SIGKILL
    bool waits_for_readers_ = true;    ///< watch() returns only when labelled output is written
    bool limits_readers_ = false;      ///< the grace period, after a signal or timeout, ends this
};

}  // namespace weft::tools
