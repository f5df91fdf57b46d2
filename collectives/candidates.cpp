// SPDX-License-Identifier: BSD-3-Clause
// candidates.cpp - algorithms that are worth a prediction.
#include <algorithm>
#include <bit>

#include "base/check.hpp"
#include "collectives/registry.hpp"
#include "collectives/transfer.hpp"

namespace weft::collectives {

namespace {

/// Largest team for which exchanges with a block for each rank are also candidates in segments.
constexpr Rank kBlocksMax = 130;

/// Returns true if each rank has several stages in one loop over segments, so that segments in
/// flight hide latencies.
bool is_exchange(const Algorithm& algorithm) {
    const Parameter* const segments = algorithm.parameter("segments");
    return (algorithm.properties.synchronizing || !is_rooted(algorithm.collective)) &&
           segments != nullptr && segments->fallback == "1";
}

/// Returns true if in_pieces() cuts buffers for the algorithm.
bool is_pipeline(const Algorithm& algorithm) {
    const Parameter* const segments = algorithm.parameter("segments");
    return segments != nullptr && segments->fallback == "by size";
}

/// Returns true for two allreduces whose latency is proportional to the number of ranks, and which
/// take long to predict.
bool only_for_small_teams(const Algorithm& algorithm) {
    return algorithm.collective == "allreduce" &&
           (algorithm.name == "chain" || algorithm.name == "pairwise-ring");
}

/// Returns the overhead of a message at both ends.
std::int64_t message_of(const CandidateRequest& request) {
    return std::max<std::int64_t>(1, request.put_ps - request.latency_ps);
}

/// Returns the number of pieces with which a pipeline is fastest, as a power of two. `hops`: the
/// messages from the first receiver to the last rank. The optimum is sqrt(buffer * hops / message);
/// `buffer` is the time of all bytes, `message` the overhead of a message and its credit (after
/// Hoefler and Moor).
std::uint32_t best_pieces(const CandidateRequest& request, std::int64_t buffer, std::int64_t hops) {
    const std::int64_t message = 2 * message_of(request);  // a credit for each message
    const std::int64_t square = buffer / message * std::max<std::int64_t>(0, hops);
    std::uint32_t pieces = 1;
    while (pieces < kSegmentsMax && std::int64_t{4} * pieces * pieces <= square) pieces *= 2;
    return pieces;
}

/// Returns the numbers of pieces to predict: 1, the best for a tree and the best for a chain. In a
/// tree the root of a reduction combines a piece while it receives the next, which may need more.
std::vector<std::uint32_t> pieces_worth_trying(const CandidateRequest& request) {
    const auto others = std::max<std::uint32_t>(as_u32(request.size), 2) - 1;
    const std::uint32_t tree =
        std::max(best_pieces(request, request.buffer_ps, std::bit_width(others) - 1),
                 best_pieces(request, request.combine_ps, 1));
    std::vector<std::uint32_t> pieces{1, tree, best_pieces(request, request.buffer_ps, others - 1)};
    pieces.erase(std::ranges::unique(pieces).begin(), pieces.end());
    return pieces;
}

/// Returns the number of segments for an exchange, or 1 if they save less than 3 %. In each stage
/// segments hide the latency behind the bytes of the other segments, and each costs a message. They
/// also let a rank combine one segment while the next one arrives. `blocks`: blocks of the buffer,
/// each with the request's bytes.
std::uint32_t segments_worth_trying(const CandidateRequest& request, std::int64_t blocks) {
    constexpr std::int64_t kSavedPart = 32;  // segments must save 1/32 of the time
    const auto others = std::max<std::uint32_t>(as_u32(request.size), 2) - 1;
    const std::int64_t stages = std::bit_width(others);
    const std::int64_t bytes = blocks * request.buffer_ps / stages;  // of a stage, on average
    std::uint32_t best = 1;
    std::int64_t most_saved = (request.latency_ps + bytes) / kSavedPart;
    for (const std::uint32_t segments : {2U, 4U}) {
        const std::int64_t saved = std::min(request.latency_ps, bytes - bytes / segments) -
                                   (segments - 1) * message_of(request);
        if (saved <= most_saved) continue;
        most_saved = saved;
        best = segments;
    }
    return std::max(best, best_pieces(request, blocks * request.combine_ps / stages, 1));
}

}  // namespace

std::vector<AlgorithmSpec> candidate_specs(std::string_view collective, CandidateRequest request) {
    std::vector<AlgorithmSpec> specs;
    const auto add = [&specs](std::string_view text) {
        auto spec = parse_spec(text);
        WEFT_CHECK(spec.ok(), text);
        if (std::ranges::find(specs, *spec) == specs.end()) specs.push_back(*std::move(spec));
    };
    const std::vector<std::uint32_t> pieces = pieces_worth_trying(request);
    // In large teams, programs with a block for each rank take long to predict.
    const bool has_blocks = find_collective(collective)->blocks();
    if (!has_blocks || request.size <= kBlocksMax)
        request.segments = segments_worth_trying(request, has_blocks ? request.size : 1);
    for (const Algorithm& algorithm : algorithms_of(collective)) {
        if (algorithm.properties.for_nodes && !request.mixed()) continue;
        if (algorithm.properties.direct && !request.direct) continue;
        if (algorithm.properties.two_trees && request.size <= 2) continue;
        if (request.size > kBlocksMax && only_for_small_teams(algorithm)) continue;
        const bool needs_parameters = std::ranges::any_of(
            algorithm.parameters, &std::string_view::empty, &Parameter::fallback);
        if (!needs_parameters) add(algorithm.name);
        if (is_pipeline(algorithm))
            for (const std::uint32_t each : pieces)
                add(std::string(algorithm.name) + ":segments=" + std::to_string(each));
        if (is_exchange(algorithm) && !needs_parameters && request.segments > 1)
            add(std::string(algorithm.name) + ":segments=" + std::to_string(request.segments));
        // near=auto, the default, looks only at the size. On some machines puts are faster.
        if (request.direct && algorithm.parameter(kNearParameter.name) != nullptr)
            add(std::string(algorithm.name) + ":near=put");
        if (request.direct_delivery && algorithm.parameter(kIntoParameter.name) != nullptr)
            add(std::string(algorithm.name) + ":into=vector");
        if (algorithm.variants == nullptr) continue;
        for (const std::string& spec : algorithm.variants(request)) add(spec);
    }
    return specs;
}

bool repeats_plain_name(const Algorithm& algorithm, const AlgorithmSpec& spec,
                        GenerateRequest request) {
    const SpecParameter* const given = spec.find("segments");
    if (given == nullptr || spec.parameters.size() > 1 || !is_pipeline(algorithm)) return false;
    const AlgorithmSpec plain{.name = spec.name};
    request.spec = &plain;
    return given->value == std::to_string(in_pieces(request).segments);
}

}  // namespace weft::collectives
