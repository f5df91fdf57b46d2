// SPDX-License-Identifier: BSD-3-Clause
// generate_all.hpp - generates the programs of all ranks with an algorithm of the registry.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "collectives/registry.hpp"

namespace weft::test {

/// Returns the programs in order of ranks. Returns none if the algorithm refuses the request. A
/// refusal after rank 0 fails the test.
inline std::vector<plan::Program> generate_if_served(std::string_view collective,
                                                     const collectives::AlgorithmSpec& spec,
                                                     collectives::GenerateRequest request) {
    std::vector<plan::Program> programs;
    for (request.rank = 0; request.rank < request.size; ++request.rank) {
        auto program = collectives::generate(collective, spec, request);
        if (!program) {
            EXPECT_TRUE(programs.empty()) << collectives::print(spec) << ": refused at rank "
                                          << request.rank << " but not at rank 0";
            return {};
        }
        programs.push_back(*std::move(program));
    }
    return programs;
}

/// Returns the programs in order of ranks. A refusal fails the test.
inline std::vector<plan::Program> generate_all(std::string_view collective,
                                               const collectives::AlgorithmSpec& spec,
                                               const collectives::GenerateRequest& request) {
    const auto first = collectives::generate(collective, spec, request);
    EXPECT_TRUE(first.ok()) << collectives::print(spec) << ": " << first.failure().text;
    return generate_if_served(collective, spec, request);
}
inline std::vector<plan::Program> generate_all(std::string_view collective, std::string_view text,
                                               const collectives::GenerateRequest& request) {
    const auto spec = collectives::parse_spec(text);
    EXPECT_TRUE(spec.ok()) << text << ": " << spec.failure().text;
    return spec ? generate_all(collective, *spec, request) : std::vector<plan::Program>();
}

}  // namespace weft::test
