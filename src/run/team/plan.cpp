// SPDX-License-Identifier: BSD-3-Clause
#include "run/team/plan.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "collectives/registry.hpp"
#include "collectives/transfer.hpp"
#include "collectives/v_collective.hpp"
#include "plan/schedule/localize.hpp"
#include "run/bind/bind.hpp"

namespace weft::run {

namespace {

/// Returns start + bytes; null stays null.
const std::byte* after(const std::byte* start, std::uint64_t bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(start);
    return reinterpret_cast<const std::byte*>(address == 0 ? 0 : address + bytes);
}

Extents extent(std::uint64_t bytes) {
    return bytes == 0 ? Extents() : Extents{{0, bytes}};
}

Extent extent_of(const BoundProgram& bound, plan::UnitRange units) {
    const plan::Partition& partition = bound.partition;
    if (units.count == 0 || bound.elements == 0) return {};
    return {partition.begin(units.first) * bound.element_bytes,
            partition.size(units.first, units.count) * bound.element_bytes};
}

/// Returns the starts of blocks in elements, or an empty list if the blocks are consecutive.
std::vector<std::uint64_t> scattered_starts(const Blocks& blocks) {
    std::vector<std::uint64_t> starts = starts_of(blocks);
    return starts == starts_of({.counts = blocks.counts}) ? std::vector<std::uint64_t>() : starts;
}

/// Returns the number of elements in a call's whole buffer, or 0 if it differs between ranks.
std::uint64_t vector_elements(const Call& call, Rank size) {
    const collectives::CollectiveTraits& traits = traits_of(call.collective);
    if (traits.has_pairwise_counts()) return 0;
    if (!traits.has_counts())
        return traits.blocks() ? call.count * static_cast<std::uint64_t>(size) : call.count;
    const auto counts = counts_of(call);
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

/// Returns the memory of a call with counts. Fails if output blocks overlap.
base::Result<BlockMemory> block_memory(const Call& call, Rank rank) {
    const collectives::CollectiveTraits& traits = traits_of(call.collective);
    const Blocks& in = call.in_blocks;
    const Blocks& out = call.out_blocks;
    const std::uint64_t bytes = element_bytes(call);
    const auto own = static_cast<std::size_t>(rank);
    BlockMemory memory;
    if (!in.counts.empty()) {
        memory.input = WEFT_TRY(extents_of(in, "in", bytes, /*may_overlap=*/true));
        memory.own_in = starts_of(in)[own] * bytes;
    }
    if (!out.counts.empty()) {
        memory.output = WEFT_TRY(extents_of(out, "out", bytes, /*may_overlap=*/false));
        memory.own_out = starts_of(out)[own] * bytes;
    }
    const std::size_t own_count = traits.rooted()     ? call.count
                                  : in.counts.empty() ? out.counts[own]
                                                      : in.counts[own];
    const std::uint64_t own_bytes = own_count * bytes;
    if (traits.input == collectives::VectorPart::own_block) memory.input = extent(own_bytes);
    if (traits.output == collectives::VectorPart::own_block) memory.output = extent(own_bytes);
    return memory;
}

/// Returns the name of the call's collective, in the form with equal blocks, which has generators.
std::string_view even_name_of(const Call& call) {
    return traits_of(traits_of(call.collective).even).name;
}

base::Result<plan::Program> program_of(const PlanContext& context, const Call& call,
                                       const collectives::AlgorithmSpec& spec,
                                       const BindOptions& options) {
    const UserOperation* const user = user_of(call);
    collectives::GenerateRequest request{.rank = context.rank,
                                         .size = context.size,
                                         .root = call.root,
                                         .elements = options.elements,
                                         .element_bytes = options.element_bytes,
                                         .ordered = user != nullptr && !user->commutative,
                                         .layout = context.layout};
    std::vector<std::uint64_t> counts;
    if (traits_of(call.collective).has_counts()) {
        counts.assign(counts_of(call).begin(), counts_of(call).end());
        request.counts = counts;
    }
    const auto make = [&](std::uint32_t segments, bool one_at_a_time) {
        request.segments = segments;
        request.one_at_a_time = one_at_a_time;
        return collectives::generate(even_name_of(call), spec, request);
    };
    if (!collectives::delivers_directly(spec)) return program_in_segments(make, options);
    // Direct delivery needs one segment. If other payloads then exceed slots, use slots for all.
    auto program = make(/*segments=*/1, /*one_at_a_time=*/false);
    if (!program || fits_as_a_whole(*program, options)) return program;
    return program_of(context, call, collectives::into_slots(spec), options);
}

/// Returns true if the algorithm exposes buffers to local peers, even if not on this rank.
bool needs_direct(const PlanContext& context, const Call& call,
                  const collectives::AlgorithmSpec& spec) {
    const auto algorithm = collectives::find_algorithm(even_name_of(call), spec);
    return context.layout.most() > 1 && algorithm.ok() && (*algorithm)->properties_of(spec).direct;
}

/// Calls with counts use slots for all payloads: a sender does not know displacements of others.
collectives::AlgorithmSpec spec_for(const Call& call, collectives::AlgorithmSpec spec) {
    return traits_of(call.collective).has_counts() ? collectives::into_slots(std::move(spec))
                                                   : spec;
}

// --- calls whose counts are known only to the sender and the receiver of each message ---

/// Messages that a rank sends or receives, and their starts in the caller's memory, in elements.
struct Messages {
    std::vector<collectives::Message> list;
    std::vector<std::uint64_t> starts;
};

/// Returns the messages of `blocks`. `own_block` adds the single message of a non-root rank. Both
/// ranks of a message decide equally, by node and count, whether it is read in place.
Messages messages_of(const PlanContext& context, const Call& call, const Blocks& blocks,
                     bool own_block) {
    const std::uint64_t mapped_min = mapped_bytes_min(context.machine);
    Messages messages;
    const auto add = [&](Rank peer, std::uint64_t count, std::uint64_t start) {
        if (count == 0) return;
        const bool mapped = context.near[peer] && count * element_bytes(call) >= mapped_min;
        messages.list.push_back({.peer = peer, .count = count, .mapped = mapped});
        messages.starts.push_back(start);
    };
    const std::vector<std::uint64_t> starts = starts_of(blocks);
    for (std::size_t rank = 0; rank < blocks.counts.size(); ++rank)
        add(static_cast<Rank>(rank), blocks.counts[rank], starts[rank]);
    if (own_block) add(call.root, call.count, 0);
    return messages;
}

/// Fails unless a rank's send and receive counts for itself are equal.
base::Result<void> check_own_message(const Call& call, Rank rank) {
    const auto own_count = [&](const Blocks& blocks) {
        return blocks.counts.empty() ? call.count : blocks.counts[rank];
    };
    const bool has_both = !call.in_blocks.counts.empty() || !call.out_blocks.counts.empty();
    const std::size_t sent = own_count(call.in_blocks);
    const std::size_t received = own_count(call.out_blocks);
    if (!has_both || sent == received) return {};
    return base::fail(Status::argument,
                      "rank {} sends {} elements to itself and expects {} from itself", rank, sent,
                      received);
}

base::Result<BoundProgram> bind_pairwise(const PlanContext& context, const Call& call,
                                         const ChosenAlgorithm& algorithm, BindOptions options) {
    const collectives::CollectiveTraits& traits = traits_of(call.collective);
    if (algorithm.text != collectives::kPairwiseAlgorithm)
        return base::fail(Status::argument, "{} has no algorithm '{}'; it has {}", traits.name,
                          algorithm.text, collectives::kPairwiseAlgorithm);
    WEFT_TRY(check_own_message(call, context.rank));
    const std::uint64_t slot = even_slot_bytes(
        options.shape, static_cast<std::uint32_t>(context.size), collectives::kVCollectiveDepth);
    const std::uint64_t piece = slot / options.element_bytes;
    if (piece == 0)
        return base::fail(
            Status::memory,
            "put targets of {} bytes for each of {} ranks do not hold an element of {} "
            "bytes (WEFT_BANK_BYTES sets the {} bytes of a bank)",
            slot, context.size, options.element_bytes, options.shape.bulk_bytes);
    using collectives::VectorPart;
    Messages sent =
        messages_of(context, call, call.in_blocks, traits.input == VectorPart::own_block);
    Messages received =
        messages_of(context, call, call.out_blocks, traits.output == VectorPart::own_block);
    auto program = WEFT_TRY(collectives::generate_v_collective({.collective = traits.name,
                                                                .rank = context.rank,
                                                                .size = context.size,
                                                                .root = call.root,
                                                                .piece_elements = piece,
                                                                .sent = sent.list,
                                                                .received = received.list}));
    // The blocks of the program are first the sent messages, then the received ones.
    const std::size_t blocks = sent.starts.size() + received.starts.size();
    received.starts.insert(received.starts.begin(), sent.starts.size(), 0);
    sent.starts.resize(blocks);
    options.input_starts = std::move(sent.starts);
    options.output_starts = std::move(received.starts);
    return bind(std::move(program), options);
}

base::Result<BoundProgram> bind_call(const PlanContext& context, const Call& call,
                                     const ChosenAlgorithm& algorithm, BindOptions options,
                                     Purpose purpose) {
    if (traits_of(call.collective).has_pairwise_counts())
        return bind_pairwise(context, call, algorithm, std::move(options));
    options.input_starts = scattered_starts(call.in_blocks);
    options.output_starts = scattered_starts(call.out_blocks);
    const bool direct = context.machine.direct;
    const collectives::AlgorithmSpec spec = spec_for(call, algorithm.spec);
    const collectives::AlgorithmSpec puts = collectives::with_local_puts(even_name_of(call), spec);
    auto program = WEFT_TRY(program_of(context, call, direct ? spec : puts, options));
    // Exposed blocks need more flags. If a bank has too few cells, use puts as between nodes.
    if (direct && std::uint64_t{program.slots} * program.depth > options.shape.cells)
        program = WEFT_TRY(program_of(context, call, puts, options));
    if (needs_direct(context, call, spec) && !direct)
        return base::fail(Status::unsupported,
                          "it reads and writes buffers of other ranks, which the kernel or "
                          "WEFT_DIRECT does not allow here");
    const bool one_node =
        context.layout.nodes() == 1 && std::ranges::find(context.near, false) == context.near.end();
    options.publishes = purpose != Purpose::team_free && may_publish(program, options, one_node);
    if (options.publishes)
        program = plan::localize(program, [&](Rank peer) { return context.near[peer]; });
    return bind(std::move(program), options);
}

/// Returns the kernel of a call that reduces, else only the element size.
base::Result<Reducer> reducer_of(const Call& call, const ReduceTable& kernels, Rank rank) {
    const Reducer other{.user = user_of(call), .element_bytes = element_bytes(call)};
    if (!traits_of(call.collective).reduces() || other.user != nullptr) return other;
    Reducer reducer = kernels.reducer(call.type, call.op);
    if (call.op == Op::exact_sum)  // the inner call of a window form sums integers: exact_call.hpp
        reducer = call.type == Type::int64 ? kernels.reducer(Type::int64, Op::sum)
                                           : Reducer{.kernel = exact_pair_kernel(call.type),
                                                     .element_bytes = element_bytes(call)};
    if (reducer.kernel != nullptr) return reducer;
    return no_operation(call, rank);
}

base::Result<void> fill(Plan& plan, const PlanContext& context, const ReduceTable& kernels,
                        const ChosenAlgorithm& algorithm) {
    const Call& call = plan.call;
    const collectives::CollectiveTraits& traits = traits_of(call.collective);
    if (traits.has_counts()) {
        auto memory = WEFT_TRY(block_memory(call, context.rank));
        plan.blocks = std::make_unique<const BlockMemory>(std::move(memory));
    }
    plan.reducer = WEFT_TRY(reducer_of(call, kernels, context.rank));
    BindOptions options{.elements = vector_elements(call, context.size),
                        .element_bytes = element_bytes(call),
                        .description = describe(call, algorithm.text),
                        .shape = context.region,
                        .near = &context.near};
    if (plan.purpose != Purpose::user_call) options.description = name_of(plan.purpose);
    options.call_hash = call_hash(options.description, options.element_bytes);
    auto bound = bind_call(context, call, algorithm, std::move(options), plan.purpose);
    if (!bound) return bound.failure().within(fmt::format("algorithm \"{}\"", algorithm.text));
    plan.program = *std::move(bound);
    if (plan.purpose != Purpose::user_call) plan.program.program.collective = name_of(plan.purpose);
    if (traits.has_pairwise_counts()) return {};  // `blocks` describes the memory
    const plan::Contract& contract = collectives::contract(even_name_of(call));
    plan.input = extent_of(plan.program, contract.input_of(plan.program.program));
    plan.output = extent_of(plan.program, contract.output_of(plan.program.program));
    return {};
}

}  // namespace

base::Failure no_operation(const Call& call, Rank rank) {
    return base::fail(
        Status::argument, "op: {} does not exist for {}, which has {} (requested by rank {})",
        base::name_of(call.op), base::name_of(call.type), operations_of(call.type), rank);
}

std::uint64_t mapped_bytes_min(const plan::Machine& machine) {
    const std::int64_t byte_fs = machine.near.byte_fs - machine.mapped_byte_fs;
    if (!machine.direct || byte_fs <= 0) return std::numeric_limits<std::uint64_t>::max();
    const plan::Time extra =
        machine.mapped + machine.near.latency + machine.near.issue + machine.near.receive;
    return static_cast<std::uint64_t>(extra * 1000 / byte_fs) + 1;  // picoseconds to femtoseconds
}

base::Result<plan::Program> program_in_segments(const MakeProgram& make,
                                                const BindOptions& options) {
    const bool is_long = options.elements > options.shape.bulk_bytes / options.element_bytes;
    const std::uint32_t first = is_long ? 2 : 1;
    const auto made = [&](bool one_at_a_time) {
        // Segments in flight together need copies of each slot, so slots would be shorter.
        const auto generate = [&](std::uint32_t segments) {
            return make(segments, one_at_a_time || segments > 1);
        };
        auto program = generate(first);
        if (!program) return program;
        const std::uint32_t segments = segments_needed(*program, first, options);
        if (segments == first) return program;
        program = generate(segments);
        if (!program) return program;
        // With more segments, blocks that had shared a put may need separate slots.
        const std::uint32_t more = segments_needed(*program, segments, options);
        return more <= segments ? program : generate(more);
    };
    auto program = made(/*one_at_a_time=*/false);
    return !program || has_room(*program, options) ? program : made(/*one_at_a_time=*/true);
}

base::Result<std::unique_ptr<Plan>> make_plan(const PlanContext& context,
                                              const ReduceTable& kernels, const Call& call,
                                              const ChosenAlgorithm& algorithm, Purpose purpose) {
    Call without_memory = call;
    without_memory.in = without_memory.out = nullptr;
    std::unique_ptr<Plan> plan(new Plan{
        .call = with_own_arrays(without_memory), .algorithm = algorithm.text, .purpose = purpose});
    if (auto filled = fill(*plan, context, kernels, algorithm); !filled)
        return filled.failure().within(traits_of(call.collective).name);
    return plan;
}

std::size_t Plan::bytes() const {
    const auto held = [](const auto& list) { return list.capacity() * sizeof *list.data(); };
    const plan::Program& source = program.program;
    std::size_t sum = sizeof *this + held(source.steps) + held(source.blocks) +
                      held(source.slot_capacity) + held(source.unit_counts) + held(program.steps) +
                      held(program.pieces) + held(program.pairs) + held(program.input_starts) +
                      held(program.output_starts) + held(program.slot_starts) +
                      held(program.description) + held(program.fused.steps);
    for (const Blocks* vector : {&call.in_blocks, &call.out_blocks})
        sum += vector->counts.size_bytes() + vector->displacements.size_bytes();
    if (blocks != nullptr) sum += sizeof *blocks + held(blocks->input) + held(blocks->output);
    return sum;
}

bool Plan::accepts_blocks(const Registers& memory) const {
    const std::byte* const in = after(memory.input, input.offset);
    const std::byte* const out = after(memory.output, output.offset);
    if ((!blocks->input.empty() && in == nullptr) || (!blocks->output.empty() && out == nullptr))
        return false;
    const bool in_place = traits_of(call.collective).in_place != collectives::InPlace::never &&
                          after(in, blocks->own_in) == after(out, blocks->own_out);
    return in_place || !overlap(in, blocks->input, out, blocks->output);
}

base::Failure Plan::refusal(const Registers& memory) const {
    const collectives::CollectiveTraits& traits = traits_of(call.collective);
    const std::string_view name = neighborhood.stencil != nullptr
                                      ? std::string_view(program.program.collective)
                                      : traits.name;
    const auto bytes_of = [](const Extents& extents) {
        return std::accumulate(
            extents.begin(), extents.end(), std::uint64_t{0},
            [](std::uint64_t sum, const Extent& one) { return sum + one.bytes; });
    };
    const std::uint64_t in_bytes = blocks == nullptr ? input.bytes : bytes_of(blocks->input);
    const std::uint64_t out_bytes = blocks == nullptr ? output.bytes : bytes_of(blocks->output);
    const bool no_input = in_bytes > 0 && memory.input == nullptr;
    if (no_input || (out_bytes > 0 && memory.output == nullptr))
        return base::fail(Status::argument, "{}: {} is null, expected {} elements", name,
                          no_input ? "input" : "output",
                          (no_input ? in_bytes : out_bytes) / program.element_bytes);
    if (blocks == nullptr)
        return base::fail(Status::argument,
                          "{}: input and output overlap in part, expected the same or separate "
                          "memory",
                          traits.name);
    const bool own_block = traits.in_place != collectives::InPlace::never;
    return base::fail(
        Status::argument,
        "{}: memory that is read overlaps memory that is written, expected{} separate memory", name,
        own_block ? " the own block in its place, or" : "");
}

}  // namespace weft::run
