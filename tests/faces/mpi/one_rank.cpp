// SPDX-License-Identifier: BSD-3-Clause
// one_rank.cpp - properties of one rank alone never decide whether a call is served.
//
// usage: one_rank empty|huge|bottom|layout|unaligned|buffers|threads ROUNDS   (under a launcher)
//
// Idea     The ranks take turns as the odd rank. MPI allows the odd rank's arguments, but no other
//          rank passes such arguments. Every rank checks its data; the layer's statistics
//          show that weft served all calls. If one rank leaves a call to the host, the job hangs.
// Modes    empty: the odd rank passes 0 elements of MPI_DATATYPE_NULL at a null address. huge: it
//          passes 0 elements of a type above 2 GiB. bottom: it passes MPI_BOTTOM and a type
//          with absolute addresses. layout: it describes the same data by a type with gaps.
//          unaligned: it reduces from and to odd addresses. buffers: ROUNDS long calls in which
//          rank 0 alone has new buffers, then ROUNDS in which no rank has. threads: only rank 0
//          starts MPI with MPI_THREAD_MULTIPLE.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

int rank = 0;
int size = 0;
int odd = 0;
int wrong = 0;

void check(const char* call, double result, double expected) {
    if (result == expected) return;
    if (++wrong <= 3)
        std::fprintf(stderr, "rank %d: %s: %g, expected %g\n", rank, call, result, expected);
}

[[nodiscard]] bool is_odd() {
    return rank == odd;
}

std::size_t index_of(int number) {
    return static_cast<std::size_t>(number);
}

