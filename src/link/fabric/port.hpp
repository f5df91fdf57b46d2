// SPDX-License-Identifier: BSD-3-Clause
// port.hpp - posts puts to an endpoint, and polls its completion queue.
//
// Idea     A put is one RDMA write, with or without an immediate. libfabric *injects* small puts:
//          it copies their sources at once. An immediate arrives in the target's completion queue
//          after the data is in memory. This is the only order between data and flag that libfabric
//          promises on every provider (fi_cq(3), remote CQ data). Puts of kind `delivered` and
//          `fenced` are never injected, because libfabric completes injected puts too early.
//          A put with a cell writes payload and flag word in one write with two targets: the
//          payload's address, and the cell. Its immediate still signals that both are delivered.
//          Short sources are copied: over sockets, reading a completion takes longer than a copy.
// Why      Injected puts have a completion, too (they are *signaled*), unless the profile allows
//          otherwise. Only completions limit the number of puts that a provider queues for a target
//          that does not poll. Also, a layer of libfabric 1.17 crashes on the null context of an
//          unsignaled put whose peer has died.
//          A provider that batches posts holds a put with FI_MORE until the next post. Puts whose
//          caller announces another put have FI_MORE; poll() posts an empty write if none follows.
// Holds    Transfers neither lock nor wait, and allocate only at the first use of a peer or of one
//          of its later sections, and to register a large source. poll() sleeps 1 ms for each
//          immediate with a wrong seal. A pool and a count for each peer limit puts in flight.
// Next     open_port.cpp, which opens a port; regions.hpp for registered memory.
#pragma once

#include <rdma/fi_rma.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "link/fabric/discover.hpp"
#include "link/fabric/endpoint.hpp"
#include "link/fabric/fabric.hpp"
#include "link/fabric/peers.hpp"
#include "link/fabric/regions.hpp"
#include "link/fabric/transfers.hpp"

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

class Port final : public FabricPort {
  public:
    Port(const FabricMemory& memory, const FabricOptions& options, const Found& found,
         FabricFacts facts, Endpoint endpoint);
    /// Waits up to 2 s for transfers in flight, then closes the endpoint, which cancels the rest.
    ~Port() override;
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    /// Registers the memory and makes the card. receives: 0 unless immediates consume receives.
    base::Result<void> start(std::size_t receives);

    [[nodiscard]] const FabricFacts& facts() const override { return facts_; }
    [[nodiscard]] std::span<const std::byte> address() const override { return card_; }
    void set_peer(Rank rank, std::span<const std::byte> address) override;
    void forget_file() noexcept override { endpoint_.file.remove(); }
    base::Result<void> use_memory(std::uint64_t offset, std::uint64_t bytes) override;
    [[nodiscard]] std::uint64_t bytes_to_section_end(std::uint64_t offset) const noexcept override {
        return regions_.bytes_to_section_end(offset);
    }
    [[nodiscard]] bool warm(Rank rank) noexcept override;
    base::Result<RemoteRegion> expose(std::span<std::byte> memory) override {
        return expose_as(memory, {});
    }
    /// Registers memory, with a key that another port has chosen if `key` is given.
    base::Result<RemoteRegion> expose_as(std::span<std::byte> memory,
                                         std::optional<std::uint64_t> key);
    void unexpose(const RemoteRegion& region) noexcept override { regions_.unexpose(region); }
    [[nodiscard]] base::Post try_put(const base::Put& put) noexcept override;
    [[nodiscard]] std::uint64_t landed(Rank peer, std::uint32_t counter) noexcept override {
        return regions_.landed(peer, counter);  // not about writes to the landing
    }
    [[nodiscard]] base::Post try_read(const base::Read& read) noexcept override;
    [[nodiscard]] std::size_t poll(std::span<std::uint64_t> immediates) noexcept override;
    void lose(Rank peer) noexcept override;
    void cancel() noexcept override;
    [[nodiscard]] std::uint64_t writes() const noexcept override { return writes_; }
    [[nodiscard]] std::size_t in_flight() const noexcept override { return transfers_.in_flight(); }
    [[nodiscard]] const base::Failure* failure() const noexcept override {
        return failures_.first();
    }

