// SPDX-License-Identifier: BSD-3-Clause
#include "link/fabric/striped_port.hpp"

#include <algorithm>
#include <numeric>

namespace weft::link {

std::size_t piece_bytes(const ProfiledCost& cost) {
    constexpr std::int64_t kPage = 4096;
    constexpr std::int64_t kMin = 2 * Regions::kBufferBytes;
    constexpr std::int64_t kFemtoseconds = 1'000'000;  // of a nanosecond
    const std::int64_t bytes =
        8 * cost.issue_ns * kFemtoseconds / std::max<std::int64_t>(cost.byte_fs, 1);
    return static_cast<std::size_t>(std::max(kMin, (bytes / kPage + 1) * kPage));
}

StripedPort::StripedPort(std::vector<std::unique_ptr<Port>> lanes, std::size_t ranks,
                         std::size_t piece_bytes, bool shared_keys)
    : lanes_(std::move(lanes)),
      facts_(lanes_.front()->facts()),
      shared_keys_(shared_keys),
      lanes_of_(ranks, 1) {
    facts_.nics = lanes_.size();
    facts_.message_bytes_max = std::min(facts_.message_bytes_max, piece_bytes);
    facts_.get_bytes_max = std::min(facts_.get_bytes_max, piece_bytes);
    for (const auto& lane : lanes_) {
        const auto card = lane->address();
        cards_.insert(cards_.end(), card.begin(), card.end());
    }
}

void StripedPort::set_peer(Rank rank, std::span<const std::byte> address) {
    const auto cards = split_cards(address);
    if (!cards) {
        if (!failure_) failure_ = cards.failure().within(fmt::format("rank {}", rank));
        return;
    }
    const std::size_t common = std::min(cards->size(), lanes_.size());
    for (std::size_t lane = 0; lane < common; ++lane) lanes_[lane]->set_peer(rank, (*cards)[lane]);
    lanes_of_[rank] = static_cast<std::uint8_t>(common);
}

base::Result<void> StripedPort::use_memory(std::uint64_t offset, std::uint64_t bytes) {
    facts_.registered_bytes = 0;
    for (const auto& lane : lanes_) {
        if (auto done = lane->use_memory(offset, bytes); !done) return done;
        facts_.registered_bytes += lane->facts().registered_bytes;
    }
    return {};
}

bool StripedPort::warm(Rank peer) noexcept {
    bool all_connected = true;
    for (std::size_t lane = 0; lane < lanes_of_[peer]; ++lane)
        all_connected = lanes_[lane]->warm(peer) && all_connected;
    return all_connected;
}

base::Result<RemoteRegion> StripedPort::expose(std::span<std::byte> memory) {
    auto region = lanes_.front()->expose(memory);
    if (!region || !shared_keys_) return region;
    for (std::size_t lane = 1; lane < lanes_.size(); ++lane) {
        auto same = lanes_[lane]->expose_as(memory, region->key);
        if (same) continue;
        unexpose(*region);
        return same;
    }
    return region;
}

void StripedPort::unexpose(const RemoteRegion& region) noexcept {
    const std::size_t lanes = shared_keys_ ? lanes_.size() : 1;
    for (std::size_t lane = 0; lane < lanes; ++lane) lanes_[lane]->unexpose(region);
}

/// Returns the lane for a transfer: the first one unless it is long. Registered memory whose key
/// the provider has chosen is only reachable by the first lane.
Port& StripedPort::lane_for(Rank peer, std::size_t bytes, const RemoteRegion* region) noexcept {
    const std::size_t lanes = lanes_of_[peer];
    if (bytes <= facts_.message_bytes_max / 2 || (region != nullptr && !shared_keys_) || lanes == 1)
        return *lanes_.front();
    std::size_t best = next_ % lanes;
    for (std::size_t step = 1; step < lanes; ++step) {
        const std::size_t lane = (next_ + step) % lanes;
        if (lanes_[lane]->in_flight() < lanes_[best]->in_flight()) best = lane;
    }
    next_ = best + 1;
    return *lanes_[best];
}

base::Post StripedPort::try_put(const base::Put& put) noexcept {
    Port& lane = lane_for(put.peer, put.bytes, put.region);
    if (&lane == lanes_.front().get()) return lane.try_put(put);
    base::Put alone = put;  // the next put may use another lane
    alone.more = false;
    return lane.try_put(alone);
}

base::Post StripedPort::try_read(const base::Read& read) noexcept {
    return lane_for(read.peer, read.bytes, read.region).try_read(read);
}

std::size_t StripedPort::poll(std::span<std::uint64_t> immediates) noexcept {
    std::size_t arrived = 0;
    for (const auto& lane : lanes_) arrived += lane->poll(immediates.subspan(arrived));
    return arrived;
}

std::uint64_t StripedPort::writes() const noexcept {
    return std::accumulate(
        lanes_.begin(), lanes_.end(), std::uint64_t{0},
        [](std::uint64_t sum, const auto& lane) { return sum + lane->writes(); });
}

void StripedPort::lose(Rank peer) noexcept {
    for (const auto& lane : lanes_) lane->lose(peer);
}

void StripedPort::cancel() noexcept {
    for (const auto& lane : lanes_) lane->cancel();
}

std::size_t StripedPort::in_flight() const noexcept {
    return std::accumulate(
        lanes_.begin(), lanes_.end(), std::size_t{0},
        [](std::size_t sum, const auto& lane) { return sum + lane->in_flight(); });
}

const base::Failure* StripedPort::failure() const noexcept {
    if (failure_) return &*failure_;
    for (const auto& lane : lanes_)
        if (lane->failure() != nullptr) return lane->failure();
    return nullptr;
}

}  // namespace weft::link
