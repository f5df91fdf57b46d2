// SPDX-License-Identifier: BSD-3-Clause
// conformance.cpp - compares each MPI collective with its PMPI twin on random arguments.
//
// usage: conformance SEED CASES   (under a launcher, with the layer preloaded)
//
// Idea     All ranks draw the same cases: communicator, collective, form, type, operation, count,
//          root, in place. Each rank draws the arguments that may differ: layouts with the same
//          signature, displacements. The MPI call and the PMPI call get equal buffers, and
//          afterwards every byte of the buffers must agree, padding excepted. Values are small
//          integers, so floating-point results are exact in any order.
// Holds    Three started or persistent calls on different communicators are in flight at a time,
//          together with messages. All kinds of wait and test complete them.
//          Rank 0 prints the number of cases. Cases that hit a fault of the host MPI are left out.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "twin_calls.hpp"

namespace weft::test {
namespace {

int my_rank = 0;
int wrong = 0;

std::size_t draw_below(Random& random, std::size_t limit) {
    return random() % limit;
}
int draw_int(Random& random, int limit) {
    return static_cast<int>(draw_below(random, static_cast<std::size_t>(limit)));
}

class Cases {
  public:
    explicit Cases(std::uint64_t seed)
        : shared_(seed), local_(seed * 1000 + static_cast<std::uint64_t>(my_rank) + 1) {
        for (MPI_Datatype base : {MPI_INT, MPI_DOUBLE, MPI_CHAR, MPI_SHORT})
            for (int units = 1; units <= 3; ++units) layouts_.emplace_back(base, units);
        for (const ElementType& base : derived_types()) element_types_.push_back(base);
        make_communicators();
    }
    void run(int cases);

  private:
    void make_communicators();
    void free_communicators();
    [[nodiscard]] std::size_t draw_count();
    void draw(Case& c, MPI_Comm comm, bool starts);
    void draw_reduction(Case& c);
    void draw_movement(Case& c);
    void draw_blocks(Case& c);
    MPI_Datatype draw_type(const Layouts& layouts, int& count);
    void place(std::vector<int>& places, const std::vector<int>& counts,
               const std::vector<MPI_Datatype>& types, bool in_bytes, Buffers& buffers);
    void check(Case& c) const;
    void run_started(std::vector<Case>& batch);
    void start_case(Case& c);
    void finish(std::vector<MPI_Request>& requests, int kind);

    Random shared_;
    Random local_;
    std::vector<Layouts> layouts_;
    std::vector<ElementType> element_types_ = reduction_types();
    std::vector<MPI_Comm> comms_;
};

void Cases::make_communicators() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    comms_ = {MPI_COMM_WORLD, MPI_COMM_SELF};
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    comms_.push_back(comm);
    MPI_Comm_split(MPI_COMM_WORLD, my_rank % 2, -my_rank, &comm);
    comms_.push_back(comm);
    MPI_Comm_split(MPI_COMM_WORLD, 0, (my_rank * 7 + 3) % size, &comm);
    comms_.push_back(comm);
    const int dims[2] = {size, 1};
    const int periods[2] = {1, 0};
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &comm);
    comms_.push_back(comm);
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group part = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    int first = 0;
    MPI_Group_excl(world, size > 2 ? 1 : 0, &first, &part);
    comm = MPI_COMM_NULL;
    if (size <= 2 || my_rank != 0) MPI_Comm_create_group(MPI_COMM_WORLD, part, 5, &comm);
    comms_.push_back(comm);
    MPI_Group_free(&part);
    MPI_Group_free(&world);
}

/// Frees the communicators, in a different order on each rank.
void Cases::free_communicators() {
    std::vector<MPI_Comm> order(comms_.begin() + 2, comms_.end());
    std::shuffle(order.begin(), order.end(), local_);
    for (MPI_Comm& comm : order)
        if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
}

std::size_t Cases::draw_count() {
    const std::size_t size_class = draw_below(shared_, 20);
    if (size_class < 2) return 0;
    if (size_class < 10) return 1 + draw_below(shared_, 4);
    if (size_class < 16) return 1 + draw_below(shared_, 200);
    if (size_class < 19) return 1 + draw_below(shared_, 3000);
    return 1 + draw_below(shared_, 20000);
}

