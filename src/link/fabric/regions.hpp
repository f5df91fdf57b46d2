// SPDX-License-Identifier: BSD-3-Clause
// regions.hpp - registered memory of a port: sections of the segment, exposed memory, sources.
//
// Idea     The segment is divided into sections, each registered at its first use. The card has the
//          key of the first section. The other keys are in a table in the first section. A peer
//          reads the entry of a section before its first transfer to that section. The card cannot
//          have these keys, because a provider may choose them at registration.
//          Some networks also require registered sources (FI_MR_LOCAL). Sources in the segment are
//          registered with it. Other small sources are copied to registered buffers. Large sources
//          are registered until the local completion of their put, after which libfabric does not
//          read them again (fi_cq(3)). This class caches no registrations; some providers do.
// Holds    A key in the table belongs to a registered section, and does not change. After
//          open(), only registrations allocate.
// Next     docs/decisions/0019-symmetric-memory.md; run/job/layout.hpp for the starts of sections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "link/fabric/card.hpp"
#include "link/fabric/endpoint.hpp"
#include "link/fabric/fabric.hpp"
#include "link/fabric/profile.hpp"

namespace weft::link {

/// Number of counters at a target for each peer. It limits a peer's counted puts in flight.
inline constexpr std::uint32_t kCountersOfPeer = 4;

/// A part of the memory with one registration.
struct Section {
    std::uint64_t offset = 0;  ///< offset of the first byte in the memory
    std::uint64_t bytes = 0;
    Fid<fid_mr> region;  ///< nullptr: not registered
};

/// Keys of a peer's later sections, as read from the peer's table.
struct SectionKeys {
    explicit SectionKeys(std::size_t count) : entries(count) {}

    /// Returns the key of a section, or nullopt while it is being read, or if the peer has not
    /// registered the section yet. `post_read` returns true if it has posted a read into `answer`.
    template <class PostRead>
    [[nodiscard]] std::optional<std::uint64_t> find(std::size_t section,
                                                    PostRead post_read) noexcept {
        if (entries[section] == 0) {
            if (pending != 0) return std::nullopt;
            if (reading != 0) entries[std::exchange(reading, 0)] = answer;
        }
        if (entries[section] != 0) return entries[section] - 1;
        answer = 0;
        if (post_read()) reading = section;
        return std::nullopt;
    }

    std::vector<std::uint64_t> entries;  ///< by section: key + 1; 0: unknown
    std::size_t reading = 0;             ///< section of the last read; 0: its answer is stored
    std::uint64_t answer = 0;            ///< target of the read: an entry of the peer's table
    std::uint32_t pending = 0;           ///< Read::pending: 1 while a read is in progress
};

class Regions {
  public:
    /// `endpoint` must outlive the regions. small_keys: see Profile.
    Regions(Endpoint& endpoint, const FabricMemory& memory, const Grant& grant, bool small_keys)
        : endpoint_(endpoint), memory_(memory), grant_(grant), small_keys_(small_keys) {}

    /// Registers the first section, the landing and, if sources must be registered, the buffers.
    /// divided: peers can read the keys of sections, so the memory may have several sections.
    base::Result<void> open(bool divided);
    /// Opens `counters` counters for each peer. A peer's writes select a counter by its key.
    base::Result<void> open_counters(Rank rank, std::size_t ranks, std::uint32_t counters);
    void close() noexcept;

    // See PortCard::memory and PortCard::landing.
    [[nodiscard]] RemoteRegion memory_view() const {
        return remote_view({memory_.base, memory_.bytes}, *sections_.front().region);
    }
    [[nodiscard]] RemoteRegion landing_view() const {
        return remote_view(landing_, *landing_region_);
    }
    [[nodiscard]] const std::byte* landing() const noexcept { return landing_; }
    [[nodiscard]] std::uint64_t registered_bytes() const noexcept { return registered_bytes_; }

    /// Registers the unregistered sections of this part of the memory.
    base::Result<void> use_memory(std::uint64_t offset, std::uint64_t bytes);
    [[nodiscard]] std::span<const Section> sections() const noexcept { return sections_; }
    [[nodiscard]] std::size_t section_of(std::uint64_t offset) const noexcept {
        return offset < sections_.front().bytes ? 0 : later_section_of(offset);
    }
    [[nodiscard]] std::uint64_t bytes_to_section_end(std::uint64_t offset) const noexcept {
        const Section& section = sections_[section_of(offset)];
        return section.offset + section.bytes - offset;
    }
    [[nodiscard]] std::uint64_t section_keys() const noexcept { return memory_.section_keys; }
    // See FabricPort. key: registration key to use, which other Regions have chosen.
    base::Result<RemoteRegion> expose(std::span<std::byte> memory,
                                      std::optional<std::uint64_t> key = {});
    void unexpose(const RemoteRegion& region) noexcept;
    [[nodiscard]] std::uint64_t landed(Rank peer, std::uint32_t counter) noexcept;

