// SPDX-License-Identifier: BSD-3-Clause
// peers.hpp - addresses of a port's peers, and the keys of their memory.
//
// Holds    Nothing allocates after construction, except to resolve a peer at its first use.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/check.hpp"
#include "link/fabric/card.hpp"
#include "link/fabric/endpoint.hpp"
#include "link/fabric/regions.hpp"

namespace weft::link {

struct RemotePort {
    fi_addr_t address = FI_ADDR_UNSPEC;
    RemoteRegion memory;
    RemoteRegion landing;
    std::uint64_t seal = 0;  ///< for immediates to it
    std::uint32_t in_flight = 0;
    std::uint32_t unsignaled = 0;  ///< injected since the last signaled put
    bool known = false;
    bool warm = false;
    std::vector<std::byte> endpoint;        ///< until resolved
    std::unique_ptr<SectionKeys> sections;  ///< nullptr: only the first was used
};

/// Memory of a peer, as libfabric addresses it.
struct RemoteTarget {
    std::uint64_t address = 0;
    std::uint64_t key = 0;
};

class Peers {
  public:
    /// `virtual_addresses`: FI_MR_VIRT_ADDR; else offsets start at each section. `files`: endpoints
    /// are files, which their ranks remove at their end.
    Peers(const Endpoint& endpoint, const Regions& regions, std::size_t ranks,
          bool virtual_addresses, bool files)
        : endpoint_(endpoint),
          regions_(regions),
          virtual_addresses_(virtual_addresses),
          files_(files),
          peers_(ranks) {}

    [[nodiscard]] RemotePort& operator[](Rank rank) noexcept { return peers_[rank]; }
    [[nodiscard]] std::size_t size() const noexcept { return peers_.size(); }
    void set(Rank rank, const PortCard& card);
    /// Resolves the peer's address. Returns false if this fails or has failed before; the first
    /// failure is stored in `failure`.
    [[nodiscard]] bool resolve(RemotePort& peer, Rank rank,
                               std::optional<base::Failure>& failure) noexcept;

    /// Returns the target of an offset in a region or in the peer's segment. Returns nothing if the
    /// key of the section is being read, or the peer has not registered it yet. `read` posts a read
    /// of the peer's first section, and returns true if it is posted.
    template <class PostRead>
    [[nodiscard]] std::optional<RemoteTarget> target_of(RemotePort& peer, Rank rank,
                                                        const RemoteRegion* region,
                                                        std::uint64_t offset, std::uint64_t bytes,
                                                        PostRead post_read) const noexcept {
        const std::uint64_t room = region != nullptr ? region->bytes : peer.memory.bytes;
        WEFT_CHECK(offset <= room && bytes <= room - offset, rank, bytes, offset, room);
        if (region != nullptr) return RemoteTarget{region->base + offset, region->key};
        WEFT_CHECK(bytes <= regions_.room_at(offset), rank, bytes, offset);
        const std::size_t number = regions_.section_of(offset);
        if (number == 0) return RemoteTarget{peer.memory.base + offset, peer.memory.key};
        if (peer.sections == nullptr)
            peer.sections = std::make_unique<SectionKeys>(regions_.sections().size());
        SectionKeys& keys = *peer.sections;
        const RemoteTarget entry{peer.memory.base + regions_.entry_of(number), peer.memory.key};
        const auto key = keys.find(number, [&] {
            return post_read(entry, base::Read{.peer = rank,
                                               .into = reinterpret_cast<std::byte*>(&keys.answer),
                                               .bytes = sizeof keys.answer,
                                               .pending = &keys.pending});
        });
        if (!key) return std::nullopt;
        const std::uint64_t first = virtual_addresses_ ? 0 : regions_.sections()[number].offset;
        return RemoteTarget{peer.memory.base + offset - first, *key};
    }

  private:
    const Endpoint& endpoint_;
    const Regions& regions_;
    bool virtual_addresses_;
    bool files_;
    std::vector<RemotePort> peers_;
};

}  // namespace weft::link