/// Draws a type for `count` groups of `layouts.units` elements, and converts `count` to its unit.
MPI_Datatype Cases::draw_type(const Layouts& layouts, int& count) {
    const std::size_t index = draw_below(local_, layouts.types.size() + 1);
    if (index < layouts.types.size()) return layouts.types[index];
    count *= layouts.units;
    return layouts.plain;
}

void Cases::draw_reduction(Case& c) {
    const ElementType* drawn = &element_types_[draw_below(shared_, element_types_.size())];
#if !defined(OPEN_MPI)  // MPICH 4.0.2 writes beyond buffers of these types
    const bool scatters = c.call == kReduceScatter || c.call == kReduceScatterBlock;
    if (scatters && drawn->value == Value::derived) drawn = &element_types_.front();
#endif
    const ElementType& base = *drawn;
    const std::vector<MPI_Op> operations = operations_of(base);
    c.op = operations[draw_below(shared_, operations.size())];
    c.out_type = base.type;
    const auto count = draw_count();
    c.out_count = static_cast<int>(count);
    std::size_t elements = count;
    if (c.call == kReduceScatterBlock) elements *= static_cast<std::size_t>(c.size);
    if (c.call == kReduceScatter) {
        elements = 0;
        for (int r = 0; r < c.size; ++r) {
            c.out_counts.push_back(draw_int(shared_, c.out_count + 1));
            elements += static_cast<std::size_t>(c.out_counts.back());
        }
    }
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_extent(base.type, &lower, &extent);
    c.stride = static_cast<std::size_t>(extent);
#if defined(OPEN_MPI)  // Open MPI 4.1.4 also writes the blocks of other ranks
    if (c.call == kReduceScatter && c.op == composition) c.in_place = false;
#else  // MPICH 4.0.2 aborts: it calls memcpy() on overlapping blocks
    if (c.call == kReduceScatter && elements * c.stride >= 512 * 1024) c.in_place = false;
#endif
    c.compared = base.bytes;
    c.gap = base.gap;
    c.gap_end = base.gap_end;
    c.part = base.value == Value::complex ? base.bytes / 2 : 0;
    const std::size_t bytes = elements * c.stride;
    for (Buffers* buffers : {&c.in, &c.out}) {
        buffers->fill(bytes + 64, local_);
        for (std::size_t i = 0; i < elements; ++i)
            base.write(buffers->bytes[0].data() + i * c.stride,
                       draw_int(local_, c.op == MPI_PROD ? 2 : 4));
        buffers->bytes[1] = buffers->bytes[0];
    }
}

void Cases::draw_movement(Case& c) {
    const Layouts& layouts = layouts_[draw_below(shared_, layouts_.size())];
    const int count = static_cast<int>(draw_count());
    c.in_count = c.out_count = count;
    c.in_type = draw_type(layouts, c.in_count);
    c.out_type = draw_type(layouts, c.out_count);
    if (c.call == kAlltoall && c.in_place) {  // MPI requires equal type maps
        c.out_type = layouts.plain;
        c.out_count = count * layouts.units;
    }
    const auto bytes_for = [&](MPI_Datatype type, int units) {
        MPI_Aint lower = 0;
        MPI_Aint extent = 0;
        MPI_Aint true_extent = 0;
        MPI_Type_get_extent(type, &lower, &extent);
        MPI_Type_get_true_extent(type, &lower, &true_extent);
        const MPI_Aint blocks = c.call == kBcast ? 1 : c.size;
        return static_cast<std::size_t>(extent * units * blocks + true_extent) + 64;
    };
    c.in.fill(bytes_for(c.in_type, c.in_count), local_);
    c.out.fill(bytes_for(c.out_type, c.out_count), local_);
}

