// SPDX-License-Identifier: BSD-3-Clause
// job.hpp - one running job: its ranks, the events that it waits for, and its end.
//
// Idea     Every event (end of a rank, output, abort, signal) is a file in one epoll set. Its ready
//          list is in order of arrival, which shows which of several dying ranks was first.
// Holds    The first failure decides the status. Then all ranks get SIGTERM and, two seconds later,
//          SIGKILL. On SIGTERM, ranks that run weft print the waits that block them. Nothing in the
//          loop blocks: neither a write (output.hpp) nor a process that is slow to end.
// Next     process.hpp for children, pmix_server.hpp for their PMIx server.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
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
    explicit LaunchedJob(const JobOptions& options) : options_(options) {}
    ~LaunchedJob();
    LaunchedJob(const LaunchedJob&) = delete;
    LaunchedJob& operator=(const LaunchedJob&) = delete;

    void start();
    /// Returns the exit status of the job once all its ranks have ended.
    [[nodiscard]] int watch();

  private:
    using Clock = std::chrono::steady_clock;
    struct RankProcess {
        pid_t pid = 0;               ///< 0: never started
        base::FileDescriptor ended;  ///< becomes readable when the process ends
        bool reaped = false;

        [[nodiscard]] bool exists() const { return pid != 0 && !reaped; }
    };
    enum class Source : std::uint32_t { signals, server, rank, output, written };

    void open_files();
    void start_rank(Rank rank, const SpawnOptions& spawning);
    static void wrap(const Wrapper& wrapper, SpawnOptions& own);
    void make_pipes(Rank rank, SpawnOptions& own, base::FileDescriptor (&pipe_ends)[2]);
    void watch_file(int file, Source source, std::size_t index);
    [[nodiscard]] bool try_to_watch(int file, Source source, std::size_t index);
    void end_what_ranks_left();
    [[nodiscard]] bool is_over() const;
    [[nodiscard]] bool output_is_passed_on() const;
    [[nodiscard]] int milliseconds_to_wait() const;
    void handle(Source source, std::size_t index);
    void handle_signal();
    void handle_stop_request();
    void handle_server_event();
    void end_if_aborted();
    void handle_rank_end(Rank rank);
    void handle_output(std::size_t index);
    void handle_written();
    void settle_ends();
    [[nodiscard]] std::optional<Rank> cause_among_the_ending();
    [[nodiscard]] bool reap(Rank rank);
    void report_end(Rank rank, int ending);
    void handle_deadlines();
    void give_ranks_up();
    void check_outsiders();
    void reap_orphans();

    void end_job(int status, const std::string& reason);
    [[nodiscard]] std::string outsiders() const;
    void tell(const std::string& text);
    void signal_ranks(int signal);

    const JobOptions& options_;
    LauncherSignals signals_;
    base::FileDescriptor watched_;  ///< the epoll set
    std::optional<ScratchFolder> folder_;
    std::optional<Guardian> guardian_;
    PmixServer* server_ = nullptr;  ///< never destroyed: the server exists until the process ends
    std::vector<RankProcess> processes_;
    std::shared_ptr<OutputWriter> writers_[2];  ///< of standard output and error
    std::vector<LabelPipe> outputs_;
    std::vector<std::size_t> paused_;  ///< outputs_ whose writer has no room
    base::FileDescriptor no_input_;
    std::vector<cpu_set_t> cores_;
    TerminalLoan terminal_;  ///< for a debugger
    std::vector<Rank> node_of_;
    Rank running_ = 0;
    std::deque<Rank> ended_;  ///< not yet reaped, in the order of their ends
    bool children_changed_ = false;
    std::optional<Rank> outsider_;  ///< a rank that exited with status 0 without joining

    std::optional<int> status_;                        ///< decided by the first failure
    std::optional<Clock::time_point> deadline_;        ///< of the job
    std::optional<Clock::time_point> grace_deadline_;  ///< set after SIGTERM to the ranks
    std::optional<Clock::time_point> judging_until_;   ///< an ending rank may be the cause
    bool ranks_are_killed_ = false;
    bool ranks_are_given_up_ = false;
    bool waits_for_readers_ = true;  ///< for readers of labelled output, after all ranks have ended
    bool readers_get_no_more_than_the_grace_ = false;  ///< after a signal or the timeout
};

}  // namespace weft::tools
