// SPDX-License-Identifier: BSD-3-Clause
// job.hpp - a runtime and its teams as Python objects, and the rules of calls from Python.
//
// Idea     Short calls keep the global interpreter lock (GIL); waits release it. A wait is cut into
//          slices, and Python's signal handlers run between them, so KeyboardInterrupt ends a wait.
// Holds    A call in flight whose Python object is gone stays in the job's list with its buffers
//          until it is complete. Later calls remove complete calls from the list.
//          When a Python operation exists, all calls release the GIL: the thread that runs the
//          operation needs it, and may hold the engine's lock.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "faces/python/background.hpp"
#include "faces/python/buffers.hpp"
#include "faces/python/connection.hpp"
#include "faces/python/errors.hpp"

namespace weft::python {

/// This process's membership in a job, shared by all objects of its runtime.
class JobObject {
  public:
    /// threads: "single" or "multiple" (weft_threads).
    explicit JobObject(const std::string& threads);
    /// Joins a job of `size` ranks that `connection` connects; serves several threads.
    JobObject(int rank, int size, Connection connection);
    ~JobObject();
    JobObject(const JobObject&) = delete;
    JobObject& operator=(const JobObject&) = delete;

    [[nodiscard]] weft_runtime* runtime() const { return runtime_; }
    [[nodiscard]] bool is_open() const { return runtime_ != nullptr; }

    /// Raises weft.Error unless status is WEFT_OK.
    void check(weft_status status) const {
        if (status != WEFT_OK) [[unlikely]]
            fail(status);
    }
    [[noreturn]] void fail(weft_status status) const;

    /// Ends the job; collective.
    void finalize();
    /// Starts a thread that drives calls in flight. The runtime must serve several threads.
    void drive_in_background();
    /// Returns that thread, or nullptr.
    [[nodiscard]] BackgroundDriver* background() const { return background_.get(); }
    /// Takes a call in flight and its buffers until the call is complete. counted: background()
    /// counts the call.
    void abandon(weft_request* request, CallObjects objects, bool counted = false);
    /// Keeps the buffer of a put or get in flight until a quiet(). context: the context of the
    /// call, or nullptr for calls through teams, which share one quiet().
    void keep_until_quiet(const weft_team* context, BufferView buffer) {
        kept_.push_back({context, std::move(buffer)});
    }
    /// Calls `wait`, which does a quiet() and returns a status, then releases the buffers that
    /// keep_until_quiet() kept before.
    template <typename Wait>
    void quiet(const weft_team* context, Wait wait) {
        auto mine = take_kept(context);
        try {
            check(wait());
        } catch (...) {
            for (auto& kept : mine) kept_.push_back(std::move(kept));
            throw;
        }
    }
    /// Ends a context, or drops a team, at the next call.
    void drop(weft_team* team, bool is_context);
    /// Waits until all members have come to the collective call that follows. KeyboardInterrupt can
    /// end this wait, but not the call itself.
    void meet(weft_team* team);

  private:
    friend class RuntimeCall;
    /// A request to free, or a team or context to end; the other pointer is null.
    struct Leftover {
        weft_request* request = nullptr;
        weft_team* team = nullptr;
        CallObjects objects = {};
        bool counted = false;  ///< background_ counts the request's call
        bool is_context = false;
    };
    struct KeptBuffer {
        const weft_team* context;  ///< as in keep_until_quiet()
        BufferView buffer;
    };
    std::vector<KeptBuffer> take_kept(const weft_team* context);
    bool end_context(weft_team* context);
    void sweep();

    weft_runtime* runtime_ = nullptr;
    bool multiple_;
    const pid_t process_;
    std::unique_ptr<Connection> connection_;  // null if a launcher connects the job
    std::unique_ptr<BackgroundDriver> background_;
    bool busy_ = false;  // a call is running; guarded by the GIL
    std::vector<Leftover> leftovers_;
    std::vector<KeptBuffer> kept_;
};

/// Marks the runtime as busy during a call, and frees objects of complete calls. Raises weft.Error
/// for a second call of a single-threaded runtime, by an operation, or by a thread during a wait.
class RuntimeCall {
  public:
    explicit RuntimeCall(JobObject& job);
    ~RuntimeCall() { job_.busy_ = false; }
    RuntimeCall(const RuntimeCall&) = delete;
    RuntimeCall& operator=(const RuntimeCall&) = delete;

