// SPDX-License-Identifier: BSD-3-Clause
// algorithm.hpp - an algorithm of a collective, and the request from which it generates programs.
//
// Idea     A generator is a pure function: it turns a spec and a request into the program of one
//          rank. Algorithms with stages return the programs of all ranks as one small value
//          (plan/schedule/stages.hpp), from which the program of each rank is read.
// Next     README.md for how to add an algorithm.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "collectives/collective_traits.hpp"
#include "collectives/notation/optimum.hpp"
#include "collectives/notation/spec.hpp"
#include "plan/schedule/layout.hpp"
#include "plan/schedule/program.hpp"
#include "plan/schedule/stages.hpp"

namespace weft::collectives {

using plan::as_u32;

/// Choice of the remainders of a merge stage (notation/schedule.hpp). `ordered`: the remainders of
/// a group are the ranks before its members, so results are in rank order. `paper`: the first
/// ranks, as in the paper's peer tables. Results are then in rank order only with one remainder or
/// one group.
enum class Placement : std::uint8_t { ordered, paper };

struct Algorithm;
struct KnownShapes;  // nodes/groups.hpp

/// A call as one rank sees it. All members except `rank` are equal on all ranks.
struct GenerateRequest {
    Rank rank = 0;
    int size = 1;
    Rank root = plan::kNoRank;
    std::uint32_t segments = 1;  ///< parts into which each piece of the spec's pipeline is cut
    /// Elements of the buffer that is cut into units. In collectives with a block for each rank,
    /// these are the elements of all blocks together.
    std::uint64_t elements = 0;
    std::uint32_t element_bytes = 1;
    Placement placement = Placement::ordered;
    /// Operands must be combined in rank order because the operation does not commute.
    bool ordered = false;
    plan::Layout layout;  ///< node of each rank; not given: all ranks are on one node
    /// Elements of each rank's block if blocks differ in size; `elements` is their sum.
    /// Algorithms need not read them, because steps name blocks, not sizes. generate() adds the
    /// counts to the programs.
    std::span<const std::uint64_t> counts = {};
    /// Cache shared by requests that differ only in `rank`. May be null.
    KnownShapes* known_shapes = nullptr;
    bool repeats_blocks = false;  ///< as in plan::Program
    /// Segments run one after the other (interleave()): in a part of another program, or because
    /// put targets have no room for several.
    bool one_at_a_time = false;
    bool is_part = false;  ///< the program becomes a part of another one (plan/schedule/splice.hpp)
    // Set by generate() and generate_stages() (registry.hpp):
    const Algorithm* algorithm = nullptr;
    const AlgorithmSpec* spec = nullptr;
};

/// Returns the layout of a request; a single node if none was given.
[[nodiscard]] inline plan::Layout layout_of(const GenerateRequest& request) {
    return request.layout.is_given() ? request.layout : plan::Layout(request.size, request.size);
}

/// Parameter of a spec.
struct Parameter {
    std::string_view name;
    std::string_view fallback;  ///< value if the spec does not give one
    std::string_view help;
    std::string_view tries = "";  ///< further values worth trying, comma separated
};

/// Properties of every program of an algorithm. Tests prove the first three.
struct Properties {
    bool ordered = false;        ///< combines in rank order, at least if the request is `ordered`
    bool bit_identical = false;  ///< every rank gets the same bits, floating point included
    bool synchronizing = false;  ///< a rank completes after all have entered (if elements > 0)
    bool notation = false;       ///< a schedule in the notation names this algorithm
    bool power_of_two = false;   ///< for power-of-two sizes only
    /// Worth a prediction only if there are several nodes and some have several ranks.
    bool for_nodes = false;
    bool consecutive_nodes = false;  ///< the ranks of each node must be consecutive
    bool even_nodes = false;         ///< all nodes must have the same number of ranks
    bool one_node = false;           ///< all ranks must be on one node
    bool direct = false;             ///< ranks access each other's buffers in place
    bool two_trees = false;  ///< a tree for each half of the buffer; equal trees on two ranks

    [[nodiscard]] bool fit(const plan::Layout& layout) const {
        return (!one_node || layout.nodes() <= 1) && (!consecutive_nodes || layout.contiguous()) &&
               (!even_nodes || layout.least() == layout.most());
    }
};

/// Input for the choice of an algorithm; equal on all ranks.
struct CandidateRequest {
    Rank size = 1;
    Rank ranks_per_node = 0;  ///< 0 unless all nodes have equally many, consecutive ranks
    StageCost stage;          ///< costs of a stage and of each further message in it
    /// The same for messages between ranks of a node.
    StageCost local_stage = {};
    std::int64_t latency_ps = 0;  ///< time from the end of a sender's work to the arrival
    std::int64_t put_ps = 0;      ///< time of an empty put, from the sender's call to its arrival
    std::int64_t buffer_ps = 0;   ///< time to send and reduce the bytes of a buffer
    std::int64_t combine_ps = 0;  ///< time to reduce received data while others can send
    std::int64_t issue_ps = 0;    ///< time that the sender of an empty put is busy
    std::int64_t send_bytes_ps = 0;  ///< additional time of the sender for the bytes of a buffer
    std::int64_t receive_ps = 0;     ///< time to receive a buffer and, in reductions, to reduce it
    /// Pieces in which exchanges are predicted, in addition to one piece.
    std::uint32_t segments = 1;
    plan::Layout layout;           ///< node of each rank; not given: all ranks are on one node
    bool direct = false;           ///< local peers can access each other's buffers
    bool direct_delivery = false;  ///< payloads from other nodes may be put directly into buffers

