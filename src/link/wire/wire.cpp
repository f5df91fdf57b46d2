// SPDX-License-Identifier: BSD-3-Clause
#include "link/wire/wire.hpp"

#include <algorithm>
#include <array>

namespace weft::link {
namespace {

/// A rank with more remote peers connects to each peer only at the first put to the peer.
constexpr std::size_t kConnectPeersMax = 16;
constexpr unsigned kPollsPerConnect = 16;  ///< polls between two attempts to connect

}  // namespace

Wire::Wire(std::vector<std::byte*> segments, std::unique_ptr<FabricPort> port, WireOptions options,
           std::unique_ptr<DirectMemory> direct)
    : segments_(std::move(segments)),
      options_(options),
      waiter_(options.spin, port != nullptr, options.limited_time),
      counts_(options.rank, segments_.size()),
      arrivals_(segments_, options.rank, options.cells_end, port.get(), counts_),
      remote_(port.get(), options.rank, segments_.size(), counts_),
      memory_(segments_, options.rank, options.segment_bytes, port.get(), std::move(direct)),
      port_(std::move(port)) {
    if (!port_) return;
    facts_ = port_->facts().remote;
    if (facts_.completion == base::RemoteCompletion::counted) counts_.use_batches();
    for (std::size_t rank = 0; rank < segments_.size(); ++rank) {
        if (segments_[rank] == nullptr) unconnected_.push_back(static_cast<Rank>(rank));
    }
    if (unconnected_.size() > kConnectPeersMax) unconnected_.clear();
}

base::Post Wire::put_local(const base::Put& put, std::byte* peer) noexcept {
    auto* cell = reinterpret_cast<base::Cell*>(peer + put.cell);
    put.copy_to(put.target == base::Put::kInCell ? cell->payload : peer + put.target);
    // Release: pairs with the acquire of the wait for this flag.
    cell->flag.store(put.flag, std::memory_order_release);
    return base::Post::posted;
}

void Wire::poll_port() noexcept {
    std::array<std::uint64_t, 32> immediates;
    std::size_t count = 0;
    std::size_t arrived = 0;
    do {  // before serve(): a request may rely on immediates that its sender sent earlier
        count = port_->poll(immediates);
        for (std::size_t i = 0; i < count; ++i) arrivals_.deliver(immediates[i], service_);
        arrived += count;
    } while (count == immediates.size());
    if (!unconnected_.empty() && ++polls_ % kPollsPerConnect == 0) [[unlikely]]
        try_connect();
    if (remote_.deferred() != 0) remote_.finish_deferred();
    const bool served = service_.serve != nullptr && service_.serve(service_.argument);
    const std::size_t in_flight = port_->in_flight();
    if (arrived == 0 && !served && in_flight == in_flight_seen_) return;
    in_flight_seen_ = in_flight;
    waiter_.note_activity();
}

/// Tries to connect to the next unconnected peer. A peer responds only during its calls of this
/// library. This rank does not wait for the response, and tries other peers before this one again.
void Wire::try_connect() noexcept {
    if (port_->warm(unconnected_.back())) {
        unconnected_.pop_back();
    } else {
        std::rotate(unconnected_.begin(), unconnected_.end() - 1, unconnected_.end());
    }
}

}  // namespace weft::link
