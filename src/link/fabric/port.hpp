// SPDX-License-Identifier: BSD-3-Clause
// port.hpp - one endpoint, its address vector, its completion queue and the registered memory.
//
// Idea     A put is one RDMA write, with or without an immediate. It uses a transfer of a fixed
//          pool, which is also the context that libfabric may use until completion. libfabric
//          copies small sources at once. An immediate arrives in the target's completion queue
//          after the data is in memory. This is the only order between data and flag that libfabric
//          promises on every provider (fi_cq(3), remote CQ data). Delivered and fenced puts are
//          never copied at once, because libfabric completes copied ones too early.
// Why      Small puts also have a completion each, unless the profile allows otherwise.
//          Nothing else limits the puts that a provider queues for a target that does not
//          poll. Also, a layer of libfabric 1.17 crashes on the null context of an injected
//          put whose peer has died.
//
//          The segment is registered in sections, at their first use. The card has the key of the
//          first section. The other keys are in a table in the first section. A rank reads an entry
//          once for each peer, before its first transfer to that section. The provider may choose
//          keys at registration, so they are not known earlier.
//
//          Sources in the segment are registered once. If other sources must be registered, too
//          (FI_MR_LOCAL), small ones are copied to registered buffers. Larger ones are registered
//          for their put, until its local completion, after which libfabric does not read them
//          again (fi_cq(3)). A provider with a registration cache makes repetitions cheap, so this
//          file has none.
// Holds    No allocation, lock or wait after open(), except to resolve a peer at its first use, and
//          to register a source. The pool limits all puts in flight; a count for each peer limits
//          the puts to it.
// Next     discover.hpp for the choice of the provider; sections.cpp for registered memory.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/shared_files.hpp"
#include "link/fabric/card.hpp"
#include "link/fabric/discover.hpp"
#include "link/fabric/fabric.hpp"
#include "link/fabric/handles.hpp"
#include "link/fabric/keys.hpp"
#include "link/fabric/staging.hpp"

namespace weft::link {

/// Most sources of one write, including its flag.
inline constexpr std::size_t kSourceParts = 4;
/// Counted puts in flight to a peer, at most.
inline constexpr std::uint32_t kCountersOfPeer = 4;

class Port final : public FabricPort {
  public:
    /// Opens an endpoint on a discovered offer.
    [[nodiscard]] static base::Result<std::unique_ptr<Port>> open(const FabricMemory& memory,
                                                                  const FabricOptions& options,
                                                                  const Found& found);
    /// Waits briefly for puts in flight to complete, then closes.
    ~Port() override;
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    [[nodiscard]] const FabricFacts& facts() const override { return facts_; }
    [[nodiscard]] std::span<const std::byte> address() const override { return card_; }
    void set_peer(Rank rank, std::span<const std::byte> address) override;
    void forget_file() noexcept override { file_.remove(); }
    [[nodiscard]] base::Result<void> use_memory(std::uint64_t offset, std::uint64_t bytes) override;
    [[nodiscard]] std::uint64_t room_at(std::uint64_t offset) const noexcept override {
        const Section& section = sections_[section_of(offset)];
        return section.offset + section.bytes - offset;
    }
    [[nodiscard]] bool warm(Rank rank) noexcept override;
    [[nodiscard]] base::Result<RemoteRegion> expose(std::span<std::byte> memory) override;
    void conceal(const RemoteRegion& region) noexcept override;
    [[nodiscard]] base::Post try_put(const base::Put& put) noexcept override;
    [[nodiscard]] std::uint64_t landed(Rank peer, std::uint32_t counter) noexcept override;
    [[nodiscard]] base::Post try_read(const base::Read& read) noexcept override;
    [[nodiscard]] std::size_t poll(std::span<std::uint64_t> immediates) noexcept override;
    void cancel() noexcept override;
    [[nodiscard]] std::uint64_t writes() const noexcept override { return writes_; }
    [[nodiscard]] std::size_t in_flight() const noexcept override { return in_flight_; }
    [[nodiscard]] const base::Failure* failure() const noexcept override {
        return failure_ ? &*failure_ : nullptr;
    }

