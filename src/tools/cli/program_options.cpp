// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/program_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cstdio>
#include <numeric>

#include "base/element_types.hpp"
#include "base/suggestion.hpp"
#include "base/units.hpp"
#include "plan/schedule/step.hpp"
#include "tools/cli/command.hpp"
#include "tools/launch/layout.hpp"

namespace weft::tools {

namespace {

base::Result<collectives::Placement> parse_placement(const std::string& text) {
    if (text == "ordered") return collectives::Placement::ordered;
    if (text == "paper") return collectives::Placement::paper;
    return base::fail(Status::argument, "--placement: expected ordered or paper, got '{}'", text);
}

constexpr std::string_view kGather = "neighbor_allgather";
constexpr std::string_view kExchange = "neighbor_alltoall";

/// Parses "4x4x4".
base::Result<std::vector<Rank>> parse_grid(std::string_view text) {
    std::vector<Rank> extents;
    const char* const end = text.data() + text.size();
    for (const char* at = text.data();; ++at) {
        Rank extent = 0;
        const auto [stop, error] = std::from_chars(at, end, extent);
        if (error != std::errc{} || extent < 1 || (stop != end && *stop != 'x'))
            return base::fail(Status::argument,
                              "--grid {}: expected the ranks along each dimension, as in 4x4x4",
                              text);
        extents.push_back(extent);
        if (stop == end) return extents;
        at = stop;
    }
}

void add_neighbor_arguments(CLI::App& command, NeighborArguments& arguments) {
    add_option(command, "--grid", arguments.grid,
               "neighbor_...: ranks along each dimension of the grid, as in 4x4x4");
    add_flag(command, "--periodic", arguments.periodic,
             "neighbor_...: the last rank of each dimension is next to the first one");
    add_option(command, "--reach", arguments.reach,
               "neighbor_...: how far away neighbors are at most, in each dimension")
        .shows_default();
    add_flag(command, "--star", arguments.star,
             "neighbor_...: only neighbors along the dimensions, none across corners");
}

/// Limit of stored steps and blocks of programs, 32 bytes each.
constexpr std::size_t kStepsMax = std::size_t{1} << 27;

}  // namespace

bool is_neighborhood(std::string_view collective) {
    return collective == kGather || collective == kExchange;
}

base::Result<void> check_ranks(Rank ranks, Rank most) {
    if (ranks >= 1 && ranks <= most) return {};
    return base::fail(Status::argument, "--ranks: {} is not in 1..{}", ranks, most);
}

base::Failure in_spec(const base::Failure& failure) {
    return failure.text.starts_with("character ") ? failure.within("--algorithm") : failure;
}

std::vector<Rank> nodes_of(const collectives::GenerateRequest& request) {
    std::vector<Rank> nodes;
    if (!request.layout.is_given()) return nodes;
    for (Rank rank = 0; rank < request.size; ++rank) nodes.push_back(request.layout.node_of(rank));
    return nodes;
}

void add_program_arguments(CLI::App& command, ProgramArguments& arguments) {
    add_option(command, "collective", arguments.collective, "barrier, broadcast, allreduce, ...")
        .required();
    add_option(command, "--algorithm", arguments.algorithm,
               "a schedule (a8,a4) or a name with parameters (binomial:segments=4)");
    add_option(command, "--ranks", arguments.ranks, "number of ranks");
    add_option(command, "--root", arguments.root, "root of a rooted collective (0 unless given)");
    add_option(command, "--bytes", arguments.bytes,
               "bytes of each rank's vector, or of a block of it")
        .shows_default();
    add_option(command, "--type", arguments.type, "element type").shows_default();
    add_option(command, "--counts", arguments.counts,
               "gatherv, scatterv, ...: elements of each rank's block, as in 3,0,5; all those of "
               "--bytes unless given");
    add_option(command, "--placement", arguments.placement,
               "placement of the remainders of merges: ordered or paper")
        .shows_default();
    add_option(command, "--layout", arguments.layout,
               "ranks of each node, as in 3,1,4 or 18x128 (one node unless given)");
    add_flag(command, "--ordered", arguments.ordered,
             "combine in rank order, as for an operation that does not commute");
    add_neighbor_arguments(command, arguments.neighbors);
}

base::Result<std::vector<Rank>> read_nodes(const std::string& layout, Rank ranks) {
    const auto ranks_per_node = parse_layout(layout);
    if (!ranks_per_node) return ranks_per_node.failure();
    const std::int64_t sum =
        std::accumulate(ranks_per_node->begin(), ranks_per_node->end(), std::int64_t{0});
    if (sum != ranks)
        return base::fail(Status::argument, "--layout {} has {} ranks, expected {}", layout, sum,
                          ranks);
    return node_of_ranks(*ranks_per_node);
}

base::Result<plan::Layout> read_layout(const ProgramArguments& arguments, Rank ranks) {
    if (arguments.layout.empty()) return plan::Layout();
    const auto nodes = read_nodes(arguments.layout, ranks);
    if (!nodes) return nodes.failure();
    return plan::Layout::of(*nodes);
}

base::Result<Elements> read_elements(const std::string& bytes, const std::string& type_name) {
    const auto type = base::parse_type(type_name);
    if (!type) return type.failure().within("--type");
    const auto count = base::parse_bytes(bytes);
    if (!count) return count.failure().within("--bytes");
    const auto element_bytes = static_cast<std::uint32_t>(base::size_of(*type));
    if (*count % element_bytes != 0)
        return base::fail(Status::argument, "--bytes: {} is not a multiple of the {} bytes of {}",
                          *count, element_bytes, type_name);
    return Elements{*type, element_bytes, *count / element_bytes};
}

base::Result<collectives::GenerateRequest> read_request(const ProgramArguments& arguments) {
    const auto elements = read_elements(arguments.bytes, arguments.type);
    if (!elements) return elements.failure();
    const auto placement = parse_placement(arguments.placement);
    if (!placement) return placement.failure();
    collectives::GenerateRequest request;
    request.root = arguments.root.value_or(0);
    request.elements = elements->count;
    request.element_bytes = elements->bytes;
    request.placement = *placement;
    request.ordered = arguments.ordered;
    return request;
}

base::Result<void> check_any_collective(const std::string& name) {
    if (collectives::find_collective(name) != nullptr) return {};
    return base::fail(Status::argument, "unknown collective '{}'; there are {}{}", name,
                      fmt::join(collectives::kCollectiveNames, ", "),
                      base::did_you_mean(name, collectives::kCollectiveNames));
}

base::Result<std::shared_ptr<const CountedCall>> read_counted(const ProgramArguments& arguments,
                                                              Rank ranks) {
    const auto* const traits = collectives::find_collective(arguments.collective);
    if (traits == nullptr || !traits->has_counts()) {
        if (arguments.counts.empty()) return std::shared_ptr<const CountedCall>();
        return base::fail(Status::argument, "--counts: the blocks of {} are equal",
                          arguments.collective);
    }
    const auto elements = read_elements(arguments.bytes, arguments.type);
    if (!elements) return elements.failure();
    auto counts = read_counts(arguments.counts, ranks, elements->count);
    if (!counts) return counts.failure();
    CountedCall call{traits, ranks, arguments.root.value_or(0), *std::move(counts)};
    if (call.root < 0 || call.root >= ranks)
        return base::fail(Status::argument, "--root: {} is not in 0..{}", call.root, ranks - 1);
    return std::make_shared<const CountedCall>(std::move(call));
}

namespace {

/// Reads the request for `ranks` ranks, with the layout of --layout.
base::Result<collectives::GenerateRequest> read_request(const ProgramArguments& arguments,
                                                        Rank ranks) {
    auto request = read_request(arguments);
    if (!request) return request;
    auto layout = read_layout(arguments, ranks);
    if (!layout) return layout.failure();
    request->size = ranks;
    request->layout = *std::move(layout);
    return request;
}

base::Result<std::shared_ptr<const NeighborCall>> read_neighbors(const ProgramArguments& programs) {
    const NeighborArguments& arguments = programs.neighbors;
    const std::string& collective = programs.collective;
    const std::string& algorithm = programs.algorithm;
    constexpr int kReachMax = 100;
    constexpr std::size_t kDimensionsMax = 8;
    constexpr double kNeighborsMax = 1e5;
    if (arguments.grid.empty())
        return base::fail(Status::argument, "--grid is missing: {} has neighbors on a grid",
                          collective);
    const auto extents = parse_grid(arguments.grid);
    if (!extents) return extents.failure();
    if (extents->size() > kDimensionsMax)
        return base::fail(Status::argument, "--grid {}: it has {} dimensions, at most {}",
                          arguments.grid, extents->size(), kDimensionsMax);
    if (arguments.reach < 1 || arguments.reach > kReachMax)
        return base::fail(Status::argument, "--reach: {} is not in 1..{}", arguments.reach,
                          kReachMax);
    double neighbors = 1;
    for (std::size_t i = 0; i < extents->size(); ++i) neighbors *= 2 * arguments.reach + 1;
    if (!arguments.star && neighbors > kNeighborsMax)
        return base::fail(Status::argument, "--reach: {} gives a rank more than {} neighbors",
                          arguments.reach, kNeighborsMax);
    if (algorithm != "direct" && algorithm != "combined")
        return base::fail(Status::argument, "--algorithm: {} has direct and combined", collective);
    const auto dimensions = static_cast<int>(extents->size());
    auto stencil = collectives::Stencil::make(
        {*extents, std::vector<bool>(extents->size(), arguments.periodic)},
        arguments.star ? collectives::star_offsets(dimensions, arguments.reach)
                       : collectives::box_offsets(dimensions, arguments.reach));
    if (!stencil) return stencil.failure().within("--grid");
    NeighborCall call{
        *std::move(stencil),
        collective == kGather ? collectives::NeighborData::same : collectives::NeighborData::own,
        algorithm == "direct" ? collectives::NeighborWay::direct
                              : collectives::NeighborWay::combined};
    if (programs.ranks && *programs.ranks != call.ranks())
        return base::fail(Status::argument, "--ranks: {} given, --grid {} has {}", *programs.ranks,
                          arguments.grid, call.ranks());
    return std::make_shared<const NeighborCall>(std::move(call));
}

base::Result<ProgramQuestion> read_neighbor_question(const ProgramArguments& arguments) {
    auto neighbors = read_neighbors(arguments);
    if (!neighbors) return neighbors.failure();
    if (const Rank ranks = (*neighbors)->ranks(); ranks > kListedRanksMax)
        return base::fail(Status::argument, "--grid {}: {} ranks, at most {}",
                          arguments.neighbors.grid, ranks, kListedRanksMax);
    auto request = read_request(arguments, (*neighbors)->ranks());
    if (!request) return request.failure();
    request->root = plan::kNoRank;
    request->elements *= (*neighbors)->stencil.offsets().size();
    return ProgramQuestion{arguments.collective,
                           {.name = arguments.algorithm},
                           *request,
                           nullptr,
                           *std::move(neighbors)};
}

}  // namespace

base::Result<ProgramQuestion> read_question(const ProgramArguments& arguments, Rank ranks_max) {
    if (is_neighborhood(arguments.collective)) return read_neighbor_question(arguments);
    if (auto known = check_any_collective(arguments.collective); !known) return known.failure();
    const auto& traits = *collectives::find_collective(arguments.collective);
    if (arguments.algorithm.empty() && !traits.has_pairwise_counts())
        return base::fail(Status::argument,
                          "--algorithm is missing: a schedule or a name; weft list has them");
    if (!arguments.ranks) return base::fail(Status::argument, "--ranks is missing");
    const bool listed = !arguments.layout.empty() || traits.has_counts();
    if (auto bounded = check_ranks(*arguments.ranks, listed ? kListedRanksMax : ranks_max);
        !bounded)
        return bounded.failure();
    auto request = read_request(arguments, *arguments.ranks);
    if (!request) return request.failure();
    auto counted = read_counted(arguments, request->size);
    if (!counted) return counted.failure();
    const std::string collective(collectives::traits_of(traits.even).name);
    if (traits.has_pairwise_counts()) {
        if (!arguments.algorithm.empty() && arguments.algorithm != collectives::kPairwiseAlgorithm)
            return base::fail(Status::argument, "--algorithm: {} has only '{}'", traits.name,
                              collectives::kPairwiseAlgorithm);
        request->elements = (*counted)->elements();
        return ProgramQuestion{collective,
                               {.name = std::string(collectives::kPairwiseAlgorithm)},
                               *request,
                               *std::move(counted)};
    }
    auto spec = collectives::parse_spec(arguments.algorithm);
    if (!spec) return in_spec(spec.failure());
    const auto algorithm = collectives::find_algorithm(collective, *spec);
    if (!algorithm) return in_spec(algorithm.failure());
    if (!collectives::is_rooted((*algorithm)->collective)) request->root = plan::kNoRank;
    request->elements =
        collectives::contract(collective).vector_elements(request->size, request->elements);
    if (*counted != nullptr) {
        request->counts = (*counted)->counts;
        request->elements = (*counted)->elements();
    }
    return ProgramQuestion{collective, *std::move(spec), *request, *std::move(counted)};
}

base::Result<ProgramQuestion> for_models(ProgramQuestion question) {
    if (!question.is_pairwise()) return question;
    const CountedCall& call = *question.counted;
    // A block of an alltoall has one size on all ranks.
    if (call.traits->even == Collective::alltoall && !call.all_alike())
        return base::fail(Status::unsupported,
                          "--counts: an alltoallv whose counts differ is not simulated");
    question.spec = {.name = call.traits->even == Collective::alltoall ? "direct" : "flat"};
    question.request.counts = call.counts;
    question.request.root = call.traits->rooted() ? call.root : plan::kNoRank;
    auto serving = std::make_shared<CountedCall>(call);
    serving->traits = &collectives::traits_of(call.traits->even);
    question.request.counts = serving->counts;
    question.counted = std::move(serving);
    return question;
}

base::Result<plan::Stages> stages_of(const ProgramQuestion& question) {
    if (question.counted != nullptr || question.neighbors != nullptr)
        return base::fail(Status::unsupported, "stages are of equal blocks, for all ranks");
    return collectives::generate_stages(question.collective, question.spec, question.request);
}

base::Result<plan::Program> generate_one(const ProgramQuestion& question, Rank rank) {
    if (question.is_pairwise()) return question.counted->program(rank);
    if (question.neighbors != nullptr)
        return collectives::generate_neighbors({.stencil = &question.neighbors->stencil,
                                                .data = question.neighbors->data,
                                                .way = question.neighbors->way,
                                                .rank = rank,
                                                .elements = question.request.elements});
    collectives::GenerateRequest request = question.request;
    request.rank = rank;
    auto program = collectives::generate(question.collective, question.spec, request);
    if (!program) return in_spec(program.failure());
    return program;
}

base::Result<std::vector<plan::Program>> generate_all(const ProgramQuestion& question) {
    std::vector<plan::Program> programs;
    std::size_t steps = 0;
    for (Rank rank = 0; rank < question.request.size; ++rank) {
        auto program = generate_one(question, rank);
        if (!program) return program.failure();
        steps += program->steps.size() + program->blocks.size();
        if (steps > kStepsMax)
            return base::fail(Status::argument,
                              "{}: the programs of {} ranks have more than {} steps and blocks",
                              question.neighbors != nullptr ? "--grid" : "--ranks",
                              question.request.size, kStepsMax);
        programs.push_back(*std::move(program));
    }
    return programs;
}

}  // namespace weft::tools
