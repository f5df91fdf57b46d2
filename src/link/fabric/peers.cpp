// SPDX-License-Identifier: BSD-3-Clause
#include "link/fabric/peers.hpp"

#include <rdma/fi_errno.h>

#include "link/fabric/keys.hpp"

namespace weft::link {

void Peers::set(Rank rank, const PortCard& card) {
    RemotePort& peer = (*this)[rank];
    peer.memory = card.memory;
    peer.landing = card.landing;
    peer.seal = seal_of(card.landing.key);
    peer.endpoint.assign(card.endpoint.begin(), card.endpoint.end());
    peer.address = FI_ADDR_UNSPEC;
    peer.warm = false;
    peer.known = true;
}

bool Peers::resolve(RemotePort& peer, Rank rank, std::optional<base::Failure>& failure) noexcept {
    if (failure && !peer.known) return false;
    WEFT_CHECK(peer.known, rank);
    if (peer.endpoint.empty()) return false;  // an earlier call has failed
    fi_addr_t address = FI_ADDR_UNSPEC;
    const int inserted =
        fi_av_insert(endpoint_.addresses.get(), peer.endpoint.data(), 1, &address, 0, nullptr);
    std::vector<std::byte>().swap(peer.endpoint);
    if (inserted == 1) {
        peer.address = address;
        return true;
    }
    auto why = endpoint_.refused(fmt::format("fi_av_insert of the address of rank {}", rank),
                                 inserted < 0 ? inserted : -FI_EINVAL);
    if (files_) why.status = Status::peer;
    if (!failure) failure = std::move(why);
    return false;
}

}  // namespace weft::link
