// SPDX-License-Identifier: BSD-3-Clause
// bootstrap.hpp - how the ranks of a job exchange addresses before they can put.
//
// Idea     A rank publishes one business card (bytes), waits in a collecting fence, and reads the
//          cards of the others. After start-up only the non-blocking fence is used, and polled.
// Next     pmix_bootstrap.cpp for jobs under any PMIx host; loopback_bootstrap.cpp for one rank
//          without a launcher; caller_bootstrap.hpp for ranks that the caller has connected.
#pragma once

#include <cstddef>
#include <functional>
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
    /// Whether the process belongs to another library, whose handlers of signals stay.
    [[nodiscard]] virtual bool guest() const { return false; }

    /// Publishes `card` under `key` and waits until every rank has published its own under it
    /// (start-up only).
    [[nodiscard]] virtual base::Result<void> publish(std::string_view key,
                                                     std::span<const std::byte> card) = 0;
    /// The card that `rank` published under `key`.
    [[nodiscard]] virtual base::Result<std::vector<std::byte>> card(std::string_view key,
                                                                    Rank rank) = 0;

    /// This rank cannot start: the others learn why in their next exchange. Under a launcher the
    /// end of the process says so.
    virtual void give_up(std::string_view why) { (void)why; }
    /// Start-up is over on this rank: returns when it is on all, or when one has given up.
    virtual base::Result<void> agree() { return {}; }

    /// Starts a fence over all ranks that does not block; fence_ended() is true once it is over,
    /// also if it failed: then the next start_fence(), or finalize(), returns the reason. One at a
    /// time.
    virtual base::Result<void> start_fence() = 0;
    [[nodiscard]] virtual bool fence_ended() = 0;

    /// Ends the whole job with this exit status; the text reaches the launcher.
    [[noreturn]] virtual void abort(int status, std::string_view text) = 0;
    /// Leaves the job in good order. Called once, last.
    virtual base::Result<void> finalize() = 0;
};

/// Exit status of a job that aborts: the low byte of the caller's status. It may be 0, because
/// shmem_global_exit(0) ends a job that has succeeded.
[[nodiscard]] constexpr int exit_status_of_abort(int status) {
    return status & 0xff;
}

/// Joins the job that started this process: PMIx if its environment is there, else a job of one.
[[nodiscard]] base::Result<std::unique_ptr<Bootstrap>> join_job();
/// The rank of this process by the environment that a launcher has set: known before it joins.
[[nodiscard]] std::optional<Rank> rank_by_environment();
/// Version of the PMIx library, as it reports it.
[[nodiscard]] std::string pmix_version();

}  // namespace weft::link
