// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/prepared.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string_view>
#include <utility>

#include "faces/mpi/host.hpp"

namespace weft::mpi {

namespace {

/// Returns true if the host refuses equal addresses of input and output.
bool refuses_aliases() {
    static const bool refuses = [] {
        if (kIsOpenMpi) return false;
        const char* const given = secure_getenv("MPIR_CVAR_COLL_ALIAS_CHECK");
        const std::string_view value(given == nullptr ? "" : given);
        return value != "0" && value != "no" && value != "false" && value != "off";
    }();
    return refuses;
}

}  // namespace

bool PreparedCall::is_alias(const void* in, const void* out, std::ptrdiff_t offset) const {
    return in != MPI_IN_PLACE && in != MPI_BOTTOM && in == at(out, offset) && refuses_aliases();
}

bool PreparedCall::set_root(int root) {
    root_ = root;
    return root >= 0 && root < member_.size;
}

// --- movement ------------------------------------------------------------------------------------

Why PreparedCall::broadcast(const Elements& buffer, int root) {
    if (!set_root(root)) return Why::arguments;
    const Why why = set(root_is(root) ? in_ : out_, buffer);
    if (root_is(root)) out_.memory = in_.memory;
    return why;
}

/// Returns true if the host refuses `one`, because it is this rank's block of `all`. Compares what
/// MPICH compares: it refuses equal addresses only if types and counts are equal, too.
bool PreparedCall::is_alias_of_block(const Elements& one, const RankBlocks& all) const {
    const auto me = static_cast<std::size_t>(member_.rank);
    if (one.count == 0 || !all.have_arrays() || all.type(0) != one.type || all.count(me) == 0)
        return false;
    if (all.are_equal() ? all.count(me) != one.count : !all.have_displacements()) return false;
    const auto size = static_cast<std::ptrdiff_t>(count_) / static_cast<std::ptrdiff_t>(one.count);
    return is_alias(one.memory, all.memory(), all.offset(me, size));
}

/// Compares the bytes that this rank sends to itself with those that it receives. On one rank, the
/// host reports a difference. Else the call is made, because other members make it, and finish()
/// reports data that is too long; `rooms` is not 0 if equal blocks then need memory for all data.
Why PreparedCall::check_own_block(std::size_t in_bytes, std::size_t out_bytes, int rooms) {
    if (in_bytes == out_bytes) return Why::served;
    if (member_.size == 1) return Why::arguments;
    truncates_ = in_bytes > out_bytes;
    const auto me = static_cast<std::size_t>(member_.rank);
    if (in_.counts.empty() && out_.counts.empty()) {
        if (!truncates_ || rooms == 0) return Why::served;
        out_.packings.clear();
        out_.make_room(in_bytes * static_cast<std::size_t>(rooms));
        count_ = in_bytes;
    } else if (kind_ == CallKind::allgatherv) {
        // The members then disagree about the counts. A longer block is cut.
        if (!truncates_) out_.counts[me] = in_bytes;
    } else {
        count_ = std::min(in_bytes, out_bytes);
        if (!in_.counts.empty()) in_.counts[me] = count_;
        if (!out_.counts.empty()) out_.counts[me] = count_;
    }
    return Why::served;
}

Why PreparedCall::gather(const Elements& in, const RankBlocks& out, int root) {
    const bool in_place = in.memory == MPI_IN_PLACE;
    if (!set_root(root) || (in_place && !root_is(root))) return Why::arguments;
    Why why = in_place ? Why::served : set(in_, in);
    if (why != Why::served || !root_is(root)) return why;
    const std::size_t in_bytes = count_;
    if (is_alias_of_block(in, out)) return Why::arguments;
    why = set_all(out_, out);
    if (in_place) keep_own_block();
    if (why != Why::served || in_place) return why;
    const auto me = static_cast<std::size_t>(member_.rank);
    return check_own_block(in_bytes, out_.counts.empty() ? count_ : out_.counts[me], member_.size);
}

/// In place, this rank's block of the output is also its input.
void PreparedCall::keep_own_block() {
    in_.memory = WEFT_IN_PLACE;
    if (out_.packings.empty()) return;
    const bool equal_blocks = out_.counts.empty();
    Packing own = out_.packings[equal_blocks ? 0 : static_cast<std::size_t>(member_.rank)];
    if (equal_blocks) {
        own.count /= member_.size;
        own.memory = at(own.memory, own.count * member_.rank * own.facts.extent);
        own.packed += own.bytes() * static_cast<std::size_t>(member_.rank);
    }
    in_.packings.push_back(own);
}

Why PreparedCall::scatter(const RankBlocks& in, const Elements& out, int root) {
    const bool in_place = out.memory == MPI_IN_PLACE;
    if (!set_root(root) || (in_place && !root_is(root))) return Why::arguments;
    Why why = in_place ? Why::served : set(out_, out);
    if (in_place) out_.memory = WEFT_IN_PLACE;
    if (why != Why::served || !root_is(root)) return why;
    const std::size_t out_bytes = count_;
    if (is_alias_of_block(out, in)) return Why::arguments;
    why = set_all(in_, in);
    if (why != Why::served || in_place) return why;
    const auto me = static_cast<std::size_t>(member_.rank);
    return check_own_block(in_.counts.empty() ? count_ : in_.counts[me], out_bytes, 1);
}

/// In place, results overwrite the data, so a copy of the data is sent.
Why PreparedCall::alltoall(const RankBlocks& in, const RankBlocks& out) {
    const bool in_place = in.memory() == MPI_IN_PLACE;
    keeps_input_ = !in_place;
    if (out.memory() == MPI_IN_PLACE) return Why::arguments;
    if (is_alias(in.memory(), out.memory(), 0) && in.has_layout_of(out)) return Why::arguments;
    Why why = set_all(in_, in_place ? out : in, in_place);
    const auto me = static_cast<std::size_t>(member_.rank);
    const std::size_t in_bytes = in_.counts.empty() ? count_ : in_.counts[me];
    if (why == Why::served) why = set_all(out_, out);
    if (why != Why::served) return why;
    return check_own_block(in_bytes, out_.counts.empty() ? count_ : out_.counts[me], 0);
}

// --- neighbors -----------------------------------------------------------------------------------

/// Calls set_in(data, round) and sets the output, for each round, unless the arguments are those of
/// the last call, whose preparation still holds.
template <class SetIn>
Why PreparedCall::set_neighbors(const RankBlocks& in, std::size_t in_blocks, const RankBlocks& out,
                                BlockUse use, SetIn set_in) {
    const Entries& sources = neighbors_->sources();
    const int rounds = neighbors_->rounds(kind_, form_);
    given_arguments_.assign(1, rounds);
    const bool comparable = form_ != Form::persistent &&
                            in.append_to(given_arguments_, in_blocks) &&
                            out.append_to(given_arguments_, sources.of_block.size());
    if (comparable && given_arguments_ == arguments_) return Why::served;
    arguments_.clear();
    in_ = {};
    out_ = {};
    later_rounds_.clear();
    later_rounds_.resize(static_cast<std::size_t>(rounds - 1));
    Why why = Why::served;
    int round = 0;
    for_each_round([&](CallData& from, CallData& to) {
        use.round = rounds == 1 ? BlockUse::kAllRounds : round++;
        if (why == Why::served) why = set_in(from, use.round);
        if (why == Why::served) why = to.set_blocks(out, sources, use);
    });
    if (why == Why::served && comparable) arguments_.swap(given_arguments_);
    return why;
}

Why PreparedCall::neighbor_allgather(const Elements& in, const RankBlocks& out) {
    if (neighbors_ == nullptr) return Why::arguments;
    return set_neighbors(in, 1, out, {.receives = true, .shares = true},
                         [&](CallData& data, int) { return set(data, in); });
}

Why PreparedCall::neighbor_alltoall(const RankBlocks& in, const RankBlocks& out) {
    if (neighbors_ == nullptr) return Why::arguments;
    const Entries& destinations = neighbors_->destinations();
    return set_neighbors(in, destinations.of_block.size(), out,
                         {.receives = true, .order = neighbors_->order(kind_, form_)},
                         [&](CallData& data, int round) {
                             return data.set_blocks(in, destinations, {.round = round});
                         });
}

// --- reductions ----------------------------------------------------------------------------------

/// MPI guarantees that all members pass the same count, type and operation (MPI 4.0, 6.9.1).
Why PreparedCall::all_reduce(const void* in, const Elements& out, MPI_Op op) {
    const bool has_result = kind_ != CallKind::reduce || root_is(root_);
    in_.memory = in == MPI_IN_PLACE ? WEFT_IN_PLACE : const_cast<void*>(in);
    keeps_input_ = in != MPI_IN_PLACE;
    if (has_result) out_.memory = const_cast<void*>(out.memory);
    if (out.count == 0) return Why::served;
    TypeFacts* const facts = facts_for(out.count, out.type);
    if (facts == nullptr || op == MPI_OP_NULL) return Why::arguments;
    if (has_result && (is_no_memory(out.memory, *facts) || is_alias(in, out.memory, 0)))
        return Why::arguments;
    if (in != MPI_IN_PLACE && is_no_memory(in, *facts)) return Why::arguments;
    Reduction how = reduction_for(op, out.type, *facts, form_ != Form::blocking);
    if (how.method == Reduction::Method::refused)
        return facts->element ? Why::operation : Why::type;
    operation_ = std::move(how.keeps);
    if (how.method == Reduction::Method::combined) return prepare_combination(in, out, op);
    op_ = how.op;
    type_ = how.type;
    element_bytes_ = weft_type_size(how.type);
    count_ = static_cast<std::size_t>(out.count);
    // weft writes all bytes of an element; gaps of the program's elements must not change.
    const bool keeps_gaps =
        !facts->contiguous && has_result && !(kind_ == CallKind::exscan && member_.rank == 0);
    const bool is_scattered =
        kind_ == CallKind::reduce_scatter || kind_ == CallKind::reduce_scatter_block;
    if (keeps_gaps && !is_scattered) separate_result(out.count, out.type);
    if (in == MPI_IN_PLACE && keeps_gaps) in_.memory = const_cast<void*>(out.memory);
    return Why::served;
}

Why PreparedCall::reduce(const void* in, const Elements& out, MPI_Op op, int root) {
    if (!set_root(root) || (in == MPI_IN_PLACE && !root_is(root))) return Why::arguments;
    return all_reduce(in, out, op);
}

Why PreparedCall::reduce_blocks(const void* in, const Elements& out, MPI_Op op) {
    const Why why = all_reduce(in, out, op);
    if (why == Why::served && combination_ == nullptr) separate_scattered(in, out);
    return why;
}

/// Passes the sum of all counts to all_reduce(), which does not read the type for a count of 0. All
/// members have equal counts, so all decide equally.
Why PreparedCall::reduce_scatter(const void* in, const RankBlocks& out, MPI_Op op) {
    if (!out.have_arrays()) return Why::arguments;
    MPI_Count all = 0;
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(member_.size); ++rank) {
        const MPI_Count count = out.count(rank);
        if (count < 0) return Why::arguments;
        in_.counts.push_back(static_cast<std::size_t>(count));
        all += count;
    }
    const MPI_Datatype type = out.type(0);
    const Why why = all_reduce(in, {out.memory(), all, type}, op);
    if (why == Why::served && combination_ == nullptr && all != 0)
        separate_scattered(in,
                           {out.memory(), out.count(static_cast<std::size_t>(member_.rank)), type});
    return why;
}

