// SPDX-License-Identifier: BSD-3-Clause
// Functions that the engine polls must not throw: Transport requires noexcept.
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
    Bare& memory() noexcept;
    weft::base::Exposure expose(std::byte* data, std::uint64_t bytes, weft::base::Access access,
                                const weft::base::Copies& copies) noexcept;
    weft::base::Result<weft::base::Exposure> expose_far(std::byte* data,
                                                        std::uint64_t bytes) noexcept;
    void unexpose(const weft::base::Exposure& exposure) noexcept;
    void revoke(const weft::base::Exposure& exposure) noexcept;
    std::byte* reach(weft::Rank rank, const weft::base::Reach& reach, std::uint64_t bytes) noexcept;
    bool copy_from(weft::Rank rank, const weft::base::Reach& reach, std::byte* to,
                   std::uint64_t bytes) noexcept;
    bool copy_to(weft::Rank rank, const weft::base::Reach& reach, const std::byte* from,
                 std::uint64_t bytes) noexcept;
    void progress() noexcept;
    void settle(std::uint64_t offset) noexcept;
    void relax(unsigned failures) noexcept;
    void lose(weft::Rank rank) noexcept;
    void cancel() noexcept;
    const weft::base::Failure* failure() noexcept;
};
static_assert(weft::run::Transport<Bare>);
