// SPDX-License-Identifier: BSD-3-Clause
// exact_sums.cpp - an MPI program whose plain sums lose small values. Rank 0 prints for each
// collective whether the sum is exact.
#include <mpi.h>

#include <cstdio>
#include <functional>
#include <vector>

namespace {

constexpr int kCount = 3;

/// Returns 2^80, 1 or -2^80: of three ranks, the first and the last cancel. Other ranks have 1.
double value_of(int rank, int size) {
    if (rank >= size / 3 * 3 || rank % 3 == 1) return 1;
    return rank % 3 == 0 ? 0x1p80 : -0x1p80;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const double expected = size - 2 * (size / 3);
    const std::vector<double> in(static_cast<std::size_t>(kCount * size), value_of(rank, size));
    std::vector<double> out(in.size());
    const auto show = [&](const char* name, MPI_Comm comm, const std::function<void()>& call) {
        for (int i = 0; i < 3; ++i) call();
        if (rank == 0)
            std::printf("%s%s: %s\n", name, comm == MPI_COMM_WORLD ? "" : " of a copy",
                        out[0] == expected ? "exact" : "rounded");
    };
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    for (MPI_Comm comm : {MPI_COMM_WORLD, copy}) {
        show("allreduce", comm,
             [&] { MPI_Allreduce(in.data(), out.data(), kCount, MPI_DOUBLE, MPI_SUM, comm); });
        show("complex allreduce", comm,
             [&] { MPI_Allreduce(in.data(), out.data(), 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, comm); });
        show("started allreduce", comm, [&] {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Iallreduce(in.data(), out.data(), kCount, MPI_DOUBLE, MPI_SUM, comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        });
        show("reduce", comm,
             [&] { MPI_Reduce(in.data(), out.data(), kCount, MPI_DOUBLE, MPI_SUM, 0, comm); });
        show("reduce_scatter_block", comm, [&] {
            MPI_Reduce_scatter_block(in.data(), out.data(), kCount, MPI_DOUBLE, MPI_SUM, comm);
        });
    }
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return 0;
}
