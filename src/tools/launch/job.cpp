// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/environment.hpp"
#include "base/shared_files.hpp"
#include "tools/launch/job_environment.hpp"
#include "tools/launch/layout.hpp"

namespace weft::tools {
namespace {

constexpr auto kGrace = std::chrono::seconds(2);  ///< from SIGTERM to SIGKILL
/// Exit status of the job if a rank exited with status 0 without joining or leaving it.
constexpr int kRankLostStatus = 3;
constexpr int kDeathsMax = 100;  ///< largest exit status that is a number of deaths
/// Longest delay of the report of a failed rank: another rank that is ending may be the cause.
constexpr auto kCauseWait = std::chrono::milliseconds(500);
/// Interval between checks of a process that has ended but cannot be reaped yet.
constexpr auto kReapInterval = std::chrono::milliseconds(20);
/// Longest waits for a message of the launcher to be written.
constexpr auto kMessageWait = std::chrono::milliseconds(100);
constexpr auto kLastMessageWait = std::chrono::seconds(1);

}  // namespace

LaunchedJob::~LaunchedJob() {
    signal_ranks(SIGKILL);
    const auto limit = running_ == 0 || ranks_are_given_up_ ? std::chrono::seconds(0) : kGrace;
    (void)end_descendants(spared_, limit);
    for (const auto& writer : writers_)
        if (writer != nullptr) writer->close();
}

void LaunchedJob::start() {
    const std::string program = need(find_program(options_.command.front()));
    if (options_.bind_to_cores) cores_ = usable_cores();
    raise_file_limit(options_.ranks, options_.label);
    // Orphans of descendants become children of this process, so that end_descendants() finds them.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    clean_environment();
    const SpawnOptions spawning = {.program = program,
                                   .arguments = options_.command,
                                   .environment = environment_of_job(options_.environment),
                                   .signals = &signals_.inherited()};
    folder_.emplace();
    const JobNames names{.folder = folder_->path(), .job_name = random_job_name()};
    guardian_.emplace(names);
    spared_.push_back(guardian_->pid());
    restrain_hwloc();
    server_ = PmixServer::start(options_, names);
    open_files();
    check_files_for_ranks(options_.ranks, options_.label);
    node_of_ = node_of_ranks(options_.ranks_per_node);
    processes_.resize(static_cast<std::size_t>(options_.ranks));
    for (Rank rank = 0; rank < options_.ranks; ++rank) start_rank(rank, spawning);
    if (options_.timeout_s)
        deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(*options_.timeout_s));
}

void LaunchedJob::open_files() {
    watched_ = base::FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
    no_input_ = base::FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    watch_file(signals_.file(), [this] { handle_signal(); });
    watch_file(server_->event_file(), [this] { handle_server_event(); });
    writers_[0] = std::make_shared<OutputWriter>(STDOUT_FILENO);
    watch_file(writers_[0]->event_file(), [this] { handle_written(); });
    writers_[1] = writers_[0];
    if (same_file(STDOUT_FILENO, STDERR_FILENO)) return;
    writers_[1] = std::make_shared<OutputWriter>(STDERR_FILENO);
    watch_file(writers_[1]->event_file(), [this] { handle_written(); });
}

void LaunchedJob::start_rank(Rank rank, const SpawnOptions& spawning) {
    const std::vector<std::string>& membership = server_->environment_of(rank);
    SpawnOptions own = spawning;
    own.environment.insert(own.environment.end(), membership.begin(), membership.end());
    const auto index = static_cast<std::size_t>(rank);
    if (!node_of_.empty())
        set_variable(own.environment, fmt::format("{}={}", base::kNodeIdVariable, node_of_[index]));
    if (!cores_.empty()) own.cpus = &cores_[index % cores_.size()];
    // Rank 0 can read data that is piped into the launcher. A terminal belongs to the launcher's
    // process group: the kernel would stop a rank that reads the terminal.
    if (rank != 0 || ::isatty(STDIN_FILENO) == 1) own.input = no_input_.number();
    const bool wrapped = options_.wrapper && options_.wrapper->rank == rank;
    if (wrapped) wrap(*options_.wrapper, own);
    base::FileDescriptor pipe_ends[2];
    if (options_.label) make_pipes(rank, own, pipe_ends);
    RankProcess& process = processes_[index];
    process.pid = spawn(own);
    if (wrapped && options_.wrapper->takes_terminal) terminal_.give(process.pid);
    ++running_;
    process.ended = open_process_file(process.pid);
    if (!process.ended.open())
        fail(Status::environment, "cannot watch rank {}: {}", rank, ::strerror(errno));
    server_->set_process(rank, process.pid);
    guardian_->watch(process.pid);
    watch_file(process.ended.number(), [this, rank] { handle_rank_end(rank); });
}

