// SPDX-License-Identifier: BSD-3-Clause
// halving.cpp - allreduce and reduce_scatter that halve a few times, then use another algorithm.
//
// Idea     In each of `levels` levels, numbers w and w xor 2^k exchange halves of their range, like
//          halving_doubling.cpp. Then the ranks whose numbers agree in the low `levels` bits have
//          the same range. They reduce it by the algorithm `then`, which may again be `halving`.
//          An allreduce finally distributes the ranges in the reverse order.
//          Allreduce: if 2^levels does not divide n, the first ranks form n mod 2^levels pairs that
//          share a number. reduce_scatter: a level needs an even number of ranks, so later levels
//          are left out.
// Source   Rabenseifner, Optimization of collective reduction operations, section 6.
// Rounds   2 for each level of an allreduce (up to 3 more with pairs), 1 for a level of a
//          reduce_scatter, and the rounds of `then` among n / 2^levels ranks.
// Bytes    For a buffer of m bytes: each rank sends m (1 - 1/2^levels), in an allreduce twice that,
//          and what `then` sends for m / 2^levels bytes. With pairs, a rank sends up to 1.5m more.
// Memory   Slots for arriving bytes, and the slots of `then`; reduce_scatter: a scratch buffer.
// Good for Numbers of ranks with a factor 2^k: fewer rounds than a ring, and the same bytes.
// Holds    Rank order and equal bits if `then` has them: its operands are sums of consecutive
//          ranks, in rank order. Synchronizing.
#include <bit>

#include "collectives/entries.hpp"
#include "collectives/generate/range_exchange.hpp"
#include "collectives/nodes/groups.hpp"
#include "collectives/registry.hpp"

namespace weft::collectives {

namespace {

constexpr std::string_view kThenDefault = "ring";

struct Halving {
    std::uint32_t levels = 0;
    Named then;

    [[nodiscard]] std::uint32_t ranges() const { return 1U << levels; }
};

base::Result<Halving> halving_of(const GenerateRequest& request, std::uint32_t levels_max) {
    const std::string_view collective = request.algorithm->collective;
    const AlgorithmSpec& spec = *request.spec;
    const auto levels =
        WEFT_TRY(number_parameter(spec, "levels", {.fallback = 1, .least = 1, .most = 30}));
    Halving halving{std::min(as_u32(levels), levels_max),
                    WEFT_TRY(named_by(spec, "then", kThenDefault, {&collective, 1}))};
    const Properties properties = halving.then.algorithm->properties_of(halving.then.spec);
    if (properties.direct || properties.two_trees)
        return base::fail(Status::argument, "then: {} {} {}: use another algorithm", collective,
                          print(halving.then.spec),
                          properties.direct ? "is for ranks that share a node"
                                            : "cuts the buffer into halves, not into segments");
    return halving;
}

/// Returns the part in which the ranks of a group run `then`. `request` has the ranks and size of
/// the group.
base::Result<plan::SplicePart> part_of_group(const Halving& halving, GenerateRequest request,
                                             bool takes_part) {
    plan::SplicePart part;
    const Rank rank = request.rank;
    for (const Rank end : {Rank{0}, request.size - 1}) {  // one of them has the most lanes
        request.rank = end;
        auto shape = WEFT_TRY(generate_part(halving.then.collective, halving.then.spec, request));
        part.shapes.push_back(std::make_shared<const plan::Program>(std::move(shape)));
    }
    request.rank = rank;
    if (takes_part)
        part.own = WEFT_TRY(generate_part(halving.then.collective, halving.then.spec, request));
    return part;
}

/// Returns a part for the whole team; `write(writer)` writes the steps of a segment.
template <class Write>
base::Result<plan::SplicePart> part_of_team(const BlockCall& call, GenerateRequest request,
                                            Write write) {
    const AlgorithmSpec without_segments{.name = "halving"};
    request.spec = &without_segments;
    request.one_at_a_time = true;
    plan::SplicePart part;
    part.own = WEFT_TRY(program_by_blocks(
        call, request, [&](BlockWriter& writer, const GenerateRequest&) { write(writer); }));
    part.shapes.push_back(std::make_shared<const plan::Program>(*part.own));
    part.rank_of = [](Rank rank) { return rank; };
    return part;
}

// Put numbers of pairs in an allreduce, before the numbers of the levels.
constexpr std::uint32_t kFold = 0;
constexpr std::uint32_t kHandOver = 1;
constexpr std::uint32_t kFirstLevel = 2;

/// Steps of one rank of an allreduce, before and after `then`.
class Allreduce {
  public:
    Allreduce(const Halving& halving, Rank rank, Rank size)
        : levels_(halving.levels),
          all_{0, halving.ranges()},
          folding_(size, as_u32(size) / halving.ranges() * halving.ranges()),
          rank_(rank) {}