  private:
    JobObject& job_;
};

/// Set when the first Python operation is made.
inline bool operations_exist = false;

/// Makes a call that does not wait.
template <typename Call>
auto call_short(Call call) {
    if (!operations_exist) return call();
    const py::gil_scoped_release released;
    return call();
}

/// Makes a call that may wait and cannot be interrupted.
template <typename Call>
auto call_long(Call call) {
    const py::gil_scoped_release released;
    return call();
}

/// Does call_long() as a RuntimeCall. Raises weft.Error if the call fails.
template <typename Call>
void call_checked(JobObject& job, Call call) {
    const RuntimeCall entry(job);
    job.check(call_long(call));
}

constexpr std::chrono::nanoseconds kWaitSlice = std::chrono::milliseconds(50);

/// Repeats `wait(timeout_ns)` until it returns another status than WEFT_ERR_TIMEOUT or the limit
/// (seconds) has passed. Raises exceptions of Python's signal handlers.
template <typename Wait>
weft_status wait_interruptibly(Wait wait, std::optional<double> limit_s = std::nullopt) {
    const auto begin = std::chrono::steady_clock::now();
    for (;;) {
        auto slice = kWaitSlice;
        if (limit_s) {
            const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
            const double left_ns = std::max(0.0, (*limit_s - passed.count()) * 1e9);
            if (left_ns < static_cast<double>(slice.count()))
                slice = std::chrono::nanoseconds(static_cast<std::int64_t>(left_ns));
        }
        const weft_status status = call_long([&] { return wait(slice.count()); });
        if (status != WEFT_ERR_TIMEOUT) return status;
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        if (slice != kWaitSlice) return status;
    }
}

/// Drives all calls until *request is complete, or until the limit (seconds) has passed. Returns
/// the call's status, or WEFT_ERR_TIMEOUT. background: the job's thread, paused for the wait; may
/// be null.
weft_status drive_until_complete(BackgroundDriver* background, weft_request** request,
                                 std::optional<double> limit_s = std::nullopt);

/// Drives all calls for some microseconds. Returns true if *request is complete; raises
/// weft.Error if it failed.
bool completes_shortly(JobObject& job, weft_request** request);

/// Waits for *request. If an exception ends the wait, the job takes the request and `objects`.
weft_status wait_for_request(JobObject& job, weft_request** request, CallObjects& objects);

/// A team, the world, or a context.
class TeamHandle : public std::enable_shared_from_this<TeamHandle> {
  public:
    /// owned: the destructor drops the team. parent: the team of a context, which it keeps alive.
    TeamHandle(std::shared_ptr<JobObject> job, weft_team* team, bool owned,
               std::shared_ptr<TeamHandle> parent = nullptr);
    ~TeamHandle();
    TeamHandle(const TeamHandle&) = delete;
    TeamHandle& operator=(const TeamHandle&) = delete;

    [[nodiscard]] const std::shared_ptr<JobObject>& job() const { return job_; }
    [[nodiscard]] weft_team* team() const { return team_; }
    /// Returns the handle if it is a context, else nullptr.
    [[nodiscard]] const weft_team* context_or_null() const { return parent_ ? team_ : nullptr; }
    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    [[nodiscard]] std::size_t members() const { return static_cast<std::size_t>(size_); }

    /// Each returns the new team, or null on ranks that are not in one. Collective.
    [[nodiscard]] std::shared_ptr<TeamHandle> split(int color, int key);
    [[nodiscard]] std::shared_ptr<TeamHandle> split_node();
    // See weft/failures.h. agree() returns the word and the number of dead members.
    void revoke();
    [[nodiscard]] std::pair<std::uint64_t, int> agree(std::uint64_t word);
    [[nodiscard]] std::shared_ptr<TeamHandle> shrink();
    [[nodiscard]] std::vector<int> dead();
    /// Ends the team; collective. Ends a context; not collective.
    void free();
    /// Makes a context of the team.
    [[nodiscard]] std::shared_ptr<TeamHandle> context();
    /// Makes a team of listed ranks of the world, by an exchange among them. Only they call it.
    static std::shared_ptr<TeamHandle> of_ranks(const std::shared_ptr<JobObject>& job,
                                                const std::vector<int>& ranks,
                                                RankExchange exchange);

  private:
    std::shared_ptr<TeamHandle> adopt(weft_team* team) const;

    std::shared_ptr<JobObject> job_;
    weft_team* team_;
    bool owned_;
    std::shared_ptr<TeamHandle> parent_;  ///< the team of a context
    int rank_;
    int size_;
};

}  // namespace weft::python
