// SPDX-License-Identifier: BSD-3-Clause
// sigterm_report.cpp - the handler of SIGTERM and its data.
//
// Holds    The handler calls only async-signal-safe functions. Entries are never freed, so the
//          handler may read them at any time. A forked child ends by the signal without a report.
#include "run/job/sigterm_report.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <system_error>

#include "base/blocked_signals.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"

namespace weft::run {

struct SigtermReport::Entry {
    static constexpr std::size_t kDetailMax = 256;
    std::atomic<bool> taken{false};    ///< used by a runtime
    std::atomic<bool> enabled{false};  ///< the handler reports this runtime
    std::atomic<Rank> rank{-1};
    std::atomic<int> file{-1};  ///< descriptor of a log file; -1: none
    std::atomic<const char*> stage{nullptr};
    std::atomic<const char*> detail{nullptr};  ///< start of one of `details`, or null
    std::array<std::array<char, kDetailMax>, 2> details;
    StatusRequest status_request;
};

namespace {

constexpr std::size_t kEntries = 16;
/// Ignores further signals for this time after the first. A later signal ends the process.
constexpr std::uint64_t kRepeatedNs = 1'000'000'000;

/// Process-wide data of the handler.
struct HandlerMemory {
    std::array<SigtermReport::Entry, kEntries> entries;
    std::atomic<pid_t> owner{0};  ///< process that installed the handler, not a forked child
    std::atomic<std::uint64_t> asked_ns{0};  ///< time of the first signal; 0: none
    std::atomic<int> unanswered{0};          ///< runtimes that must still answer
    std::mutex mutex;                        ///< protects the two members below
    int enabled_entries = 0;
    bool installed = false;
};

HandlerMemory& memory() {
    static HandlerMemory held;
    return held;
}

constexpr std::chrono::nanoseconds kPauseMin = std::chrono::milliseconds(50);
constexpr std::chrono::nanoseconds kPauseMax = std::chrono::seconds(5);
constexpr int kTimeoutStatus = 3;   // exit status after a wait that ends the job
constexpr int kPausePerCheck = 20;  ///< pause / processor time of a check

void write_to(int file, std::string_view text) noexcept {
    // A failure cannot be reported anywhere.
    if (file >= 0) [[maybe_unused]]
        const auto written = ::write(file, text.data(), text.size());
}

/// Output line of at most 512 bytes, built without allocation.
class SignalSafeLine {
  public:
    SignalSafeLine& operator<<(std::string_view text) noexcept {
        const std::size_t count = std::min(text.size(), sizeof text_ - size_);
        std::memcpy(text_ + size_, text.data(), count);
        size_ += count;
        return *this;
    }
    SignalSafeLine& operator<<(Rank rank) noexcept {
        if (rank < 0) return *this << "?";
        char digits[12];
        const auto [end, error] = std::to_chars(digits, digits + sizeof digits, rank);
        return *this << std::string_view(digits, end);
    }
    void write(int file) noexcept {
        *this << "\n";
        write_to(STDERR_FILENO, {text_, size_});
        write_to(file, {text_, size_});
    }

