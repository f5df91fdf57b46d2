// SPDX-License-Identifier: BSD-3-Clause
// neighbors.cpp - compares each neighbor call of MPI with its PMPI twin on random topologies.
//
// usage: neighbors SEED CASES   (under a launcher, with the layer preloaded)
//
// Idea     All ranks draw the same grids and graphs, in which a rank can be a neighbor several
//          times, or its own neighbor. Each call is made blocking, started and persistent, and
//          repeated with its arguments: a persistent call is started twice. Every byte of the
//          buffers must agree with the twin.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "twin_calls.hpp"

namespace weft::test {
namespace {

int rank = 0;
int size = 0;
int wrong = 0;

constexpr int kKinds = 5;
const char* const kNeighborCalls[kKinds] = {"allgather", "allgatherv", "alltoall", "alltoallv",
                                            "alltoallw"};

int draw(Random& random, int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
}

MPI_Comm draw_grid(Random& shared) {
    const int dimensions = 1 + draw(shared, 3);
    std::vector<int> extents(static_cast<std::size_t>(dimensions), 0);
    std::vector<int> periods(extents.size());
    for (int& periodic : periods) periodic = draw(shared, 2);
    MPI_Dims_create(size, dimensions, extents.data());
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, extents.data(), periods.data(), 0, &comm);
    return comm;
}

/// Draws the edges of a directed graph; both ends list equal edges in an equal order.
MPI_Comm draw_graph(Random& shared) {
    std::vector<int> sources;
    std::vector<int> destinations;
    for (int edge = draw(shared, 4 * size); edge > 0; --edge) {
        const int from = draw(shared, size);
        const int to = draw(shared, size);
        if (from == rank) destinations.push_back(to);
        if (to == rank) sources.push_back(from);
    }
    MPI_Comm comm = MPI_COMM_NULL;
    const int none = 0;  // an address for empty lists
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(sources.size()),
                                   sources.empty() ? &none : sources.data(), MPI_UNWEIGHTED,
                                   static_cast<int>(destinations.size()),
                                   destinations.empty() ? &none : destinations.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    return comm;
}

/// Sets the numbers of sources and destinations; missing neighbors of a grid count.
void read_degrees(MPI_Comm comm, int& in, int& out) {
    int topology = 0;
    int weighted = 0;
    MPI_Topo_test(comm, &topology);
    if (topology == MPI_DIST_GRAPH) {
        MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
        return;
    }
    MPI_Cartdim_get(comm, &in);
    in *= 2;
    out = in;
}

/// Returns true if a member has different numbers of sources and destinations.
[[maybe_unused]] bool comm_has_unequal_degrees(MPI_Comm comm) {
    int in = 0;
    int out = 0;
    read_degrees(comm, in, out);
    const int mine = in != out ? 1 : 0;
    int any = 0;
    PMPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, comm);
    return any != 0;
}

/// Buffers and arguments of a call with equal blocks. The vectors have a value for each neighbor.
struct Blocks {
    int count;
    MPI_Datatype type;
    std::size_t extent;
    std::vector<int> counts, places;
    std::vector<MPI_Aint> addresses;
    std::vector<MPI_Datatype> types;
    Buffers buffers;

    Blocks(int degree, int elements, MPI_Datatype of_elements, Random& random)
        : count(elements), type(of_elements) {
        MPI_Aint lower = 0;
        MPI_Aint bytes = 0;
        MPI_Type_get_extent(type, &lower, &bytes);
        extent = static_cast<std::size_t>(bytes);
        const auto entries = static_cast<std::size_t>(degree) + 1;  // never empty
        counts.assign(entries, count);
        types.assign(entries, type);
        for (int i = 0; i <= degree; ++i) {
            const int place = (degree - i) * (count + 1);  // in reverse order, with gaps
            places.push_back(place);
            addresses.push_back(place * bytes);
        }
        buffers.fill(entries * static_cast<std::size_t>(count + 1) * extent + 64, random);
    }
};

