// SPDX-License-Identifier: BSD-3-Clause
// algorithm.hpp - what a generator is: a pure function from spec and request to one rank's program.
//
// Idea     Algorithms that go stage by stage give the programs of all ranks as one small value
//          (plan/schedule/stages.hpp), from which the program of a rank is read; others give a
//          rank's program directly.
// Next     registry.hpp for the list of all of them; README.md for how to add one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "collectives/notation/optimum.hpp"
#include "collectives/notation/spec.hpp"
#include "plan/schedule/layout.hpp"
#include "plan/schedule/program.hpp"
#include "plan/schedule/stages.hpp"

namespace weft::collectives {

/// Where the remainders of a merge stand. Ordered: so that results are in rank order; paper: first
/// of all, as the paper's peer tables have it, which is in rank order for one remainder or group
/// only.
enum class Placement : std::uint8_t { ordered, paper };

struct KnownShapes;

/// What one rank knows about the call. All but `rank` is the same on all ranks.
struct GenerateRequest {
    Rank rank = 0;
    int size = 1;
    Rank root = plan::kNoRank;
    std::uint32_t segments = 1;  ///< what each piece of the spec's pipeline is cut into
    /// Of the vector that is cut into units: where there is a block for each rank, of all blocks
    /// together.
    std::uint64_t elements = 0;
    std::uint32_t element_bytes = 1;
    Placement placement = Placement::ordered;
    bool ordered =
        false;  ///< operands must be combined in rank order: the operation does not commute
    plan::Layout layout;  ///< which node each rank is on; none given: all are on one
    /// Elements of each rank's block, where blocks differ; `elements` is their sum. Steps name
    /// blocks, not sizes, so algorithms need not read them: generate() gives their programs the
    /// counts.
    std::span<const std::uint64_t> counts = {};
    /// Of requests that differ in the rank alone: what is made once for all of them. May be null.
    KnownShapes* known_shapes = nullptr;
    bool repeats_blocks = false;  ///< as in plan::Program
};

/// The nodes of a request.
[[nodiscard]] inline plan::Layout layout_of(const GenerateRequest& request) {
    return request.layout.is_given() ? request.layout : plan::Layout(request.size, request.size);
}

struct Parameter {
    std::string_view name;
    std::string_view fallback;  ///< its value if it is not given
    std::string_view help;
    std::string_view tries = "";  ///< further values worth trying, comma separated
};

/// What holds for every program of an algorithm. The verifier proves it again for each one.
struct Properties {
    bool ordered = false;        ///< operands in rank order, at least if the request asks for it
    bool bit_identical = false;  ///< every rank gets the same bits, floating point included
    bool synchronizing = false;  ///< completion anywhere implies entry everywhere (elements > 0)
    bool notation = false;       ///< a schedule in the notation names this algorithm
    bool power_of_two = false;   ///< for power-of-two sizes only
    bool for_nodes =
        false;  ///< worth a prediction only where some of several nodes hold several ranks
    bool consecutive_nodes = false;  ///< the ranks of each node must follow each other
    bool even_nodes = false;         ///< nodes must hold equally many ranks
    bool one_node = false;           ///< all ranks must be on one node
    bool direct = false;             ///< ranks read and write each other's vectors where they lie
    bool two_trees = false;          ///< a tree for each half: of two ranks both are the same

    [[nodiscard]] bool fit(const plan::Layout& layout) const {
        return (!one_node || layout.nodes() <= 1) && (!consecutive_nodes || layout.contiguous()) &&
               (!even_nodes || layout.least() == layout.most());
    }
};

/// What the choice of an algorithm depends on; the same on all ranks.
struct CandidateRequest {
    Rank size = 1;
    Rank ranks_per_node = 0;   ///< if ranks fill all nodes evenly and in order; else 0
    StageCost stage;           ///< what a stage and a message in it cost, roughly
    std::int64_t round = 0;    ///< of a put without its bytes, from the sender to the receiver, and
    std::int64_t vector = 0;   ///< of sending and reducing the bytes of a vector: picoseconds
    std::int64_t combine = 0;  ///< of reducing what has come, if others can send meanwhile
    plan::Layout layout;       ///< which node each rank is on; none given: all are on one
    bool direct = false;       ///< ranks of a node reach each other's vectors
    bool lands = false;        ///< payloads that cross the network may land in vectors

