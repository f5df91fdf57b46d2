// SPDX-License-Identifier: BSD-3-Clause
// fabric_start.cpp - what it costs to get a network port, split by phase.
//
// Idea     Only the loader is linked, so loading the module includes loading libfabric. Run it
//          several times: libfabric does most of its work once per process.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <vector>

#include "link/fabric/fabric.hpp"

int main() {
    using Clock = std::chrono::steady_clock;
    std::vector<std::byte> memory(std::size_t{1} << 20);
    weft::link::FabricOptions options;
    if (const char* named = std::getenv("WEFT_PROVIDER")) options.provider = named;
    options.one_host = true;
    const auto start = Clock::now();
    auto port = weft::link::load_port({memory.data(), memory.size()}, options);
    const auto opened = Clock::now();
    if (!port) {
        fmt::print(stderr, "{}\n", port.failure().text);
        return 3;
    }
    const weft::link::FabricFacts facts = (*port)->facts();
    std::move(port).value().reset();
    const auto closed = Clock::now();
    const auto us = [](auto time) {
        return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
    };
    fmt::print("{} {}: load {:.1f} ms, discover {:.1f} ms, enable {:.1f} ms, close {:.1f} ms\n",
               facts.provider, facts.version,
               1e-3 * static_cast<double>(us(opened - start) - facts.discover_us - facts.enable_us),
               1e-3 * static_cast<double>(facts.discover_us),
               1e-3 * static_cast<double>(facts.enable_us),
               1e-3 * static_cast<double>(us(closed - opened)));
    return 0;
}
