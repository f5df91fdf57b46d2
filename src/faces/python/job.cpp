// SPDX-License-Identifier: BSD-3-Clause
#include "faces/python/job.hpp"

#include "faces/python/operations.hpp"

namespace weft::python {
namespace {

bool several_threads(const std::string& threads) {
    if (threads != "single" && threads != "multiple")
        refuse("threads: '" + threads + "', expected 'single' or 'multiple'");
    return threads == "multiple";
}

}  // namespace

JobObject::JobObject(const std::string& threads) : multiple_(several_threads(threads)) {
    const auto level = multiple_ ? WEFT_THREADS_MULTIPLE : WEFT_THREADS_SINGLE;
    check(call_long([&] { return weft_init_threads(level, &runtime_); }));
    py::module_::import("weft._errors").attr("this_rank") = weft_rank(weft_world(runtime_));
}

JobObject::~JobObject() {
    // Peers may still write to buffers of calls in flight, so these stay until the process ends.
    if (is_open()) new std::vector<Leftover>(std::move(leftovers_));
}

void JobObject::fail(weft_status status) const {
    raise_error(status, weft_last_error(), take_exception_of_operation());
}

void JobObject::finalize() {
    if (!is_open()) return;
    {
        const RuntimeCall entry(*this);
        meet(weft_world(runtime_));
        weft_runtime* const runtime = std::exchange(runtime_, nullptr);
        check(call_long([&] { return weft_finalize(runtime); }));
    }
    leftovers_.clear();
}

void JobObject::meet(weft_team* team) {
    weft_request* request = nullptr;
    // A team that has failed refuses the barrier; the caller's next call reports that.
    if (call_short([&] { return weft_ibarrier(team, &request); }) != WEFT_OK) return;
    CallObjects none;
    (void)wait_for_request(*this, &request, none);
}

void JobObject::abandon(weft_request* request, CallObjects objects) {
    if (is_open()) leftovers_.push_back({request, nullptr, std::move(objects)});
}

void JobObject::drop(weft_team* team) {
    if (is_open()) leftovers_.push_back({nullptr, team, {}});
}

void JobObject::sweep() {
    // Other threads and destructors of objects may add leftovers meanwhile.
    for (Leftover& leftover : std::exchange(leftovers_, {})) {
        int ended = 1;
        if (leftover.team != nullptr)
            (void)call_short([&] { return weft_team_drop(leftover.team); });
        else
            (void)call_short([&] { return weft_request_ended(leftover.request, &ended); });
        if (ended == 0)
            leftovers_.push_back(std::move(leftover));
        else if (leftover.request != nullptr)
            call_short([&] {
                // Frees a started request; a persistent one remains for the second call.
                (void)weft_test(&leftover.request, &ended);
                return weft_request_free(&leftover.request);
            });
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

weft_status drive_until_complete(weft_request** request, std::optional<double> limit_s) {
    constexpr int kTests = 32;  // about a microsecond
    int done = 0;
    for (int i = 0; i < kTests && !operations_exist; ++i)
        if (const auto status = weft_test(request, &done); done != 0 || status != WEFT_OK)
            return status;
    return wait_interruptibly(
        [&](std::int64_t slice_ns) { return weft_wait_for(request, slice_ns); }, limit_s);
}

weft_status wait_for_request(JobObject& job, weft_request** request, CallObjects& objects) {
    try {
        return drive_until_complete(request);
    } catch (...) {
        job.abandon(*request, std::move(objects));
        throw;
    }
}

TeamHandle::TeamHandle(std::shared_ptr<JobObject> job, weft_team* team, bool owned)
    : job_(std::move(job)),
      team_(team),
      owned_(owned),
      rank_(weft_rank(team)),
      size_(weft_size(team)) {}

TeamHandle::~TeamHandle() {
    if (owned_) job_->drop(team_);
}

std::shared_ptr<TeamHandle> TeamHandle::adopt(weft_team* team) const {
    return team == nullptr ? nullptr : std::make_shared<TeamHandle>(job_, team, true);
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

void TeamHandle::free() {
    const RuntimeCall entry(*job_);
    job_->meet(team_);
    job_->check(call_long([&] { return weft_team_free(team_); }));
    owned_ = false;
}

}  // namespace weft::python