/// Places the blocks in random order with gaps. About half of the displacements are negative.
void Cases::place(std::vector<int>& places, const std::vector<int>& counts,
                  const std::vector<MPI_Datatype>& types, bool in_bytes, Buffers& buffers) {
    std::vector<std::size_t> order(counts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), local_);
    places.assign(counts.size(), 0);
    MPI_Aint next = 0;  // in bytes if `in_bytes`, else in extents
    MPI_Aint largest = 1;
    for (const std::size_t rank : order) {
        MPI_Aint lower = 0;
        MPI_Aint extent = 0;
        MPI_Type_get_extent(types[in_bytes ? rank : 0], &lower, &extent);
        largest = std::max(largest, extent);
        places[rank] = static_cast<int>(next);
        const int gap = draw_int(local_, 3);  // of 8 bytes or of elements, beyond the least gap
        next += counts[rank] * (in_bytes ? extent : 1) + (in_bytes ? 8 * (16 + gap) : 8 + gap);
    }
    const auto shift = static_cast<int>(in_bytes ? next / 2 / 8 * 8 : next / 2);
    for (int& displacement : places) displacement -= shift;
    const MPI_Aint unit = in_bytes ? 1 : largest;
    buffers.fill(static_cast<std::size_t>((next + 16) * unit + 256), local_);
    buffers.start = static_cast<std::size_t>(shift * unit);
}

void Cases::draw_blocks(Case& c) {
    const Layouts& layouts = layouts_[draw_below(shared_, layouts_.size())];
    const auto ranks = static_cast<std::size_t>(c.size);
    const auto limit = static_cast<int>(std::min<std::size_t>(draw_count(), 2000));
    // counts[from][to], in groups of elements; calls with blocks on one side only use row 0
    std::vector<std::vector<int>> counts(ranks, std::vector<int>(ranks));
    for (auto& row : counts)
        for (int& count : row) count = draw_int(shared_, limit + 1);
    const auto me = static_cast<std::size_t>(c.rank);
    const bool to_all = c.call == kAlltoallv || c.call == kAlltoallw;
    if (to_all && c.in_place)  // each rank sends and receives equal counts
        for (std::size_t a = 0; a < ranks; ++a)
            for (std::size_t b = 0; b < a; ++b) counts[a][b] = counts[b][a];
    const auto row = [&](bool sends) {
        std::vector<int> row_counts;
        for (std::size_t r = 0; r < ranks; ++r)
            row_counts.push_back(!to_all ? counts[0][r] : sends ? counts[me][r] : counts[r][me]);
        return row_counts;
    };
    const bool own_types = c.call == kAlltoallw;
    bool plain = to_all && c.in_place;  // MPI requires equal type maps
    // For allgatherv, Open MPI 4.1.4 selects the algorithm by the caller's type, so ranks may
    // choose differently. MPICH 4.0.2 cuts blocks into whole elements of the caller's type.
    plain = plain || c.call == kAllgatherv;
    const auto any_type = [&](int& count) {
        if (!plain) return draw_type(layouts, count);
        count *= layouts.units;
        return layouts.plain;
    };
    const auto draw_side = [&](std::vector<int>& into, std::vector<int>& places,
                               std::vector<MPI_Datatype>& types, MPI_Datatype& type,
                               Buffers& buffers, bool sends) {
        into = row(sends);
        int unit = 1;
        type = any_type(unit);
        for (int& count : into) {
            int factor = 1;
            types.push_back(own_types ? any_type(factor) : type);
            count *= own_types ? factor : unit;
        }
        place(places, into, types, own_types, buffers);
    };
    draw_side(c.in_counts, c.in_places, c.in_types, c.in_type, c.in, /*sends=*/true);
    draw_side(c.out_counts, c.out_places, c.out_types, c.out_type, c.out, /*sends=*/false);
    const auto one_block = [&](int& count, MPI_Datatype& type, Buffers& buffers) {
        count = counts[0][me];
        type = any_type(count);
        buffers.start = 0;
        buffers.fill(static_cast<std::size_t>(count + 4) * 64 + 64, local_);
    };
    if (c.call == kGatherv || c.call == kAllgatherv) one_block(c.in_count, c.in_type, c.in);
    if (c.call == kScatterv) one_block(c.out_count, c.out_type, c.out);
}

