// SPDX-License-Identifier: BSD-3-Clause
// peers.hpp - addresses of a port's peers, and the keys of their memory.
//
// Holds    After construction, only the first use of a peer, and of a later section, allocates.
#pragma once

#include <rdma/fi_errno.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/check.hpp"
#include "link/fabric/card.hpp"
#include "link/fabric/endpoint.hpp"
#include "link/fabric/keys.hpp"
#include "link/fabric/regions.hpp"

namespace weft::link {

struct RemotePort {
    fi_addr_t address = FI_ADDR_UNSPEC;  ///< libfabric's number of the peer, once resolved
    RemoteRegion memory;                 ///< PortCard::memory
    RemoteRegion landing;                ///< PortCard::landing
    std::uint64_t seal = 0;              ///< seal of immediates to the peer
    std::uint64_t section_keys = 0;      ///< offset of the peer's table of keys
    std::uint32_t in_flight = 0;         ///< signaled puts and reads without completion
    std::uint32_t unsignaled = 0;        ///< unsignaled puts since the last signaled one (port.hpp)
    bool known = false;                  ///< the peer's card is stored
    bool warm = false;                   ///< connected by Port::warm()
    bool lost = false;                   ///< Port::lose() was called
    std::vector<std::byte> endpoint;     ///< address of the endpoint, until it is resolved
    std::unique_ptr<SectionKeys> sections;  ///< nullptr: only the first section was used
};

/// Memory of a peer, as libfabric addresses it.
struct RemoteTarget {
    std::uint64_t address = 0;
    std::uint64_t key = 0;
};

/// One write, as passed to libfabric.
struct RdmaWrite {
    const std::byte* source = nullptr;
    std::size_t bytes = 0;
    RemoteTarget target;
    std::uint64_t flags = 0;
    std::uint64_t immediate = 0;
    void* desc = nullptr;         ///< descriptor of the source's registration; may be nullptr
    std::byte* staged = nullptr;  ///< buffer with a copy of the source; nullptr: none
    std::size_t registered = Regions::kNoSource;  ///< number of the registered source
    std::uint32_t* pending = nullptr;             ///< Put::pending, or nullptr
};

/// Returns libfabric's flags for a put of this kind.
[[nodiscard]] inline std::uint64_t flags_of(PutKind kind) {
    constexpr std::uint64_t kFlags[] = {0, FI_REMOTE_CQ_DATA, FI_DELIVERY_COMPLETE,
                                        FI_FENCE | FI_DELIVERY_COMPLETE};
    return kFlags[static_cast<std::size_t>(kind)];  // in the order of PutKind
}

class Peers {
  public:
    /// virtual_addresses: the network uses addresses (FI_MR_VIRT_ADDR), not offsets from the start
    /// of each section. files: endpoints are files, which a rank removes when it ends.
    Peers(const Endpoint& endpoint, const Regions& regions, std::size_t ranks,
          bool virtual_addresses, bool files)
        : endpoint_(endpoint),
          regions_(regions),
          virtual_addresses_(virtual_addresses),
          files_(files),
          peers_(ranks) {}

    [[nodiscard]] RemotePort& operator[](Rank rank) noexcept { return peers_[rank]; }
    [[nodiscard]] std::size_t size() const noexcept { return peers_.size(); }
    void set(Rank rank, const PortCard& card) {
        RemotePort& peer = (*this)[rank];
        peer.memory = card.memory;
        peer.landing = card.landing;
        peer.seal = seal_of(card.landing.key);
        peer.section_keys = card.section_keys;
        peer.endpoint.assign(card.endpoint.begin(), card.endpoint.end());
        peer.address = FI_ADDR_UNSPEC;
        peer.warm = false;
        peer.known = true;
    }
    /// Resolves the peer's address. Returns false after a failure; `failure` keeps the first one.
    [[nodiscard]] bool resolve(RemotePort& peer, Rank rank,
                               std::optional<base::Failure>& failure) noexcept {
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
        auto why = endpoint_.failure(fmt::format("fi_av_insert of the address of rank {}", rank),
                                     inserted < 0 ? inserted : -FI_EINVAL);
        if (files_) why.status = Status::peer;  // the peer has ended and removed its file
        if (!failure) failure = std::move(why);
        return false;
    }

    /// Returns the target of an offset in a region or, if `region` is nullptr, in the peer's
    /// segment. Returns nullopt while the section's key is unknown; see SectionKeys::find().
    /// `post_read(target, read)` posts a read of the key, and returns true if it is posted.
    template <class PostRead>
    [[nodiscard]] std::optional<RemoteTarget> target_of(RemotePort& peer, Rank rank,
                                                        const RemoteRegion* region,
                                                        std::uint64_t offset, std::uint64_t bytes,
                                                        PostRead post_read) const noexcept {
        const std::uint64_t size = region != nullptr ? region->bytes : peer.memory.bytes;
        WEFT_CHECK(offset <= size && bytes <= size - offset, rank, bytes, offset, size);
        if (region != nullptr) return RemoteTarget{region->base + offset, region->key};
        WEFT_CHECK(bytes <= regions_.bytes_to_section_end(offset), rank, bytes, offset);
        const std::size_t number = regions_.section_of(offset);
        if (number == 0) return RemoteTarget{peer.memory.base + offset, peer.memory.key};
        if (peer.sections == nullptr)
            peer.sections = std::make_unique<SectionKeys>(regions_.sections().size());
        SectionKeys& keys = *peer.sections;
        const RemoteTarget entry{
            peer.memory.base + peer.section_keys + number * sizeof(std::uint64_t), peer.memory.key};
        const auto key = keys.find(number, [&] {
            return post_read(entry, base::Read{.peer = rank,
                                               .into = reinterpret_cast<std::byte*>(&keys.answer),
                                               .bytes = sizeof keys.answer,
                                               .pending = &keys.pending});
        });
        if (!key) return std::nullopt;
        const std::uint64_t origin = virtual_addresses_ ? 0 : regions_.sections()[number].offset;
        return RemoteTarget{peer.memory.base + offset - origin, *key};
    }

  private:
    const Endpoint& endpoint_;
    const Regions& regions_;
    bool virtual_addresses_;
    bool files_;
    std::vector<RemotePort> peers_;
};

}  // namespace weft::link
