// SPDX-License-Identifier: BSD-3-Clause
// transfer.hpp - bytes between this rank and a peer's memory without a flag, for one-sided calls.
//
// Next     put.hpp for data with a flag.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/put.hpp"
#include "weft/types.hpp"

namespace weft::base {

/// Bytes for a peer's segment. The peer does not learn of them unless it is notified.
struct Write {
    Rank peer = 0;  ///< rank in the job
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::uint64_t target = 0;  ///< offset in the peer's segment
    /// Incremented for each transfer that still reads `data`, decremented on its local completion.
    /// With RemoteCompletion::delivered, local completion means that the bytes are delivered, and
    /// each transfer counts.
    std::uint32_t* pending = nullptr;
    /// Value that notifies the peer after delivery, as the peer has configured it; 0: no
    /// notification. Must be below 2^63, and needs a wire with signals. `bytes` may then be 0.
    std::uint64_t payload = 0;
    /// Memory that the peer has exposed, to which `target` is relative; nullptr: the segment.
    const RemoteRegion* region = nullptr;
};

/// Bytes from a peer's segment.
struct Read {
    Rank peer = 0;
    std::byte* into = nullptr;
    std::size_t bytes = 0;
    std::uint64_t source = 0;          ///< offset in the peer's segment
    std::uint32_t* pending = nullptr;  ///< incremented for each transfer, decremented on arrival
    const RemoteRegion* region = nullptr;  ///< see Write
};

/// Method by which a rank learns that all its writes to a peer are delivered.
enum class RemoteCompletion : std::uint8_t {
    ordered,    ///< a request that is put after the writes is delivered after them
    counted,    ///< the peer counts deliveries, and is sent the expected count
    delivered,  ///< local completion implies delivery
};
[[nodiscard]] constexpr std::string_view name_of(RemoteCompletion completion) {
    switch (completion) {
        case RemoteCompletion::ordered:
            return "ordered";
        case RemoteCompletion::delivered:
            return "delivered";
        case RemoteCompletion::counted:
            break;
    }
    return "counted";
}

}  // namespace weft::base
