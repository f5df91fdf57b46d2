// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/program_options.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/element_types.hpp"
#include "base/read_file.hpp"
#include "base/suggestion.hpp"
#include "base/units.hpp"
#include "plan/schedule/step.hpp"
#include "tools/launch/layout.hpp"
#include "tools/text/text.hpp"

namespace weft::tools {

namespace {

constexpr std::string_view kNeighborAllgather = "neighbor_allgather";
constexpr std::string_view kNeighborAlltoall = "neighbor_alltoall";
constexpr auto kRanksMax = static_cast<std::uint64_t>(std::numeric_limits<Rank>::max());

/// Parses "4x4x4".
std::vector<Rank> parse_grid(std::string_view text) {
    std::vector<Rank> extents;
    for (const std::string_view part : base::split_list(text, 'x')) {
        const auto extent = base::parse_count(part, {.min = 1, .max = kRanksMax});
        if (!extent)
            refuse("--grid {}: expected the ranks along each dimension, as in 4x4x4", text);
        extents.push_back(static_cast<Rank>(*extent));
    }
    return extents;
}

/// Reads --counts, one count for each rank. Without --counts, all are `each`.
std::vector<std::uint64_t> read_counts(const std::string& text, Rank ranks, std::uint64_t each) {
    const auto size = static_cast<std::size_t>(ranks);
    if (text.empty()) return std::vector<std::uint64_t>(size, each);
    constexpr std::uint64_t kCountMax = std::numeric_limits<std::uint32_t>::max();
    std::vector<std::uint64_t> counts;
    for (const std::string_view part : base::split_list(text))
        counts.push_back(need(base::parse_count(part, {.max = kCountMax}), "--counts"));
    if (counts.size() != size)
        refuse("--counts: {} given, expected one for each of {} ranks", counts.size(), ranks);
    return counts;
}

/// Limit of the sum of steps and blocks that are kept, each of 32 bytes: 4 GiB.
constexpr std::size_t kStepsMax = std::size_t{1} << 27;

}  // namespace

std::uint64_t CountedCall::elements() const {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

bool CountedCall::has_equal_counts() const {
    return std::ranges::all_of(counts, [&](std::uint64_t c) { return c == counts.front(); });
}

std::uint64_t CountedCall::message_elements(Rank from, Rank to) const {
    const auto count_of = [&](Rank rank) { return counts[static_cast<std::size_t>(rank)]; };
    switch (traits->even) {
        case Collective::gather:
            return to == root ? count_of(from) : 0;
        case Collective::scatter:
            return from == root ? count_of(to) : 0;
        default:
            return count_of(to);
    }
}

std::vector<collectives::Message> CountedCall::sent(Rank rank) const {
    std::vector<collectives::Message> list;
    for (Rank to = 0; to < size; ++to)
        if (const std::uint64_t count = message_elements(rank, to); count > 0)
            list.push_back({to, count});
    return list;
}

std::vector<collectives::Message> CountedCall::received(Rank rank) const {
    std::vector<collectives::Message> list;
    for (Rank from = 0; from < size; ++from)
        if (const std::uint64_t count = message_elements(from, rank); count > 0)
            list.push_back({from, count});
    return list;
}

base::Result<plan::Program> CountedCall::program(Rank rank) const {
    const auto to = sent(rank);
    const auto from = received(rank);
    return collectives::generate_v_collective(
        {.collective = traits->name,
         .rank = rank,
         .size = size,
         .root = traits->rooted() ? root : plan::kNoRank,
         .piece_elements = std::max<std::uint64_t>(1, std::ranges::max(counts)),
         .sent = to,
         .received = from});
}

plan::Contract CountedCall::contract() const {
    plan::Contract contract{
        .collective = std::string(traits->name), .input = {}, .output = {}, .expected = {}};
    contract.input = [this](const plan::Program& header) {
        return plan::UnitRange{0, static_cast<std::uint32_t>(sent(header.rank).size())};
    };
    contract.output = [this](const plan::Program& header) {
        const auto first = static_cast<std::uint32_t>(sent(header.rank).size());
        return plan::UnitRange{first, header.units - std::min(first, header.units)};
    };
    // Each received block must be the block that its sender has for this rank.
    contract.expected = [this](const plan::Program& header) {
        std::vector<plan::Expectation> list;
        auto unit = static_cast<std::uint32_t>(sent(header.rank).size());
        for (const collectives::Message& message : received(header.rank)) {
            const auto sends = sent(message.peer);
            const auto at =
                std::ranges::find(sends, header.rank, &collectives::Message::peer) - sends.begin();
            list.push_back({unit++, message.peer, message.peer, static_cast<std::uint32_t>(at)});
        }
        return list;
    };
    return contract;
}

bool is_neighborhood(std::string_view collective) {
    return collective == kNeighborAllgather || collective == kNeighborAlltoall;
}

void check_ranks(Rank ranks, Rank most) {
    if (ranks < 1 || ranks > most) refuse("--ranks: {} is not in 1..{}", ranks, most);
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
               "bytes of each rank's buffer, or of one of its blocks");
    add_option(command, "--type", arguments.type, "element type");
    add_option(command, "--counts", arguments.counts,
               "gatherv, scatterv, ...: elements of each rank's block, as in 3,0,5; default: "
               "those of --bytes for each rank");
    add_option(command, "--placement", arguments.placement,
               "placement of the remainders of merges: ordered or paper")
        .one_of({"ordered", "paper"});
    add_option(command, "--layout", arguments.layout,
               "ranks of each node, as in 3,1,4 or 18x128 (one node unless given)");
    add_flag(command, "--ordered", arguments.ordered,
             "combine in rank order, as for an operation that does not commute");
    add_option(command, "--grid", arguments.grid,
               "neighbor_...: ranks along each dimension of the grid, as in 4x4x4");
    add_flag(command, "--periodic", arguments.periodic,
             "neighbor_...: the last rank of each dimension is next to the first one");
    add_option(command, "--reach", arguments.reach,
               "neighbor_...: largest distance of a neighbor, in each dimension");
    add_flag(command, "--star", arguments.star,
             "neighbor_...: only neighbors along the dimensions, none across corners");
}

std::vector<Rank> read_nodes(const std::string& layout, Rank ranks) {
    const auto ranks_per_node = need(parse_layout(layout));
    const std::int64_t sum =
        std::accumulate(ranks_per_node.begin(), ranks_per_node.end(), std::int64_t{0});
    if (sum != ranks) refuse("--layout {} has {} ranks, expected {}", layout, sum, ranks);
    return node_of_ranks(ranks_per_node);
}

ElementCount read_elements(const std::string& bytes, const std::string& type_name) {
    const auto type = need(base::parse_type(type_name), "--type");
    const auto count = need(base::parse_bytes(bytes), "--bytes");
    const auto element_bytes = static_cast<std::uint32_t>(base::size_of(type));
    if (count % element_bytes != 0)
        refuse("--bytes: {} is not a multiple of the {} bytes of {}", count, element_bytes,
               type_name);
    return ElementCount{type, element_bytes, count / element_bytes};
}

const collectives::CollectiveTraits& known_collective(const std::string& name) {
    if (const auto* const traits = collectives::find_collective(name)) return *traits;
    refuse("unknown collective '{}'; known: {}{}", name,
           fmt::join(collectives::kCollectiveNames, ", "),
           base::did_you_mean(name, collectives::kCollectiveNames));
}

namespace {

collectives::GenerateRequest read_request(const ProgramArguments& arguments, Rank ranks) {
    const ElementCount elements = read_elements(arguments.bytes, arguments.type);
    collectives::GenerateRequest request{.size = ranks};
    if (!arguments.layout.empty())
        request.layout = plan::Layout::of(read_nodes(arguments.layout, ranks));
    request.root = arguments.root.value_or(0);
    request.elements = elements.count;
    request.element_bytes = elements.bytes;
    request.placement = arguments.placement == "paper" ? collectives::Placement::paper
                                                       : collectives::Placement::ordered;
    request.ordered = arguments.ordered;
    return request;
}

/// Reads a v-collective of `ranks` ranks; returns nullptr for other collectives.
std::shared_ptr<const CountedCall> read_counted(const ProgramArguments& arguments, Rank ranks) {
    const auto* const traits = collectives::find_collective(arguments.collective);
    if (traits == nullptr || !traits->has_counts()) {
        if (arguments.counts.empty()) return nullptr;
        refuse("--counts: the blocks of {} are equal", arguments.collective);
    }
    const ElementCount elements = read_elements(arguments.bytes, arguments.type);
    CountedCall call{traits, ranks, arguments.root.value_or(0),
                     read_counts(arguments.counts, ranks, elements.count)};
    if (call.root < 0 || call.root >= ranks)
        refuse("--root: {} is not in 0..{}", call.root, ranks - 1);
    return std::make_shared<const CountedCall>(std::move(call));
}

/// Reads --grid, --periodic, --reach and --star.
collectives::Stencil read_stencil(const ProgramArguments& arguments) {
    constexpr int kReachMax = 100;
    constexpr std::size_t kDimensionsMax = 8;
    constexpr double kNeighborsMax = 1e5;
    if (arguments.grid.empty())
        refuse("--grid is missing: {} has neighbors on a grid", arguments.collective);
    const auto extents = parse_grid(arguments.grid);
    if (extents.size() > kDimensionsMax)
        refuse("--grid {}: it has {} dimensions, at most {}", arguments.grid, extents.size(),
               kDimensionsMax);
    if (arguments.reach < 1 || arguments.reach > kReachMax)
        refuse("--reach: {} is not in 1..{}", arguments.reach, kReachMax);
    const auto dimensions = static_cast<int>(extents.size());
    if (!arguments.star && std::pow(2 * arguments.reach + 1, dimensions) > kNeighborsMax)
        refuse("--reach: {} gives a rank more than {} neighbors", arguments.reach, kNeighborsMax);
    return need(collectives::Stencil::make(
                    {extents, std::vector<bool>(extents.size(), arguments.periodic)},
                    arguments.star ? collectives::star_offsets(dimensions, arguments.reach)
                                   : collectives::box_offsets(dimensions, arguments.reach)),
                "--grid");
}

ProgramQuestion read_neighbor_call(const ProgramArguments& arguments) {
    const bool allgather = arguments.collective == kNeighborAllgather;
    const auto stencil = read_stencil(arguments);
    const auto ranks = static_cast<Rank>(stencil.grid().ranks());
    if (arguments.ranks && *arguments.ranks != ranks)
        refuse("--ranks: {} given, --grid {} has {}", *arguments.ranks, arguments.grid, ranks);
    if (ranks > kListedRanksMax)
        refuse("--grid {}: {} ranks, at most {}", arguments.grid, ranks, kListedRanksMax);
    ProgramQuestion call{
        .collective = arguments.collective, .spec = {}, .request = read_request(arguments, ranks)};
    call.request.root = plan::kNoRank;
    call.request.elements *= stencil.offsets().size();
    call.neighbors = std::make_shared<const NeighborCall>(NeighborCall{
        stencil, allgather ? collectives::NeighborData::same : collectives::NeighborData::own});
    return call;
}

/// Reads the call of a collective without neighbors.
ProgramQuestion read_collective_call(const ProgramArguments& arguments, Rank ranks) {
    const auto& traits = known_collective(arguments.collective);
    ProgramQuestion call{.collective = std::string(collectives::traits_of(traits.even).name),
                         .spec = {},
                         .request = read_request(arguments, ranks),
                         .counted = read_counted(arguments, ranks)};
    if (!traits.rooted()) call.request.root = plan::kNoRank;
    if (call.counted != nullptr) {
        call.request.elements = call.counted->elements();
        call.request.counts = call.counted->counts;
    } else {
        const plan::Contract& contract = collectives::contract(call.collective);
        call.request.elements = contract.vector_elements(ranks, call.request.elements);
    }
    return call;
}

std::vector<plan::Program> read_programs(const ProgramArguments& arguments,
                                         const std::string& file) {
    if (!arguments.algorithm.empty()) refuse("--program and --algorithm exclude each other");
    const auto text = need(base::read_file(file, kInputBytesMax), "--program");
    auto programs = need(plan::parse_programs(text), file);
    if (programs.empty()) refuse("--program: {} holds no program", file);
    const auto found = static_cast<Rank>(programs.size());
    if (const Rank stated = programs.front().size; stated != found)
        refuse("--program: {} says 'ranks {}', but holds the programs of {}", file, stated, found);
    const std::string& collective = programs.front().collective;
    const auto& traits = known_collective(arguments.collective);
    if (!collective.empty() && collective != traits.name &&
        collective != collectives::traits_of(traits.even).name)
        refuse("--program: expected programs of {}, but {} holds programs of {}",
               arguments.collective, file, collective);
    if (arguments.ranks && *arguments.ranks != found)
        refuse("--ranks: {} given, but {} holds the programs of {}", *arguments.ranks, file, found);
    return programs;
}

}  // namespace

ProgramQuestion read_call(const ProgramArguments& arguments, Rank ranks_max) {
    if (is_neighborhood(arguments.collective)) return read_neighbor_call(arguments);
    const auto& traits = known_collective(arguments.collective);
    if (!arguments.ranks) refuse("--ranks is missing");
    const bool listed = !arguments.layout.empty() || traits.has_counts();
    check_ranks(*arguments.ranks, listed ? kListedRanksMax : ranks_max);
    return read_collective_call(arguments, *arguments.ranks);
}

void set_algorithm(ProgramQuestion& question, const std::string& algorithm) {
    if (question.neighbors != nullptr) {
        if (std::ranges::find(kNeighborAlgorithms, algorithm) == kNeighborAlgorithms.end())
            refuse("--algorithm: {} has only {}, not '{}'", question.collective,
                   fmt::join(kNeighborAlgorithms, " and "), algorithm);
        question.spec.name = algorithm;
    } else if (question.is_pairwise()) {
        if (!algorithm.empty() && algorithm != collectives::kPairwiseAlgorithm)
            refuse("--algorithm: {} has only '{}'", question.counted->traits->name,
                   collectives::kPairwiseAlgorithm);
        question.spec.name = collectives::kPairwiseAlgorithm;
    } else {
        if (algorithm.empty())
            refuse("--algorithm is missing: a schedule or a name; weft list has them");
        question.spec = need_of_spec(collectives::parse_spec(algorithm));
        need_of_spec(collectives::find_algorithm(question.collective, question.spec));
    }
}

ProgramQuestion read_question(const ProgramArguments& arguments, Rank ranks_max) {
    ProgramQuestion question = read_call(arguments, ranks_max);
    set_algorithm(question, arguments.algorithm);
    return question;
}

std::vector<collectives::Schedule> schedules_for(
    std::string_view collective, Rank size,
    std::initializer_list<collectives::ScheduleFamily> families, std::size_t most) {
    std::vector<collectives::Schedule> schedules;
    const auto named = [](const collectives::Algorithm& each) { return each.properties.notation; };
    if (size < 2 || std::ranges::none_of(collectives::algorithms_of(collective), named))
        return schedules;
    for (const collectives::ScheduleFamily family : families) {
        std::size_t remaining = most;
        collectives::for_each_schedule(size, family, [&](const collectives::Schedule& schedule) {
            if (remaining-- == 0) return false;
            schedules.push_back(schedule);
            return true;
        });
    }
    return schedules;
}

ProgramQuestion read_given(const ProgramArguments& arguments, const std::string& file) {
    auto programs = read_programs(arguments, file);
    ProgramQuestion question = read_collective_call(arguments, static_cast<Rank>(programs.size()));
    const std::string& name = programs.front().algorithm;
    question.spec.name = name.empty() ? file : name;
    question.given = std::make_shared<const std::vector<plan::Program>>(std::move(programs));
    return question;
}

ProgramQuestion for_models(ProgramQuestion question) {
    if (!question.is_pairwise()) return question;
    const CountedCall& call = *question.counted;
    // The programs of "direct" for alltoall have one block size.
    if (call.traits->even == Collective::alltoall && !call.has_equal_counts())
        fail(Status::unsupported, "--counts: an alltoallv whose counts differ is not simulated");
    question.spec = {.name = call.traits->even == Collective::alltoall ? "direct" : "flat"};
    auto modeled = std::make_shared<CountedCall>(call);
    modeled->traits = &collectives::traits_of(call.traits->even);
    question.request.counts = modeled->counts;
    question.counted = std::move(modeled);
    return question;
}

base::Result<plan::Stages> stages_of(const ProgramQuestion& question) {
    if (question.given != nullptr)
        return base::fail(Status::unsupported, "programs of a file have no stages");
    if (question.counted != nullptr || question.neighbors != nullptr)
        return base::fail(Status::unsupported, "only calls with equal blocks have stages");
    return collectives::generate_stages(question.collective, question.spec, question.request);
}

base::Result<plan::Program> generate_one(const ProgramQuestion& question, Rank rank) {
    if (question.given != nullptr) return question.given->at(static_cast<std::size_t>(rank));
    if (question.is_pairwise()) return question.counted->program(rank);
    if (question.neighbors != nullptr)
        return collectives::generate_neighbors(
            {.stencil = &question.neighbors->stencil,
             .data = question.neighbors->data,
             .way = question.spec.name == kNeighborAlgorithms.front()
                        ? collectives::NeighborWay::direct
                        : collectives::NeighborWay::combined,
             .rank = rank,
             .elements = question.request.elements});
    collectives::GenerateRequest request = question.request;
    request.rank = rank;
    auto program = collectives::generate(question.collective, question.spec, request);
    if (!program) return in_spec(program.failure());
    return program;
}

std::vector<plan::Program> generate_all(const ProgramQuestion& question) {
    std::vector<plan::Program> programs;
    std::size_t steps = 0;
    for (Rank rank = 0; rank < question.request.size; ++rank) {
        auto program = need(generate_one(question, rank));
        steps += program.steps.size() + program.blocks.size();
        if (steps > kStepsMax)
            refuse("{}: the programs of {} ranks have more than {} steps and blocks",
                   question.neighbors != nullptr ? "--grid" : "--ranks", question.request.size,
                   kStepsMax);
        programs.push_back(std::move(program));
    }
    return programs;
}

}  // namespace weft::tools