void LaunchedJob::wrap(const Wrapper& wrapper, SpawnOptions& own) {
    std::vector<std::string> words = wrapper.command;
    words.push_back(own.program);
    words.insert(words.end(), own.arguments.begin() + 1, own.arguments.end());
    own.program = need(find_program(wrapper.command.front()));
    own.arguments = std::move(words);
    if (wrapper.takes_terminal) own.input = -1;
}

void LaunchedJob::make_pipes(Rank rank, SpawnOptions& own, base::FileDescriptor (&pipe_ends)[2]) {
    for (std::size_t i = 0; i < 2; ++i) {
        const std::size_t index = outputs_.size();
        outputs_.emplace_back(rank, writers_[i], pipe_ends[i]);
        watch_file(outputs_.back().reader(), [this, index] { handle_output(index); });
    }
    own.output = pipe_ends[0].number();
    own.error = pipe_ends[1].number();
}

void LaunchedJob::watch_file(int file, std::function<void()> handler) {
    handlers_[file] = std::move(handler);
    if (!try_to_watch(file))
        fail(Status::environment, "cannot watch the ranks: {}", ::strerror(errno));
}

bool LaunchedJob::try_to_watch(int file) {
    epoll_event event = {.events = EPOLLIN, .data = {.fd = file}};
    return ::epoll_ctl(watched_.number(), EPOLL_CTL_ADD, file, &event) == 0;
}

int LaunchedJob::watch() {
    std::array<epoll_event, 64> events;
    bool descendants_ended = false;
    while (!is_over()) {
        const int count = ::epoll_wait(watched_.number(), events.data(),
                                       static_cast<int>(events.size()), milliseconds_to_wait());
        for (int i = 0; i < count; ++i) handlers_.at(events[static_cast<std::size_t>(i)].data.fd)();
        reap_ended_ranks();
        handle_deadlines();
        reap_orphans();
        if (running_ == 0 && !std::exchange(descendants_ended, true)) end_remaining_processes();
    }
    // Killed ranks may have left shared memory.
    if (status_ || deaths_ != 0) base::SharedFolder().remove_unused();
    writers_[1]->wait_until_idle(kLastMessageWait);
    return status_.value_or(std::min(deaths_, kDeathsMax));
}

/// Kills processes that ranks have started and not waited for.
void LaunchedJob::end_remaining_processes() {
    for (const pid_t pid : end_descendants(spared_, kGrace))
        print_message(
            fmt::format("weft run: process {}, started by a rank, {}\n", pid, why_it_runs(pid)));
}

bool LaunchedJob::is_over() const {
    if (ranks_are_given_up_) return true;
    return running_ == 0 && (all_output_written() || !waits_for_readers_);
}

bool LaunchedJob::all_output_written() const {
    if (!options_.label) return true;
    return std::ranges::all_of(outputs_, [](const auto& output) { return output.reader() < 0; }) &&
           writers_[0]->is_idle() && writers_[1]->is_idle();
}

int LaunchedJob::milliseconds_to_wait() const {
    if (!ended_.empty()) return static_cast<int>(kReapInterval.count());
    const auto& deadline = grace_deadline_ ? grace_deadline_ : deadline_;
    if (!deadline) return -1;
    const auto remaining = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(remaining.count(), 0, 1'000'000));
}

void LaunchedJob::handle_signal() {
    const int signal = signals_.take();
    switch (signal) {
        case 0:
            return;
        case SIGCHLD:
            children_changed_ = true;
            return;
        case SIGUSR1:
        case SIGUSR2:
        case SIGCONT:
            return signal_ranks(signal);
        case SIGTSTP:
            return handle_stop_request();
        default:
            break;
    }
    if (status_) {  // a further signal ends the grace period
        waits_for_readers_ = false;
        return signal_ranks(SIGKILL);
    }
    limits_readers_ = true;
    end_job(128 + signal, fmt::format("got signal {} ({})", signal, ::strsignal(signal)));
}

