// SPDX-License-Identifier: BSD-3-Clause
#include "link/fabric/striped_port.hpp"

#include <algorithm>

namespace weft::link {

std::size_t piece_bytes(const ProfiledCost& cost) {
    constexpr std::int64_t kPage = 4096;
    constexpr std::int64_t kMin = 2 * Regions::kBufferBytes;
    constexpr std::int64_t kFemtosecondsPerNs = 1'000'000;
    const std::int64_t bytes =
        8 * cost.issue_ns * kFemtosecondsPerNs / std::max<std::int64_t>(cost.byte_fs, 1);
    return static_cast<std::size_t>(std::max(kMin, (bytes / kPage + 1) * kPage));
}

StripedPort::StripedPort(std::vector<std::unique_ptr<Port>> rails, std::size_t ranks,
                         std::size_t piece_bytes, bool shared_keys)
    : rails_(std::move(rails)),
      facts_(rails_.front()->facts()),
      shared_keys_(shared_keys),
      common_rails_(ranks, 1) {
    facts_.nics = rails_.size();
    facts_.message_bytes_max = std::min(facts_.message_bytes_max, piece_bytes);
    facts_.get_bytes_max = std::min(facts_.get_bytes_max, piece_bytes);
    for (const auto& rail : rails_) {
        const auto card = rail->address();
        cards_.insert(cards_.end(), card.begin(), card.end());
    }
}

void StripedPort::set_peer(Rank rank, std::span<const std::byte> address) {
    const auto cards = split_cards(address);
    if (!cards) {
        if (!failure_) failure_ = cards.failure().within(fmt::format("rank {}", rank));
        return;
    }
    const std::size_t common = std::min(cards->size(), rails_.size());
    for (std::size_t rail = 0; rail < common; ++rail) rails_[rail]->set_peer(rank, (*cards)[rail]);
    common_rails_[rank] = static_cast<std::uint8_t>(common);
}

base::Result<void> StripedPort::use_memory(std::uint64_t offset, std::uint64_t bytes) {
    facts_.registered_bytes = 0;
    for (const auto& rail : rails_) {
        if (auto done = rail->use_memory(offset, bytes); !done) return done;
        facts_.registered_bytes += rail->facts().registered_bytes;
    }
    return {};
}

bool StripedPort::warm(Rank peer) noexcept {
    bool all_connected = true;
    for (std::size_t rail = 0; rail < common_rails_[peer]; ++rail)
        all_connected = rails_[rail]->warm(peer) && all_connected;
    return all_connected;
}

base::Result<RemoteRegion> StripedPort::expose(std::span<std::byte> memory) {
    auto region = rails_.front()->expose(memory);
    if (!region || !shared_keys_) return region;
    for (std::size_t rail = 1; rail < rails_.size(); ++rail) {
        auto same = rails_[rail]->expose_as(memory, region->key);
        if (same) continue;
        unexpose(*region);
        return same;
    }
    return region;
}

void StripedPort::unexpose(const RemoteRegion& region) noexcept {
    const std::size_t rails = shared_keys_ ? rails_.size() : 1;
    for (std::size_t rail = 0; rail < rails; ++rail) rails_[rail]->unexpose(region);
}

/// Returns the rail for a transfer: the first one unless it is long. Registered memory whose key
/// the provider has chosen is only reachable by the first rail.
Port& StripedPort::rail_for(Rank peer, std::size_t bytes, const RemoteRegion* region) noexcept {
    const std::size_t rails = common_rails_[peer];
    if (bytes <= facts_.message_bytes_max / 2 || (region != nullptr && !shared_keys_) || rails == 1)
        return *rails_.front();
    std::size_t best = next_ % rails;
    for (std::size_t step = 1; step < rails; ++step) {
        const std::size_t rail = (next_ + step) % rails;
        if (rails_[rail]->in_flight() < rails_[best]->in_flight()) best = rail;
    }
    next_ = best + 1;
    return *rails_[best];
}

base::Post StripedPort::try_put(const base::Put& put) noexcept {
    Port& rail = rail_for(put.peer, put.bytes, put.region);
    if (&rail == rails_.front().get()) return rail.try_put(put);
    base::Put alone = put;  // the next put may use another rail
    alone.more = false;
    return rail.try_put(alone);
}

base::Post StripedPort::try_read(const base::Read& read) noexcept {
    return rail_for(read.peer, read.bytes, read.region).try_read(read);
}

std::size_t StripedPort::poll(std::span<std::uint64_t> immediates) noexcept {
    std::size_t arrived = 0;
    for (const auto& rail : rails_) arrived += rail->poll(immediates.subspan(arrived));
    return arrived;
}

std::uint64_t StripedPort::writes() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& rail : rails_) sum += rail->writes();
    return sum;
}

void StripedPort::lose(Rank peer) noexcept {
    for (const auto& rail : rails_) rail->lose(peer);
}

void StripedPort::cancel() noexcept {
    for (const auto& rail : rails_) rail->cancel();
}

std::size_t StripedPort::in_flight() const noexcept {
    std::size_t sum = 0;
    for (const auto& rail : rails_) sum += rail->in_flight();
    return sum;
}

const base::Failure* StripedPort::failure() const noexcept {
    if (failure_) return &*failure_;
    for (const auto& rail : rails_)
        if (rail->failure() != nullptr) return rail->failure();
    return nullptr;
}

}  // namespace weft::link
