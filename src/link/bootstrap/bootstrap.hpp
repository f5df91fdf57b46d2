// SPDX-License-Identifier: BSD-3-Clause
// bootstrap.hpp - exchange of addresses between the ranks of a job, before they can put.
//
// Idea     A rank publishes a card (bytes), waits until all ranks have published theirs, and reads
//          the other cards. After start-up, ranks synchronize only by the polled fence.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace weft::link {

class Bootstrap {
  public:
    virtual ~Bootstrap() = default;

    [[nodiscard]] virtual Rank rank() const = 0;
    [[nodiscard]] virtual Rank size() const = 0;

    /// Publishes a card under `key`, and waits until every rank has done so. Only at start-up.
    virtual base::Result<void> publish(std::string_view key, std::span<const std::byte> card) = 0;
    /// Returns the card that a rank has published under `key`.
    virtual base::Result<std::vector<std::byte>> card(std::string_view key, Rank rank) = 0;

    /// Reports that this rank cannot start. The next publish() or finish_startup() of each other
    /// rank fails with the reason. Does nothing under a launcher, which detects the end.
    virtual void give_up(std::string_view /*why*/) {}
    /// Ends start-up successfully. In a job of join_job_of_caller(), returns when all ranks have
    /// called finish_startup(), and fails if a rank has called give_up().
    virtual base::Result<void> finish_startup() { return {}; }

    /// Starts a non-blocking fence over all ranks. fence_ended() then returns true when the fence
    /// has ended or failed. After a failure, the next start_fence() or finalize() returns the
    /// reason. At most one fence is in flight.
    virtual base::Result<void> start_fence() = 0;
    [[nodiscard]] virtual bool fence_ended() = 0;

    /// Ends the job with this exit status. The launcher, or CallersJob::abort, receives the text.
    [[noreturn]] virtual void abort(int status, std::string_view text) = 0;
    /// Leaves the job. No other function may be called afterwards.
    virtual base::Result<void> finalize() = 0;
};

/// Returns the exit status of an aborted job: the low byte of `status`. It may be 0, because
/// shmem_global_exit(0) ends a successful job.
[[nodiscard]] constexpr int exit_status_of_abort(int status) {
    return status & 0xff;
}

/// Joins the job of this process: by PMIx if a launcher with PMIx started the process, else a
/// job of one rank. Fails under a launcher without PMIx that started several ranks.
base::Result<std::unique_ptr<Bootstrap>> join_job();
/// Returns true if this process has joined its job by PMIx before, and perhaps left it.
[[nodiscard]] bool has_joined_job();
/// Returns the rank in PMIX_RANK, or nullopt if no launcher with PMIx started the process.
[[nodiscard]] std::optional<Rank> rank_by_environment();
/// Returns the version of the PMIx library, such as "4.2.2rc2".
[[nodiscard]] std::string pmix_version();

/// A job whose ranks the caller has connected, by the functions of weft_bootstrap
/// (weft/bootstrap.h), in the same order. They must work while the Bootstrap exists.
struct CallersJob {
    Rank rank = 0;
    Rank size = 1;
    void* argument = nullptr;
    int (*exchange)(void* argument, const void* mine, void* all, std::size_t bytes) = nullptr;
    int (*fence_start)(void* argument) = nullptr;
    int (*fence_test)(void* argument, int* done) = nullptr;
    void (*abort)(void* argument, int status, const char* text) = nullptr;  ///< may be nullptr
};

[[nodiscard]] std::unique_ptr<Bootstrap> join_job_of_caller(const CallersJob& job);

}  // namespace weft::link