    [[nodiscard]] bool represents() const { return folding_.first_of(number_) == rank_; }
    /// Returns the rank in the group that uses `then`, and the size of each group.
    [[nodiscard]] Rank rank_in_group() const { return static_cast<Rank>(number_ >> levels_); }
    [[nodiscard]] Rank group_size() const { return static_cast<Rank>(folding_.numbers >> levels_); }
    [[nodiscard]] std::function<Rank(Rank)> rank_of() const {
        return [folding = folding_, levels = levels_, low = number_ % all_.count](Rank rank) {
            return folding.first_of(as_u32(rank) << levels | low);
        };
    }
    [[nodiscard]] std::uint32_t range() const { return halved(all_.count, number_, levels_).first; }

    void halve(BlockWriter& writer) const {
        PartialResult partial(writer, PartialResult::Kept::output);
        if (in_pair_)
            fold_pair(writer, partial, rank_, all_.count, {kFold, kHandOver}, represents());
        if (represents()) exchange(writer, partial).halve(kFirstLevel);
        if (folding_.numbers == 1) writer->copy(writer.output(0), writer.input(0));
        for (const std::uint32_t put : {kFold, kHandOver})
            writer->reserve_capacity(put, folding_.pairs > 0 ? all_.count / 2 : 0);
        RangeExchange::reserve(writer, kFirstLevel, levels_, all_.count);
    }
    void double_up(BlockWriter& writer) const {
        PartialResult partial(writer, PartialResult::Kept::output);
        if (represents()) exchange(writer, partial).double_up(kFirstLevel);
        if (in_pair_ && represents()) writer->put(rank_ + 1, kFold, partial.kept(all_));
        if (!represents()) partial.take(all_, rank_ - 1, kFold);
        writer->reserve_capacity(kFold, folding_.pairs > 0 ? all_.count : 0);
        RangeExchange::reserve(writer, kFirstLevel, levels_, all_.count);
    }

  private:
    [[nodiscard]] RangeExchange exchange(BlockWriter& writer, PartialResult& partial) const {
        return {writer,
                partial,
                {number_, levels_, all_.count},
                [folding = folding_](std::uint32_t number) { return folding.first_of(number); }};
    }