/// In place, MPI may only change the start of the buffer, which receives this rank's block of the
/// result. So the buffer is only input, and finish() copies the block to its start.
void PreparedCall::separate_scattered(const void* in, const Elements& out) {
    const TypeFacts* const facts = facts_for(out.count, out.type);
    if (in == MPI_IN_PLACE) in_.memory = const_cast<void*>(out.memory);
    if (in == MPI_IN_PLACE || !facts->contiguous) separate_result(out.count, out.type);
}

/// Lets weft write the result to memory of the call, from which finish() copies it.
void PreparedCall::separate_result(MPI_Count count, MPI_Datatype type) {
    const TypeFacts& facts = *facts_for(count, type);
    std::byte* const user = at(out_.memory, 0);
    std::byte* const packed = out_.make_room(static_cast<std::size_t>(count) * element_bytes_);
    out_.packings.push_back({.packed = packed,
                             .memory = user,
                             .count = count,
                             .type = type,
                             .facts = facts,
                             .strided = true});
}

/// Moves the operands of a reduction: each rank gets those that its result needs.
Why PreparedCall::prepare_combination(const void* in, const Elements& out, MPI_Op op) {
    const bool is_block = kind_ == CallKind::reduce_scatter_block;
    const bool is_scatter = kind_ == CallKind::reduce_scatter;
    const Elements operand{in == MPI_IN_PLACE ? out.memory : in, out.count, out.type};
    if (const Why why = is_block ? set_all(in_, operand) : set(in_, operand); why != Why::served)
        return why;
    const TypeFacts& facts = *facts_for(out.count, out.type);
    const MPI_Count count =
        is_scatter ? static_cast<MPI_Count>(in_.counts[static_cast<std::size_t>(member_.rank)])
                   : out.count;
    const std::size_t bytes = bytes_of(count, facts);
    const auto ranks = static_cast<std::size_t>(member_.size);
    combination_ = std::make_unique<Combination>();
    combination_->op = op;
    combination_->operands = ranks;
    if (kind_ == CallKind::scan || kind_ == CallKind::exscan)
        combination_->operands =
            static_cast<std::size_t>(member_.rank) + (kind_ == CallKind::scan ? 1 : 0);
    moves_as_ = CallKind::allgather;
    if (kind_ == CallKind::reduce) moves_as_ = CallKind::gather;
    if (is_block) moves_as_ = CallKind::alltoall;
    if (is_scatter) {
        moves_as_ = CallKind::alltoallv;
        std::size_t next = 0;
        for (std::size_t& part : in_.counts) {
            part *= facts.size;
            in_.displacements.push_back(next);
            next += part;
        }
        out_.counts.assign(ranks, bytes);
        for (std::size_t rank = 0; rank < ranks; ++rank) out_.displacements.push_back(rank * bytes);
    }
    if (kind_ == CallKind::reduce && !root_is(root_)) {
        combination_->operands = 0;
        return Why::served;
    }
    combination_->result = {
        .memory = at(out.memory, 0), .count = count, .type = out.type, .facts = facts};
    out_.make_room(ranks * bytes);
    return Why::served;
}