  private:
    /// Resolves the peer's address if necessary. Returns false if transfers are impossible.
    [[nodiscard]] bool ready(RemotePort& peer, Rank rank) noexcept {
        if (endpoint_.handle == nullptr) [[unlikely]]
            return false;
        return peer.address != FI_ADDR_UNSPEC || peers_.resolve(peer, rank, failures_.port);
    }
    /// Returns FI_MORE for a put that another one follows, if the provider batches posts. It holds
    /// the write until another write follows: returns 0 if the limits leave no room for that write.
    [[nodiscard]] std::uint64_t more_flag(const RemotePort& peer) const noexcept {
        const Transfer* const next = transfers_.next();
        const bool room = next != nullptr && next->next != nullptr &&
                          peer.in_flight + 1 < in_flight_per_peer_max_;
        return room ? more_flag_ : 0;
    }
    void release_held() noexcept;
    /// Returns true if the limits permit one more transfer with the peer.
    [[nodiscard]] bool has_room(const RemotePort& peer) const noexcept {
        return transfers_.next() != nullptr && peer.in_flight < in_flight_per_peer_max_;
    }
    [[nodiscard]] std::optional<RemoteTarget> target_of(RemotePort& peer, Rank rank,
                                                        const RemoteRegion* region,
                                                        std::uint64_t offset,
                                                        std::uint64_t bytes) noexcept {
        return peers_.target_of(peer, rank, region, offset, bytes,
                                [&](const RemoteTarget& from, const base::Read& read) {
                                    return post_read(peer, from, read) == base::Post::posted;
                                });
    }
    [[nodiscard]] RdmaWrite empty_write(const RemotePort& peer, std::uint64_t flags,
                                        std::uint64_t immediate = 0) const noexcept;
    [[nodiscard]] base::Post put_flagged(RemotePort& peer, const RemoteTarget& target,
                                         const base::Put& put) noexcept;
    [[nodiscard]] base::Post inject(RemotePort& peer, Rank rank, const RdmaWrite& write) noexcept;
    [[nodiscard]] base::Post post_unregistered(RemotePort& peer, Rank rank, RdmaWrite write,
                                               bool copied_at_once) noexcept;
    [[nodiscard]] base::Post post(RemotePort& peer, Rank rank, const RdmaWrite& write) noexcept;
    [[nodiscard]] Transfer* post_message(RemotePort& peer, Rank rank, fi_msg_rma& message,
                                         std::uint64_t flags, std::size_t bytes,
                                         std::uint32_t* pending) noexcept;
    [[nodiscard]] base::Post post_read(RemotePort& peer, const RemoteTarget& from,
                                       const base::Read& read) noexcept;
    [[nodiscard]] base::Post record_post(ssize_t code, std::size_t bytes, Rank rank,
                                         bool reads = false) noexcept;
    void finish(Transfer& transfer) noexcept;
    std::size_t handle_entries(std::span<const fi_cq_data_entry> entries,
                               std::span<std::uint64_t> immediates) noexcept;
    void handle_error(ssize_t code) noexcept;
    void check_receives(ssize_t code) noexcept {
        if (code != 0) failures_.store(endpoint_.failure("fi_recv", code));
    }

    FabricFacts facts_;
    Rank rank_;
    bool text_addresses_;  ///< endpoint addresses are text of any length
    Seals seals_;
    bool writes_empty_;             ///< a put may carry an immediate without data
    std::uint32_t unsignaled_max_;  ///< small puts to a peer between two signaled ones; may be 0
    std::uint32_t in_flight_per_peer_max_;
    std::uint64_t more_flag_;   ///< FI_MORE if the provider batches posts, else 0
    Rank held_peer_ = -1;       ///< peer of the last write if it has FI_MORE, else -1
    std::uint64_t writes_ = 0;  ///< see writes()
    Transfers transfers_;
    Receives receives_;
    std::vector<std::byte> card_;  ///< see address()
    PortFailures failures_;
    Endpoint endpoint_;
    Regions regions_;  ///< declared after the endpoint, so that it is closed first
    Peers peers_;
};

/// Opens a port on the endpoint that discover() has selected.
base::Result<std::unique_ptr<Port>> open_port(const FabricMemory& memory,
                                              const FabricOptions& options, const Found& found);

}  // namespace weft::link
