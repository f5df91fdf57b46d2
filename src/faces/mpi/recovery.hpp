// SPDX-License-Identifier: BSD-3-Clause
// recovery.hpp - agreement of the members of a failed team about the call from which on the host
// serves them.
//
// Why      When members disagree about the size of a call, the team can no longer be used, but the
//          program may go on if its communicators return errors. Members notice the failure in
//          different calls: a rank that only sends may already have made later calls.
// Idea     Each member sends the number of the call in which it noticed the failure. The largest
//          number is the first call that all members can make with the host. Messages use the
//          layer's communicator: members may be in calls on different communicators.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace weft::mpi {

class Recovery {
  public:
    /// Sends `call`, the first call that this rank can still make, to all members, by their ranks
    /// in `comm`.
    Recovery(MPI_Comm comm, std::vector<int> members, std::int64_t serial, std::int64_t call);
    Recovery(const Recovery&) = delete;
    Recovery& operator=(const Recovery&) = delete;
    ~Recovery();  ///< gives up messages that have not arrived

    /// Waits up to kWaitSeconds for the members' messages, which they send in their next call.
    [[nodiscard]] bool agreed();
    [[nodiscard]] std::int64_t first_call() const;

  private:
    static constexpr double kWaitSeconds = 4;

    std::unique_ptr<std::int64_t> call_;  ///< the library may read it until all sends end
    std::vector<std::int64_t> calls_;     ///< of the members
    std::vector<MPI_Request> requests_;
};

}  // namespace weft::mpi
