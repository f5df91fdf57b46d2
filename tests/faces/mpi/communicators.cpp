// SPDX-License-Identifier: BSD-3-Clause
// communicators.cpp - a program with many communicators, windows or calls, as its mode selects.
//
// usage: communicators MODE COUNT   (under a launcher, with the layer)
//
// alive    COUNT communicators at once, with calls on all of them.
// churn    COUNT communicators made, used once and freed. Rank 0 prints the largest growth of a
//          rank's memory in KiB after the first tenth.
// operations  COUNT operations made, used once and freed; output as for churn.
// many     COUNT communicators of several groups alive at once, with calls on them in turn and at
//          random; output as for churn.
// started  A started and a persistent call as the first calls on each of 10 communicators, then
//          COUNT on one of them.
// orders   COUNT times, each rank starts and completes five persistent calls of a communicator in
//          an order of its own, by each of the functions that wait and test.
// window   COUNT times, rank 0 completes its accesses to the other ranks' windows and enters a
//          barrier. After the barrier, the first MPI_Win_test of each owner must succeed.
// own      COUNT calls on a duplicate of MPI_COMM_WORLD.
// costs    Rank 0 prints median times in ns: to duplicate and free a communicator, unused or used
//          once; of calls on MPI_COMM_SELF; of calls on two alternating one-rank communicators.
// stream   COUNT calls on MPI_COMM_WORLD.
// long     COUNT long calls on MPI_COMM_WORLD with the same buffers, then COUNT with new ones.
// reused   COUNT communicators one after another; on some ranks they get the handles of freed ones.
// overlap  COUNT calls whose blocks overlap, which MPI forbids; they must be executed anyway.
#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

int rank = 0;
int size = 0;
int wrong = 0;

void check_sum(MPI_Comm comm, int value) {
    const int mine = value * (rank + 1);
    int sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (sum != value * size * (size + 1) / 2) ++wrong;
}

void alive(int count) {
    std::vector<MPI_Comm> comms(static_cast<std::size_t>(count), MPI_COMM_NULL);
    for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int round = 1; round <= 3; ++round)
        for (int i = 0; i < count; ++i) check_sum(comms[static_cast<std::size_t>(i)], round + i);
    for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
    MPI_Comm again = MPI_COMM_NULL;  // uses resources of the freed communicators
    MPI_Comm_dup(MPI_COMM_WORLD, &again);
    for (int round = 1; round <= 3; ++round) check_sum(again, round);
    MPI_Comm_free(&again);
    if (rank == 0 && wrong == 0) std::printf("%d communicators: right\n", count);
}

/// Rank 0 gets the handle of a freed communicator for a new one, while the other ranks do not.
void reused(int value) {
    MPI_Comm first = MPI_COMM_NULL;
    MPI_Comm second = MPI_COMM_NULL;
    MPI_Comm between = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    for (int i = 0; i < 20; ++i) check_sum(first, value + i);
    if (rank == 0) MPI_Comm_dup(MPI_COMM_SELF, &between);
    MPI_Comm_free(&first);
    if (rank != 0) MPI_Comm_dup(MPI_COMM_SELF, &between);
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    for (int i = 0; i < 20; ++i) check_sum(second, value + 2 * i);
    MPI_Comm_free(&second);
    MPI_Comm_free(&between);
}

void long_calls(int count) {
    constexpr std::size_t kInts = std::size_t{1} << 16;
    std::vector<int> in(kInts + static_cast<std::size_t>(count), rank);
    std::vector<int> out(in.size());
    for (int call = 0; call < 2 * count; ++call) {
        const int shift = std::max(0, call - count);
        MPI_Allreduce(in.data() + shift, out.data() + shift, kInts, MPI_INT, MPI_SUM,
                      MPI_COMM_WORLD);
        if (out[static_cast<std::size_t>(shift) + kInts - 1] != size * (size - 1) / 2) ++wrong;
    }
}

void overlap() {
    const std::vector<int> counts(static_cast<std::size_t>(size), 2);
    const std::vector<int> places(static_cast<std::size_t>(size), 1);
    const int mine[2] = {5, 6};
    int all[4] = {1, 1, 1, 1};
    MPI_Allgatherv(mine, 2, MPI_INT, all, counts.data(), places.data(), MPI_INT, MPI_COMM_WORLD);
    if (all[0] != 1 || all[1] != 5 || all[2] != 6 || all[3] != 1) ++wrong;
}

long resident_kib() {
    long pages = 0;
    long resident = 0;
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) std::abort();
    std::fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

void churn(int count) {
    long before = 0;
    for (int i = 0; i < count; ++i) {
        MPI_Comm comm = MPI_COMM_NULL;
        if (i % 2 == 0) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (i % 2 != 0) MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
        check_sum(comm, i % 1000);
        MPI_Comm_free(&comm);
        if (i == count / 10) before = resident_kib();
    }
    const long growth = resident_kib() - before;
    long largest = 0;
    PMPI_Reduce(&growth, &largest, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0 && wrong == 0) std::printf("%d communicators: %ld KiB\n", count, largest);
}

