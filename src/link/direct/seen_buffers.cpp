// SPDX-License-Identifier: BSD-3-Clause
#include "link/direct/seen_buffers.hpp"

#include "base/random.hpp"

namespace weft::link {

SeenBuffer& SeenBuffers::find(std::uint64_t address, std::uint64_t bytes) noexcept {
    const std::size_t set = base::mix(address ^ base::mix(bytes)) % kSets;
    SeenBuffer* oldest = &buffers_[set * kWays];
    ++uses_;
    for (std::size_t way = 0; way < kWays; ++way) {
        SeenBuffer& buffer = buffers_[set * kWays + way];
        if (buffer.address == address && buffer.bytes == bytes) {
            buffer.last_use = uses_;
            return buffer;
        }
        if (uses_ - buffer.last_use > uses_ - oldest->last_use) oldest = &buffer;
    }
    *oldest = {.address = address, .bytes = bytes, .last_use = uses_};
    return *oldest;
}

}  // namespace weft::link
