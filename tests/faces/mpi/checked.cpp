// SPDX-License-Identifier: BSD-3-Clause
// checked.cpp - a program for `weft mpi-check`: on two ranks, the layer serves 202 calls, two of
// them by its own combination of elements.
#include <mpi.h>

namespace {

/// Adds elements of a type for which the layer has no kernels.
void add_all(void* in, void* inout, int* count, MPI_Datatype*) {
    for (int i = 0; i < 3 * *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    double value = 1;
    double sum = 0;
    for (int i = 0; i < 100; ++i)
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Datatype three_ints = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(3, MPI_INT, &three_ints);
    MPI_Type_commit(&three_ints);
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(add_all, 1, &op);
    int in[3] = {1, 2, 3};
    int out[3] = {};
    MPI_Allreduce(in, out, 1, three_ints, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    MPI_Type_free(&three_ints);
    MPI_Finalize();
    return sum == 2 && out[2] == 6 ? 0 : 1;
}
