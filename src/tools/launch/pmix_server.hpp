// SPDX-License-Identifier: BSD-3-Clause
// pmix_server.hpp - the PMIx server that the launcher hosts for the ranks of one job.
//
// Idea     All ranks are clients of one server, which never communicates with another server.
//          Virtual nodes are only host names in the server's maps.
// Holds    The library calls back on its own thread. event_file() becomes readable after an abort
//          and, after report_joins(), when a rank joins. A process has one server, which exists
//          until the process ends: a limit of the library.
// Next     job.cpp, which owns the server.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "tools/launch/launch.hpp"

namespace weft::tools {

/// Returns a name of 128 random bits, which protects the job: the library accepts any TCP client
/// that names the job and a rank, and does not check its user. Only the environment of the ranks
/// contains the name.
[[nodiscard]] std::string random_job_name();

/// Makes the linker keep connection_gate.cpp, as no code of the project refers to its accept().
void keep_connection_gate();

struct AbortRequest {
    Rank rank = 0;
    int status = 0;
    std::string text;
};

/// State of a rank: outside before PMIx_Init(), left after PMIx_Finalize().
enum class Membership : std::uint8_t { outside, joined, left };

class PmixServer {
  public:
    /// Starts the server. It is never stopped: if clients have died during a call,
    /// PMIx_server_finalize() of PMIx 4.2.2 may wait forever for a lock of its ended thread.
    [[nodiscard]] static PmixServer* start(const JobOptions& job, const JobNames& names);

    /// Returns the variables ("NAME=value") with which a process joins as this rank.
    [[nodiscard]] const std::vector<std::string>& environment_of(Rank rank) const {
        return environments_[static_cast<std::size_t>(rank)];
    }

    /// Sets the process of a rank. The server checks in each fence whether a process has died. If
    /// so, the fence returns an error if the job keeps going; otherwise it never returns, and the
    /// launcher ends the ranks that wait in it.
    void set_process(Rank rank, pid_t pid) { processes_[static_cast<std::size_t>(rank)] = pid; }

    [[nodiscard]] Membership membership(Rank rank) const {
        return membership_[static_cast<std::size_t>(rank)];
    }
    [[nodiscard]] bool anyone_joined() const;
    /// From now on, event_file() also becomes readable when a rank joins.
    void report_joins() { reporting_joins_ = true; }
    [[nodiscard]] int event_file() const { return event_file_.number(); }
    [[nodiscard]] std::optional<AbortRequest> abort_request() const;  ///< the first, if any

  private:
    struct Callbacks;
    PmixServer(const JobOptions& job, const JobNames& names);
    /// Makes the calls of the PMIx library for start().
    void set_up(const JobOptions& job, const JobNames& names);
    void register_job(const JobOptions& job, const JobNames& names);
    void register_rank(Rank rank);
    [[nodiscard]] bool lost_a_rank() const;

    std::string name_;  ///< the PMIx namespace of the job
    bool keep_going_;
    base::FileDescriptor event_file_;
    std::vector<std::vector<std::string>> environments_;  ///< for each rank; filled by start()
    std::vector<std::atomic<pid_t>> processes_;           ///< for each rank; 0: not yet started
    std::vector<std::atomic<Membership>> membership_;
    // Sequentially consistent, like membership_: either anyone_joined() after report_joins()
    // returns true, or the callback for the joining rank reads true here.
    std::atomic<bool> reporting_joins_{false};
    mutable std::mutex mutex_;
    std::optional<AbortRequest> abort_request_;  ///< the first request; guarded by mutex_
};

}  // namespace weft::tools