  private:
    char text_[512];
    std::size_t size_ = 0;
};

void restore_default() noexcept {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    ::sigaction(SIGTERM, &action, nullptr);
}

/// Makes the signal end the process when the handler returns: until then, the signal is blocked.
void die_on_return() noexcept {
    restore_default();
    ::raise(SIGTERM);
}

void handle(int) {
    HandlerMemory& shared = memory();
    const int saved_error = errno;
    const std::uint64_t now = base::monotonic_ns();
    std::uint64_t before = 0;
    if (::getpid() != shared.owner.load()) {
        die_on_return();
    } else if (!shared.asked_ns.compare_exchange_strong(before, now)) {
        if (now - before > kRepeatedNs) die_on_return();
    } else {
        // 1 for the handler itself: no engine's answer ends the process before the loop does.
        shared.unanswered = 1;
        bool has_wait = false;
        Rank rank = -1;
        int file = -1;
        for (SigtermReport::Entry& entry : shared.entries) {
            if (!entry.enabled) continue;
            rank = entry.rank;
            file = entry.file;
            const char* const stage = entry.stage;
            if (stage != nullptr) {
                SignalSafeLine line;
                line << "weft: rank " << rank << ": " << stage;
                // Acquire: pairs with the release in set_detail().
                const char* const detail = entry.detail.load(std::memory_order_acquire);
                if (detail != nullptr) line << "; " << detail;
                line.write(file);
                has_wait = true;
            } else if (entry.status_request.inside) {
                ++shared.unanswered;
                entry.status_request.pending = true;
                has_wait = true;
            }
        }
        if (!has_wait)
            (SignalSafeLine() << "weft: rank " << rank
                              << ": in the application, outside any weft call")
                .write(file);
        if (--shared.unanswered == 0) die_on_return();
    }
    errno = saved_error;
}

/// Installs the handler if the action is the default. The caller holds the mutex.
void install(HandlerMemory& shared) {
    struct sigaction found = {};
    ::sigaction(SIGTERM, nullptr, &found);
    if ((found.sa_flags & SA_SIGINFO) != 0 || found.sa_handler != SIG_DFL) return;
    shared.owner = ::getpid();
    shared.asked_ns = 0;
    struct sigaction ours = {};
    ours.sa_handler = handle;
    ours.sa_flags = SA_RESTART | SA_ONSTACK;
    ::sigemptyset(&ours.sa_mask);
    shared.installed = ::sigaction(SIGTERM, &ours, nullptr) == 0;
}

void uninstall(HandlerMemory& shared) {
    struct sigaction found = {};
    ::sigaction(SIGTERM, nullptr, &found);
    if ((found.sa_flags & SA_SIGINFO) == 0 && found.sa_handler == handle) restore_default();
    shared.installed = false;
}

}  // namespace

SigtermReport::SigtermReport(bool enabled) {
    HandlerMemory& shared = memory();
    const std::lock_guard held(shared.mutex);
    const auto free = std::ranges::find_if_not(
        shared.entries, [](const Entry& entry) -> bool { return entry.taken; });
    if (!enabled || free == shared.entries.end()) {
        unread_ = std::make_unique<Entry>();
        entry_ = unread_.get();
        return;
    }
    entry_ = &*free;
    entry_->taken = true;
    entry_->rank = -1;
    entry_->stage = nullptr;
    entry_->detail = nullptr;
    entry_->status_request.inside = 0;
    entry_->status_request.pending = false;
    if (shared.enabled_entries++ == 0 || !shared.installed) install(shared);
    entry_->enabled = true;
}

SigtermReport::~SigtermReport() {
    retire();
    set_file(-1);
    entry_->taken = false;
}

void SigtermReport::retire() {
    if (!entry_->enabled) return;
    HandlerMemory& shared = memory();
    const std::lock_guard held(shared.mutex);
    entry_->enabled = false;
    if (--shared.enabled_entries == 0 && shared.installed) uninstall(shared);
}

void SigtermReport::set_file(int file) noexcept {
    const int own = file < 0 || !entry_->taken ? -1 : ::fcntl(file, F_DUPFD_CLOEXEC, 0);
    const int before = entry_->file.exchange(own);
    if (before >= 0) ::close(before);
}

void SigtermReport::set_rank(Rank rank) noexcept {
    entry_->rank = rank;
}
void SigtermReport::set_stage(const char* stage) noexcept {
    entry_->stage = stage;
}
const char* SigtermReport::stage() const noexcept {
    return entry_->stage;
}
StatusRequest& SigtermReport::status_request() noexcept {
    return entry_->status_request;
}

/// Writes the text that the handler cannot be reading, then publishes it.
void SigtermReport::set_detail(std::string_view detail) noexcept {
    auto& text = entry_->details[entry_->detail == entry_->details[0].data() ? 1 : 0];
    text[detail.copy(text.data(), text.size() - 1)] = '\0';
    // Release: pairs with the acquire in the handler.
    entry_->detail.store(detail.empty() ? nullptr : text.data(), std::memory_order_release);
}

void SigtermReport::answer(std::string_view line) {
    base::write_line(line);
    write_to(entry_->file, std::string(line) + "\n");
    if (--memory().unanswered > 0) return;
    restore_default();
    ::kill(::getpid(), SIGTERM);
    while (true) ::pause();  // the signal may be delivered to another thread first
}

StartWatch::StartWatch(SigtermReport& report, Rank rank, const base::Settings& settings)
    : report_(report), rank_(rank), settings_(settings), node_(link::processes_of_this_node(rank)) {
    const base::BlockedSignals blocked;
    try {
        thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
    } catch (const std::system_error&) {  // thread limit reached: no checks
    }
}

StartWatch::~StartWatch() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
    report_.set_detail("");
}

/// Checks the ranks repeatedly. With many ranks on a node, a check takes long, and all ranks check.
/// So each rank pauses for 20 times the processor time of its check.
void StartWatch::watch(const std::stop_token& stop) noexcept {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    const bool reports = settings_.timeout_ns != 0;
    std::chrono::nanoseconds next_report = std::chrono::years(1);  // times in ns may overflow
    if (settings_.timeout_ns < static_cast<std::uint64_t>(next_report.count()))
        next_report = std::chrono::nanoseconds(settings_.timeout_ns);
    try {
        std::unique_lock lock(mutex_);
        std::chrono::nanoseconds pause = kPauseMin;
        if (reports) pause = std::min(pause, next_report);
        while (!sleep_.wait_for(lock, stop, pause, [] { return false; })) {
            if (stop.stop_requested()) return;
            const std::chrono::nanoseconds begun = base::thread_cpu_time();
            missing_ = node_.missing();
            report_.set_detail(missing_);
            pause = std::clamp(kPausePerCheck * (base::thread_cpu_time() - begun), kPauseMin,
                               kPauseMax);
            const auto waited = Clock::now() - start;
            if (reports && waited >= next_report) {
                report_wait(waited);
                next_report = 2 * waited;
            }
            if (reports) pause = std::min(pause, next_report - waited);
        }
    } catch (const std::exception&) {  // no memory: no more checks
    }
}

/// Reports a long start-up. Ends the process only if a rank is missing: start-up of many ranks may
/// take longer than WEFT_TIMEOUT.
void StartWatch::report_wait(std::chrono::nanoseconds waited) const {
    const char* const stage = report_.stage();
    const bool ends = settings_.timeout_action == base::TimeoutAction::abort && !missing_.empty();
    base::write_line(fmt::format("weft: rank {}: {}{}{} (start-up has taken {} s{})", rank_,
                                 stage != nullptr ? stage : "start-up",
                                 missing_.empty() ? "" : "; ", missing_,
                                 std::chrono::duration_cast<std::chrono::seconds>(waited).count(),
                                 ends ? "; WEFT_TIMEOUT_ACTION=abort ends the job" : ""));
    if (ends) std::_Exit(kTimeoutStatus);
}

std::string StartWatch::missing() {
    const std::lock_guard held(mutex_);
    return missing_;
}

}  // namespace weft::run
