// SPDX-License-Identifier: BSD-3-Clause
#include "base/random.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weft::base {

std::uint64_t Random::below(std::uint64_t bound) noexcept {
    WEFT_CHECK(bound > 0, bound);
    // Draws below 2^64 mod bound would favor small results, so they are rejected.
    const std::uint64_t rejected_below = (0 - bound) % bound;
    for (;;) {
        const std::uint64_t word = (*this)();
        if (word >= rejected_below) return word % bound;
    }
}

Result<std::uint64_t> system_entropy() {
    std::uint64_t word = 0;
    if (getentropy(&word, sizeof word) != 0)
        return fail(Status::environment, "no random bytes from the system (getentropy): {}",
                    std::strerror(errno));
    return word;
}

}  // namespace weft::base
