// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime/choice.hpp"

#include <algorithm>
#include <bit>

#include "collectives/registry.hpp"
#include "link/fabric/profile.hpp"

namespace weft::run {

namespace {

/// Predictions are for so many bytes at most: beyond, nothing changes but the unit of time.
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 34;

plan::Layout layout_of(const plan::Machine& machine, Rank size) {
    return machine.node_of.empty() ? plan::Layout(size, size) : plan::Layout::of(machine.node_of);
}

/// Of a smaller team than the real one, if times of that are continued: such teams are on one node, or
/// all apart.
plan::Layout of_size(const plan::Layout& layout, Rank size) {
    if (size == layout.size()) return layout;
    return {size, layout.nodes() == 1 ? size : 1};
}

/// Whether there are programs for this very team. Predictions may be continued from those of smaller ones.
bool serves(const collectives::Properties& properties, Rank size, const CallClass& call,
            const plan::Layout& layout) {
    if (properties.power_of_two && !std::has_single_bit(static_cast<std::uint32_t>(size)))
        return false;
    if (!properties.fit(layout)) return false;
    return !call.ordered || !properties.for_nodes || layout.contiguous();
}

plan::Candidate candidate_of(const collectives::Algorithm& algorithm,
                             const collectives::AlgorithmSpec& spec, const CallClass& call,
                             const plan::Layout& layout) {
    const collectives::Properties properties = algorithm.properties_of(spec);
    collectives::GenerateRequest request{
        .root = collectives::is_rooted(algorithm.collective) ? 0 : plan::kNoRank,
        .elements = call.elements,
        .element_bytes = call.element_bytes,
        .ordered = call.ordered && properties.ordered};
    plan::Candidate candidate{.algorithm = print(spec),
                              .ordered = properties.ordered,
                              .bit_identical = properties.bit_identical};
    const plan::Contract& contract = collectives::contract(call.collective);
    candidate.stages = [=, &contract, collective = call.collective](Rank size) mutable {
        request.size = size;
        request.layout = of_size(layout, size);
        request.elements = contract.vector_elements(size, call.elements);
        return collectives::generate_stages(collective, spec, request);
    };
    candidate.program = [=, &contract, collective = call.collective](Rank size, Rank rank) mutable {
        request.size = size;
        if (request.layout.size() != size) request.layout = of_size(layout, size);
        request.elements = contract.vector_elements(size, call.elements);
        request.rank = rank;
        return collectives::generate(collective, spec, request);
    };
    candidate.elements = [&contract, elements = call.elements](Rank size) {
        return contract.vector_elements(size, elements);
    };
    return candidate;
}

/// Ranks on each node, if they fill the nodes evenly and in order.
Rank ranks_per_node(const std::vector<Rank>& node_of) {
    const auto end = std::ranges::find_if(node_of, [&](Rank n) { return n != node_of.front(); });
    const auto each = static_cast<std::size_t>(end - node_of.begin());
    if (each == 0 || node_of.size() % each != 0) return 0;
    for (std::size_t i = 0; i < node_of.size(); ++i) {
        if (node_of[i] != node_of[i / each * each]) return 0;
        if (i >= each && i % each == 0 && node_of[i] == node_of[i - 1]) return 0;
    }
    return static_cast<Rank>(each);
}

collectives::CandidateRequest request_of(const plan::Machine& machine, Rank size,
                                         const CallClass& call) {
    const Rank each = ranks_per_node(machine.node_of);
    const bool apart = !machine.node_of.empty() && each != size;
    const plan::PutCost& put = apart ? machine.far : machine.near;
    const std::uint64_t bytes = call.elements * call.element_bytes;
    const plan::Time crowd = put.turn * machine.host_ranks / machine.host_processors;
    return {.size = size,
            .ranks_per_node = each,
            .stage = {.latency = put.latency + (machine.crowded() ? crowd : 0),
                      .message = put.issue + put.receive + machine.reduce +
                                 plan::to_time(static_cast<std::int64_t>(bytes) *
                                               (put.byte_fs + machine.reduce_byte_fs))},
            .layout = layout_of(machine, size)};
}

}  // namespace

plan::Machine machine_over(std::string_view provider) {
    const link::Profile& profile =
        provider.empty() ? link::usual_profile() : link::profile_of(provider);
    const link::ProfiledCost& cost = profile.cost;
    const auto picoseconds = [](std::int64_t nanoseconds) {
        return nanoseconds * plan::kPicosecondsPerNanosecond;
    };
    return {.near = plan::kSharedMemory,
            .far = {.latency = picoseconds(cost.latency_ns),
                    .issue = picoseconds(cost.issue_ns),
                    .receive = picoseconds(cost.receive_ns),
                    .byte_fs = cost.byte_fs,
                    .turn = picoseconds(cost.turn_ns)},
            .reduce_byte_fs = plan::kReduceByteFs};
}

CallClass rounded(CallClass call) {
    const std::uint64_t most = std::max<std::uint64_t>(1, kBytesMax / call.element_bytes);
    if (call.elements > 0) call.elements = std::bit_ceil(std::min(call.elements, most));
    return call;
}

base::Result<plan::Choice> rank_algorithms(const plan::Machine& machine, Rank size,
                                           const CallClass& given) {
    const CallClass call = rounded(given);
    std::vector<plan::Candidate> candidates;
    const collectives::CandidateRequest request = request_of(machine, size, call);
    for (const std::string& text : collectives::candidate_specs(call.collective, request)) {
        const auto spec = collectives::parse_spec(text);
        WEFT_CHECK(spec.ok(), text);
        const auto algorithm = collectives::find_algorithm(call.collective, *spec);
        if (!algorithm) return algorithm.failure();
        if (!serves((*algorithm)->properties, size, call, request.layout)) continue;
        candidates.push_back(candidate_of(**algorithm, *spec, call, request.layout));
    }
    const std::uint64_t elements =
        collectives::contract(call.collective).vector_elements(size, call.elements);
    return plan::select(machine, size, candidates, {elements, call.element_bytes},
                        {.ordered = call.ordered, .bit_identical = call.bit_identical});
}

base::Result<std::string> Chooser::choose(const CallClass& given) const {
    const CallClass call = rounded(given);
    if (const auto known = known_.find(call); known != known_.end()) return known->second;
    const auto choice = rank_algorithms(machine_, size_, call);
    if (!choice) return choice.failure();
    return known_[call] = choice->algorithm();
}

}  // namespace weft::run
