// SPDX-License-Identifier: BSD-3-Clause
#include "front/launch/job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "front/launch/core_binding.hpp"
#include "front/launch/job_environment.hpp"
#include "front/launch/layout.hpp"

namespace weft::front {
namespace {

constexpr auto kGrace = std::chrono::seconds(2);
constexpr int kRankLostStatus = 3;

/// Per rank: a connection, a process file and with labels two pipes; and some for everything else.
void make_room_for_files(Rank ranks, bool label) {
    const rlim_t needed = 128 + static_cast<rlim_t>(ranks) * (label ? 4 : 2);
    rlimit limit = {};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
    limit.rlim_cur = std::min(limit.rlim_max, needed);
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// A file that becomes readable when the process ends (the C library's own function for it cannot
/// be called from C++ in all versions).
FileDescriptor open_process_file(pid_t pid) {
    return FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

/// Removes what a process that was stopped could not: files in shared memory that a library has
/// named after it ("PID:..."), as networks between the processes of one host do.
void remove_shared_files(pid_t pid) {
    const std::string prefix = fmt::format("{}:", pid);
    std::error_code ignored;
    std::vector<std::filesystem::path> left;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", ignored)) {
        if (entry.path().filename().string().rfind(prefix, 0) == 0) left.push_back(entry.path());
    }
    for (const auto& path : left) std::filesystem::remove(path, ignored);
}

}  // namespace

EndingSignals::EndingSignals() {
    sigset_t mask;
    ::sigemptyset(&mask);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&mask, signal);
    ::sigprocmask(SIG_BLOCK, &mask, &former_mask_);
    file_ = FileDescriptor(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &ignore, &former_pipe_action_);
}

EndingSignals::~EndingSignals() {
    ::sigaction(SIGPIPE, &former_pipe_action_, nullptr);
    ::sigprocmask(SIG_SETMASK, &former_mask_, nullptr);
}

int EndingSignals::take() const {
    signalfd_siginfo info = {};
    if (::read(file_.number(), &info, sizeof info) != sizeof info) return 0;
    return static_cast<int>(info.ssi_signo);
}

Job::~Job() {
    signal_ranks(SIGKILL);
    end_descendants(guardian_ ? guardian_->pid() : 0);
}

base::Result<void> Job::start() {
    auto program = find_program(options_.command.front());
    if (!program) return program.failure();
    if (options_.binding == Binding::core) {
        auto cores = usable_cores();
        if (!cores) return cores.failure();
        cores_ = *std::move(cores);
    }
    make_room_for_files(options_.ranks, options_.label);
    adopt_orphans();
    forget_outer_job();
    SpawnOptions spawning = {.program = *program,
                             .arguments = options_.command,
                             .environment = environment_of_job(options_.environment),
                             .signal_mask = signals_.former_mask()};
    auto folder = ScratchFolder::create();
    if (!folder) return folder.failure();
    folder_ = std::make_unique<ScratchFolder>(*std::move(folder));
    auto guardian = Guardian::start(folder_->path());
    if (!guardian) return guardian.failure();
    guardian_ = *std::move(guardian);
    restrain_hwloc();
    auto server = PmixServer::start({.ranks = options_.ranks,
                                     .ranks_per_node = options_.ranks_per_node,
                                     .folder = folder_->path()});
    if (!server) return server.failure();
    server_ = *server;

    watched_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
    no_input_ = FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    node_of_ = node_of_ranks(options_.ranks_per_node);
    if (auto done = add_to_watched(signals_.file(), Source::signals, 0); !done) return done;
    if (auto done = add_to_watched(server_->event_file(), Source::server, 0); !done) return done;
    processes_.resize(static_cast<std::size_t>(options_.ranks));
    for (Rank rank = 0; rank < options_.ranks; ++rank) {
        if (auto done = start_rank(rank, spawning); !done) return done;
    }
    if (options_.timeout_s) {
        deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(*options_.timeout_s));
    }
    return {};
}