// --- use -----------------------------------------------------------------------------------------

/// An error of packing is returned by finish(), because other members may already be in the call.
weft_status PreparedCall::run(weft_team* team, weft_request** request) {
    error_ = MPI_SUCCESS;
    for_each_round([&](const CallData& in, const CallData&) {
        for (const Packing& one : in.packings)
            if (const int error = one.pack(); error_ == MPI_SUCCESS) error_ = error;
    });
    if (member_.size == 1) {
        run_alone();
        return WEFT_OK;
    }
    if (form_ != Form::persistent) {
        weft_status status = WEFT_OK;
        for_each_round([&](const CallData& in, const CallData& out) {
            if (status == WEFT_OK) status = call_weft(team, in, out, request);
        });
        return status;
    }
    weft_request* made = persistent_.get();
    weft_status status = made != nullptr ? WEFT_OK : call_weft(team, in_, out_, &made);
    if (persistent_ == nullptr) persistent_.reset(made);
    if (status == WEFT_OK) status = weft_start(made);
    if (status == WEFT_OK) *request = made;
    return status;
}

weft_status PreparedCall::call_weft(weft_team* team, const CallData& from, const CallData& to,
                                    weft_request** request) {
    const void* const in = from.memory;
    void* const out = to.memory;
    weft_neighbors* list = nullptr;
    if (neighbors_ != nullptr)
        if (const weft_status status = neighbors_->list_for(team, list); status != WEFT_OK)
            return status;
    const std::size_t* const in_counts = from.counts.data();
    const std::size_t* const in_places = from.displacements.data();
    const std::size_t* const counts = to.counts.data();
    const std::size_t* const places = to.displacements.data();
#define WEFT_MPI_CALL(name, ...)                                                \
    return form_ == Form::persistent ? weft_##name##_init(__VA_ARGS__, request) \
           : request == nullptr      ? weft_##name(__VA_ARGS__)                 \
                                     : weft_i##name(__VA_ARGS__, request)
#define WEFT_MPI_CASE(kind, name, ...) \
    case CallKind::kind:               \
        WEFT_MPI_CALL(name, team __VA_OPT__(, ) __VA_ARGS__)
    switch (moves_as_) {
        WEFT_MPI_CASE(barrier, barrier);
        WEFT_MPI_CASE(broadcast, broadcast, out, count_, type_, root_);
        WEFT_MPI_CASE(allreduce, allreduce, in, out, count_, type_, op_);
        WEFT_MPI_CASE(reduce, reduce, in, out, count_, type_, op_, root_);
        WEFT_MPI_CASE(gather, gather, in, out, count_, type_, root_);
        WEFT_MPI_CASE(scatter, scatter, in, out, count_, type_, root_);
        WEFT_MPI_CASE(allgather, allgather, in, out, count_, type_);
        WEFT_MPI_CASE(alltoall, alltoall, in, out, count_, type_);
        WEFT_MPI_CASE(reduce_scatter_block, reduce_scatter, in, out, count_, type_, op_);
        WEFT_MPI_CASE(scan, scan, in, out, count_, type_, op_);
        WEFT_MPI_CASE(exscan, exscan, in, out, count_, type_, op_);
        WEFT_MPI_CASE(gatherv, gatherv, in, count_, out, counts, places, type_, root_);
        WEFT_MPI_CASE(scatterv, scatterv, in, in_counts, in_places, out, count_, type_, root_);
        WEFT_MPI_CASE(allgatherv, allgatherv, in, out, counts, places, type_);
        WEFT_MPI_CASE(alltoallv, alltoallv, in, in_counts, in_places, out, counts, places, type_);
        WEFT_MPI_CASE(alltoallw, alltoallv, in, in_counts, in_places, out, counts, places, type_);
        WEFT_MPI_CASE(reduce_scatter, reduce_scatterv, in, out, in_counts, type_, op_);
        case CallKind::neighbor_allgather:
        case CallKind::neighbor_allgatherv:
            WEFT_MPI_CALL(neighbor_allgatherv, list, in, count_, out, counts, places, type_);
        case CallKind::neighbor_alltoall:
        case CallKind::neighbor_alltoallv:
        case CallKind::neighbor_alltoallw:
            WEFT_MPI_CALL(neighbor_alltoallv, list, in, in_counts, in_places, out, counts, places,
                          type_);
    }
#undef WEFT_MPI_CASE
#undef WEFT_MPI_CALL
    return WEFT_ERR_UNSUPPORTED;
}