    /// Several nodes, of which some hold several ranks.
    [[nodiscard]] bool mixed() const { return layout.nodes() > 1 && layout.most() > 1; }
};

struct Algorithm {
    std::string_view collective;
    std::string_view name;
    std::string_view summary;
    std::string_view source;
    std::vector<Parameter> parameters;
    Properties properties;
    /// One of the two. The value for all ranks, where there is one; its rank does not count. What
    /// is refused is refused on all ranks: by what all know, never by what one of them has to do.
    base::Result<plan::Program> (*generate)(const AlgorithmSpec&, const GenerateRequest&) = nullptr;
    base::Result<plan::Stages> (*stages)(const AlgorithmSpec&, const GenerateRequest&) = nullptr;
    /// Specs besides the plain name that are worth a prediction, a few.
    std::vector<std::string> (*variants)(const CandidateRequest&) = nullptr;
    /// Of a spec that says more than the name: by the algorithms that it names in turn.
    Properties (*refine)(const AlgorithmSpec&) = nullptr;
    /// Whether every rank gets the same bits with such parameters on such nodes, although the
    /// properties do not promise it for all.
    bool (*same_bits)(const AlgorithmSpec&, const plan::Layout&) = nullptr;
    /// The first rank that is bound to do the same as the request's, at the same distances from
    /// itself and with as many bytes; the request's if none is known.
    Rank (*same_as)(const GenerateRequest&) = nullptr;

    [[nodiscard]] Properties properties_of(const AlgorithmSpec& spec) const {
        return refine == nullptr ? properties : refine(spec);
    }
    [[nodiscard]] bool bit_identical_on(const AlgorithmSpec& spec,
                                        const plan::Layout& layout) const {
        return properties_of(spec).bit_identical ||
               (same_bits != nullptr && same_bits(spec, layout));
    }
};

/// The header that the programs of a call start from.
[[nodiscard]] inline plan::Program program_header(std::string_view collective,
                                                  const AlgorithmSpec& spec,
                                                  const GenerateRequest& request) {
    plan::Program header;
    header.collective = collective;
    header.algorithm = print(spec);
    header.rank = request.rank;
    header.size = request.size;
    header.root = request.root;
    header.repeats_blocks = request.repeats_blocks;
    return header;
}

/// Most pieces that a pipeline has.
inline constexpr std::uint32_t kSegmentsMax = 1 << 20;

/// Pieces of the pipeline: as many as the spec says (else one), each in as many as the request asks
/// for. More pieces than elements are allowed: some are empty.
[[nodiscard]] inline base::Result<std::uint32_t> pipeline_segments(const AlgorithmSpec& spec,
                                                                   const GenerateRequest& request) {
    constexpr std::int64_t kMost = kSegmentsMax;
    const base::Result<std::int64_t> given =
        number_parameter(spec, "segments", {.fallback = 1, .least = 1, .most = kMost});
    if (!given) return given.failure();
    return static_cast<std::uint32_t>(std::min(*given * std::int64_t{request.segments}, kMost));
}

/// For algorithms that are made to be pipelines: the request in pieces of about 8 KiB, at most 64,
/// unless the spec says how many. What the request asks for is asked of each piece.
[[nodiscard]] inline GenerateRequest in_pieces(const AlgorithmSpec& spec, GenerateRequest request) {
    constexpr std::uint64_t kPieceBytes = 8192;
    constexpr std::uint64_t kPiecesMax = 64;
    if (spec.find("segments") != nullptr) return request;
    const std::uint64_t pieces =
        request.elements / kPieceBytes * request.element_bytes +
        request.elements % kPieceBytes * request.element_bytes / kPieceBytes;
    request.segments *=
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(pieces, 1, kPiecesMax));
    return request;
}

/// The parameter `k` of a spec: a number of ranks.
[[nodiscard]] inline base::Result<Rank> radix_parameter(const AlgorithmSpec& spec,
                                                        std::int64_t fallback, std::int64_t least) {
    const base::Result<std::int64_t> k = number_parameter(
        spec, "k",
        {.fallback = fallback, .least = least, .most = std::numeric_limits<Rank>::max() - 1});
    if (!k) return k.failure();
    return static_cast<Rank>(*k);
}

/// What a parameter `segments` means, for the list of algorithms.
inline constexpr std::string_view kSegmentsHelp = "pieces of the vector that follow each other";

}  // namespace weft::collectives
