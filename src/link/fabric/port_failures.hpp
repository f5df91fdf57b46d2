// SPDX-License-Identifier: BSD-3-Clause
// port_failures.hpp - failures of a port that the job has not handled.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "base/result.hpp"
#include "link/fabric/fabric.hpp"

namespace weft::link {

/// The first failure of a port, and the first failure of transfers with each peer.
struct PortFailures {
    static constexpr Rank kUnknownPeer = -1;

    void store(base::Failure failure) noexcept {
        if (!port) port = std::move(failure);
    }
    void store(Rank peer, base::Failure failure) noexcept {
        transfers.try_emplace(peer, std::move(failure));
    }
    /// Drops the failure of a lost peer. Also drops the failure of an unknown peer, because
    /// providers report closed connections without the peer. If another peer is the cause, the next
    /// transfer with that peer fails again.
    void drop(Rank peer) noexcept {
        transfers.erase(peer);
        transfers.erase(kUnknownPeer);
    }
    /// Returns the failure to report, or nullptr.
    [[nodiscard]] const base::Failure* first() const noexcept {
        if (port || transfers.empty()) return port ? &*port : nullptr;
        return &transfers.begin()->second;
    }

    std::optional<base::Failure> port;
    std::map<Rank, base::Failure> transfers;
};

}  // namespace weft::link