void make(int call, Blocks& in, Blocks& out, MPI_Comm comm, bool host, Form form,
          MPI_Request* request) {
    const void* const from = in.buffers.at(host);
    void* const into = out.buffers.at(host);
    switch (call) {
        case 0:
            TWIN(Neighbor_allgather, Ineighbor_allgather, from, in.count, in.type, into, out.count,
                 out.type, comm);
            break;
        case 1:
            TWIN(Neighbor_allgatherv, Ineighbor_allgatherv, from, in.count, in.type, into,
                 out.counts.data(), out.places.data(), out.type, comm);
            break;
        case 2:
            TWIN(Neighbor_alltoall, Ineighbor_alltoall, from, in.count, in.type, into, out.count,
                 out.type, comm);
            break;
        case 3:
            TWIN(Neighbor_alltoallv, Ineighbor_alltoallv, from, in.counts.data(), in.places.data(),
                 in.type, into, out.counts.data(), out.places.data(), out.type, comm);
            break;
        default:
            TWIN(Neighbor_alltoallw, Ineighbor_alltoallw, from, in.counts.data(),
                 in.addresses.data(), in.types.data(), into, out.counts.data(),
                 out.addresses.data(), out.types.data(), comm);
    }
}

using Types = std::vector<MPI_Datatype>;

void check(int call, Form form, int count, Random& local, const Types& types, MPI_Comm comm) {
    int sources = 0;
    int destinations = 0;
    read_degrees(comm, sources, destinations);
    const auto kinds = static_cast<int>(types.size());
    Blocks in(destinations, count, types[static_cast<std::size_t>(draw(local, kinds))], local);
    Blocks out(sources, count, types[static_cast<std::size_t>(draw(local, kinds))], local);
    MPI_Request request = MPI_REQUEST_NULL;
    if (form != Form::persistent) {  // the next call repeats this call's arguments with other data
        const auto data = in.buffers.bytes[0];
        for (char& byte : in.buffers.bytes[0]) byte = static_cast<char>(~byte);
        make(call, in, out, comm, /*host=*/false, form, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        in.buffers.bytes[0] = data;
    }
    make(call, in, out, comm, /*host=*/false, form, &request);
    if (form != Form::blocking) MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (form == Form::persistent) {
        MPI_Startall(1, &request);
        int done = 0;
        while (done == 0) MPI_Testall(1, &request, &done, MPI_STATUSES_IGNORE);
        MPI_Request_free(&request);
    }
    make(call, in, out, comm, /*host=*/true, form, &request);
    if (form != Form::blocking) PMPI_Wait(&request, MPI_STATUS_IGNORE);
    if (out.buffers.bytes[0] == out.buffers.bytes[1]) return;
    if (++wrong <= 3)
        std::fprintf(
            stderr, "rank %d: %s, form %d, %d elements, %d sources, %d destinations: wrong\n", rank,
            kNeighborCalls[call], static_cast<int>(form), count, sources, destinations);
}

void run_case(Random& shared, Random& local, const Types& types, MPI_Comm comm) {
    int call = draw(shared, kKinds);
#if !defined(OPEN_MPI)  // MPICH 4.0.2 reads the counts of alltoallw as if these degrees were equal
    if (call == 4 && comm_has_unequal_degrees(comm)) call = 3;
#endif
    const auto form = static_cast<Form>(draw(shared, 3));
    const int count = draw(shared, 4) == 0 ? draw(shared, 3000) : draw(shared, 5);
    check(call, form, count, local, types, comm);
}

/// Makes short and long calls on a grid in which the ranks are neighbors several times. The layer
/// makes long calls in rounds, and returns to one call when they become short.
void run_rounds(Random& shared, Random& local, const Types& types) {
    const int extents[2] = {size % 2 == 0 ? size / 2 : size, size % 2 == 0 ? 2 : 1};
    const int periods[2] = {1, 1};
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Cart_create(MPI_COMM_WORLD, 2, extents, periods, 0, &comm);
    for (const int count : {12'000, 3, 9'000}) {
        for (int i = 0; i < 30; ++i)
            check(draw(shared, kKinds), Form::blocking, count, local, types, comm);
        check(3, Form::persistent, count, local, types, comm);
    }
    MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace weft::test

int main(int argc, char** argv) {
    using namespace weft::test;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const unsigned long seed = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1;
    const int cases = argc > 2 ? std::atoi(argv[2]) : 100;
    Random shared(seed);
    Random local(seed * 1000 + static_cast<unsigned long>(rank) + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    const Layouts layouts(MPI_DOUBLE, 3);
    for (int done = 0; done < cases; done += 10) {
        MPI_Comm comm = draw(shared, 2) == 0 ? draw_grid(shared) : draw_graph(shared);
        MPI_Barrier(comm);
        for (int i = 0; i < 10; ++i) run_case(shared, local, layouts.types, comm);
        MPI_Comm_free(&comm);
    }
    run_rounds(shared, local, {MPI_DOUBLE});
    int all_wrong = 0;
    PMPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all_wrong == 0) std::printf("%d ranks: %d cases agree\n", size, cases);
    MPI_Finalize();
    return all_wrong == 0 ? 0 : 1;
}