    std::uint32_t levels_;
    BlockRange all_;
    Folding folding_;
    Rank rank_;
    std::uint32_t number_ = folding_.number_of(rank_);
    bool in_pair_ = folding_.in_pair(rank_);
};

base::Result<plan::Program> generate_allreduce(GenerateRequest request) {
    request.segments = WEFT_TRY(pipeline_segments(request));
    const std::uint32_t levels_max = as_u32(std::bit_width(as_u32(request.size))) - 1;
    const Halving halving = WEFT_TRY(halving_of(request, levels_max));
    plan::Program header = program_header(request);
    if (header.units == 0) return header;
    const Allreduce steps(halving, request.rank, request.size);
    const BlockCall call{.blocks = halving.ranges()};
    std::vector<plan::SplicePart> parts;
    parts.push_back(
        WEFT_TRY(part_of_team(call, request, [&](BlockWriter& writer) { steps.halve(writer); })));
    GenerateRequest of_group = request;
    of_group.rank = steps.rank_in_group();
    of_group.size = steps.group_size();
    of_group.elements = std::max<std::uint64_t>(1, request.elements / halving.ranges());
    if (of_group.size > 1) {
        auto part = WEFT_TRY(part_of_group(halving, of_group, steps.represents()));
        part.input = part.output = {plan::Buffer::output};
        part.range = steps.range();
        part.ranges = halving.ranges();
        part.rank_of = steps.rank_of();
        parts.push_back(std::move(part));
    }
    parts.push_back(WEFT_TRY(
        part_of_team(call, request, [&](BlockWriter& writer) { steps.double_up(writer); })));
    return plan::splice(std::move(header), parts,
                        request.one_at_a_time ? plan::Flow::one_segment : plan::Flow::segments);
}

/// Writes the levels of a reduce_scatter. `ends`: `then` does not follow, because each rank is left
/// with its own block. Otherwise the output is the scratch buffer from which `then` reads.
void write_levels(BlockWriter& writer, std::uint32_t levels, std::uint32_t rank,
                  std::uint32_t ranks, bool ends) {
    for (std::uint32_t level = 0; level < levels; ++level) {
        const std::uint32_t distance = 2U << level;
        const std::uint32_t count = ranks / distance;
        const std::uint32_t other = rank ^ (1U << level);
        const auto partial = [&](std::uint32_t first) {
            return strided(ends ? writer.scratch(0, first, count) : writer.output(first, count),
                           distance);
        };
        const auto value = [&](std::uint32_t number) {
            const std::uint32_t first = number % distance;
            return level > 0 ? partial(first) : strided(writer.input(first, count), distance);
        };
        const std::uint32_t first = rank % distance;
        const plan::Block received = strided(writer.slot(level, first, count), distance);
        const bool last = ends && level + 1 == levels;
        writer->put(static_cast<Rank>(other), level, value(other));
        writer->wait(static_cast<Rank>(other), level);
        const plan::Block kept = last ? writer.output(rank) : partial(first);
        if (other < rank)
            writer->reduce(kept, {received, value(rank)});
        else
            writer->reduce(kept, {value(rank), received});
        writer->reserve_capacity(level, count);
    }
    if (ranks == 1) writer->copy(writer.output(0), writer.input(0));
}

base::Result<plan::Program> generate_reduce_scatter(GenerateRequest request) {
    request.segments = WEFT_TRY(pipeline_segments(request));
    const auto ranks = as_u32(request.size);
    const auto rank = as_u32(request.rank);
    const Halving halving = WEFT_TRY(halving_of(request, as_u32(std::countr_zero(ranks))));
    plan::Program header = program_header(request);
    if (header.units == 0) return header;
    const bool ends = ranks == halving.ranges();
    const plan::VectorName kept{ends ? plan::Buffer::output : plan::Buffer::scratch};
    header.scratch = ends || halving.levels == 0 ? 0 : 1;
    std::vector<plan::SplicePart> parts;
    parts.push_back(WEFT_TRY(part_of_team({}, request, [&](BlockWriter& writer) {
        write_levels(writer, halving.levels, rank, ranks, ends);
    })));
    parts.front().output = kept;
    parts.front().blocks_of = [](Rank block) { return std::vector<Rank>{block}; };
    if (!ends) {
        GenerateRequest of_group = request;
        of_group.rank = static_cast<Rank>(rank >> halving.levels);
        of_group.size = static_cast<Rank>(ranks >> halving.levels);
        of_group.elements = std::max<std::uint64_t>(1, request.elements / halving.ranges());
        auto part = WEFT_TRY(part_of_group(halving, of_group, /*takes_part=*/true));
        if (halving.levels > 0) part.input = kept;
        part.rank_of = [low = rank % halving.ranges(), levels = halving.levels](Rank member) {
            return static_cast<Rank>(as_u32(member) << levels | low);
        };
        part.blocks_of = [rank_of = part.rank_of](Rank block) {
            return std::vector<Rank>{rank_of(block)};
        };
        parts.push_back(std::move(part));
    }
    return plan::splice(std::move(header), parts,
                        request.one_at_a_time ? plan::Flow::one_segment : plan::Flow::segments);
}

/// Returns the number of levels, at most `most`, after which it is fastest to exchange the rest in
/// one round (pairwise).
std::uint32_t levels_before_pairs(const CandidateRequest& request, std::uint32_t most) {
    const auto time = [&](std::uint32_t levels) {
        const std::int64_t peers = (as_u32(request.size) >> levels) - 1;
        return levels * request.put_ps + request.latency_ps + request.receive_ps +
               peers * std::max(request.issue_ps, request.receive_ps);
    };
    std::uint32_t best = 0;
    for (std::uint32_t levels = 1; levels <= most; ++levels)
        if (time(levels) < time(best)) best = levels;
    return best;
}

/// Returns specs that halve while the number of ranks is even. Then up to kRingMax ranks use the
/// default, and more ranks use `then_of_many`. A reduce_scatter (`scatters`) may also halve less
/// often, before a pairwise exchange.
std::vector<std::string> variants_of(const CandidateRequest& request, std::string_view then_of_many,
                                     bool scatters) {
    constexpr std::uint32_t kRingMax = 8;
    const auto ranks = as_u32(request.size);
    const auto levels = as_u32(std::countr_zero(ranks));
    if (levels == 0) return {};
    std::vector<std::string> specs;
    if (scatters)
        if (const auto before = levels_before_pairs(request, levels); before > 0)
            specs.push_back(fmt::format("halving:levels={},then=(pairwise)", before));
    if (std::has_single_bit(ranks)) return specs;
    specs.push_back(fmt::format("halving:levels={},then=({})", levels,
                                ranks >> levels <= kRingMax ? kThenDefault : then_of_many));
    if (request.segments > 1)
        specs.push_back(fmt::format("{},segments={}", specs.back(), request.segments));
    return specs;
}

Algorithm entry(std::string_view collective, std::string_view summary,
                std::string_view then_of_many, Generate generate) {
    return {.collective = collective,
            .name = "halving",
            .summary = summary,
            .source = "Rabenseifner, Optimization of collective reduction operations, section 6",
            .parameters = {{"levels", "1", "times that the buffer is halved", "2,3"},
                           {"then", kThenDefault, "algorithm for the ranks with the same range",
                            collective == "allreduce" ? "(recursive-doubling),(generalized)"
                                                      : "(pairwise),(halving)"},
                           kTriedSegments},
            .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
            .generate = std::move(generate),
            .variants =
                [=](const CandidateRequest& request) {
                    return variants_of(request, then_of_many, collective == "reduce_scatter");
                },
            .refine =
                [=](const AlgorithmSpec& spec) {
                    Properties properties{
                        .ordered = true, .bit_identical = true, .synchronizing = true};
                    const auto named = named_by(spec, "then", kThenDefault, {&collective, 1});
                    if (!named) return properties;
                    const Properties inner = named->algorithm->properties_of(named->spec);
                    properties.ordered = inner.ordered;
                    properties.bit_identical = inner.bit_identical;
                    return properties;
                }};
}

}  // namespace

Algorithm allreduce_halving() {
    return entry("allreduce", "halves the buffer a few times, then another algorithm, then back",
                 "generalized", &generate_allreduce);
}
Algorithm reduce_scatter_halving() {
    return entry("reduce_scatter", "exchanges halves a few times, then uses another algorithm",
                 "circulant", &generate_reduce_scatter);
}

}  // namespace weft::collectives
