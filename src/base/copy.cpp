// SPDX-License-Identifier: BSD-3-Clause
#include "base/copy.hpp"

#include <algorithm>

namespace weft::base {

bool has_slow_distances() noexcept {
#if defined(__x86_64__)
    return __builtin_cpu_is("amd") != 0;
#else
    return false;
#endif
}

void copy_by_detour(void* to, const void* from, std::size_t bytes) noexcept {
    if (!has_slow_distances()) {
        std::memcpy(to, from, bytes);
        return;
    }
    constexpr std::size_t kPageBytes = 4096;
    auto* target = static_cast<std::byte*>(to);
    const auto* source = static_cast<const std::byte*>(from);
    // The buffer's page distance is half a page from the source, so about half from the target.
    std::byte memory[2 * kPageBytes];
    std::byte* const between =
        memory + page_distance(reinterpret_cast<std::uintptr_t>(from) + kPageBytes / 2,
                               reinterpret_cast<std::uintptr_t>(memory));
    while (bytes != 0) {
        const std::size_t piece = std::min(bytes, kPageBytes);
        std::memcpy(between, source, piece);
        std::memcpy(target, between, piece);
        target += piece;
        source += piece;
        bytes -= piece;
    }
}

}  // namespace weft::base