/// Makes a blocking call or, if `starts`, a started call that it completes.
template <class Blocking, class Started>
void make_call(bool starts, Blocking blocking, Started started) {
    if (!starts) {
        blocking();
        return;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    started(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// --- no elements ---------------------------------------------------------------------------------

/// Makes calls with a count for each rank: the odd rank sends and receives 0 elements of `type`.
void calls_without_elements(MPI_Datatype type, bool starts) {
    const auto n = index_of(size);
    std::vector<double> in(n, rank);
    std::vector<double> out(n, -1);
    std::vector<int> counts(n, 1);
    std::vector<int> places(n);
    for (int r = 0; r < size; ++r) places[index_of(r)] = r;
    counts[index_of(odd)] = 0;
    double one = -1;
    const int mine = is_odd() ? 0 : 1;
    const MPI_Datatype my_type = is_odd() ? type : MPI_DOUBLE;
    void* const my_in = is_odd() ? nullptr : in.data();
    void* const my_out = is_odd() ? nullptr : &one;
    const int root = (odd + 1) % size;
    make_call(
        starts,
        [&] {
            MPI_Gatherv(my_in, mine, my_type, out.data(), counts.data(), places.data(), MPI_DOUBLE,
                        root, MPI_COMM_WORLD);
        },
        [&](MPI_Request* request) {
            MPI_Igatherv(my_in, mine, my_type, out.data(), counts.data(), places.data(), MPI_DOUBLE,
                         root, MPI_COMM_WORLD, request);
        });
    for (int r = 0; r < size && rank == root; ++r)
        check("gatherv", out[index_of(r)], r == odd ? -1 : r);
    make_call(
        starts,
        [&] {
            MPI_Scatterv(in.data(), counts.data(), places.data(), MPI_DOUBLE, my_out, mine, my_type,
                         root, MPI_COMM_WORLD);
        },
        [&](MPI_Request* request) {
            MPI_Iscatterv(in.data(), counts.data(), places.data(), MPI_DOUBLE, my_out, mine,
                          my_type, root, MPI_COMM_WORLD, request);
        });
    check("scatterv", one, is_odd() ? -1 : root);
    out.assign(n, -1);
    make_call(
        starts,
        [&] {
            MPI_Allgatherv(my_in, mine, my_type, out.data(), counts.data(), places.data(),
                           MPI_DOUBLE, MPI_COMM_WORLD);
        },
        [&](MPI_Request* request) {
            MPI_Iallgatherv(my_in, mine, my_type, out.data(), counts.data(), places.data(),
                            MPI_DOUBLE, MPI_COMM_WORLD, request);
        });
    for (int r = 0; r < size; ++r) check("allgatherv", out[index_of(r)], r == odd ? -1 : r);
}

/// Makes exchanges in which the odd rank has no data: every rank passes `type` for empty blocks.
void exchanges_without_elements(MPI_Datatype type, bool starts) {
    const auto n = index_of(size);
    std::vector<double> in(n, rank);
    std::vector<double> out(n, -1);
    std::vector<int> counts(n, is_odd() ? 0 : 1);
    std::vector<int> places(n);
    std::vector<int> bytes(n);
    std::vector<MPI_Datatype> types(n, is_odd() ? type : MPI_DOUBLE);
    for (int r = 0; r < size; ++r) {
        places[index_of(r)] = r;
        bytes[index_of(r)] = r * static_cast<int>(sizeof(double));
    }
    counts[index_of(odd)] = 0;
    types[index_of(odd)] = type;
    const auto check_out = [&](const char* call) {
        for (int r = 0; r < size; ++r) check(call, out[index_of(r)], r == odd || is_odd() ? -1 : r);
        out.assign(n, -1);
    };
    make_call(
        starts,
        [&] {
            MPI_Alltoallw(in.data(), counts.data(), bytes.data(), types.data(), out.data(),
                          counts.data(), bytes.data(), types.data(), MPI_COMM_WORLD);
        },
        [&](MPI_Request* request) {
            MPI_Ialltoallw(in.data(), counts.data(), bytes.data(), types.data(), out.data(),
                           counts.data(), bytes.data(), types.data(), MPI_COMM_WORLD, request);
        });
    check_out("alltoallw");
    const MPI_Datatype mine = is_odd() ? type : MPI_DOUBLE;
    make_call(
        starts,
        [&] {
            MPI_Alltoallv(in.data(), counts.data(), places.data(), mine, out.data(), counts.data(),
                          places.data(), mine, MPI_COMM_WORLD);
        },
        [&](MPI_Request* request) {
            MPI_Ialltoallv(in.data(), counts.data(), places.data(), mine, out.data(), counts.data(),
                           places.data(), mine, MPI_COMM_WORLD, request);
        });
    check_out("alltoallv");
}

/// Makes calls of 0 elements on all ranks; the odd rank passes `type`.
void calls_without_data(MPI_Datatype type) {
    const MPI_Datatype mine = is_odd() ? type : MPI_DOUBLE;
    double in = 1;
    double out = -1;
    const std::vector<int> zeros(index_of(size), 0);
    MPI_Bcast(&in, 0, mine, odd, MPI_COMM_WORLD);
    MPI_Gather(&in, 0, mine, &out, 0, mine, odd, MPI_COMM_WORLD);
    MPI_Scatter(&in, 0, mine, &out, 0, mine, odd, MPI_COMM_WORLD);
    MPI_Allgather(&in, 0, mine, &out, 0, mine, MPI_COMM_WORLD);
    MPI_Alltoall(&in, 0, mine, &out, 0, mine, MPI_COMM_WORLD);
    MPI_Allreduce(&in, &out, 0, mine, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(&in, &out, 0, mine, MPI_SUM, odd, MPI_COMM_WORLD);
    MPI_Scan(&in, &out, 0, mine, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(&in, &out, 0, mine, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(&in, &out, 0, mine, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter(&in, &out, zeros.data(), mine, MPI_SUM, MPI_COMM_WORLD);
    check("calls without data", out, -1);
}

void without_elements(MPI_Datatype type, bool starts) {
    calls_without_elements(type, starts);
    exchanges_without_elements(type, starts);
    calls_without_data(type);
}

MPI_Datatype huge_type() {
    constexpr int kDoubles = 300000000;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(kDoubles, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

// --- other descriptions of the same data ---------------------------------------------------------

constexpr int kInts = 300;

/// Makes a type of every other int of a buffer: by offsets, or by absolute addresses.
MPI_Datatype type_with_gaps(const int* buffer, bool absolute) {
    MPI_Datatype ints = MPI_DATATYPE_NULL;
    MPI_Type_vector(kInts, 1, 2, MPI_INT, &ints);
    MPI_Datatype type = ints;
    if (absolute) {
        MPI_Aint address = 0;
        const int once = 1;
        MPI_Get_address(buffer, &address);
        MPI_Type_create_struct(1, &once, &address, &ints, &type);
        MPI_Type_free(&ints);
    }
    MPI_Type_commit(&type);
    return type;
}

/// Makes calls in which the odd rank's ints have gaps and the other ranks' ints are contiguous.
void calls_with_gaps(bool absolute, bool starts, int round) {
    std::vector<int> buffer(2 * index_of(kInts), -1);
    std::vector<int> all(index_of(size) * kInts, -1);
    MPI_Datatype type = type_with_gaps(buffer.data(), absolute);
    void* const at = is_odd() && absolute ? MPI_BOTTOM : buffer.data();
    const int count = is_odd() ? 1 : kInts;
    const MPI_Datatype mine = is_odd() ? type : MPI_INT;
    const auto element = [&](int i) -> int& { return buffer[index_of(is_odd() ? 2 * i : i)]; };
    const int root = (odd + round) % size;
    for (int i = 0; i < kInts; ++i) element(i) = rank == root ? round + i : -1;
    make_call(
        starts, [&] { MPI_Bcast(at, count, mine, root, MPI_COMM_WORLD); },
        [&](MPI_Request* request) { MPI_Ibcast(at, count, mine, root, MPI_COMM_WORLD, request); });
    for (int i = 0; i < kInts; ++i) check("broadcast", element(i), round + i);
    if (is_odd()) check("gap of a broadcast", buffer[1], -1);
    for (int i = 0; i < kInts; ++i) element(i) = rank * 1000 + i;
    make_call(
        starts, [&] { MPI_Allgather(at, count, mine, all.data(), kInts, MPI_INT, MPI_COMM_WORLD); },
        [&](MPI_Request* request) {
            MPI_Iallgather(at, count, mine, all.data(), kInts, MPI_INT, MPI_COMM_WORLD, request);
        });
    for (int r = 0; r < size; ++r)
        check("allgather", all[index_of(r) * kInts + kInts - 1], r * 1000 + kInts - 1);
    MPI_Scatter(all.data(), kInts, MPI_INT, at, count, mine, root, MPI_COMM_WORLD);
    check("scatter", element(kInts - 1), rank * 1000 + kInts - 1);
    MPI_Type_free(&type);
}

#if MPI_VERSION >= 4
/// Makes a call in which the odd rank's displacements are absolute addresses.
void alltoallw_with_addresses() {
    const auto n = index_of(size);
    std::vector<int> in(n);
    std::vector<int> out(n, -1);
    std::vector<MPI_Count> counts(n, 1);
    std::vector<MPI_Aint> from(n);
    std::vector<MPI_Aint> into(n);
    const std::vector<MPI_Datatype> types(n, MPI_INT);
    for (int r = 0; r < size; ++r) {
        in[index_of(r)] = rank * 1000 + r;
        from[index_of(r)] = into[index_of(r)] = static_cast<MPI_Aint>(sizeof(int)) * r;
        if (is_odd()) MPI_Get_address(&in[index_of(r)], &from[index_of(r)]);
        if (is_odd()) MPI_Get_address(&out[index_of(r)], &into[index_of(r)]);
    }
    MPI_Alltoallw_c(is_odd() ? MPI_BOTTOM : in.data(), counts.data(), from.data(), types.data(),
                    is_odd() ? MPI_BOTTOM : out.data(), counts.data(), into.data(), types.data(),
                    MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) check("addresses", out[index_of(r)], r * 1000 + rank);
}
#endif

void unaligned() {
    constexpr int kDoubles = 1000;
    const std::size_t shift = is_odd() ? 3 : 0;
    std::vector<char> in(kDoubles * sizeof(double) + 8);
    std::vector<char> out(in.size());
    for (int i = 0; i < kDoubles; ++i) {
        const double value = rank + i;
        std::memcpy(in.data() + shift + index_of(i) * sizeof value, &value, sizeof value);
    }
    for (const int count : {1, 10, kDoubles}) {
        MPI_Allreduce(in.data() + shift, out.data() + shift, count, MPI_DOUBLE, MPI_SUM,
                      MPI_COMM_WORLD);
        double last = 0;
        std::memcpy(&last, out.data() + shift + index_of(count - 1) * sizeof last, sizeof last);
        check("unaligned", last, size * (size - 1) / 2 + size * (count - 1));
    }
}

// --- long calls ----------------------------------------------------------------------------------

void long_calls(int rounds) {
    constexpr std::size_t kLong = std::size_t{1} << 16;
    std::vector<int> in(kLong + index_of(rounds), rank);
    std::vector<int> out(in.size());
    for (int round = 0; round < 2 * rounds; ++round) {
        const std::size_t shift = rank == 0 && round < rounds ? index_of(round) : 0;
        MPI_Allreduce(in.data() + shift, out.data() + shift, kLong, MPI_INT, MPI_SUM,
                      MPI_COMM_WORLD);
        check("long call", out[shift + kLong - 1], size * (size - 1) / 2);
    }
}

// --- threads -------------------------------------------------------------------------------------

/// Makes a call of ranks that started MPI with different thread levels.
void threads(int round) {
    int value = rank + round;
    int sum = 0;
    make_call(
        round % 2 != 0, [&] { MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); },
        [&](MPI_Request* request) {
            MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, request);
        });
    check("threads", sum, size * (size - 1) / 2 + size * round);
}

/// Returns true on rank 0, by the launcher's variables: MPI_Init has not been called yet.
bool is_rank_0() {
    for (const char* const name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
        if (const char* const value = std::getenv(name)) return std::strcmp(value, "0") == 0;
    return true;
}

void run_round(const std::string& mode, MPI_Datatype huge, int round) {
    const bool starts = round % 2 != 0;
    if (mode == "empty") without_elements(MPI_DATATYPE_NULL, starts);
    if (mode == "huge") without_elements(huge, starts);
    if (mode == "bottom") calls_with_gaps(/*absolute=*/true, starts, round);
    if (mode == "layout") calls_with_gaps(/*absolute=*/false, starts, round);
#if MPI_VERSION >= 4
    if (mode == "bottom") alltoallw_with_addresses();
#endif
    if (mode == "unaligned") unaligned();
    if (mode == "threads") threads(round);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 2 ? argv[1] : "";
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 0;
    int provided = 0;
    const bool multiple = mode == "threads" && is_rank_0();
    MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Datatype huge = huge_type();
    for (int round = 0; round < rounds; ++round) {
        odd = round % size;
        run_round(mode, huge, round);
    }
    if (mode == "buffers") long_calls(rounds);
    MPI_Type_free(&huge);
    int all_wrong = 0;
    PMPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all_wrong == 0) std::printf("%s: right\n", mode.c_str());
    MPI_Finalize();
    return all_wrong == 0 ? 0 : 1;
}
