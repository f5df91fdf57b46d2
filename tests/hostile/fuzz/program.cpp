// SPDX-License-Identifier: BSD-3-Clause
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
    const auto again = plan::parse_programs(printed);
    if (again)
        WEFT_CHECK(*again == *programs, printed);  // fails if its loops expand to too many steps
}
