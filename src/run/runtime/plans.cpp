// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime/plans.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>

#include "base/element_types.hpp"
#include "collectives/registry.hpp"
#include "plan/schedule/localize.hpp"
#include "run/execute/inquiry.hpp"

namespace weft::run {

namespace {

std::uint32_t element_bytes(const CallShape& shape) {
    if (shape.user != nullptr) return static_cast<std::uint32_t>(shape.user->element_bytes);
    return static_cast<std::uint32_t>(base::size_of(shape.type));
}

/// Of calls whose counts all ranks know.
std::span<const std::size_t> counts_of(const CallShape& shape) {
    return traits_of(shape.kind).has_input_counts() ? shape.in.counts : shape.out.counts;
}

std::string describe(const CallShape& shape, std::string_view spec) {
    std::string text(traits_of(shape.kind).name);
    if (traits_of(shape.kind).has_pairwise_counts())
        text += fmt::format(" of {}", base::name_of(shape.type));  // counts are between two
    else if (traits_of(shape.kind).has_counts())
        text += fmt::format(" of {} {}", to_text(counts_of(shape)), base::name_of(shape.type));
    else if (traits_of(shape.kind).has_data())
        text += fmt::format(" of {} {}", shape.elements, base::name_of(shape.type));
    if (traits_of(shape.kind).reduces()) text += fmt::format(" with {}", base::name_of(shape.op));
    if (shape.root >= 0) text += fmt::format(" from root {}", shape.root);
    return text + fmt::format(" by {}", spec);
}

/// 16 bits of everything that ranks must agree about.
std::uint16_t hash_of(std::string_view description, std::uint32_t bytes) {
    std::uint64_t hash = 14695981039346656037ULL + bytes;  // FNV-1a
    for (const char c : description)
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    hash ^= hash >> 32;
    hash ^= hash >> 16;
    const auto folded = static_cast<std::uint16_t>(hash);
    return folded == Inquiry::kVerdict ? std::uint16_t{1} : folded;
}

Part part_of(const BoundProgram& bound, plan::UnitRange units) {
    const plan::Partition& partition = bound.partition;
    if (units.count == 0 || bound.elements == 0) return {};
    return {partition.begin(units.first) * bound.element_bytes,
            partition.size(units.first, units.count) * bound.element_bytes};
}

/// Whether type and operation exist. Values that are none of the names come from casts.
base::Result<void> check_words(const CallShape& shape) {
    if (shape.user != nullptr) {
        if (shape.user->element_bytes == 0)
            return base::fail(Status::argument,
                              "user operation: element_bytes is 0, expected 1 or more");
        constexpr std::size_t kElementMax = std::size_t{1} << 30;
        if (shape.user->element_bytes > kElementMax)
            return base::fail(Status::argument, "user operation: element_bytes is {}, at most {}",
                              shape.user->element_bytes, kElementMax);
        return {};
    }
    if (static_cast<int>(shape.type) >= kBuiltinTypes)
        return base::fail(Status::argument, "type: {} is none of the element types",
                          shape.type == Type::user ? "user, without an operation that knows it,"
                                                   : fmt::to_string(static_cast<int>(shape.type)));
    if (static_cast<int>(shape.op) >= kBuiltinOps)
        return base::fail(Status::argument, "op: {} is none of the operations",
                          shape.op == Op::user ? "user, without a function,"
                                               : fmt::to_string(static_cast<int>(shape.op)));
    return {};
}

/// Whether the result is the same in any order of the operands.
bool is_exact(const CallShape& shape) {
    if (shape.user != nullptr) return false;  // nobody knows
    const bool rounds = shape.type >= Type::float32 && shape.type <= Type::bfloat16;
    return !rounds || (shape.op != Op::sum && shape.op != Op::prod);
}

base::Result<void> check(const CallShape& shape, Rank size) {
    if (auto checked = check_words(shape); !checked) return checked;
    const std::uint64_t bytes = element_bytes(shape);
    const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (shape.elements > most / bytes / static_cast<std::uint64_t>(size))
        return base::fail(Status::argument, "count: {} elements of {} bytes overflow 63 bits",
                          shape.elements, bytes);
    if (traits_of(shape.kind).rooted() && (shape.root < 0 || shape.root >= size))
        return base::fail(Status::argument, "root: {} is not a rank of the team, expected 0..{}",
                          shape.root, size - 1);
    return {};
}

/// Whether what the call has of counts and displacements can be used.
base::Result<void> check_counts(const CallShape& shape, Rank rank, Rank size) {
    const bool at_root = !traits_of(shape.kind).rooted() || shape.root == rank;
    const std::uint64_t bytes = element_bytes(shape);
    if (at_root && traits_of(shape.kind).has_input_counts()) {
        if (auto checked = check_blocks(shape.in, "in", size, bytes); !checked) return checked;
    }
    if (at_root && traits_of(shape.kind).has_output_counts())
        return check_blocks(shape.out, "out", size, bytes);
    return {};
}

/// So many bytes, if any.
Extents extent(std::uint64_t bytes) {
    return bytes == 0 ? Extents() : Extents{{0, bytes}};
}

/// Where blocks start, if that is not behind each other.
std::vector<std::uint64_t> apart(const Blocks& blocks) {
    std::vector<std::uint64_t> starts = starts_of(blocks);
    return starts == starts_of({.counts = blocks.counts}) ? std::vector<std::uint64_t>() : starts;
}

}  // namespace

CallClass class_of(const CallShape& shape) {
    const collectives::CollectiveTraits& traits = traits_of(shape.kind);
    CallClass call{.collective = traits_of(traits.even).name};
    if (!traits.has_data()) return call;
    call.elements = shape.elements;
    call.element_bytes = element_bytes(shape);
    if (traits.counts == collectives::Counts::known_to_all) {
        const auto counts = counts_of(shape);
        const std::size_t sum = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
        if (!counts.empty()) call.elements = (sum + counts.size() - 1) / counts.size();
    }
    if (!traits.reduces()) return call;
    call.ordered = shape.user != nullptr && !shape.user->commutative;
    call.bit_identical = !is_exact(shape);
    return call;
}

std::uint64_t next_operation_serial() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

PlanCache::PlanCache(PlanContext context, const ReduceTable& kernels,
                     std::vector<base::ForcedAlgorithm> forced)
    : context_(std::move(context)), chooser_(context_.machine, context_.size), kernels_(kernels) {
    for (const base::ForcedAlgorithm& one : forced) {
        if (const auto* const traits = collectives::find_collective(one.name))
            environment_[static_cast<std::size_t>(traits->collective)] = one.spec;
    }
    forced_ = environment_;
}

base::Result<void> PlanCache::force(Kind kind, std::string_view spec) {
    if (!spec.empty()) {
        if (auto parsed = collectives::parse_spec(spec); !parsed)
            return parsed.failure().within(fmt::format("algorithm \"{}\"", spec));
    }
    const auto at = static_cast<std::size_t>(kind);
    forced_[at] = spec.empty() ? environment_[at] : std::string(spec);
    last_[static_cast<std::size_t>(kind)] = nullptr;
    return {};
}

base::Result<std::string> PlanCache::choose(const CallShape& shape) const {
    if (auto checked = check(shape, context_.size); !checked)
        return checked.failure().within(traits_of(shape.kind).name);
    const std::string& forced = forced_[static_cast<std::size_t>(shape.kind)];
    if (!forced.empty()) return forced;
    return choose_by_shape(shape);
}

base::Result<std::string> PlanCache::choose_by_shape(const CallShape& shape) const {
    if (traits_of(shape.kind).has_pairwise_counts()) return std::string(kVCollectiveAlgorithm);
    return chooser_.choose(class_of(shape));
}

std::uint64_t PlanCache::vector_elements(const CallShape& shape) const {
    if (traits_of(shape.kind).has_pairwise_counts()) return 0;
    if (traits_of(shape.kind).has_counts()) {
        const auto counts = counts_of(shape);
        return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    }
    return collectives::contract(traits_of(shape.kind).name)
        .vector_elements(context_.size, shape.elements);
}

base::Result<const Plan*> PlanCache::inserted_barrier() {
    const CallShape shape{.kind = Kind::barrier};
    const auto spec = choose_by_shape(shape);
    if (!spec) return spec.failure();
    return keep(shape, *spec);
}

base::Result<const Plan*> PlanCache::find_or_make(const CallShape& shape) {
    if (traits_of(shape.kind).has_counts()) {
        if (auto checked = check_counts(shape, context_.rank, context_.size); !checked)
            return checked.failure().within(traits_of(shape.kind).name);
    }
    const auto spec = choose(shape);
    if (!spec) return spec.failure();
    const auto plan = keep(shape, *spec);
    if (plan) last_[static_cast<std::size_t>(shape.kind)] = *plan;
    return plan;
}

base::Result<const Plan*> PlanCache::keep(const CallShape& shape, const std::string& spec) {
    Key key{shape, spec};
    auto found = plans_.find(key);
    if (found == plans_.end()) {
        auto made = make(shape, spec);
        if (!made) return made.failure().within(traits_of(shape.kind).name);
        key.first = (*made)->shape;  // what it refers to is the plan's
        found = plans_.emplace(std::move(key), std::move(*made)).first;
        if (traits_of(shape.kind).has_counts()) ++block_plans_;
    }
    return found->second.get();
}

void PlanCache::retire(Epoch before) {
    std::erase_if(plans_, [&](const auto& entry) {
        const Plan& plan = *entry.second;
        if (!traits_of(plan.shape.kind).has_counts() || plan.used >= before) return false;
        const Plan*& last = last_[static_cast<std::size_t>(plan.shape.kind)];
        if (last == &plan) last = nullptr;
        --block_plans_;
        return true;
    });
    block_plans_most_ = std::max(kBlockPlans, 2 * block_plans_);
}

base::Result<std::unique_ptr<Plan>> PlanCache::make(const CallShape& shape,
                                                    const std::string& spec) const {
    auto parsed = collectives::parse_spec(spec);
    if (!parsed) return parsed.failure().within(fmt::format("algorithm \"{}\"", spec));
    auto plan = std::make_unique<Plan>();
    plan->shape = shape;
    if (traits_of(shape.kind).has_counts()) {
        auto blocks = plan_blocks(shape);
        if (!blocks) return blocks.failure();
        plan->blocks = *std::move(blocks);
        plan->shape.in = plan->blocks->held.in();
        plan->shape.out = plan->blocks->held.out();
    }
    plan->reducer.user = shape.user;
    plan->reducer.element_bytes = element_bytes(shape);
    if (traits_of(shape.kind).reduces() && shape.user == nullptr) {
        plan->reducer.kernel = kernels_.kernel(shape.type, shape.op);
        if (plan->reducer.kernel == nullptr)
            return base::fail(Status::argument,
                              "op: {} does not exist for {}, which has {} (asked for by rank {})",
                              base::name_of(shape.op), base::name_of(shape.type),
                              operations_of(shape.type), context_.rank);
    }
    BindOptions options{.elements = vector_elements(shape),
                        .element_bytes = element_bytes(shape),
                        .description = describe(shape, spec),
                        .shape = context_.region};
    if (shape.kind == Kind::allgatherv) options.output_starts = apart(shape.out);
    options.call_hash = hash_of(options.description, options.element_bytes);
    auto bound = traits_of(shape.kind).has_pairwise_counts()
                     ? bind_v_collective(shape, *parsed, options)
                     : bind_call(shape, *parsed, options);
    if (!bound) return bound.failure().within(fmt::format("algorithm \"{}\"", spec));
    plan->program = std::move(*bound);
    if (traits_of(shape.kind).has_pairwise_counts())
        return plan;  // blocks say where its vectors start
    const plan::Contract& contract =
        collectives::contract(traits_of(traits_of(shape.kind).even).name);
    const plan::Program& program = plan->program.program;
    plan->input = part_of(plan->program, contract.input_of(program));
    plan->output = part_of(plan->program, contract.output_of(program));
    return plan;
}

base::Result<std::unique_ptr<const BlockPlan>> PlanCache::plan_blocks(
    const CallShape& shape) const {
    auto plan = std::make_unique<BlockPlan>(shape);
    const std::uint64_t bytes = element_bytes(shape);
    const auto own = static_cast<std::size_t>(context_.rank);
    // Of a call with a root: this rank's one block.
    plan->input = plan->output = extent(shape.elements * bytes);
    if (traits_of(shape.kind).rooted())
        (shape.kind == Kind::gatherv ? plan->output : plan->input).clear();
    if (!shape.in.counts.empty()) {
        auto input = extents_of(shape.in, "in", bytes, true);
        if (!input) return input.failure();
        plan->input = *std::move(input);
        plan->own_in = starts_of(shape.in)[own] * bytes;
        if (shape.kind == Kind::reduce_scatterv)
            plan->output = extent(shape.in.counts[own] * bytes);
    }
    if (!shape.out.counts.empty()) {
        auto output = extents_of(shape.out, "out", bytes, false);
        if (!output) return output.failure();
        plan->output = *std::move(output);
        plan->own_out = starts_of(shape.out)[own] * bytes;
        if (shape.kind == Kind::allgatherv) plan->input = extent(shape.out.counts[own] * bytes);
    }
    return std::unique_ptr<const BlockPlan>(std::move(plan));
}

base::Result<PlanCache::Ends> PlanCache::ends_of(const CallShape& shape) const {
    Ends ends;
    const auto own = static_cast<std::size_t>(context_.rank);
    const auto add_all = [](const Blocks& blocks, std::vector<collectives::Message>& messages,
                            std::vector<std::uint64_t>& starts) {
        const std::vector<std::uint64_t> places = starts_of(blocks);
        for (std::size_t rank = 0; rank < blocks.counts.size(); ++rank) {
            if (blocks.counts[rank] == 0) continue;
            messages.push_back({static_cast<Rank>(rank), blocks.counts[rank]});
            starts.push_back(places[rank]);
        }
    };
    const auto add_one = [&](std::vector<collectives::Message>& messages,
                             std::vector<std::uint64_t>& starts) {
        if (shape.elements == 0) return;
        messages.push_back({shape.root, shape.elements});
        starts.push_back(0);
    };
    add_all(shape.in, ends.sent, ends.input_starts);
    add_all(shape.out, ends.received, ends.output_starts);
    if (shape.kind == Kind::gatherv) add_one(ends.sent, ends.input_starts);
    if (shape.kind == Kind::scatterv) add_one(ends.received, ends.output_starts);
    // What a rank has for itself is one message, whichever side says so.
    const auto to_itself = [&](const Blocks& blocks) {
        return blocks.counts.empty() ? shape.elements : blocks.counts[own];
    };
    const bool both = !shape.in.counts.empty() || !shape.out.counts.empty();
    if (both && to_itself(shape.in) != to_itself(shape.out))
        return base::fail(Status::argument,
                          "rank {} sends {} elements to itself and expects {} from itself",
                          context_.rank, to_itself(shape.in), to_itself(shape.out));
    // Starts are by block of the program: those that are sent, then those that are received.
    ends.output_starts.insert(ends.output_starts.begin(), ends.sent.size(), 0);
    ends.input_starts.resize(ends.sent.size() + ends.received.size());
    return ends;
}

base::Result<BoundProgram> PlanCache::bind_v_collective(const CallShape& shape,
                                                        const collectives::AlgorithmSpec& spec,
                                                        BindOptions options) const {
    if (print(spec) != kVCollectiveAlgorithm)
        return base::fail(Status::argument, "{} has no algorithm '{}'; it has {}",
                          traits_of(shape.kind).name, print(spec), kVCollectiveAlgorithm);
    auto ends = ends_of(shape);
    if (!ends) return ends.failure();
    const std::uint64_t slot = even_slot_bytes(
        options.shape, static_cast<std::uint32_t>(context_.size), collectives::kVCollectiveDepth);
    const std::uint64_t piece = slot / options.element_bytes;
    if (piece == 0)
        return base::fail(
            Status::memory,
            "put targets of {} bytes for each of {} ranks do not hold an element of {} "
            "bytes (WEFT_BANK_BYTES sets the {} bytes of a bank)",
            slot, context_.size, options.element_bytes, options.shape.bulk_bytes);
    auto program = collectives::generate_v_collective({.collective = traits_of(shape.kind).name,
                                                       .rank = context_.rank,
                                                       .size = context_.size,
                                                       .root = shape.root,
                                                       .piece_elements = piece,
                                                       .sent = ends->sent,
                                                       .received = ends->received});
    if (!program) return program.failure();
    options.input_starts = std::move(ends->input_starts);
    options.output_starts = std::move(ends->output_starts);
    return bind(*std::move(program), options);
}

base::Result<BoundProgram> PlanCache::bind_call(const CallShape& shape,
                                                const collectives::AlgorithmSpec& spec,
                                                const BindOptions& options) const {
    collectives::GenerateRequest request{
        .rank = context_.rank,
        .size = context_.size,
        .root = shape.root,
        .elements = options.elements,
        .element_bytes = options.element_bytes,
        .ordered = shape.user != nullptr && !shape.user->commutative,
        .layout = context_.layout};
    const std::string_view collective = traits_of(traits_of(shape.kind).even).name;
    std::vector<std::uint64_t> counts;
    if (traits_of(shape.kind).has_counts()) {
        counts.assign(counts_of(shape).begin(), counts_of(shape).end());
        request.counts = counts;
    }
    auto whole = collectives::generate(collective, spec, request);
    if (!whole) return whole.failure();
    if (shape.apart) return bind(std::move(*whole), options);
    if (payload_bytes_max(*whole, options.elements, options.element_bytes) <= base::kCellPayload) {
        const auto near = [this](Rank peer) {
            return context_.near[static_cast<std::size_t>(peer)];
        };
        return bind(plan::localize(*whole, near), options);
    }
    request.segments = 2;
    auto segmented = collectives::generate(collective, spec, request);
    if (!segmented) return segmented.failure();
    request.segments = segments_needed(*whole, *segmented, options);
    if (request.segments == 1) return bind(std::move(*whole), options);
    auto program = collectives::generate(collective, spec, request);
    if (!program) return program.failure();
    return bind(std::move(*program), options);
}

}  // namespace weft::run
