// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/requests.hpp"

#define WEFT_MPI_ENTRY extern "C" __attribute__((visibility("default"))) int

using weft::mpi::test_for;
using weft::mpi::wait_for;

WEFT_MPI_ENTRY MPI_Wait(MPI_Request* request, MPI_Status* status) {
    return wait_for([&] { return PMPI_Wait(request, status); },
                    [&](int& result) {
                        int done = 0;
                        result = PMPI_Test(request, &done, status);
                        return done != 0 || result != MPI_SUCCESS;
                    });
}
WEFT_MPI_ENTRY MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    return wait_for([&] { return PMPI_Waitall(count, requests, statuses); },
                    [&](int& result) {
                        int done = 0;
                        result = PMPI_Testall(count, requests, &done, statuses);
                        return done != 0 || result != MPI_SUCCESS;
                    });
}
WEFT_MPI_ENTRY MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
    return wait_for([&] { return PMPI_Waitany(count, requests, index, status); },
                    [&](int& result) {
                        int done = 0;
                        result = PMPI_Testany(count, requests, index, &done, status);
                        return done != 0 || result != MPI_SUCCESS;
                    });
}
WEFT_MPI_ENTRY MPI_Waitsome(int count, MPI_Request* requests, int* done, int* indices,
                            MPI_Status* statuses) {
    return wait_for([&] { return PMPI_Waitsome(count, requests, done, indices, statuses); },
                    [&](int& result) {
                        result = PMPI_Testsome(count, requests, done, indices, statuses);
                        return *done != 0 || result != MPI_SUCCESS;
                    });
}
WEFT_MPI_ENTRY MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
    return test_for([&] { return PMPI_Test(request, done, status); });
}
WEFT_MPI_ENTRY MPI_Testall(int count, MPI_Request* requests, int* done, MPI_Status* statuses) {
    return test_for([&] { return PMPI_Testall(count, requests, done, statuses); });
}
WEFT_MPI_ENTRY MPI_Testany(int count, MPI_Request* requests, int* index, int* done,
                           MPI_Status* status) {
    return test_for([&] { return PMPI_Testany(count, requests, index, done, status); });
}
WEFT_MPI_ENTRY MPI_Testsome(int count, MPI_Request* requests, int* done, int* indices,
                            MPI_Status* statuses) {
    return test_for([&] { return PMPI_Testsome(count, requests, done, indices, statuses); });
}
WEFT_MPI_ENTRY MPI_Request_get_status(MPI_Request request, int* done, MPI_Status* status) {
    return test_for([&] { return PMPI_Request_get_status(request, done, status); });
}
