// SPDX-License-Identifier: BSD-3-Clause
// entangled.cpp - programs in which a rank that waits in one runtime must also serve the other.
//
// usage: entangled PROGRAM ROUNDS   (3 ranks or more, with the layer preloaded)
//        entangled abort|killed 1   (a rank ends the job or is killed; the others wait in both)
//
// Fails    A program hangs if the two runtimes do not drive each other (WEFT_MPI_PROGRESS=off).
//          mpi_test.py selects protocols with which programs would: messages that need the sender's
//          progress, and a broadcast that ranks forward.
#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kLarge = 1 << 20;

int rank = 0;
int size = 0;
std::vector<char> buffer(kLarge);

/// Rank 0 waits in a barrier while the delivery of its message needs rank 0's progress.
void rendezvous() {
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0) MPI_Isend(buffer.data(), kLarge, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
    if (rank == 1)
        MPI_Recv(buffer.data(), kLarge, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/// Rank 1 must forward a broadcast while it waits in `between`, which ends when the other ranks
/// have the data.
template <class Between>
void forward(Between between) {
    MPI_Request request = MPI_REQUEST_NULL;
    std::memset(buffer.data(), rank == 0 ? 5 : 0, kLarge);
    MPI_Ibcast(buffer.data(), kLarge, MPI_CHAR, 0, MPI_COMM_WORLD, &request);
    if (rank == 1) between();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (buffer.back() != 5) std::abort();
    if (rank != 1) between();
}
void forward_in_receive() {
    forward([] {
        char word = 0;
        if (rank == 1) MPI_Recv(&word, 1, MPI_CHAR, size - 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == size - 1) MPI_Send(&word, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
    });
}
void forward_in_split() {
    forward([] {
        MPI_Comm part = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &part);
        MPI_Comm_free(&part);
    });
}
/// The members of a new communicator agree on its team in their first call on it.
void forward_in_first_call() {
    static MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &part);
    forward([] { MPI_Barrier(part); });
    MPI_Comm_free(&part);
}

/// Ranks put into the window of rank 0, which waits in a barrier.
void passive_target() {
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_create(buffer.data(), kLarge, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    std::vector<char> mine(kLarge / 2, 3);
    if (rank != 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Put(mine.data(), kLarge / 2, MPI_CHAR, 0, 0, kLarge / 2, MPI_CHAR, window);
        MPI_Win_unlock(0, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&window);
}

/// Frees communicators in a different order on each rank, with calls in flight.
void free_in_any_order() {
    std::vector<MPI_Comm> comms(3);
    std::vector<MPI_Request> requests(3);
    for (MPI_Comm& comm : comms) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Barrier(comm);
    }
    for (std::size_t i = 0; i < 3; ++i) MPI_Ibarrier(comms[i], &requests[i]);
    for (std::size_t i = 0; i < 3; ++i)
        MPI_Comm_free(&comms[(i + static_cast<std::size_t>(rank)) % 3]);
    MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE);
}

/// Rank 0 enters MPI_Finalize while the delivery of its message needs rank 0's progress.
/// MPI_Finalize detaches the buffer, so the buffer is static.
void leave_with_a_message() {
    static std::vector<char> attached(kLarge + MPI_BSEND_OVERHEAD);
    if (rank == 0) {
        MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size()));
        MPI_Bsend(buffer.data(), kLarge, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
    }
    if (rank == 1)
        MPI_Recv(buffer.data(), kLarge, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/// Rank 1 ends while the other ranks wait in calls of both libraries.
void end_suddenly(bool killed) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    if (rank == 1 && killed) std::raise(SIGKILL);
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 7);
    if (rank == 0) MPI_Recv(buffer.data(), 1, MPI_CHAR, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank > 1) MPI_Barrier(MPI_COMM_WORLD);
}

/// Two threads of each rank make calls, each thread on a communicator of its own.
void threads() {
    MPI_Comm comms[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
    for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const auto work = [&](int index) {
        for (int i = 0; i < 100; ++i) {
            int mine = rank + i;
            int sum = 0;
            MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comms[index]);
            if (sum != size * (size - 1) / 2 + size * i) std::abort();
            if (i % 10 == rank) std::this_thread::yield();
        }
    };
    std::thread other(work, rank % 2);
    work(1 - rank % 2);
    other.join();
    for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string program = argc > 1 ? argv[1] : "";
    int provided = 0;
    const bool threaded = program == "threads";
    MPI_Init_thread(&argc, &argv, threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < std::atoi(argv[2]); ++round) {
        if (program == "rendezvous") rendezvous();
        if (program == "receive") forward_in_receive();
        if (program == "split") forward_in_split();
        if (program == "first_call") forward_in_first_call();
        if (program == "passive") passive_target();
        if (program == "free") free_in_any_order();
        if (program == "abort" || program == "killed") end_suddenly(program == "killed");
        if (threaded && provided == MPI_THREAD_MULTIPLE) threads();
    }
    if (rank == 0) std::printf("%s: all rounds are over\n", program.c_str());
    std::fflush(stdout);
    if (program == "finalize") leave_with_a_message();
    MPI_Finalize();
    return 0;
}