/// Stops the ranks and the launcher after the terminal's stop key (ctrl-Z). The key signals only
/// the launcher, because ranks have their own process groups. The time limit excludes the stop.
void LaunchedJob::handle_stop_request() {
    if (status_) return;
    signal_ranks(SIGSTOP);
    const Clock::time_point stopped = Clock::now();
    ::raise(SIGSTOP);
    if (deadline_) *deadline_ += Clock::now() - stopped;
    signal_ranks(SIGCONT);
}

void LaunchedJob::handle_server_event() {
    eventfd_t count = 0;
    ::eventfd_read(server_->event_file(), &count);
    end_if_aborted();
    check_outsider();
}

void LaunchedJob::end_if_aborted() {
    const auto request = server_->abort_request();
    if (!request) return;
    end_job(request->status & 0xff,
            fmt::format("rank {} aborted the job with status {}{}{}", request->rank,
                        request->status, request->text.empty() ? "" : ": ", request->text));
}

void LaunchedJob::handle_output(std::size_t index) {
    LabelPipe& output = outputs_[index];
    if (!output.pass_on() || output.has_room()) return;
    ::epoll_ctl(watched_.number(), EPOLL_CTL_DEL, output.reader(), nullptr);
    paused_.push_back(index);
}

void LaunchedJob::handle_written() {
    eventfd_t count = 0;
    for (const auto& writer : writers_) ::eventfd_read(writer->event_file(), &count);
    std::erase_if(paused_, [&](std::size_t index) {
        const LabelPipe& output = outputs_[index];
        return output.has_room() && try_to_watch(output.reader());
    });
}

void LaunchedJob::handle_rank_end(Rank rank) {
    RankProcess& process = processes_[static_cast<std::size_t>(rank)];
    ::epoll_ctl(watched_.number(), EPOLL_CTL_DEL, process.ended.number(), nullptr);
    process.ended.close();
    if (process.exists()) ended_.push_back(rank);
    reap_ended_ranks();
}

/// Reaps ended ranks. Before the first failure is reported, waits until the cause is known.
void LaunchedJob::reap_ended_ranks() {
    while (!ended_.empty()) {
        const bool has_cause = status_ || options_.keep_going;
        const auto next = has_cause ? std::optional(ended_.front()) : next_to_reap();
        if (!next || !reap(*next)) return;
        std::erase(ended_, *next);
    }
}

/// Returns the ended rank to reap first; nothing while the cause is not known. The kernel closes
/// the connections of a killed rank before it reports the end of its process. Ranks that notice the
/// closed connection and fail may be reported first, although the killed rank is the cause.
std::optional<Rank> LaunchedJob::next_to_reap() {
    const Rank first = ended_.front();
    const auto first_end = end_without_reaping(processes_[static_cast<std::size_t>(first)].pid);
    if (!first_end || !first_end->failed || first_end->killed) return first;
    bool undecided = false;
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
        const RankProcess& process = processes_[rank];
        if (!process.exists() || !is_ending(process.pid)) continue;
        const auto end = end_without_reaping(process.pid);
        if (end && end->killed) return static_cast<Rank>(rank);
        undecided = undecided || !end;
    }
    const Clock::time_point now = Clock::now();
    if (!cause_deadline_) cause_deadline_ = now + kCauseWait;
    if (undecided && now < *cause_deadline_) return std::nullopt;
    return first;
}

/// Returns false if the process cannot be reaped yet.
bool LaunchedJob::reap(Rank rank) {
    RankProcess& process = processes_[static_cast<std::size_t>(rank)];
    int ending = 0;
    if (::waitpid(process.pid, &ending, WNOHANG) != process.pid) return false;
    process.reaped = true;
    children_changed_ = true;
    --running_;
    guardian_->forget(process.pid);
    judge_end(rank, ending);
    return true;
}

/// Ends the job if the end of this rank is a failure. `ending`: wait status of the process.
void LaunchedJob::judge_end(Rank rank, int ending) {
    end_if_aborted();  // the rank may have aborted the job
    if (WIFSIGNALED(ending) || WEXITSTATUS(ending) != 0) {
        lose_rank(rank, shell_status(ending), describe_end(ending));
    } else if (server_->membership(rank) == Membership::joined) {
        lose_rank(rank, kRankLostStatus,
                  "exited with status 0 without leaving the job (not finalized)");
    } else if (server_->membership(rank) == Membership::outside) {
        outsider_ = rank;
        server_->report_joins();
        check_outsider();
    }
}