  private:
    static constexpr std::size_t kNoSource = ~std::size_t{0};
    // Registered at a time.
    static constexpr std::size_t kSources = 64;
    static constexpr std::size_t kSourcesWithSmallKeys = 3;
    // Registration keys that are chosen here, as indices of keys_.
    enum Key : std::size_t { kLandingKey, kStagingKey, kFirstSectionKey };
    static constexpr std::size_t kFirstSourceKey = kFirstSectionKey + kSectionsMax;
    static_assert(kFirstSourceKey + kSourcesWithSmallKeys < 100,
                  "small keys have a fast path up to there");
    /// A part of the memory that is registered as a unit.
    struct Section {
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
        Fid<fid_mr> region;  ///< nullptr: not registered
    };
    /// Known keys of a peer's sections, except the first.
    struct PeerSections {
        explicit PeerSections(std::size_t count) : entries(count) {}
        /// Entries of its table that were read: key + 1; 0: unknown.
        std::vector<std::uint64_t> entries;
        std::size_t asked = 0;  ///< the section whose entry is being read; 0: none
        std::uint64_t answer = 0;
        std::uint32_t pending = 0;
    };
    /// Counts the writes of one peer to the memory that name it.
    struct Counter {
        Fid<fid_cntr> count;
        Fid<fid_mr> region;  ///< closed before the counter that is bound to it
    };
    /// Target of a transfer.
    struct Place {
        std::uint64_t address = 0;
        std::uint64_t key = 0;
    };
    struct Transfer {
        fi_context2 context{};  // first: libfabric returns its address
        std::uint32_t* pending = nullptr;
        std::byte* staged = nullptr;
        std::byte* into = nullptr;       // final target of a read through `staged`
        std::size_t source = kNoSource;  // index in sources_, if registered for this put
        std::uint64_t flag = 0;          // source of the flag of a put that has one
        Transfer* next = nullptr;
        std::size_t bytes = 0;
        Rank peer = 0;
    };
    struct Peer {
        fi_addr_t address = FI_ADDR_UNSPEC;
        RemoteRegion memory;
        RemoteRegion landing;
        std::uint64_t seal = 0;  // for immediates to it
        std::uint32_t in_flight = 0;
        std::uint32_t unsignaled = 0;  // injected since the last signaled put
        bool known = false;
        bool warm = false;
        std::vector<std::byte> endpoint;         // until resolved
        std::unique_ptr<PeerSections> sections;  // nullptr: only the first was used
    };

    /// One write, as passed to libfabric.
    struct RdmaWrite {
        const std::byte* source = nullptr;
        std::size_t bytes = 0;
        std::uint64_t target = 0;
        std::uint64_t key = 0;
        std::uint64_t flags = 0;
        std::uint64_t immediate = 0;
        void* desc = nullptr;
        std::byte* staged = nullptr;
        std::size_t registered = kNoSource;
        std::uint32_t* pending = nullptr;
    };
    /// Memory outside the segment that peers may write.
    struct Exposed {
        Fid<fid_mr> handle;
        std::size_t key = 0;  // index in keys_
    };
    /// A receive without a buffer, which an immediate consumes.
    struct Receive {
        fi_context2 context{};  // first: libfabric returns its address
        bool posted = false;
    };

    Port(const FabricMemory& memory, const FabricOptions& options, const Found& found,
         NotifyPlan notify, base::RemoteCompletion completion);
    [[nodiscard]] base::Result<void> open_endpoint(const fi_info& info,
                                                   const FabricOptions& options);
    base::Result<void> enable(const FabricOptions& options);
    base::Result<void> enable_with_file(const FabricOptions& options);
    [[nodiscard]] base::Result<void> draw_keys(std::size_t count);
    [[nodiscard]] base::Result<void> register_all();
    [[nodiscard]] base::Result<void> post_receives(std::size_t count);
    [[nodiscard]] base::Result<Fid<fid_mr>> register_region(std::span<std::byte> region,
                                                            std::uint64_t access, std::size_t key);
    [[nodiscard]] base::Result<void> make_card();
    void make_sections(bool reads);
    [[nodiscard]] base::Result<void> open_counters(Rank rank);
    [[nodiscard]] base::Result<void> register_section(std::size_t number);
    [[nodiscard]] std::size_t section_of(std::uint64_t offset) const noexcept {
        return offset < sections_.front().bytes ? 0 : later_section_of(offset);
    }
    [[nodiscard]] std::size_t later_section_of(std::uint64_t offset) const noexcept;
    [[nodiscard]] static std::optional<Place> place_in(const RemoteRegion& region,
                                                       std::uint64_t offset,
                                                       std::uint64_t bytes) noexcept;
    [[nodiscard]] std::optional<Place> place_of(Peer& peer, Rank rank, std::uint64_t offset,
                                                std::uint64_t bytes) noexcept;
    [[nodiscard]] std::optional<std::uint64_t> key_of(Peer& peer, Rank rank,
                                                      std::size_t section) noexcept;
    [[nodiscard]] base::Post post_read(Peer& peer, const Place& from,
                                       const base::Read& read) noexcept;
    [[nodiscard]] RemoteRegion remote_view(std::span<const std::byte> region, fid_mr& handle) const;
    [[nodiscard]] base::Failure refused(std::string_view call, int code) const;

