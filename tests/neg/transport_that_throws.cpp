// SPDX-License-Identifier: BSD-3-Clause
// What the engine polls may not throw: Transport asks for noexcept.
// Refused: constraint failure|constraints not satisfied|static assertion failed
#include "run/execute/transport.hpp"

#ifdef VALID
#define WEFT_NEVER_THROWS noexcept
#else
#define WEFT_NEVER_THROWS
#endif

struct Bare {
    weft::base::Post try_put(const weft::base::Put& put, std::uint64_t& resume) WEFT_NEVER_THROWS;
    std::byte* near(weft::Rank rank) noexcept;
    std::uint64_t segment_bytes() noexcept;
    void progress() noexcept;
    void settle(std::uint64_t offset) noexcept;
    void relax(unsigned failures) noexcept;
    const weft::base::Failure* failure() noexcept;
};
static_assert(weft::run::Transport<Bare>);