/// Checks a reduction on a communicator of any members.
void check_members(MPI_Comm comm, int value) {
    int members = 0;
    int mine = 0;
    int sum = 0;
    MPI_Comm_size(comm, &members);
    MPI_Comm_rank(comm, &mine);
    mine += value;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (sum != members * (members - 1) / 2 + members * value) ++wrong;
}

void many(int count) {
    std::vector<MPI_Comm> comms(static_cast<std::size_t>(count), MPI_COMM_NULL);
    for (int i = 0; i < count; ++i) {
        MPI_Comm& comm = comms[static_cast<std::size_t>(i)];
        if (i % 4 == 0) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (i % 4 == 1) MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
        if (i % 4 == 2) MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
        if (i % 4 == 3) MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, &comm);
    }
    unsigned state = 1;
    for (int i = 0; i < count; ++i) check_members(comms[static_cast<std::size_t>(i)], i);
    const long before = resident_kib();
    for (int i = 0; i < 4 * count; ++i) {
        state = state * 1664525 + 1013904223;
        check_members(comms[(state >> 8) % comms.size()], i % 1000);
    }
    const long growth = resident_kib() - before;
    for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
    long largest = 0;
    PMPI_Reduce(&growth, &largest, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0 && wrong == 0) std::printf("%d communicators: %ld KiB\n", count, largest);
}

MPI_Request init_sum(const int& mine, int& sum, MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
#if MPI_VERSION >= 4
    MPI_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
#else
    MPIX_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
#endif
    return request;
}

void check_started(MPI_Comm comm, int value, bool persistent) {
    const int mine = value * (rank + 1);
    int sum = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    if (persistent) request = init_sum(mine, sum, comm);
    if (persistent) MPI_Start(&request);
    if (!persistent) MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (persistent) MPI_Request_free(&request);
    if (sum != value * size * (size + 1) / 2) ++wrong;
}

constexpr int kPersistent = 5;

/// Completes all active requests by one of six methods. Returns 1 if a result is wrong, else 0.
int complete(MPI_Request* requests, int count, int method) {
    int index = 0;
    int done = 0;
    int indices[kPersistent + 1];
    MPI_Status statuses[kPersistent + 1];
    switch (method % 6) {
        case 0:
            return MPI_Waitall(count, requests, statuses) == MPI_SUCCESS ? 0 : 1;
        case 1:
            while (done == 0) MPI_Testall(count, requests, &done, statuses);
            return 0;
        case 2:
            for (int left = count; left > 0; --left) {
                MPI_Waitany(count, requests, &index, statuses);
                if (index == MPI_UNDEFINED) return 1;
            }
            MPI_Waitany(count, requests, &index, statuses);
            return index == MPI_UNDEFINED ? 0 : 1;
        case 3:
            for (int left = count; left > 0; left -= done)
                MPI_Waitsome(count, requests, &done, indices, statuses);
            MPI_Testsome(count, requests, &done, indices, statuses);
            return done == MPI_UNDEFINED ? 0 : 1;
        case 4:
            for (int left = count; left > 0; left -= done)
                MPI_Testany(count, requests, &index, &done, statuses);
            return 0;
        default:
            for (int i = 0; i < count; ++i) {
                for (done = 0; done == 0;) MPI_Request_get_status(requests[i], &done, statuses);
                MPI_Test(&requests[i], &done, statuses);
                if (done == 0) return 1;
            }
            return 0;
    }
}

