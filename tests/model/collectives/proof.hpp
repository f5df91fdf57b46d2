// SPDX-License-Identifier: BSD-3-Clause
// proof.hpp - generates the programs of all ranks and passes them to the verifier.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plan/schedule/localize.hpp"
#include "tests/support/fingerprint.hpp"
#include "tests/support/generate_all.hpp"
#include "tools/verify/verify.hpp"

namespace weft::collectives {

using test::generate_all;
using test::generate_if_served;

inline plan::Verdict prove(std::string_view collective, const std::vector<plan::Program>& programs,
                           std::uint64_t elements) {
    return plan::verify({.programs = programs,
                         .contract = &contract(collective),
                         .elements = elements,
                         .element_bytes = 8});
}

inline plan::Verdict prove(std::string_view collective, const AlgorithmSpec& spec,
                           const GenerateRequest& request) {
    return prove(collective, generate_all(collective, spec, request), request.elements);
}

inline plan::Verdict prove(std::string_view collective, const std::string& text,
                           const GenerateRequest& request) {
    return prove(collective, generate_all(collective, text, request), request.elements);
}

/// Changes each rank's program before the verifier runs it.
using Change = std::function<void(plan::Program&)>;

/// Checks the results by fingerprints, which takes less memory for thousands of ranks.
inline plan::FingerprintVerdict prove_by_fingerprints(std::string_view collective,
                                                      const AlgorithmSpec& spec,
                                                      const GenerateRequest& request,
                                                      bool in_place = false,
                                                      const Change& change = {}) {
    return plan::verify_by_fingerprints({.ranks = request.size,
                                         .program_of =
                                             [&](Rank rank) {
                                                 GenerateRequest own = request;
                                                 own.rank = rank;
                                                 auto program = generate(collective, spec, own);
                                                 if (program && change) change(*program);
                                                 return program;
                                             },
                                         .contract = &contract(collective),
                                         .ordered = request.ordered,
                                         .in_place = in_place});
}

/// Returns the programs as the runtime rewrites them for nodes of `per_node` ranks.
inline std::vector<plan::Program> on_nodes(std::vector<plan::Program> programs, Rank per_node) {
    for (plan::Program& program : programs) {
        const Rank node = program.rank / per_node;
        program = plan::localize(program, [=](Rank peer) { return peer / per_node == node; });
    }
    return programs;
}

}  // namespace weft::collectives
