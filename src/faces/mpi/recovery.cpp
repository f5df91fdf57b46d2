// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/recovery.hpp"

#include <sched.h>

#include <algorithm>

namespace weft::mpi {

Recovery::Recovery(MPI_Comm comm, std::vector<int> members, std::int64_t serial, std::int64_t call)
    : call_(std::make_unique<std::int64_t>(call)),
      calls_(members.size()),
      requests_(2 * members.size()) {
    constexpr std::int64_t kTagMax = 32767;  // MPI allows at least this tag
    const int tag = static_cast<int>(serial % kTagMax);
    for (std::size_t i = 0; i < members.size(); ++i) {
        PMPI_Irecv(&calls_[i], 1, MPI_INT64_T, members[i], tag, comm, &requests_[2 * i]);
        PMPI_Isend(call_.get(), 1, MPI_INT64_T, members[i], tag, comm, &requests_[2 * i + 1]);
    }
}

Recovery::~Recovery() {
    bool sends = false;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        if (requests_[i] == MPI_REQUEST_NULL) continue;
        if (i % 2 == 0) {  // a receive: after the wait, the library no longer writes to calls_
            PMPI_Cancel(&requests_[i]);
            PMPI_Wait(&requests_[i], MPI_STATUS_IGNORE);
        } else {
            PMPI_Request_free(&requests_[i]);
            sends = true;
        }
    }
    if (sends) static_cast<void>(call_.release());
}

bool Recovery::agreed() {
    const double end = PMPI_Wtime() + kWaitSeconds;
    int done = 0;
    do {
        PMPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                     MPI_STATUSES_IGNORE);
        if (done == 0) sched_yield();
    } while (done == 0 && PMPI_Wtime() < end);
    return done != 0;
}

std::int64_t Recovery::first_call() const {
    return *std::ranges::max_element(calls_);
}

}  // namespace weft::mpi
