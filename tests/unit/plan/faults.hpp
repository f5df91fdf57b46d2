// SPDX-License-Identifier: BSD-3-Clause
// faults.hpp - what the verifier says about a few programs, for the tests of its messages.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "plan/verify/verify.hpp"
#include "tests/support/sample_programs.hpp"

namespace weft::plan {

inline std::string error_of(const std::vector<Program>& programs,
                            const Contract* contract = nullptr, std::uint64_t elements = 60) {
    const Verdict verdict =
        verify({.programs = programs, .contract = contract, .elements = elements});
    EXPECT_EQ(verdict.valid, verdict.error.empty());
    return verdict.error;
}

inline std::string error_of(std::string_view text, std::uint64_t elements = 60) {
    return error_of(test::programs_of(text), nullptr, elements);
}

}  // namespace weft::plan