base::Result<void> Job::start_rank(Rank rank, SpawnOptions& spawning) {
    auto membership = server_->environment_of(rank);
    if (!membership) return membership.failure();
    SpawnOptions own = spawning;
    own.environment.insert(own.environment.end(), membership->begin(), membership->end());
    const auto index = static_cast<std::size_t>(rank);
    if (!node_of_.empty()) {
        set_variable(own.environment, {base::kNodeIdVariable, std::to_string(node_of_[index])});
    }
    if (!cores_.empty()) own.cpus = &cores_[index % cores_.size()];
    // One rank can read what is piped into the launcher. A terminal stays with the launcher's
    // process group: a rank that read from it would be stopped.
    if (rank != 0 || ::isatty(STDIN_FILENO) == 1) own.input = no_input_.number();
    FileDescriptor writers[2];
    if (options_.label) {
        for (const int target : {STDOUT_FILENO, STDERR_FILENO}) {
            FileDescriptor& writer = writers[target == STDERR_FILENO];
            auto pipe = LabelPipe::create(rank, target, writer);
            if (!pipe) return pipe.failure();
            auto added = add_to_watched(pipe->reader(), Source::output, outputs_.size());
            if (!added) return added;
            outputs_.push_back(*std::move(pipe));
        }
        own.output = writers[0].number();
        own.error = writers[1].number();
    }
    auto pid = spawn(own);
    if (!pid) return pid.failure();
    processes_[index].pid = *pid;
    processes_[index].ended = open_process_file(*pid);
    ++running_;
    server_->set_process(rank, *pid);
    guardian_->watch(*pid);
    return add_to_watched(processes_[index].ended.number(), Source::rank, index);
}

base::Result<void> Job::add_to_watched(int file, Source source, std::size_t index) {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.u64 = static_cast<std::uint64_t>(source) << 32 | index;
    if (::epoll_ctl(watched_.number(), EPOLL_CTL_ADD, file, &event) != 0) {
        return base::fail(Status::environment, "cannot watch the ranks: {}", ::strerror(errno));
    }
    return {};
}

int Job::watch() {
    std::array<epoll_event, 64> events;
    while (running_ > 0) {
        const int count = ::epoll_wait(watched_.number(), events.data(),
                                       static_cast<int>(events.size()), milliseconds_to_wait());
        for (int i = 0; i < count; ++i) {
            const std::uint64_t data = events[static_cast<std::size_t>(i)].data.u64;
            handle(static_cast<Source>(data >> 32), data & 0xffff'ffff);
        }
        handle_deadlines();
    }
    end_descendants(guardian_->pid());
    for (LabelPipe& output : outputs_) {
        while (output.reader() >= 0 && output.pass_on()) {
        }
    }
    return status_.value_or(0);
}

int Job::milliseconds_to_wait() const {
    const auto& deadline = grace_deadline_ ? grace_deadline_ : deadline_;
    if (!deadline) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000));
}

void Job::handle(Source source, std::size_t index) {
    switch (source) {
        case Source::signals:
            return handle_signal();
        case Source::server:
            return handle_server_event();
        case Source::rank:
            return handle_rank_end(static_cast<Rank>(index));
        case Source::output:
            outputs_[index].pass_on();
            return;
    }
}

void Job::handle_signal() {
    const int signal = signals_.take();
    if (signal == 0) return;
    if (status_) return signal_ranks(SIGKILL);  // The second signal ends the grace period.
    fail(128 + signal, fmt::format("got signal {} ({})", signal, ::strsignal(signal)));
}

void Job::handle_server_event() {
    eventfd_t count = 0;
    ::eventfd_read(server_->event_file(), &count);
    if (const auto request = server_->abort_request()) {
        const int shown = request->status & 0xff;
        fail(shown != 0 ? shown : 1,
             fmt::format("rank {} aborted the job with status {}{}{}", request->rank,
                         request->status, request->text.empty() ? "" : ": ", request->text));
    }
    check_outsiders();
}

