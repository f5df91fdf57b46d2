// SPDX-License-Identifier: BSD-3-Clause
#include "faces/python/job.hpp"

#include <unistd.h>

#include "faces/python/operations.hpp"

namespace weft::python {
namespace {

constexpr int kShortTests = 32;  // with the GIL held; they take about a microsecond

bool allows_several_threads(const std::string& threads) {
    if (threads != "single" && threads != "multiple")
        refuse("threads: '" + threads + "', expected 'single' or 'multiple'");
    return threads == "multiple";
}

/// Drives calls until *request is complete, or for `limit`. Yields the processor between polls, and
/// sleeps when nothing has happened for kPolling: torch runs more threads than the ranks that weft
/// counts, and the scheduler delays a thread that never sleeps.
weft_status poll_and_sleep(weft_request** request, std::chrono::nanoseconds limit) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::microseconds kPolling{100}, kSleep{20}, kLongTest{3};
    const auto begin = Clock::now();
    auto last_work = begin, test_begin = begin;
    for (;;) {
        int done = 0;
        const weft_status status = weft_test(request, &done);
        if (done != 0 || status != WEFT_OK) return status;
        const auto now = Clock::now();
        if (now - test_begin > kLongTest) last_work = now;  // the test has copied or reduced data
        if (now - begin > limit) return WEFT_ERR_TIMEOUT;
        if (now - last_work < kPolling)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(kSleep);
        test_begin = Clock::now();
    }
}

}  // namespace

JobObject::JobObject(const std::string& threads)
    : multiple_(allows_several_threads(threads)), process_(::getpid()) {
    const auto level = multiple_ ? WEFT_THREADS_MULTIPLE : WEFT_THREADS_SINGLE;
    check(call_long([&] { return weft_init_threads(level, &runtime_); }));
    py::module_::import("weft._errors").attr("this_rank") = weft_rank(weft_world(runtime_));
}

JobObject::JobObject(int rank, int size, Connection connection)
    : multiple_(true),
      process_(::getpid()),
      connection_(std::make_unique<Connection>(std::move(connection))) {
    const auto status = call_long([&] { return connection_->join(rank, size, &runtime_); });
    if (status != WEFT_OK)
        raise_error(status, weft_last_error(), connection_->allgather.take_exception());
    py::module_::import("weft._errors").attr("this_rank") = rank;
}

JobObject::~JobObject() {
    if (!is_open()) return;
    if (::getpid() != process_) (void)background_.release();  // a forked child has no such thread
    // Leaked: peers may write to these buffers until the process ends.
    new std::vector<Leftover>(std::move(leftovers_));
    new std::vector<KeptBuffer>(std::move(kept_));
    (void)connection_.release();
    call_long([&] { background_.reset(); });
}

void JobObject::drive_in_background() {
    const RuntimeCall entry(*this);
    if (!multiple_) refuse("drive_in_background: the runtime needs threads='multiple'");
    if (background_ == nullptr) background_ = std::make_unique<BackgroundDriver>(runtime_);
}

void JobObject::fail(weft_status status) const {
    raise_error(status, weft_last_error(), take_exception_of_operation());
}

void JobObject::finalize() {
    if (!is_open()) return;
    {
        const RuntimeCall entry(*this);
        meet(weft_world(runtime_));
        call_long([&] { background_.reset(); });
        weft_runtime* const runtime = std::exchange(runtime_, nullptr);
        check(call_long([&] { return weft_finalize(runtime); }));
    }
    leftovers_.clear();
    kept_.clear();
}

std::vector<JobObject::KeptBuffer> JobObject::take_kept(const weft_team* context) {
    std::vector<KeptBuffer> taken, rest;
    for (auto& kept : std::exchange(kept_, {}))
        (kept.context == context ? taken : rest).push_back(std::move(kept));
    kept_ = std::move(rest);
    return taken;
}

void JobObject::meet(weft_team* team) {
    weft_request* request = nullptr;
    // A team that has failed refuses the barrier; the caller's next call reports that.
    if (call_short([&] { return weft_ibarrier(team, &request); }) != WEFT_OK) return;
    CallObjects none;
    (void)wait_for_request(*this, &request, none);
}

void JobObject::abandon(weft_request* request, CallObjects objects, bool counted) {
    if (!is_open()) return;
    leftovers_.push_back({.request = request, .objects = std::move(objects), .counted = counted});
}

void JobObject::drop(weft_team* team, bool is_context) {
    if (is_open()) leftovers_.push_back({.team = team, .is_context = is_context});
}

/// Ends a context, or returns false if its puts or gets are in flight. Its team may have ended it.
bool JobObject::end_context(weft_team* context) {
    const auto quieted = call_short([&] { return weft_quiet_for(context, 0); });
    if (quieted == WEFT_ERR_TIMEOUT) return false;
    if (quieted == WEFT_OK) take_kept(context);
    (void)call_short([&] { return weft_context_free(context); });
    return true;
}

void JobObject::sweep() {
    // The loop moves all leftovers out: other threads and destructors may add some meanwhile.
    for (Leftover& leftover : std::exchange(leftovers_, {})) {
        int ended = 1;
        if (leftover.is_context)
            ended = end_context(leftover.team) ? 1 : 0;
        else if (leftover.team != nullptr)
            // Another thread may make a team, which needs the GIL for its exchange.
            (void)call_long([&] { return weft_team_drop(leftover.team); });
        else
            (void)call_short([&] { return weft_request_ended(leftover.request, &ended); });
        if (ended == 0)
            leftovers_.push_back(std::move(leftover));
        else if (leftover.request != nullptr) {
            if (leftover.counted && background_ != nullptr) background_->completed();
            call_short([&] {
                // Frees a started request; a persistent one remains for the second call.
                (void)weft_test(&leftover.request, &ended);
                return weft_request_free(&leftover.request);
            });
        }
    }
}

