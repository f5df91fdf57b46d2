// SPDX-License-Identifier: BSD-3-Clause
// program.cpp - fuzz target: the parser of the text form of programs, and the verifier.
#include "base/check.hpp"
#include "tests/hostile/fuzz/targets.hpp"
#include "tools/text/text.hpp"
#include "tools/verify/verify.hpp"

void weft::fuzz::program(std::string_view input) {
    const auto programs = plan::parse_programs(input);
    if (!programs) return;
    const plan::Verdict verdict =
        plan::verify({.programs = *programs, .elements = 64, .element_bytes = 8});
    if (!verdict.valid) return;
    const std::string printed = plan::to_text(*programs);
    const auto reparsed = plan::parse_programs(printed);
    if (reparsed)  // the parser refuses the text if its loops expand to too many steps
        WEFT_CHECK(*reparsed == *programs, printed);
}
