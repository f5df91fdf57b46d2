// SPDX-License-Identifier: BSD-3-Clause
// transfer.hpp - bytes between this rank and a peer's memory, without a flag: what one-sided calls
// move.
//
// Next     put.hpp for data that comes with its flag.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/put.hpp"
#include "weft/types.hpp"

namespace weft::base {

/// Bytes into a peer's segment. Nothing at the peer says that they are there, unless it is
/// notified.
struct Write {
    Rank peer = 0;  ///< rank in the job
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::uint64_t target = 0;  ///< offset in the peer's segment
    /// Raised by one for each transfer that still reads `data`, lowered on its local completion;
    /// under RemoteCompletion::delivered that is when the bytes have landed, and each transfer
    /// counts.
    std::uint32_t* pending = nullptr;
    /// What notifies the peer once the bytes are there, by what it has set for that; 0: nothing.
    /// Below 2^63, and only on wires with signals. `bytes` may then be 0.
    std::uint64_t payload = 0;
    /// What `target` is an offset in, if not the segment: memory that the peer has exposed.
    const RemoteRegion* region = nullptr;
};

/// Bytes out of a peer's segment.
struct Read {
    Rank peer = 0;
    std::byte* into = nullptr;
    std::size_t bytes = 0;
    std::uint64_t source = 0;  ///< offset in the peer's segment
    std::uint32_t* pending =
        nullptr;  ///< raised by one for each transfer, lowered when it is there
    const RemoteRegion* region = nullptr;  ///< see Write
};

/// By what a rank learns that all it has written to a peer has landed there.
enum class RemoteCompletion : std::uint8_t {
    ordered,    ///< a request that is put after the writes lands after them
    counted,    ///< the peer counts what has landed, and is sent what to count to
    delivered,  ///< local completion says so
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
