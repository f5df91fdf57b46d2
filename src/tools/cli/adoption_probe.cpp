// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/adoption_probe.hpp"

#include <unistd.h>

#include "base/clock.hpp"

namespace weft::tools {

namespace {

link::DirectOptions own_peer() {
    link::DirectOptions options;
    options.peers = {{.pid = ::getpid()}};
    options.mode = link::DirectMode::adopt;
    return options;
}

double elapsed_us(std::uint64_t begin) {
    return static_cast<double>(base::monotonic_ns() - begin) * 1e-3;
}

}  // namespace

AdoptionProbe::AdoptionProbe() : direct_(own_peer()) {}

std::optional<AdoptionProbe::Times> AdoptionProbe::time(std::span<std::byte> buffer) {
    std::uint64_t begin = base::monotonic_ns();
    const base::Exposure exposure =
        direct_.expose(buffer.data(), buffer.size(), base::Access::read);
    Times times{.adopt_us = elapsed_us(begin)};
    begin = base::monotonic_ns();
    const volatile std::byte* const seen = direct_.map(0, exposure.reach, buffer.size());
    if (seen != nullptr)
        for (std::size_t at = 0; at < buffer.size(); at += link::kPageBytes)
            static_cast<void>(seen[at]);
    times.window_us = elapsed_us(begin);
    const bool adopted = exposure.reach.way == base::AccessMethod::adopted && seen != nullptr;
    direct_.conceal(exposure);
    if (!adopted) return std::nullopt;
    return times;
}

double AdoptionProbe::expose_us(std::span<std::byte> buffer) {
    const std::uint64_t begin = base::monotonic_ns();
    direct_.conceal(direct_.expose(buffer.data(), buffer.size(), base::Access::read));
    return elapsed_us(begin);
}

}  // namespace weft::tools
