// SPDX-License-Identifier: BSD-3-Clause
#include "base/copy.hpp"

#include <algorithm>

namespace weft::base {

void copy_in_pieces(void* to, const void* from, std::size_t bytes) noexcept {
    auto* target = static_cast<std::byte*>(to);
    const auto* source = static_cast<const std::byte*>(from);
    while (bytes != 0) {
        const std::size_t piece = std::min(bytes, kRegisterCopyMax);
        std::memcpy(target, source, piece);
        target += piece;
        source += piece;
        bytes -= piece;
    }
}

}  // namespace weft::base
