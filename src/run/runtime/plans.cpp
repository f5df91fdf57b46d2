// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime/plans.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

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

std::string describe(const CallShape& shape, std::string_view spec) {
    std::string text(name_of(shape.kind));
    if (shape.kind != Kind::barrier)
        text += fmt::format(" of {} {}", shape.elements, base::name_of(shape.type));
    if (has_operation(shape.kind)) text += fmt::format(" with {}", base::name_of(shape.op));
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
    if (has_root(shape.kind) && (shape.root < 0 || shape.root >= size))
        return base::fail(Status::argument, "root: {} is not a rank of the team, expected 0..{}",
                          shape.root, size - 1);
    return {};
}

}  // namespace

CallClass class_of(const CallShape& shape, std::string_view collective) {
    CallClass call{.collective = collective};
    if (collective == name_of(Kind::barrier)) return call;
    call.elements = shape.elements;
    call.element_bytes = element_bytes(shape);
    const auto kind = std::ranges::find(kKindNames, collective) - kKindNames.begin();
    if (!has_operation(static_cast<Kind>(kind))) return call;
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
        for (std::size_t kind = 0; kind < kKindNames.size(); ++kind) {
            if (kKindNames[kind] == one.name) environment_[kind] = one.spec;
        }
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
        return checked.failure().within(name_of(shape.kind));
    const std::string& forced = forced_[static_cast<std::size_t>(shape.kind)];
    if (!forced.empty()) return forced;
    return choose_by_shape(shape);
}

base::Result<std::string> PlanCache::choose_by_shape(const CallShape& shape) const {
    return chooser_.choose(class_of(shape, name_of(shape.kind)));
}

std::uint64_t PlanCache::vector_elements(const CallShape& shape) const {
    return collectives::contract(name_of(shape.kind))
        .vector_elements(context_.size, shape.elements);
}

base::Result<const Plan*> PlanCache::inserted_barrier() {
    const CallShape shape{.kind = Kind::barrier};
    const auto spec = choose_by_shape(shape);
    if (!spec) return spec.failure();
    return keep(shape, *spec);
}

base::Result<const Plan*> PlanCache::find_or_make(const CallShape& shape) {
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
        if (!made) return made.failure().within(name_of(shape.kind));
        found = plans_.emplace(std::move(key), std::move(*made)).first;
    }
    return found->second.get();
}

base::Result<std::unique_ptr<Plan>> PlanCache::make(const CallShape& shape,
                                                    const std::string& spec) const {
    auto parsed = collectives::parse_spec(spec);
    if (!parsed) return parsed.failure().within(fmt::format("algorithm \"{}\"", spec));
    auto plan = std::make_unique<Plan>();
    plan->shape = shape;
    plan->reducer.user = shape.user;
    plan->reducer.element_bytes = element_bytes(shape);
    if (has_operation(shape.kind) && shape.user == nullptr) {
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
    options.call_hash = hash_of(options.description, options.element_bytes);
    auto bound = bind_call(shape, *parsed, options);
    if (!bound) return bound.failure().within(fmt::format("algorithm \"{}\"", spec));
    plan->program = std::move(*bound);
    const plan::Contract& contract = collectives::contract(name_of(shape.kind));
    const plan::Program& program = plan->program.program;
    plan->input = part_of(plan->program, contract.input_of(program));
    plan->output = part_of(plan->program, contract.output_of(program));
    return plan;
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
    auto whole = collectives::generate(name_of(shape.kind), spec, request);
    if (!whole) return whole.failure();
    if (shape.apart) return bind(std::move(*whole), options);
    if (payload_bytes_max(*whole, options.elements, options.element_bytes) <= base::kCellPayload) {
        const auto near = [this](Rank peer) {
            return context_.near[static_cast<std::size_t>(peer)];
        };
        return bind(plan::localize(*whole, near), options);
    }
    request.segments = 2;
    auto segmented = collectives::generate(name_of(shape.kind), spec, request);
    if (!segmented) return segmented.failure();
    request.segments = segments_needed(*whole, *segmented, options);
    if (request.segments == 1) return bind(std::move(*whole), options);
    auto program = collectives::generate(name_of(shape.kind), spec, request);
    if (!program) return program.failure();
    return bind(std::move(*program), options);
}

}  // namespace weft::run
