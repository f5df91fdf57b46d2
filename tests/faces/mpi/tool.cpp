// SPDX-License-Identifier: BSD-3-Clause
// tool.cpp - a preloaded profiling tool that wraps MPI_Init and calls PMPI_Init, as most tools do.
#include <mpi.h>

extern "C" __attribute__((visibility("default"))) int MPI_Init(int* argc, char*** argv) {
    return PMPI_Init(argc, argv);
}
extern "C" __attribute__((visibility("default"))) int MPI_Init_thread(int* argc, char*** argv,
                                                                      int required, int* provided) {
    return PMPI_Init_thread(argc, argv, required, provided);
}
