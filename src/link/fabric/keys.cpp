// SPDX-License-Identifier: BSD-3-Clause
#include "link/fabric/keys.hpp"

#include <algorithm>

namespace weft::link {

base::Result<std::vector<std::uint64_t>> draw_keys(std::size_t count, std::size_t key_bytes,
                                                   bool small, std::vector<std::uint64_t> keys) {
    constexpr std::size_t kRandomBytesMin = 4;
    const std::size_t bytes = std::min(key_bytes, sizeof(std::uint64_t));
    const std::uint64_t key_max = ~std::uint64_t{0} >> (8 * (sizeof(std::uint64_t) - bytes) & 63U);
    while (keys.size() < count) {
        std::uint64_t key = keys.size() + 1;
        if (!small && bytes >= kRandomBytesMin) {
            const auto drawn = base::system_entropy();
            if (!drawn) return drawn.failure();
            key = *drawn & key_max;
        }
        if (key != 0 && key != key_max && std::ranges::find(keys, key) == keys.end())
            keys.push_back(key);
    }
    return keys;
}

}  // namespace weft::link