void Cases::draw(Case& c, MPI_Comm comm, [[maybe_unused]] bool starts) {
    c.comm = comm;
    MPI_Comm_rank(comm, &c.rank);
    MPI_Comm_size(comm, &c.size);
    c.call = draw_int(shared_, kCalls);
    // Calls of a single rank: Open MPI 4.1.4 multiplies displacements in bytes by extents, and
    // MPICH 4.0.2 ignores the displacements of allgatherv.
    if (c.call >= kGatherv && c.size == 1) c.call = kAlltoall;
#if defined(OPEN_MPI)
    // Open MPI 4.1.4: the started call reads types beyond the arrays.
    if (c.call == kAlltoallw && starts) c.call = kAlltoallv;
#endif
    c.root = draw_int(shared_, 1 << 20) % c.size;
    c.in_place = draw_below(shared_, 4) == 0;
#if defined(OPEN_MPI)
    // Open MPI 4.1.4: an in-place call with only zero counts takes no tag, and later calls hang.
    if (c.call == kAlltoallv && starts) c.in_place = false;
#else
    if (c.call == kReduce) c.in_place = false;  // MPICH 4.0.2: wrong result
#endif
    if (c.call == kBarrier) return;
    if (c.call >= kAllreduce && c.call <= kReduceScatter) return draw_reduction(c);
    if (c.call >= kGatherv) return draw_blocks(c);
    draw_movement(c);
}

/// Returns true if both results are zero at byte `at`: complex products may have zeros of any sign.
bool both_zero(const Case& c, std::size_t at) {
    const auto zero = [&](const std::vector<char>& bytes) {
        const char* const from = bytes.data() + at / c.part * c.part;
        double value = 0;
        float narrow = 0;
        if (c.part == sizeof narrow) std::memcpy(&narrow, from, sizeof narrow);
        if (c.part == sizeof value) std::memcpy(&value, from, sizeof value);
        return value + static_cast<double>(narrow) == 0;
    };
    return c.part != 0 && zero(c.out.bytes[0]) && zero(c.out.bytes[1]);
}