    [[nodiscard]] std::uint64_t sealed_for(const Peer& peer, std::uint64_t immediate) const {
        return seals_ ? sealed(immediate, peer.seal) : immediate;
    }
    [[nodiscard]] bool resolve(Peer& peer, Rank rank) noexcept;
    [[nodiscard]] base::Post post(Peer& peer, Rank rank, const RdmaWrite& write) noexcept;
    [[nodiscard]] base::Post put_flagged(Peer& peer, const Place& place,
                                         const base::Put& put) noexcept;
    [[nodiscard]] std::size_t copy_stride() const noexcept {
        return facts_.copied_bytes + sizeof(std::uint64_t);
    }
    [[nodiscard]] iovec copied(const Transfer& transfer, const base::Put& put) noexcept;
    [[nodiscard]] base::Post put_empty(Peer& peer, const base::Put& put) noexcept;
    [[nodiscard]] base::Post inject(Peer& peer, Rank rank, const RdmaWrite& write) noexcept;
    [[nodiscard]] base::Post posted_as(ssize_t code, Rank rank, const RdmaWrite& write) noexcept;
    [[nodiscard]] base::Post post_unregistered(Peer& peer, Rank rank, const RdmaWrite& write,
                                               bool copied_at_once) noexcept;
    [[nodiscard]] base::Post post_staged(Peer& peer, Rank rank, RdmaWrite write) noexcept;
    void take(Transfer& transfer, Peer& peer, Rank rank, std::size_t bytes,
              std::uint32_t* pending) noexcept;
    [[nodiscard]] base::Post post_registered(Peer& peer, Rank rank, RdmaWrite write) noexcept;
    static void slow_down_guesses() noexcept;
    void release_source(std::size_t source) noexcept;
    void renew_receive(void* context) noexcept;
    void renew_receives() noexcept;
    [[nodiscard]] fid_mr* region_of(const std::byte* data, std::size_t bytes) const noexcept;
    [[nodiscard]] Transfer* transfer_of(void* context) noexcept;
    void finish(Transfer& transfer) noexcept;
    std::size_t take_entries(std::span<const fi_cq_data_entry> entries,
                             std::span<std::uint64_t> immediates) noexcept;
    void take_error(ssize_t code) noexcept;
    void fail(base::Failure failure) noexcept;

    FabricMemory memory_;
    FabricFacts facts_;
    Rank rank_ = 0;
    Grant grant_;
    bool registers_sources_;         // large ones outside the segment, for their put
    bool text_addresses_;            // endpoint addresses are text, of any length
    std::size_t address_bytes_ = 0;  // of the own endpoint
    bool small_keys_;                // from the profile
    bool seals_;                     // immediates have room for a seal, and keys are secret
    std::uint64_t own_seal_ = 0;
    bool writes_empty_;             // a put may carry an immediate without data
    EndpointFile endpoint_file_;    // from the profile
    std::uint32_t unsignaled_max_;  // small puts to a peer between two signaled ones
    std::uint32_t in_flight_per_peer_max_;
    std::vector<std::uint64_t> keys_;  // of regions, if chosen here
    std::uint32_t in_flight_ = 0;
    std::uint64_t writes_ = 0;
    std::vector<Peer> peers_;
    std::vector<Transfer> transfers_;
    Transfer* free_ = nullptr;
    std::unique_ptr<std::byte[]> copies_;     // one for each transfer: short sources and their flag
    std::vector<Receive> receives_;           // if immediates consume them
    std::size_t receives_missing_ = 0;        // consumed and not yet posted again
    std::unique_ptr<Staging> staging_;        // if sources must be registered, or are better copied
    std::size_t staged_bytes_max_ = 0;        // larger sources are registered for their put
    alignas(64) std::byte landing_[64] = {};  // target of empty puts of peers, never read
    std::vector<std::byte> card_;
    std::optional<base::Failure> failure_;

    // In opening order: regions close first, as required by providers that bind them
    // to the endpoint.
    Fid<fid_fabric> fabric_;
    Fid<fid_domain> domain_;
    Fid<fid_av> addresses_;
    Fid<fid_cq> completions_;
    base::SharedFile file_;  ///< file of the endpoint, if it has one
    Fid<fid_ep> endpoint_;
    std::vector<Section> sections_;
    std::vector<Counter> counters_;  ///< by peer, facts_.counters for each
    Fid<fid_mr> landing_region_;
    Fid<fid_mr> staging_region_;
    std::vector<Fid<fid_mr>> sources_;  // of puts in flight
    std::vector<std::size_t> free_sources_;
    std::vector<Exposed> exposed_;
    std::vector<std::size_t> free_keys_;  // for exposed memory
    void* staging_desc_ = nullptr;
};

}  // namespace weft::link
