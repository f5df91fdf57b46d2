// SPDX-License-Identifier: BSD-3-Clause
// sessions.cpp - a program that uses an MPI session and never calls MPI_Init.
#include <mpi.h>

#include <cstdio>

#if MPI_VERSION < 4

int main() {
    std::puts("this MPI has no sessions");
    return 0;
}

#else

namespace {

void add(void* in, void* inout, int* count, MPI_Datatype*) {
    for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

int wrong = 0;

void calls(MPI_Comm comm) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(add, 1, &op);
    for (int i = 0; i < 40; ++i) {
        const int mine = rank + i;
        int sum = 0;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, i % 2 == 0 ? MPI_SUM : op, comm);
        if (sum != size * (size - 1) / 2 + size * i) ++wrong;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (sum != size - 1) ++wrong;
        MPI_Barrier(comm);
    }
    MPI_Op_free(&op);
}

}  // namespace

int main() {
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "weft.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    calls(comm);
    int all = 0;
    int rank = 0;
    PMPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    if (rank == 0 && all == 0) std::puts("right");
    return all == 0 ? 0 : 1;
}

#endif
