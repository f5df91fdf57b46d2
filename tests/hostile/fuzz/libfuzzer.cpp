// SPDX-License-Identifier: BSD-3-Clause
// libfuzzer.cpp - libFuzzer's entry point. The environment variable FUZZ_TARGET names the target.
#include <cstdint>
#include <cstdlib>

#include "tests/hostile/fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
    static const weft::fuzz::Target* const target = [] {
        const char* const name = std::getenv("FUZZ_TARGET");
        for (const weft::fuzz::Target& candidate : weft::fuzz::kTargets)
            if (name != nullptr && candidate.name == name) return &candidate;
        std::abort();
    }();
    target->read({reinterpret_cast<const char*>(data), bytes});
    return 0;
}