/// Makes the call on a communicator of one rank. Both sides have equal sizes.
void PreparedCall::run_alone() {
    const bool moves_nothing = moves_as_ == CallKind::barrier || moves_as_ == CallKind::broadcast ||
                               moves_as_ == CallKind::exscan;
    if (moves_nothing || in_.memory == WEFT_IN_PLACE || out_.memory == WEFT_IN_PLACE) return;
    if (neighbors_ != nullptr && out_.counts.empty()) return;  // it is not its own neighbor
    const std::size_t count = !in_.counts.empty()    ? in_.counts[0]
                              : !out_.counts.empty() ? out_.counts[0]
                                                     : count_;
    if (count != 0) std::memmove(out_.first_block(), in_.first_block(), count * element_bytes_);
}

void PreparedCall::keep_types() {
    const auto needs_type = [](const Packing& one) {
        return !one.facts.contiguous && one.facts.blocks == nullptr;
    };
    for (CallData* const data : {&in_, &out_})
        for (Packing& one : data->packings)
            if (needs_type(one)) one.keep();
    if (combination_ != nullptr) combination_->keep();
}

int PreparedCall::finish() {
    if (truncates_) return MPI_ERR_TRUNCATE;
    if (combination_ != nullptr)
        if (const int error = combination_->run(out_.packed.get()); error_ == MPI_SUCCESS)
            error_ = error;
    for_each_round([&](const CallData&, const CallData& out) {
        for (const Packing& one : out.packings)
            if (const int error = one.unpack(); error_ == MPI_SUCCESS) error_ = error;
    });
    return error_;
}

std::size_t PreparedCall::bytes() const {
    const bool has_blocks = !in_.counts.empty();
    const bool has_equal_blocks =
        kind_ == CallKind::alltoall || kind_ == CallKind::reduce_scatter_block;
    const auto times = static_cast<std::size_t>(has_equal_blocks ? member_.size : 1);
    std::size_t later = 0;
    for (const Round& next : later_rounds_)
        later += std::reduce(next.in.counts.begin(), next.in.counts.end());
    return later +
           (has_blocks ? std::reduce(in_.counts.begin(), in_.counts.end()) : count_ * times) *
               element_bytes_;
}

std::size_t PreparedCall::common_bytes() const {
    switch (kind_) {
        case CallKind::gatherv:
        case CallKind::scatterv:
        case CallKind::alltoallv:
        case CallKind::alltoallw:
        case CallKind::neighbor_allgather:
        case CallKind::neighbor_allgatherv:
        case CallKind::neighbor_alltoall:
        case CallKind::neighbor_alltoallv:
        case CallKind::neighbor_alltoallw:
            return 0;
        case CallKind::allgatherv:
            return std::reduce(out_.counts.begin(), out_.counts.end());
        default:
            return count_ * element_bytes_;
    }
}

}  // namespace weft::mpi