RuntimeCall::RuntimeCall(JobObject& job) : job_(job) {
    if (!job.is_open()) refuse("the runtime has been finalized");
    if (job.busy_ && !job.multiple_)
        refuse(
            "another call of this runtime is running: operations must not call weft, and only "
            "weft.Runtime(threads='multiple') serves several threads");
    job.busy_ = true;
    if (!job.leftovers_.empty()) job.sweep();
}

bool completes_shortly(JobObject& job, weft_request** request) {
    constexpr std::chrono::microseconds kYielding{20};  // a later wait releases the GIL
    int done = 0;
    for (int i = 0; i < kShortTests && done == 0 && !operations_exist; ++i)
        job.check(weft_test(request, &done));
    if (done != 0 || operations_exist) return done != 0;
    const auto end = std::chrono::steady_clock::now() + kYielding;
    while (done == 0 && std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
        job.check(weft_test(request, &done));
    }
    return done != 0;
}

weft_status drive_until_complete(BackgroundDriver* background, weft_request** request,
                                 std::optional<double> limit_s) {
    int done = 0;
    for (int i = 0; i < kShortTests && !operations_exist; ++i)
        if (const auto status = weft_test(request, &done); done != 0 || status != WEFT_OK)
            return status;
    if (background == nullptr)
        return wait_interruptibly(
            [&](std::int64_t slice_ns) { return weft_wait_for(request, slice_ns); }, limit_s);
    const BackgroundDriver::Pause pause(*background);
    return wait_interruptibly(
        [&](std::int64_t slice_ns) {
            return poll_and_sleep(request, std::chrono::nanoseconds(slice_ns));
        },
        limit_s);
}

weft_status wait_for_request(JobObject& job, weft_request** request, CallObjects& objects) {
    try {
        return drive_until_complete(job.background(), request);
    } catch (...) {
        job.abandon(*request, std::move(objects));
        throw;
    }
}

TeamHandle::TeamHandle(std::shared_ptr<JobObject> job, weft_team* team, bool owned,
                       std::shared_ptr<TeamHandle> parent)
    : job_(std::move(job)),
      team_(team),
      owned_(owned),
      parent_(std::move(parent)),
      rank_(weft_rank(team)),
      size_(weft_size(team)) {}

TeamHandle::~TeamHandle() {
    if (owned_) job_->drop(team_, parent_ != nullptr);
}

std::shared_ptr<TeamHandle> TeamHandle::context() {
    const RuntimeCall entry(*job_);
    weft_team* made = nullptr;
    job_->check(call_short([&] { return weft_context_create(team_, 0, &made); }));
    return std::make_shared<TeamHandle>(job_, made, /*owned=*/true, shared_from_this());
}

std::shared_ptr<TeamHandle> TeamHandle::adopt(weft_team* team) const {
    return team == nullptr ? nullptr : std::make_shared<TeamHandle>(job_, team, /*owned=*/true);
}

std::shared_ptr<TeamHandle> TeamHandle::split(int color, int key) {
    const RuntimeCall entry(*job_);
    job_->meet(team_);
    weft_team* made = nullptr;
    job_->check(call_long([&] { return weft_team_split(team_, color, key, &made); }));
    return adopt(made);
}

std::shared_ptr<TeamHandle> TeamHandle::split_node() {
    const RuntimeCall entry(*job_);
    job_->meet(team_);
    weft_team* made = nullptr;
    job_->check(call_long([&] { return weft_team_split_node(team_, &made); }));
    return adopt(made);
}

void TeamHandle::revoke() {
    call_checked(*job_, [&] { return weft_team_revoke(team_); });
}

std::pair<std::uint64_t, int> TeamHandle::agree(std::uint64_t word) {
    int dead = 0;
    call_checked(*job_, [&] { return weft_agree(team_, &word, &dead); });
    return {word, dead};
}

std::shared_ptr<TeamHandle> TeamHandle::shrink() {
    weft_team* made = nullptr;
    call_checked(*job_, [&] { return weft_team_shrink(team_, &made); });
    return adopt(made);
}

std::vector<int> TeamHandle::dead() {
    const RuntimeCall entry(*job_);
    std::vector<int> ranks(members());
    int count = 0;
    job_->check(call_short([&] { return weft_team_dead(team_, ranks.data(), size_, &count); }));
    ranks.resize(static_cast<std::size_t>(count));
    return ranks;
}

void TeamHandle::free() {
    const RuntimeCall entry(*job_);
    if (parent_ == nullptr) job_->meet(team_);
    const auto end = parent_ != nullptr ? &weft_context_free : &weft_team_free;
    job_->quiet(context_or_null(), [&] { return call_long([&] { return end(team_); }); });
    owned_ = false;
}

std::shared_ptr<TeamHandle> TeamHandle::of_ranks(const std::shared_ptr<JobObject>& job,
                                                 const std::vector<int>& ranks,
                                                 RankExchange exchange) {
    const RuntimeCall entry(*job);
    weft_team* made = nullptr;
    exchange.expect(ranks.size());
    const auto status = call_long([&] {
        return weft_team_create(job->runtime(), ranks.data(), static_cast<int>(ranks.size()),
                                &RankExchange::call, &exchange, &made);
    });
    if (status != WEFT_OK) raise_error(status, weft_last_error(), exchange.take_exception());
    return std::make_shared<TeamHandle>(job, made, /*owned=*/true);
}

}  // namespace weft::python
