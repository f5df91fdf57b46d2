// SPDX-License-Identifier: BSD-3-Clause
// algorithm.hpp - what a generator is: a pure function from spec and request to one rank's program.
//
// Next     registry.hpp for the list of all of them; README.md for how to add one.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "collectives/notation/spec.hpp"
#include "collectives/patterns/levels.hpp"
#include "plan/schedule/program.hpp"

namespace weft::collectives {

using patterns::Placement;

/// What one rank knows about the call. All but `rank` is the same on all ranks.
struct GenerateRequest {
    Rank rank = 0;
    int size = 1;
    Rank root = plan::kNoRank;
    std::uint32_t segments = 1;  ///< pieces of a pipeline; a parameter `segments` of the spec wins
    std::uint64_t elements = 0;  ///< of the vector that each rank contributes
    std::uint32_t element_bytes = 1;
    Placement placement = Placement::ordered;
};

struct Parameter {
    std::string_view name;
    std::string_view fallback;  ///< its value if it is not given
    std::string_view help;
};

/// What holds for every program of an algorithm. The verifier proves it again for each one.
struct Properties {
    bool ordered = false;        ///< operands in rank order: the operation need not commute
    bool bit_identical = false;  ///< every rank gets the same bits, floating point included
    bool synchronizing = false;  ///< completion anywhere implies entry everywhere (elements > 0)
    bool rooted = false;         ///< needs a root
    bool notation = false;       ///< a schedule in the notation names this algorithm
    bool power_of_two = false;   ///< for power-of-two sizes only
};

struct Algorithm {
    std::string_view collective;
    std::string_view name;
    std::string_view summary;
    std::string_view source;
    std::vector<Parameter> parameters;
    Properties properties;
    base::Result<plan::Program> (*generate)(const AlgorithmSpec&, const GenerateRequest&) = nullptr;
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
    return header;
}

/// Pieces of the pipeline: the spec's parameter or else the request's. More pieces
/// than elements are allowed: some are empty.
[[nodiscard]] inline base::Result<std::uint32_t> pipeline_segments(const AlgorithmSpec& spec,
                                                                   const GenerateRequest& request) {
    const base::Result<std::int64_t> given = number_parameter(
        spec, "segments", {.fallback = request.segments, .least = 1, .most = 1 << 20});
    if (!given) return given.failure();
    return static_cast<std::uint32_t>(*given);
}

}  // namespace weft::collectives