/// Rank 1 completes each persistent call before it starts the next one.
void orders(int count) {
    int mine[kPersistent];
    int sums[kPersistent];
    int message = 0;
    MPI_Request requests[kPersistent + 1];
    for (int i = 0; i < kPersistent; ++i) requests[i] = init_sum(mine[i], sums[i], MPI_COMM_WORLD);
    for (int round = 0; round < count; ++round) {
        for (int i = 0; i < kPersistent; ++i) mine[i] = (rank + 1) * (round + i);
        MPI_Irecv(&message, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[kPersistent]);
        MPI_Send(&round, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
        for (int i = 0; i < kPersistent; ++i) {
            MPI_Request& next = requests[(i + rank * 2) % kPersistent];
            MPI_Start(&next);
            if (rank == 1) wrong += complete(&next, 1, round + i);
        }
        const int first = rank == 1 ? kPersistent : 0;
        wrong += complete(requests + first, kPersistent + 1 - first, round);
        for (int i = 0; i < kPersistent; ++i)
            if (sums[i] != (round + i) * size * (size + 1) / 2) ++wrong;
        if (message != round) ++wrong;
    }
    for (int i = 0; i < kPersistent; ++i) MPI_Request_free(&requests[i]);
}

/// Rank 0 waits for a call that the other ranks have not started, and for a null request.
void wait_with_null() {
    const int mine = 1;
    int sum = 0;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) usleep(50'000);
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (sum != size) ++wrong;
}

void started(int count) {
    MPI_Comm comms[10];
    for (MPI_Comm& comm : comms) MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
    for (int i = 0; i < 10; ++i) check_started(comms[i], i, /*persistent=*/false);
    for (int i = 0; i < 10; ++i) check_started(comms[i], i, /*persistent=*/true);
    for (int i = 0; i < count; ++i) check_started(comms[0], i, i % 2 == 0);
    wait_with_null();
    for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

void add_ints(void* in, void* inout, int* count, MPI_Datatype*) {
    for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

void operations(int count) {
    long before = 0;
    for (int i = 0; i < count; ++i) {
        MPI_Op op = MPI_OP_NULL;
        int sum = 0;
        MPI_Op_create(add_ints, 1, &op);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
        MPI_Op_free(&op);
        if (sum != size * (size - 1) / 2) ++wrong;
        if (i == count / 10) before = resident_kib();
    }
    const long growth = resident_kib() - before;
    long largest = 0;
    PMPI_Reduce(&growth, &largest, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0 && wrong == 0) std::printf("%d operations: %ld KiB\n", count, largest);
}

void window(int count) {
    const int first = 0;
    int memory = 0;
    MPI_Win win = MPI_WIN_NULL;
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group others = MPI_GROUP_NULL;
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_get_group(win, &all);
    if (rank == 0) MPI_Group_excl(all, 1, &first, &others);
    if (rank != 0) MPI_Group_incl(all, 1, &first, &others);
    for (int i = 0; i < count; ++i) {
        int done = 1;
        if (rank == 0) MPI_Win_start(others, 0, win);
        if (rank != 0) MPI_Win_post(others, 0, win);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) MPI_Win_complete(win);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank != 0) MPI_Win_test(win, &done);
        if (done != 0) continue;
        ++wrong;
        MPI_Win_wait(win);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&others);
    MPI_Win_free(&win);
}

void own(int count) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < count; ++i) check_sum(comm, i);
    MPI_Comm_free(&comm);
    if (rank == 0 && wrong == 0) std::printf("%d calls: right\n", count);
}

/// Returns the median over 21 batches of the mean time of a run; each batch has `count` runs.
template <class Run>
double median_ns(int count, Run run) {
    constexpr int kBatches = 21;
    std::vector<double> times;
    for (int batch = 0; batch < kBatches; ++batch) {
        PMPI_Barrier(MPI_COMM_WORLD);
        const double begun = MPI_Wtime();
        for (int i = 0; i < count; ++i) run();
        times.push_back((MPI_Wtime() - begun) * 1e9 / count);
    }
    std::ranges::sort(times);
    return times[kBatches / 2];
}

void costs(int count) {
    const auto dup_and_free = [](bool uses) {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (uses) MPI_Barrier(comm);
        MPI_Comm_free(&comm);
    };
    const double unused = median_ns(count, [&] { dup_and_free(/*uses=*/false); });
    const double used = median_ns(count, [&] { dup_and_free(/*uses=*/true); });
    const double barrier = median_ns(1000 * count, [] { MPI_Barrier(MPI_COMM_SELF); });
    double in = 1;
    double out = 0;
    const double sum = median_ns(
        1000 * count, [&] { MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF); });
    // Two communicators, because the layer caches the last one.
    MPI_Comm single_rank[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
    for (MPI_Comm& comm : single_rank) MPI_Comm_dup(MPI_COMM_SELF, &comm);
    const double alternating = median_ns(500 * count, [&] {
        for (const MPI_Comm comm : single_rank) MPI_Barrier(comm);
    });
    for (MPI_Comm& comm : single_rank) MPI_Comm_free(&comm);
    if (rank == 0)
        std::printf(
            "dup_free %.0f dup_use_free %.0f self_barrier %.1f self_allreduce %.1f "
            "alternating_barrier %.1f ns\n",
            unused, used, barrier, sum, alternating / 2);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const std::string mode = argc > 2 ? argv[1] : "";
    const int count = argc > 2 ? std::atoi(argv[2]) : 0;
    if (mode == "own") own(count);  // without an earlier call on MPI_COMM_WORLD
    MPI_Barrier(MPI_COMM_WORLD);
    if (mode == "window") window(count);
    if (mode == "many") many(count);
    if (mode == "started") started(count);
    if (mode == "orders") orders(count);
    if (mode == "operations") operations(count);
    if (mode == "alive") alive(count);
    if (mode == "churn") churn(count);
    if (mode == "costs") costs(count);
    for (int i = 0; mode == "stream" && i < count; ++i) check_sum(MPI_COMM_WORLD, i);
    if (mode == "long") long_calls(count);
    for (int i = 0; mode == "reused" && i < count; ++i) reused(i);
    for (int i = 0; mode == "overlap" && i < count; ++i) overlap();
    int all_wrong = 0;
    PMPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all_wrong == 0 ? 0 : 1;
}
