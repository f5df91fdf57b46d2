// SPDX-License-Identifier: BSD-3-Clause
// edges.cpp - rare legal calls have the host's results, and erroneous calls the host's errors.
//
// usage: edges   (under a launcher, with the layer preloaded)
//
// Idea     Each check makes calls of MPI. Expected error classes are constants where both libraries
//          agree, else those of the same PMPI call.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <vector>

namespace {

int rank = 0;
int size = 0;
int wrong = 0;

void check(bool right, const char* what) {
    if (!right && ++wrong <= 9) std::fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
}

std::size_t ranks() {
    return static_cast<std::size_t>(size);
}

int class_of(int code) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    return error_class;
}

/// Returns the sum of 1 over the members.
int count_members(MPI_Comm comm) {
    const int one = 1;
    int sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}

// --- legal calls ---------------------------------------------------------------------------------

int call_while_deleted(MPI_Comm comm, int, void*, void*) {
    check(count_members(comm) == size, "a call in the callback that deletes an attribute");
    return MPI_SUCCESS;
}

/// A communicator on which a call is made while it is deleted leaves no state for the next
/// communicator, which may have an equal handle.
void delete_with_calls() {
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, call_while_deleted, &key, nullptr);
    for (int round = 0; round < 40; ++round) {
        MPI_Comm copy = MPI_COMM_NULL;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Comm_set_attr(copy, key, nullptr);
        check(count_members(copy) == size, "a call before the attribute is deleted");
        MPI_Comm_free(&copy);
        MPI_Comm other = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, 0, round % 2 == 0 ? rank : -rank, &other);
        int other_rank = 0;
        MPI_Comm_rank(other, &other_rank);
        int value = other_rank == 0 ? round : -1;
        MPI_Bcast(&value, 1, MPI_INT, 0, other);
        check(value == round, "a broadcast on the next communicator");
        MPI_Comm_free(&other);
    }
    MPI_Comm_free_keyval(&key);
}

void fortran_types() {
    MPI_Datatype real = MPI_DATATYPE_NULL;
    MPI_Type_create_f90_real(6, MPI_UNDEFINED, &real);
    MPI_Datatype types[2];
    MPI_Type_vector(2, 1, 2, real, &types[0]);
    MPI_Type_contiguous(3, real, &types[1]);
    for (MPI_Datatype& type : types) {
        MPI_Type_commit(&type);
        float values[3] = {rank == 0 ? 1.0F : 0, 0, rank == 0 ? 2.0F : 0};
        MPI_Bcast(values, 1, type, 0, MPI_COMM_WORLD);
        check(values[0] == 1 && values[2] == 2, "a broadcast of a type made of MPI_REAL");
        MPI_Type_free(&type);
    }
}