    /// Returns true if there are several nodes and some have several ranks.
    [[nodiscard]] bool mixed() const { return layout.nodes() > 1 && layout.most() > 1; }
};

/// Returns the program of the request's rank.
using Generate = std::function<base::Result<plan::Program>(const GenerateRequest&)>;
/// Returns the programs of all ranks as one value.
using GenerateStages = std::function<base::Result<plan::Stages>(const GenerateRequest&)>;

struct Algorithm {
    std::string_view collective;
    std::string_view name;
    std::string_view summary;
    std::string_view source;  ///< publication; "ours" if there is none
    std::vector<Parameter> parameters;
    Properties properties;
    /// Exactly one of `generate` and `stages` is set. `stages` ignores `rank` of the request. A
    /// refusal depends only on facts that all ranks know, so all ranks refuse the same requests.
    Generate generate = nullptr;
    GenerateStages stages = nullptr;
    /// Returns a few specs, in addition to the plain name, that are worth a prediction.
    std::function<std::vector<std::string>(const CandidateRequest&)> variants = nullptr;
    /// Returns the properties of a spec, for algorithms whose parameters name other algorithms.
    std::function<Properties(const AlgorithmSpec&)> refine = nullptr;
    /// Returns true if all ranks get equal bits with these parameters on these nodes, although
    /// `properties` does not promise it in general.
    std::function<bool(const AlgorithmSpec&, const plan::Layout&)> same_bits = nullptr;

    [[nodiscard]] const Parameter* parameter(std::string_view key) const {
        const auto found = std::ranges::find(parameters, key, &Parameter::name);
        return found == parameters.end() ? nullptr : &*found;
    }
    [[nodiscard]] Properties properties_of(const AlgorithmSpec& spec) const;
    [[nodiscard]] bool bit_identical_on(const AlgorithmSpec& spec,
                                        const plan::Layout& layout) const {
        return properties_of(spec).bit_identical ||
               (same_bits != nullptr && same_bits(spec, layout));
    }
};

/// Returns a program without steps. It has no units if the call has no data.
[[nodiscard]] inline plan::Program program_header(const GenerateRequest& request) {
    const CollectiveTraits& traits = *find_collective(request.algorithm->collective);
    plan::Program header;
    header.collective = traits.name;
    header.algorithm = print(*request.spec);
    header.rank = request.rank;
    header.size = request.size;
    if (traits.rooted()) header.root = request.root;
    if (traits.has_data() && request.elements == 0) header.units = 0;
    header.synchronizing = request.algorithm->properties.synchronizing && header.units > 0;
    header.repeats_blocks = request.repeats_blocks;
    return header;
}

/// Largest number of pieces of a pipeline.
inline constexpr std::uint32_t kSegmentsMax = 1 << 20;

/// Returns the number of pieces of the pipeline: the spec's `segments` (default 1) times the
/// segments of the request. It may exceed the number of elements; then some pieces are empty.
[[nodiscard]] inline base::Result<std::uint32_t> pipeline_segments(const GenerateRequest& request) {
    constexpr std::int64_t kMost = kSegmentsMax;
    const std::int64_t given = WEFT_TRY(
        number_parameter(*request.spec, "segments", {.fallback = 1, .least = 1, .most = kMost}));
    return as_u32(std::min(given * std::int64_t{request.segments}, kMost));
}

/// Returns the request for an algorithm that is a pipeline by design. Unless the spec gives
/// `segments`, the buffer is cut into pieces of about 8 KiB, at most 64. Each piece is then cut
/// into the request's segments.
[[nodiscard]] inline GenerateRequest in_pieces(GenerateRequest request) {
    constexpr std::uint64_t kPieceBytes = 8192;
    constexpr std::uint64_t kPiecesMax = 64;
    if (request.spec->find("segments") != nullptr) return request;
    const std::uint64_t pieces =
        request.elements / kPieceBytes * request.element_bytes +
        request.elements % kPieceBytes * request.element_bytes / kPieceBytes;
    request.segments *= as_u32(std::clamp<std::uint64_t>(pieces, 1, kPiecesMax));
    return request;
}

/// Returns the parameter `k` of a spec: the branches of a tree or the size of its groups.
[[nodiscard]] inline base::Result<Rank> radix_parameter(const AlgorithmSpec& spec,
                                                        std::int64_t fallback, std::int64_t least) {
    return static_cast<Rank>(WEFT_TRY(number_parameter(
        spec, "k",
        {.fallback = fallback, .least = least, .most = std::numeric_limits<Rank>::max() - 1})));
}

/// Returns the bytes of one rank's block, for a buffer with a block for each rank.
[[nodiscard]] inline std::uint64_t block_bytes(const GenerateRequest& request) {
    return request.elements / static_cast<std::uint64_t>(request.size) * request.element_bytes;
}

inline constexpr Parameter kSegments{"segments", "1",
                                     "pieces of the buffer that follow each other"};
inline constexpr Parameter kTriedSegments{"segments", "1", kSegments.help, "3"};
inline constexpr Parameter kSegmentsBySize{"segments", "by size", kSegments.help, "2,5"};

}  // namespace weft::collectives