/// Compares the results of MPI and PMPI, except padding. Prints the first five wrong calls.
void Cases::check(Case& c) const {
    const std::vector<char>& weft_bytes = c.out.bytes[0];
    const std::vector<char>& host_bytes = c.out.bytes[1];
    const std::size_t bytes = weft_bytes.size();
    std::size_t at = 0;
    for (; at < bytes; ++at) {
        if (c.compared != 0 && c.compared < c.stride && at % c.stride >= c.compared) continue;
        if (c.gap_end != 0 && at % c.stride >= c.gap && at % c.stride < c.gap_end) continue;
        if (weft_bytes[at] != host_bytes[at] && !both_zero(c, at)) break;
    }
    if (at >= bytes && c.in.bytes[0] == c.in.bytes[1]) return;
    if (++wrong > 5) return;
    char type[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    if (c.compared != 0) MPI_Type_get_name(c.out_type, type, &length);
    std::fprintf(stderr,
                 "rank %d: %s of %d ranks, rank %d, root %d%s, %d %s: byte %zu of %zu differs\n",
                 my_rank, kNames[c.call], c.size, c.rank, c.root, c.in_place ? ", in place" : "",
                 c.out_count, type, at, bytes);
}

/// Completes the requests by one of six kinds of wait or test.
void Cases::finish(std::vector<MPI_Request>& requests, int kind) {
    const int count = static_cast<int>(requests.size());
    std::vector<int> indices(requests.size());
    int done = 0;
    int index = 0;
    switch (kind) {
        case 0:
            MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
            break;
        case 1:
            for (int i = 0; i < count; ++i)
                MPI_Waitany(count, requests.data(), &index, MPI_STATUS_IGNORE);
            break;
        case 2:
            while (done != MPI_UNDEFINED)
                MPI_Waitsome(count, requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
            break;
        case 3:
            while (done == 0) MPI_Testall(count, requests.data(), &done, MPI_STATUSES_IGNORE);
            break;
        case 4:
            for (MPI_Request& request : requests) {
                MPI_Status status;
                for (done = 0; done == 0;) MPI_Request_get_status(request, &done, &status);
                MPI_Wait(&request, &status);
            }
            break;
        default:
            for (MPI_Request& request : requests)
                for (done = 0; done == 0;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
}

/// Starts a case and frees its types while the call is in flight.
void Cases::start_case(Case& c) {
    const MPI_Datatype in_type = c.in_type;
    const MPI_Datatype out_type = c.out_type;
    const bool typed = c.call == kBcast || (c.call >= kGather && c.call <= kAlltoall);
    if (typed) MPI_Type_dup(in_type, &c.in_type);
    if (typed) MPI_Type_dup(out_type, &c.out_type);
    // MPICH 4.0.2: the host's persistent requests cannot be freed, and MPI_Testall refuses them.
    static const char* const mode = std::getenv("WEFT_MPI");
    static const bool is_off = mode != nullptr && std::string(mode) == "off";
    const bool starts = is_off || draw_below(shared_, 2) == 0;
    make_call(c, /*host=*/false, starts ? Form::started : Form::persistent);
    if (typed) MPI_Type_free(&c.in_type);
    if (typed) MPI_Type_free(&c.out_type);
    c.in_type = in_type;
    c.out_type = out_type;
}

void Cases::run_started(std::vector<Case>& batch) {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const std::size_t bytes = draw_below(shared_, 2) == 0 ? 8 : 300'000;  // eager, or by rendezvous
    const bool persistent = draw_below(shared_, 2) == 0;
    std::vector<char> sent(bytes, static_cast<char>(my_rank));
    std::vector<char> received(bytes);
    const auto count = static_cast<int>(bytes);
    const int from = (my_rank + 1) % size;
    const int to = (my_rank + size - 1) % size;
    std::vector<MPI_Request> requests(2);
    (persistent ? MPI_Recv_init : MPI_Irecv)(received.data(), count, MPI_CHAR, from, 7,
                                             MPI_COMM_WORLD, &requests[0]);
    if (persistent) MPI_Start(&requests[0]);
    for (Case& c : batch) {
        start_case(c);
        requests.push_back(c.requests[0]);
    }
    (persistent ? MPI_Send_init : MPI_Isend)(sent.data(), count, MPI_CHAR, to, 7, MPI_COMM_WORLD,
                                             &requests[1]);
    if (persistent) MPI_Startall(1, &requests[1]);
    finish(requests, draw_int(local_, 6));
    if (received.back() != static_cast<char>(from)) ++wrong;
    for (MPI_Request& request : requests)  // persistent requests remain
        if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    for (Case& c : batch) make_call(c, /*host=*/true, Form::started);
    for (Case& c : batch) PMPI_Wait(&c.requests[1], MPI_STATUS_IGNORE);
}

void Cases::run(int cases) {
    for (int done = 0; done < cases;) {
        const bool starts = draw_below(shared_, 3) == 0;
        std::vector<Case> batch(starts ? 3 : 1);
        const std::size_t first = draw_below(shared_, comms_.size());
        std::vector<Case> mine;
        for (std::size_t i = 0; i < batch.size(); ++i) {
            MPI_Comm const comm = comms_[(first + 2 * i) % comms_.size()];
            // A rank outside the communicator makes its call on MPI_COMM_SELF. The number of draws
            // depends on the size, so each rank sets the shared generator back and draws once.
            Random before = shared_;
            draw(batch[i], comm == MPI_COMM_NULL ? MPI_COMM_SELF : comm, starts);
            shared_ = before;
            shared_.discard(1);
        }
        done += static_cast<int>(batch.size());
        if (starts) {
            run_started(batch);
        } else {
            make_call(batch[0], /*host=*/false, Form::blocking);
            make_call(batch[0], /*host=*/true, Form::blocking);
        }
        for (Case& c : batch) check(c);
        if (draw_below(shared_, 200) == 0) {
            free_communicators();
            make_communicators();
        }
    }
    free_communicators();
}

}  // namespace
}  // namespace weft::test

int main(int argc, char** argv) {
    using namespace weft::test;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int cases = argc > 2 ? std::atoi(argv[2]) : 1000;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Op_create(compose, 0, &composition);
    Cases(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1).run(cases);
    MPI_Op_free(&composition);
    int all_wrong = 0;
    PMPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (my_rank == 0 && all_wrong == 0) std::printf("%d ranks: %d cases agree\n", size, cases);
    MPI_Finalize();
    return all_wrong == 0 ? 0 : 1;
}