/// Ends the job after the failure of a rank, unless the job keeps going. A rank that has not joined
/// always ends it, as the start-up of the other ranks waits for this rank.
void LaunchedJob::lose_rank(Rank rank, int status, const std::string& reason) {
    const std::string text = fmt::format("rank {} {}", rank, reason);
    if (!options_.keep_going || server_->membership(rank) == Membership::outside)
        return end_job(status, text);
    ++deaths_;
    if (!status_) print_message(fmt::format("weft run: {}; the job continues\n", text));
}

/// Ends the job if a rank has ended without joining: the joined ranks would wait for it forever.
void LaunchedJob::check_outsider() {
    if (!outsider_ || !server_->anyone_joined()) return;
    end_job(
        kRankLostStatus,
        fmt::format("rank {} exited with status 0 and never joined the job that other ranks are in",
                    *outsider_));
}

void LaunchedJob::handle_deadlines() {
    const Clock::time_point now = Clock::now();
    if (deadline_ && now >= *deadline_ && !status_) {
        limits_readers_ = true;
        end_job(kTimeoutStatus,
                fmt::format("the job did not end within {} s", *options_.timeout_s));
    }
    if (grace_deadline_ && now >= *grace_deadline_) {
        if (std::exchange(ranks_are_killed_, true)) give_up_if_unkillable();
        signal_ranks(SIGKILL);
        if (limits_readers_) waits_for_readers_ = false;
        grace_deadline_ = now + kGrace;
    }
}

/// Gives up if all remaining ranks have survived SIGKILL: the launcher may not signal them, or they
/// are blocked in the kernel.
void LaunchedJob::give_up_if_unkillable() {
    std::string remaining;
    for (Rank rank = 0; rank < options_.ranks; ++rank) {
        const RankProcess& process = processes_[static_cast<std::size_t>(rank)];
        if (!process.exists() || !process.ended.open()) continue;
        if (is_ending(process.pid)) return;
        remaining += fmt::format("weft run: rank {} (process {}) {}\n", rank, process.pid,
                                 why_it_runs(process.pid));
    }
    if (remaining.empty()) return;  // the launcher waits only for readers of output
    print_message(remaining);
    ranks_are_given_up_ = true;
}

/// Reaps orphans of ranks, which become children of the launcher. Ranks are left to reap().
void LaunchedJob::reap_orphans() {
    while (children_changed_) {
        siginfo_t child = {};
        if (::waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) != 0 || child.si_pid == 0) {
            children_changed_ = false;
            return;
        }
        const bool is_rank = std::ranges::any_of(processes_, [&](const RankProcess& process) {
            return process.exists() && process.pid == child.si_pid;
        });
        if (is_rank) return;  // reap() sets children_changed_ again
        ::waitpid(child.si_pid, nullptr, WNOHANG);
    }
}

/// Starts the end of the job: prints the reason and sends SIGTERM, on which ranks print the waits
/// that block them.
void LaunchedJob::end_job(int status, const std::string& reason) {
    if (status_) return;
    status_ = status;
    print_message(fmt::format("weft run: {}\n{}", reason, outsiders_text()));
    grace_deadline_ = Clock::now() + kGrace;
    signal_ranks(SIGTERM);
}

/// Returns a line with the running ranks that have not joined and so cannot report waits, or "".
std::string LaunchedJob::outsiders_text() const {
    std::vector<Rank> outside;
    for (Rank rank = 0; rank < options_.ranks; ++rank) {
        const RankProcess& process = processes_[static_cast<std::size_t>(rank)];
        const bool runs = process.exists() && process.ended.open();
        if (runs && server_->membership(rank) == Membership::outside) outside.push_back(rank);
    }
    return outside.empty() ? ""
                           : fmt::format("weft run: not in the job yet: {}\n", rank_list(outside));
}

/// Prints a message, usually before the ranks print to the same file.
void LaunchedJob::print_message(const std::string& text) {
    writers_[1]->write(text);
    writers_[1]->wait_until_idle(kMessageWait);
}

/// Signals the process group of each rank, which contains the rank's children. SIGCONT lets stopped
/// processes act on SIGTERM.
void LaunchedJob::signal_ranks(int signal) {
    for (const RankProcess& process : processes_) {
        if (!process.exists()) continue;
        ::kill(-process.pid, signal);
        if (signal == SIGTERM || signal == SIGKILL) ::kill(-process.pid, SIGCONT);
    }
}

int run_job(const JobOptions& options) {
    open_missing_standard_files();
    LaunchedJob job(options);
    job.start();
    return job.watch();
}

}  // namespace weft::tools
