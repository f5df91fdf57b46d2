// SPDX-License-Identifier: BSD-3-Clause
// spawned.cpp - collectives with a spawned process, on a communicator as large as MPI_COMM_WORLD.
//
// usage: spawned with|without   (two ranks, with the layer)
//
// Idea     Rank 0 spawns a process, with the layer preloaded or without it, and uses a merged
//          communicator of two members. Meanwhile rank 1 waits for a message. A layer that
//          confuses this pair with MPI_COMM_WORLD waits for rank 1.
// Holds    Rank 0 prints "right", or that this MPI cannot spawn processes here.
#include <mpi.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <string>
#include <vector>

namespace {

int wrong = 0;

/// Makes calls on the communicator of parent and child; both processes run this function.
void work(MPI_Comm pair) {
    constexpr int kLong = 50000;
    int rank = 0;
    MPI_Comm_rank(pair, &rank);
    std::vector<int> ints(kLong);
    for (int i = 0; i < 40; ++i) {
        const int mine = rank + i;
        int sum = -1;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, pair);
        if (sum != 1 + 2 * i) ++wrong;
        ints.assign(kLong, rank + i);
        MPI_Bcast(ints.data(), kLong, MPI_INT, i % 2, pair);
        if (ints.back() != i % 2 + i) ++wrong;
        MPI_Barrier(pair);
    }
}

void child(MPI_Comm parent) {
    MPI_Comm pair = MPI_COMM_NULL;
    MPI_Intercomm_merge(parent, 1, &pair);
    work(pair);
    MPI_Send(&wrong, 1, MPI_INT, 0, 0, parent);
    MPI_Comm_free(&pair);
    MPI_Comm_disconnect(&parent);
}

/// Spawns a child and makes calls with it. Returns false if no process could be spawned.
bool work_with_child(bool with_layer) {
    char path[PATH_MAX] = "";
    if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) return false;
    // Arguments of env, which starts the child without the layer.
    std::string words[] = {"-u", "LD_PRELOAD", path};
    char* env_words[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    MPI_Comm intercomm = MPI_COMM_NULL;
    int error = MPI_SUCCESS;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (MPI_Comm_spawn(with_layer ? path : "/usr/bin/env", with_layer ? MPI_ARGV_NULL : env_words,
                       1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &intercomm, &error) != MPI_SUCCESS)
        return false;
    MPI_Comm pair = MPI_COMM_NULL;
    MPI_Intercomm_merge(intercomm, 0, &pair);
    work(pair);
    int childs_wrong = 0;
    MPI_Recv(&childs_wrong, 1, MPI_INT, 0, 0, intercomm, MPI_STATUS_IGNORE);
    wrong += childs_wrong;
    MPI_Comm_free(&pair);
    MPI_Comm_disconnect(&intercomm);
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm parent = MPI_COMM_NULL;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        child(parent);
        MPI_Finalize();
        return 0;
    }
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int spawns = 1;
    if (rank == 0) {
        spawns = work_with_child(argc > 1 && std::string(argv[1]) == "with") ? 1 : 0;
        MPI_Send(&spawns, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&spawns, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 20; ++i) {
        const int mine = rank + i;
        int sum = -1;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (sum != 1 + 2 * i) ++wrong;
    }
    int all = 0;
    PMPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all == 0) std::puts(spawns != 0 ? "right" : "no process can be spawned");
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}