    // Memory of this rank for transfers, if libfabric must know its registration.
    [[nodiscard]] bool registers_sources() const noexcept { return grant_.local_registration; }
    /// Returns the registration of the section that contains all of this memory, or nullptr.
    [[nodiscard]] fid_mr* region_of(const std::byte* data, std::size_t bytes) const noexcept;
    /// Size of a buffer. Larger sources are registered instead of copied.
    static constexpr std::size_t kBufferBytes = std::size_t{64} << 10;
    /// Returns a registered buffer of kBufferBytes bytes, or nullptr if all are in use.
    [[nodiscard]] std::byte* take_buffer() noexcept;
    [[nodiscard]] void* buffer_desc() const noexcept { return fi_mr_desc(buffers_region_.get()); }
    /// Registers a source until give_back(). Returns its number. Returns kNoSource if the caller
    /// must try again after other sources have been given back. Also returns kNoSource if
    /// registration is impossible, and then stores the reason in `failure`.
    [[nodiscard]] std::size_t register_source(std::span<std::byte> source,
                                              std::optional<base::Failure>& failure) noexcept;
    [[nodiscard]] void* source_desc(std::size_t source) const noexcept {
        return fi_mr_desc(sources_[source].get());
    }
    /// Ends the use of a buffer (nullptr: none) and of a registered source (kNoSource: none).
    void give_back(std::byte* buffer, std::size_t source) noexcept {
        if (buffer != nullptr) free_buffers_.push_back(buffer);
        if (source == kNoSource) return;
        sources_[source].reset();
        free_sources_.push_back(source);
    }
    static constexpr std::size_t kNoSource = ~std::size_t{0};

  private:
    static constexpr std::size_t kBuffers = 32;
    static constexpr std::size_t kSources = 64;  ///< largest number of registered sources
    // Indices in keys_ of the keys for each purpose.
    enum Key : std::size_t { kLandingKey, kBuffersKey, kFirstSectionKey };
    static constexpr std::size_t kFirstSourceKey = kFirstSectionKey + kSectionsMax;
    static_assert(kFirstSourceKey < 100, "small keys have a fast path only below 100");
    /// Memory outside the segment that peers may write.
    struct Exposed {
        Fid<fid_mr> handle;
        std::optional<std::size_t> key;  ///< index in keys_; nullopt: a key of other Regions
    };
    struct FreeDeleter {
        void operator()(std::byte* memory) const noexcept { std::free(memory); }
    };

    base::Result<void> draw_keys(std::size_t count);
    base::Result<Fid<fid_mr>> register_region(std::span<std::byte> memory, std::uint64_t access,
                                              std::size_t key) {
        return endpoint_.register_memory(memory, access, keys_[key]);
    }
    void make_sections(bool divided);
    base::Result<void> register_section(std::size_t number);
    base::Result<void> register_buffers();
    [[nodiscard]] std::size_t later_section_of(std::uint64_t offset) const noexcept;
    [[nodiscard]] RemoteRegion remote_view(std::span<const std::byte> memory, fid_mr& handle) const;

    Endpoint& endpoint_;
    FabricMemory memory_;
    Grant grant_;
    bool small_keys_;
    std::uint64_t registered_bytes_ = 0;
    std::uint32_t counters_of_peer_ = 0;  ///< number of counters for each peer
    std::vector<std::uint64_t> keys_;
    std::vector<std::size_t> free_keys_;  ///< unused indices of keys_, for exposed memory
    std::unique_ptr<std::byte[], FreeDeleter> buffers_;
    std::vector<std::byte*> free_buffers_;
    std::vector<std::size_t> free_sources_;
    alignas(64) std::byte landing_[64] = {};
    std::vector<Section> sections_;
    std::vector<WriteCounter> counters_;  ///< counters_of_peer_ counters for each peer, by peer
    Fid<fid_mr> landing_region_;
    Fid<fid_mr> buffers_region_;
    std::vector<Fid<fid_mr>> sources_;  ///< registered sources of puts in flight, by number
    std::vector<Exposed> exposed_;
};

}  // namespace weft::link