/// The output of a reduce is only significant at the root.
void reduce_without_output() {
    int sum = 0;
    const int mine = rank + 1;
    MPI_Reduce(&mine, rank == 0 ? &sum : MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    check(rank != 0 || sum == size * (size + 1) / 2, "a reduce");
}

/// The statistics show that weft serves the started calls on a merged communicator.
void merge() {
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm between = MPI_COMM_NULL;
    MPI_Comm merged = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, (rank + 1) % 2, 0, &between);
    MPI_Intercomm_merge(between, rank % 2, &merged);
    for (int i = 0; i < 5; ++i) {
        int value = rank;
        int greatest = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Iscan(&value, &greatest, 1, MPI_INT, MPI_MAX, merged, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(greatest >= rank, "a started call on a merged communicator");
    }
    for (MPI_Comm* const comm : {&merged, &between, &half}) MPI_Comm_free(comm);
}

/// A started reduction of a type for which the layer has no kernel.
void start_combination() {
    const long double in[2] = {1, 2};
    long double out[2] = {};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(in, out, 1, MPI_C_LONG_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(out[0] == size && out[1] == 2 * size, "a started sum of long complex numbers");
}

// --- erroneous calls -----------------------------------------------------------------------------

MPI_Comm copy_with_returned_errors() {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    return copy;
}

/// The root's own block is longer than its output: bytes beyond the output must not change.
void scatter_too_much() {
    MPI_Comm comm = copy_with_returned_errors();
    int in[64] = {};
    int out[8];
    std::ranges::fill(out, -1);
    const int code = MPI_Scatter(in, 8, MPI_INT, out, rank == 0 ? 4 : 8, MPI_INT, 0, comm);
    check(class_of(code) == (rank == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "error of a scatter");
    check(rank != 0 || std::count(out + 4, std::end(out), -1) == 4, "bytes beyond a scatter");
    MPI_Comm_free(&comm);
}

/// No rank may pass MPI_IN_PLACE as the output of an allgather.
void gather_in_wrong_place() {
    MPI_Comm comm = copy_with_returned_errors();
    const int code = MPI_Allgather(&rank, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm);
    const int host = PMPI_Allgather(&rank, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm);
    check(class_of(code) == class_of(host), "error of MPI_IN_PLACE as an output");
    MPI_Comm_free(&comm);
}

void use_uncommitted_types() {
    MPI_Comm comm = copy_with_returned_errors();
    MPI_Datatype types[2];
    MPI_Type_vector(2, 1, 2, MPI_INT, &types[0]);
    MPI_Type_contiguous(3, MPI_INT, &types[1]);
    for (MPI_Datatype& type : types) {
        int values[3] = {};
        check(class_of(MPI_Bcast(values, 1, type, 0, comm)) == MPI_ERR_TYPE,
              "error of a type that is not committed");
        MPI_Type_commit(&type);
        check(MPI_Bcast(values, 1, type, 0, comm) == MPI_SUCCESS, "the type, committed");
        MPI_Type_free(&type);
    }
    MPI_Comm_free(&comm);
}

/// Makes a call on a communicator that returns errors, and checks the class of its error. The next
/// call on the communicator must be right.
template <class Make>
void expect_error(const char* what, int expected_class, Make make) {
    MPI_Comm comm = copy_with_returned_errors();
    const int code = make(comm);
    check(class_of(code) == expected_class, what);
    check(count_members(comm) == size, "a call after an erroneous one");
    MPI_Comm_free(&comm);
}

/// Makes a call through PMPI and through MPI. Both must return errors of the same class.
template <class Function, class Make>
void expect_error_of_host(const char* what, Function host, Function layer, Make make) {
    int of_host = MPI_SUCCESS;
    expect_error(what, MPI_SUCCESS, [&](MPI_Comm comm) {
        of_host = class_of(make(host, comm));
        return MPI_SUCCESS;
    });
    expect_error(what, of_host, [&](MPI_Comm comm) { return make(layer, comm); });
}

/// This rank sends itself more than it receives, by calls with a count for each rank.
void send_oneself_too_much() {
    std::vector<int> in(8 * ranks(), rank);
    std::vector<int> out(in.size(), -1);
    std::vector<int> counts(ranks(), 4);
    std::vector<int> places(ranks());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int>(8 * i);
    std::vector<int> longer = counts;
    longer[static_cast<std::size_t>(rank)] = 8;
    const int mine = rank == 0 ? 8 : 4;
    const int root_error = rank == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    expect_error("gatherv", root_error, [&](MPI_Comm comm) {
        return MPI_Gatherv(in.data(), mine, MPI_INT, out.data(), counts.data(), places.data(),
                           MPI_INT, 0, comm);
    });
    expect_error("scatterv", root_error, [&](MPI_Comm comm) {
        return MPI_Scatterv(in.data(), longer.data(), places.data(), MPI_INT, out.data(), 4,
                            MPI_INT, 0, comm);
    });
    expect_error("alltoallv", MPI_ERR_TRUNCATE, [&](MPI_Comm comm) {
        return MPI_Alltoallv(in.data(), longer.data(), places.data(), MPI_INT, out.data(),
                             counts.data(), places.data(), MPI_INT, comm);
    });
    expect_error("allgatherv", root_error, [&](MPI_Comm comm) {
        return MPI_Allgatherv(in.data(), mine, MPI_INT, out.data(), counts.data(), places.data(),
                              MPI_INT, comm);
    });
    for (std::size_t r = 0; r < ranks(); ++r)
        check(std::count(out.begin() + places[r] + 4, out.begin() + places[r] + 8, -1) == 4,
              "bytes beyond a block");
}

/// A user operation for elements of any extent, also negative.
void add_ints(void* in, void* inout, int* count, MPI_Datatype* type) {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_extent(*type, &lower, &extent);
    for (int i = 0; i < *count; ++i)
        *reinterpret_cast<int*>(static_cast<char*>(inout) + i * extent) +=
            *reinterpret_cast<int*>(static_cast<char*>(in) + i * extent);
}

void reduce_backwards() {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
    MPI_Type_create_resized(MPI_INT, 0, -8, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(add_ints, 1, &op);
    std::vector<int> in(40, 1);
    std::vector<int> out(40, -1);
    MPI_Allreduce(&in[38], &out[38], 20, type, op, MPI_COMM_WORLD);
    for (std::size_t i = 0; i < out.size(); ++i)
        check(out[i] == (i % 2 == 0 ? size : -1), "a reduction of elements with negative extent");
    MPI_Op_free(&op);
    MPI_Type_free(&type);
}

/// Ranks pass no displacements, or a null buffer. MPICH crashes without displacements, and Open MPI
/// at a null address.
void pass_null() {
#if defined(OPEN_MPI)
    std::vector<int> out(ranks());
    const std::vector<int> counts(ranks(), 1);
    expect_error_of_host(
        "no displacements", PMPI_Allgatherv, MPI_Allgatherv, [&](auto gather, MPI_Comm comm) {
            return gather(&rank, 1, MPI_INT, out.data(), counts.data(), nullptr, MPI_INT, comm);
        });
#else
    int out = 0;
    expect_error("a null input", MPI_ERR_BUFFER, [&](MPI_Comm comm) {
        return MPI_Allreduce(nullptr, &out, 1, MPI_INT, MPI_SUM, comm);
    });
    expect_error("a null buffer", MPI_ERR_BUFFER,
                 [&](MPI_Comm comm) { return MPI_Bcast(nullptr, 1, MPI_INT, 0, comm); });
#endif
}

#if !defined(OPEN_MPI)
int handled = 0;
void count_errors(MPI_Comm*, int*, ...) {
    ++handled;
}

/// The handler gets one error for a handle that is no communicator.
void use_invalid_communicator() {
    MPI_Errhandler counts = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(count_errors, &counts);
    const MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    MPI_Errhandler before[2];
    for (int i = 0; i < 2; ++i) MPI_Comm_get_errhandler(comms[i], &before[i]);
    for (const MPI_Comm comm : comms) MPI_Comm_set_errhandler(comm, counts);
    constexpr auto kInvalid = static_cast<MPI_Comm>(0x84000077);
    MPI_Barrier(kInvalid);
    check(handled == 1, "number of errors for an invalid communicator");
    for (int i = 0; i < 2; ++i) {
        MPI_Comm_set_errhandler(comms[i], before[i]);
        MPI_Errhandler_free(&before[i]);
    }
    MPI_Errhandler_free(&counts);
}
#endif

/// If ranks pass different sizes, at least the receiver gets MPI_ERR_TRUNCATE.
void send_others_too_much() {
    std::vector<int> in(16 * ranks(), rank);
    std::vector<int> out(in.size(), -1);
    std::vector<int> counts(ranks(), 4);
    std::vector<int> places(ranks());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int>(8 * i);
    const int at_others = rank == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
    const int at_root = rank == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    for (const int sent : {8, 2})
        expect_error("broadcast", at_others, [&](MPI_Comm comm) {
            return MPI_Bcast(in.data(), rank == 0 ? sent : 4, MPI_INT, 0, comm);
        });
    // MPI passes errors of its requests to the handler of MPI_COMM_WORLD.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect_error("started broadcast", at_others, [&](MPI_Comm comm) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ibcast(in.data(), rank == 0 ? 8 : 4, MPI_INT, 0, comm, &request);
        return MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    expect_error("gather", at_root, [&](MPI_Comm comm) {
        return MPI_Gather(in.data(), rank == 0 ? 4 : 8, MPI_INT, out.data(), 4, MPI_INT, 0, comm);
    });
    expect_error("gatherv", at_root, [&](MPI_Comm comm) {
        return MPI_Gatherv(in.data(), rank == 0 ? 4 : 8, MPI_INT, out.data(), counts.data(),
                           places.data(), MPI_INT, 0, comm);
    });
    expect_error("scatter", at_others, [&](MPI_Comm comm) {
        return MPI_Scatter(in.data(), 8, MPI_INT, out.data(), rank == 0 ? 8 : 4, MPI_INT, 0, comm);
    });
    expect_error_of_host("allgatherv", PMPI_Allgatherv, MPI_Allgatherv,
                         [&](auto gather, MPI_Comm comm) {
                             return gather(in.data(), rank == 0 ? 2 : 4, MPI_INT, out.data(),
                                           counts.data(), places.data(), MPI_INT, comm);
                         });
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    merge();
    start_combination();
    delete_with_calls();
    fortran_types();
    reduce_without_output();
    scatter_too_much();
    gather_in_wrong_place();
    use_uncommitted_types();
    send_oneself_too_much();
    reduce_backwards();
    pass_null();
    send_others_too_much();
#if !defined(OPEN_MPI)
    use_invalid_communicator();
#endif
    int all = 0;
    PMPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all == 0) std::puts("right");
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}
