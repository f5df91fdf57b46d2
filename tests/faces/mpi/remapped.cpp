// SPDX-License-Identifier: BSD-3-Clause
// remapped.cpp - madvise() and mremap() treat buffers that weft has remapped as private memory.
//
// Bug      The layer is preloaded, so libweft.so comes after the C library in the search order, and
//          the program's calls did not reach it. In commit 9d518da MADV_DONTNEED kept the old data,
//          and memory extended by mremap() ended the program by SIGBUS, under both MPIs.
#include <mpi.h>
#include <sys/mman.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace {

constexpr int kInts = 1 << 18;
constexpr std::size_t kBytes = kInts * sizeof(int);

int* map_private() {
    return static_cast<int*>(
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

/// Repeats calls with the buffer, so that the layer remaps it.
void use(int* in, int* out, int value) {
    for (int call = 0; call < 40; ++call) {
        for (int i = 0; i < kInts; ++i) in[i] = value;
        MPI_Allreduce(in, out, kInts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

bool has_remapped_memory() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.find("weft-adopted") != std::string::npos) return true;
    return false;
}

}  // namespace

int main(int count, char** arguments) {
    MPI_Init(&count, &arguments);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int* const out = map_private();
    int* const cleared = map_private();
    use(cleared, out, rank + 1);
    const bool remapped = has_remapped_memory();
    ::madvise(cleared, kBytes, MADV_DONTNEED);
    const bool zeros = cleared[0] == 0 && cleared[kInts - 1] == 0;

    int* const moved_from = map_private();
    use(moved_from, out, rank + 1);
    void* const moved = ::mremap(moved_from, kBytes, 4 * kBytes, MREMAP_MAYMOVE);
    bool kept = moved != MAP_FAILED;
    if (kept) {
        int* const values = static_cast<int*>(moved);
        kept = values[0] == rank + 1 && values[kInts - 1] == rank + 1 && values[kInts] == 0;
        values[4 * kInts - 1] = 1;
    }
    const int mine[3] = {remapped, zeros, kept};
    int all[3] = {};
    MPI_Reduce(mine, all, 3, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
    if (rank == 0) std::printf("remapped %d, cleared %d, moved %d\n", all[0], all[1], all[2]);
    MPI_Finalize();
    return 0;
}