void Job::handle_rank_end(Rank rank) {
    if (!status_) {
        const Rank cause = cause_among_the_ending(rank);
        if (cause != rank) handle_rank_end(cause);
    }
    RankProcess& process = processes_[static_cast<std::size_t>(rank)];
    int ending = 0;
    if (!process.ended.open() || ::waitpid(process.pid, &ending, WNOHANG) != process.pid) return;
    process.ended.close();
    --running_;
    if (ending != 0) remove_shared_files(process.pid);
    report_end(rank, ending);
}

/// A rank that is killed closes its connections before it counts as ended, so ranks that notice and
/// give up may be seen to end first. Then the one that was killed is the cause.
Rank Job::cause_among_the_ending(Rank first_seen) const {
    const auto first_end =
        end_without_reaping(processes_[static_cast<std::size_t>(first_seen)].pid);
    if (!first_end.failed || first_end.killed) return first_seen;
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
        const RankProcess& process = processes_[rank];
        if (process.ended.open() && is_ending(process.pid) &&
            end_without_reaping(process.pid).killed) {
            return static_cast<Rank>(rank);
        }
    }
    return first_seen;
}

void Job::report_end(Rank rank, int ending) {
    if (WIFSIGNALED(ending) || WEXITSTATUS(ending) != 0) {
        fail(shell_status(ending), fmt::format("rank {} {}", rank, describe_end(ending)));
    } else if (server_->membership(rank) == Membership::joined) {
        fail(kRankLostStatus,
             fmt::format("rank {} exited with status 0 without leaving the job (not finalized)",
                         rank));
    } else if (server_->membership(rank) == Membership::outside) {
        outsider_ = rank;
        server_->report_joins();
        check_outsiders();
    }
}

/// Ranks that have joined would wait forever for a rank that ends without joining.
void Job::check_outsiders() {
    if (!outsider_ || !server_->anyone_joined()) return;
    fail(
        kRankLostStatus,
        fmt::format("rank {} exited with status 0 and never joined the job that other ranks are in",
                    *outsider_));
}

void Job::handle_deadlines() {
    const Clock::time_point now = Clock::now();
    if (deadline_ && now >= *deadline_ && !status_) {
        fail(kTimeoutStatus, fmt::format("the job did not end within {} s", *options_.timeout_s));
    }
    if (grace_deadline_ && now >= *grace_deadline_) {
        signal_ranks(SIGKILL);
        grace_deadline_ =
            now + kGrace;  // Nothing outlives SIGKILL; this only bounds the next wait.
    }
}

/// Whatever the reason, the ranks get SIGTERM, on which they print what they wait for.
void Job::fail(int status, const std::string& reason) {
    if (status_) return;
    status_ = status;
    fmt::print(stderr, "weft run: {}\n", reason);
    report_outsiders();
    grace_deadline_ = Clock::now() + kGrace;
    signal_ranks(SIGTERM);
}

/// Ranks that have not joined yet may have no runtime that could report what they wait for.
void Job::report_outsiders() const {
    std::vector<Rank> outside;
    for (Rank rank = 0; rank < options_.ranks; ++rank) {
        const bool runs = processes_[static_cast<std::size_t>(rank)].ended.open();
        if (runs && server_->membership(rank) == Membership::outside) outside.push_back(rank);
    }
    if (!outside.empty())
        fmt::print(stderr, "weft run: not in the job yet: {}\n", rank_list(outside));
}

/// Each rank leads a process group, which its own children belong to. A stopped rank cannot act on
/// a signal before it runs again.
void Job::signal_ranks(int signal) {
    for (const RankProcess& process : processes_) {
        if (!process.ended.open()) continue;
        ::kill(-process.pid, signal);
        ::kill(-process.pid, SIGCONT);
    }
}

base::Result<int> run_job(const JobOptions& options) {
    Job job(options);
    if (auto started = job.start(); !started) return started.failure();
    return job.watch();
}

}  // namespace weft::front
