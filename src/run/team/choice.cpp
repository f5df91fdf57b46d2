// SPDX-License-Identifier: BSD-3-Clause
#include "run/team/choice.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>
#include <optional>

#include "base/environment.hpp"
#include "collectives/nodes/groups.hpp"
#include "collectives/transfer.hpp"
#include "collectives/v_collective.hpp"
#include "link/fabric/profile.hpp"
#include "plan/select/put_models.hpp"
#include "run/bind/bind.hpp"
#include "run/job/layout.hpp"

namespace weft::run {

namespace {

/// Larger buffers are predicted as this size: beyond it, the fastest algorithm does not change.
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 34;

/// Shorter buffers have too few whole pages to be shared in place (link/direct). For these, the
/// operating system copies data with a system call for each peer, which takes longer than a put.
constexpr std::uint64_t kInPlaceBytesMin = std::uint64_t{16} << 10;

/// A class of calls of a team, with the team's layout and the buffer of a call.
struct Query {
    const plan::Machine& machine;
    Rank size;
    const CallClass& call;
    plan::Layout layout =
        machine.node_of.empty() ? plan::Layout(size, size) : plan::Layout::of(machine.node_of);
    plan::BufferSize buffer = buffer_of(size, call);

    /// Returns true if ranks can use each other's buffers directly, also across nodes.
    [[nodiscard]] bool can_deliver_directly() const {
        const bool one_each = layout.nodes() > 1 && layout.most() <= 1;
        return machine.direct || (one_each && machine.direct_delivery);
    }
    /// Returns true if an algorithm with these properties serves the team.
    [[nodiscard]] bool is_served_by(const collectives::Properties& properties) const {
        if (properties.power_of_two && !std::has_single_bit(static_cast<std::uint32_t>(size)))
            return false;
        if (!properties.fit(layout)) return false;
        return !call.ordered || !properties.for_nodes || layout.contiguous();
    }
    [[nodiscard]] plan::Time time_of(std::int64_t byte_fs) const {
        return plan::to_time(static_cast<std::int64_t>(call.bytes()) * byte_fs);
    }
    /// Returns the sender's time for a put of the call's bytes, without their transfer.
    [[nodiscard]] plan::Time issue_of(const plan::PutCost& put) const {
        return put.issue + (call.bytes() > machine.cell_bytes ? put.slot : 0);
    }
    [[nodiscard]] BindOptions bind_options() const {
        return {.elements = buffer.elements,
                .element_bytes = buffer.element_bytes,
                .shape = {.bulk_bytes = machine.bank_bytes}};
    }
};

plan::Candidate candidate_of(const collectives::Algorithm& algorithm,
                             const collectives::AlgorithmSpec& asked, const Query& query) {
    const plan::Machine& machine = query.machine;
    const CallClass& call = query.call;
    const collectives::Properties properties = algorithm.properties_of(asked);
    const collectives::AlgorithmSpec spec =
        machine.direct ? asked : collectives::with_local_puts(call.collective, asked);
    collectives::GenerateRequest request{
        .size = query.size,
        .root = collectives::is_rooted(algorithm.collective) ? 0 : plan::kNoRank,
        .elements = query.buffer.elements,
        .element_bytes = call.element_bytes,
        .ordered = call.ordered && properties.ordered,
        .layout = query.layout,
        .repeats_blocks = true};
    /// State that copies of the candidate's functions share.
    struct CandidateState {
        std::vector<std::uint64_t> counts;  // predictions assume equal counts; empty: no counts
        collectives::KnownShapes shapes;
        std::optional<plan::Stages> stages;                // one result serves all ranks
        std::optional<base::Result<plan::Program>> first;  // of rank 0, which is needed most often
        bool one_at_a_time = false;
    };
    const auto state = std::make_shared<CandidateState>();
    if (call.counted) state->counts.assign(std::size_t(query.size), call.elements);
    request.counts = state->counts;
    request.known_shapes = &state->shapes;
    plan::Candidate candidate{.algorithm = print(asked),
                              .ordered = properties.ordered,
                              .bit_identical = algorithm.bit_identical_on(spec, query.layout)};
    auto generate = [=, collective = call.collective, by_stages = algorithm.generate == nullptr](
                        Rank rank) mutable -> base::Result<plan::Program> {
        request.rank = rank;
        request.one_at_a_time = state->one_at_a_time;
        if (!by_stages) return collectives::generate(collective, spec, request);
        if (!state->stages)
            state->stages = WEFT_TRY(collectives::generate_stages(collective, spec, request));
        return plan::program_of(*state->stages, rank);
    };
    if (candidate.algorithm.find("segments=") != std::string::npos) {
        // Segments run one at a time if the put targets have no room for several (plan.cpp).
        state->first = generate(0);
        if (state->first->ok() && !has_room(**state->first, query.bind_options())) {
            state->one_at_a_time = true;
            state->stages.reset();
            state->first = generate(0);
        }
    }
    candidate.program = [=](Rank rank) mutable {
        if (rank != 0) return generate(rank);
        if (!state->first) state->first = generate(rank);
        return *state->first;
    };
    if (query.layout.nodes() > 1)
        candidate.banks = [program = candidate.program, buffer = query.buffer,
                           bank_bytes = machine.bank_bytes] {
            return banks_of(program(0), buffer, bank_bytes);
        };
    return candidate;
}

/// If ranks share no processor, a rank receives a message of a stage while peers send the next one.
collectives::StageCost stage_of(const Query& query, const plan::PutCost& put) {
    const plan::Machine& machine = query.machine;
    const plan::Time send = query.issue_of(put) + query.time_of(put.byte_fs);
    const plan::Time overlapped = machine.oversubscribed() ? 0 : std::min(send, put.receive);
    return {.latency = plan::latency_of(machine, put) + overlapped,
            .message = send + put.receive - overlapped + machine.reduce +
                       query.time_of(machine.reduce_byte_fs)};
}

collectives::CandidateRequest request_of(const Query& query) {
    const auto& [machine, size, call, layout, buffer] = query;
    const bool even = layout.contiguous() && layout.least() == layout.most();
    const Rank per_node = !machine.node_of.empty() && even ? layout.most() : 0;
    const bool far = layout.nodes() > 1;
    plan::PutCost local = machine.near;
    plan::PutCost put = far ? machine.far : machine.near;
    if (far && layout.most() > 1) {  // senders pay the difference (put_models.cpp)
        const plan::Time received = std::min(local.receive, put.receive);
        for (plan::PutCost* const cost : {&local, &put}) {
            cost->issue += cost->receive - received;
            cost->receive = received;
        }
    }
    const bool is_long = buffer.elements * call.element_bytes > kInPlaceBytesMin;
    const bool reduces = collectives::find_collective(call.collective)->reduces();
    const bool overlaps = far && !machine.oversubscribed() && reduces;
    const plan::Time issue = query.issue_of(put);
    const plan::Time latency = plan::latency_of(machine, put);
    const plan::Time reduction = query.time_of(machine.reduce_byte_fs);
    return {
        .size = size,
        .ranks_per_node = per_node,
        .stage = stage_of(query, put),
        .local_stage = stage_of(query, local),
        .latency_ps = latency,
        .put_ps = latency + issue + put.receive + machine.reduce,
        .buffer_ps = query.time_of(put.byte_fs + machine.reduce_byte_fs),
        .combine_ps = overlaps ? query.time_of(machine.reduce_byte_fs + machine.unpack_byte_fs) : 0,
        .issue_ps = issue,
        .send_bytes_ps = query.time_of(put.byte_fs),
        .receive_ps = put.receive + (reduces ? machine.reduce + reduction : 0),
        .layout = layout,
        .direct = machine.direct && is_long,
        .direct_delivery = far && is_long && !call.counted && machine.direct_delivery &&
                           query.can_deliver_directly()};
}

std::vector<collectives::AlgorithmSpec> specs_for(const Query& query) {
    return collectives::candidate_specs(query.call.collective, request_of(query));
}

/// Returns false if the spec asks for direct delivery but the call cannot use it: if payloads that
/// are not delivered directly exceed their put targets, all payloads use put targets (plan.cpp).
bool delivers_as_asked(const Query& query, const collectives::AlgorithmSpec& spec,
                       const plan::Candidate& candidate) {
    if (!collectives::delivers_directly(spec)) return true;
    const auto program = candidate.program(0);
    return !program.ok() || fits_as_a_whole(*program, query.bind_options());
}

base::Result<std::vector<plan::Candidate>> candidates_of(
    const Query& query, const std::vector<collectives::AlgorithmSpec>& specs) {
    std::vector<plan::Candidate> candidates;
    for (const collectives::AlgorithmSpec& spec : specs) {
        const auto algorithm = WEFT_TRY(collectives::find_algorithm(query.call.collective, spec));
        if (!query.is_served_by(algorithm->properties)) continue;
        if (collectives::repeats_plain_name(
                *algorithm, spec,
                {.elements = query.buffer.elements, .element_bytes = query.buffer.element_bytes}))
            continue;
        plan::Candidate candidate = candidate_of(*algorithm, spec, query);
        if (delivers_as_asked(query, spec, candidate)) candidates.push_back(std::move(candidate));
    }
    return candidates;
}

base::Result<plan::Choice> rank_specs(const Query& query,
                                      const std::vector<collectives::AlgorithmSpec>& specs,
                                      plan::Scope scope) {
    const auto candidates = WEFT_TRY(candidates_of(query, specs));
    return plan::select(query.machine, query.size, candidates, query.buffer, query.call.needs(),
                        scope);
}

struct MeasuredChoice {
    ChosenAlgorithm algorithm;
    double median_us = 0;
};

/// Returns a measured choice that fits this team and call, or nothing.
std::optional<MeasuredChoice> measured_choice(const Query& query, const plan::Tuning* tuning,
                                              std::string_view provider) {
    const CallClass& call = query.call;
    if (tuning == nullptr || tuning->choices().empty() || !call.preference.is_usual()) return {};
    const bool far = query.layout.nodes() > 1;
    const plan::TunedChoice* const tuned =
        tuning->find({.collective = std::string(call.collective),
                      .layout = plan::layout_text(query.machine.node_of, query.size),
                      .provider = far ? std::string(provider) : "none",
                      .same_bits = call.bit_identical},
                     call.bytes());
    if (tuned == nullptr) return {};
    auto spec = collectives::parse_spec(tuned->algorithm);
    if (!spec) return {};
    if (call.counted) spec = collectives::into_slots(*std::move(spec));
    const auto algorithm = collectives::find_algorithm(call.collective, *spec);
    if (!algorithm) return {};
    const collectives::Properties properties = (*algorithm)->properties_of(*spec);
    if (!query.is_served_by(properties) || (properties.direct && !query.can_deliver_directly()))
        return {};
    const auto candidate = candidate_of(**algorithm, *spec, query);
    if ((call.ordered && !candidate.ordered) || (call.bit_identical && !candidate.bit_identical) ||
        !candidate.program(0))
        return {};
    return MeasuredChoice{
        {*spec, print(*spec),
         fmt::format("measured ({}): {:.3f} us", tuning->source(), tuned->median_us)},
        tuned->median_us};
}

/// Returns a key for NodeChoices. It omits facts that are equal for all teams of a job: the other
/// costs of the machine, measured choices and the provider.
std::string key_of(const Query& query) {
    const auto& [machine, size, call, layout, buffer] = query;
    return fmt::format("{} {} {} {} {}{}{} {} {}", size, call.collective, call.elements,
                       call.element_bytes, call.ordered, call.bit_identical, call.counted,
                       machine.direct, fmt::join(machine.node_of, ","));
}

std::size_t candidate_index(const plan::Choice& choice, const std::string& algorithm) {
    const auto& candidates = choice.candidates;
    return static_cast<std::size_t>(
        std::ranges::find(candidates, algorithm, &plan::RankedCandidate::algorithm) -
        candidates.begin());
}

}  // namespace

std::uint32_t banks_of(const base::Result<plan::Program>& program, const plan::BufferSize& buffer,
                       std::uint64_t bank_bytes) {
    if (!program) return SegmentLayout::kBulkBanks;
    base::Settings settings;
    settings.bank_bytes = std::min(settings.bank_bytes, bank_bytes);
    return banks_for(*program, {.elements = buffer.elements,
                                .element_bytes = buffer.element_bytes,
                                .shape = SegmentLayout(program->size, settings).shape});
}

plan::BufferSize buffer_of(Rank size, const CallClass& call) {
    const plan::Contract& contract = collectives::contract(call.collective);
    return {contract.vector_elements(size, call.elements), call.element_bytes};
}

base::Result<std::vector<plan::Candidate>> candidates_for(const plan::Machine& machine, Rank size,
                                                          const CallClass& call) {
    const Query query{machine, size, call};
    return candidates_of(query, specs_for(query));
}

base::Result<plan::Candidate> candidate_for(const plan::Machine& machine, Rank size,
                                            const CallClass& call, std::string_view algorithm) {
    const auto spec = WEFT_TRY(collectives::parse_spec(algorithm));
    const auto found = WEFT_TRY(collectives::find_algorithm(call.collective, spec));
    return candidate_of(*found, spec, {machine, size, call});
}

std::vector<std::string_view> providers_with_costs() {
    std::vector<std::string_view> names;
    for (const link::Profile* profile : link::preferred_profiles())
        names.push_back(profile->provider);
    return names;
}

plan::Machine machine_over(std::string_view provider) {
    const link::Profile& profile =
        provider.empty() ? link::usual_profile() : link::profile_of(provider);
    const link::ProfiledCost& cost = profile.cost;
    const auto picoseconds = [](std::int64_t nanoseconds) {
        return nanoseconds * plan::kPicosecondsPerNanosecond;
    };
    plan::Machine machine = plan::default_machine();
    machine.near = plan::kSharedMemory;
    machine.far = {.latency = picoseconds(cost.latency_ns),
                   .issue = picoseconds(cost.issue_ns),
                   .receive = picoseconds(cost.receive_ns),
                   .byte_fs = cost.byte_fs,
                   .receive_byte_fs = cost.receive_byte_fs,
                   .turn = picoseconds(cost.turn_ns)};
    machine.reduce_byte_fs = plan::kReduceByteFs;
    machine.call = plan::kCall;
    machine.bank_bytes = base::Settings{}.bank_bytes;
    return machine;
}

CallClass class_of(const Call& call) {
    const collectives::CollectiveTraits& traits = traits_of(call.collective);
    CallClass call_class{.collective = traits_of(traits.even).name};
    if (!traits.has_data()) return call_class;
    call_class.elements = call.count;
    call_class.element_bytes = element_bytes(call);
    call_class.counted = traits.has_counts();
    if (traits.has_counts()) {
        const auto counts = counts_of(call);
        const std::size_t sum = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
        if (!counts.empty()) call_class.elements = (sum + counts.size() - 1) / counts.size();
    }
    if (!traits.reduces()) return call_class;
    const UserOperation* const user = user_of(call);
    call_class.ordered = user != nullptr && !user->commutative;
    // The result may depend on the order of the operands: not known for user operations.
    const bool rounds = call.type >= Type::float32 && call.type <= Type::bfloat16;
    call_class.bit_identical =
        user != nullptr || (rounds && (call.op == Op::sum || call.op == Op::prod));
    return call_class;
}

CallClass rounded(CallClass call) {
    const std::uint64_t elements_max = std::max<std::uint64_t>(1, kBytesMax / call.element_bytes);
    if (call.elements > 0) call.elements = std::bit_ceil(std::min(call.elements, elements_max));
    return call;
}

base::Result<plan::Choice> rank_algorithms(const plan::Machine& machine, Rank size,
                                           const CallClass& given, const plan::Tuning& tuning,
                                           std::string_view provider) {
    const CallClass call = rounded(given);
    const Query query{machine, size, call};
    const auto specs = specs_for(query);
    auto choice = WEFT_TRY(rank_specs(query, specs, plan::Scope::all));
    const bool fewer = given.elements < call.elements;
    if (fewer) {  // the choice of the class, with the times of this call
        auto exact = WEFT_TRY(rank_specs({machine, size, given}, specs, plan::Scope::all));
        exact.chosen = candidate_index(exact, choice.algorithm());
        exact.reason = fmt::format("as for {} bytes: {}", call.bytes(), choice.reason);
        const bool serves_both = exact.chosen < exact.candidates.size();
        if (serves_both) choice = std::move(exact);
    }
    if (const auto measured = measured_choice(query, &tuning, provider)) {
        const std::string by_model = choice.algorithm();
        const ChosenAlgorithm& algorithm = measured->algorithm;
        WEFT_TRY(also_rank(choice, algorithm.spec, machine, size, fewer ? given : call));
        choice.chosen = candidate_index(choice, algorithm.text);
        choice.measured_us = measured->median_us;
        choice.reason =
            fmt::format("{}; without it {}: {}", algorithm.reason, by_model, choice.reason);
    }
    return choice;
}

base::Result<void> also_rank(plan::Choice& choice, const collectives::AlgorithmSpec& spec,
                             const plan::Machine& machine, Rank size, const CallClass& call) {
    if (candidate_index(choice, print(spec)) < choice.candidates.size()) return {};
    const std::string chosen = choice.algorithm();
    CallClass unlimited = call;  // the limit holds for choices only
    if (unlimited.preference.descriptors_max > 0) unlimited.preference.descriptors_max = ~0U;
    auto alone = WEFT_TRY(rank_specs({machine, size, unlimited}, {spec}, plan::Scope::all));
    choice.candidates.push_back(std::move(alone.candidates.front()));
    std::ranges::stable_sort(choice.candidates, {}, [&](const plan::RankedCandidate& ranked) {
        return std::pair(std::get<0>(ranked.order(call.preference.objective)), ranked.in_stream);
    });
    choice.chosen = candidate_index(choice, chosen);
    return {};
}

base::Result<ChosenAlgorithm> parse_algorithm(std::string_view text, std::string reason) {
    auto spec = collectives::parse_spec(text);
    if (!spec) return spec.failure().within(fmt::format("algorithm \"{}\"", text));
    return ChosenAlgorithm{*std::move(spec), std::string(text), std::move(reason)};
}

base::Result<void> check_algorithm(Collective collective, const ChosenAlgorithm& algorithm) {
    const collectives::CollectiveTraits& traits = traits_of(collective);
    const auto refusal = [&](const std::string& why) {
        return base::fail(Status::argument, "{}: algorithm \"{}\": {}", traits.name, algorithm.text,
                          why);
    };
    if (traits.has_pairwise_counts()) {
        if (algorithm.text == collectives::kPairwiseAlgorithm) return {};
        return refusal(
            fmt::format("{} has only '{}'", traits.name, collectives::kPairwiseAlgorithm));
    }
    const auto found = collectives::find_algorithm(traits_of(traits.even).name, algorithm.spec);
    if (!found) return refusal(found.failure().text);
    if (auto known = collectives::check_parameters(**found, algorithm.spec); !known)
        return refusal(known.failure().text);
    return {};
}

base::Result<ChosenAlgorithm> choose_algorithm(const PlanContext& context, const CallClass& call) {
    const Query query{context.machine, context.size, call};
    if (auto measured = measured_choice(query, context.tuning, context.provider))
        return std::move(measured->algorithm);
    const auto predict = [&]() -> base::Result<ChoiceText> {
        const auto specs = specs_for(query);
        const auto choice = WEFT_TRY(rank_specs(query, specs, plan::Scope::chosen));
        return ChoiceText{choice.algorithm(), choice.reason};
    };
    auto predicted = WEFT_TRY(context.choices.get(key_of(query), predict));
    return parse_algorithm(predicted.algorithm, std::move(predicted.reason));
}

}  // namespace weft::run
