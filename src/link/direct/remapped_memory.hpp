// SPDX-License-Identifier: BSD-3-Clause
// remapped_memory.hpp - the remapped buffers of one rank: their pages belong to objects that local
// peers can map.
//
// Idea     A buffer that is used often enough (seen_buffers.hpp) is remapped: the whole pages
//          inside it become a range (remapped_ranges.hpp). Later calls expose the buffer through
//          the range if the kernel confirms that it is still mapped there. Otherwise the buffer
//          counts as new.
// Holds    The running call owns all memory that it remaps. All properties of the memory's mappings
//          are known to be harmless. The process's madvise() and mremap() reach the library
//          (docs/direct-memory.md lists the promises). Memory stays remapped. A known buffer costs
//          one query of the kernel, no lock and no allocation.
// Next     remapped_ranges.hpp for forks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/reach.hpp"
#include "link/direct/address_query.hpp"
#include "link/direct/remapped_ranges.hpp"
#include "link/direct/seen_buffers.hpp"

namespace weft::link {

enum class DirectMode : std::uint8_t {
    automatic,  ///< when its copies have cost as much as remapping would
    adopt,      ///< at its first use, with any allocator
    copy,       ///< never
};

struct AdoptionLimits {
    std::size_t ranges_max = RemappedRanges::kRangesMax;  ///< fewer if few files may be open
    std::uint64_t bytes_max = ~std::uint64_t{0};          ///< in ranges of the process, at most
    std::uint32_t peers = 1;                              ///< local peers, which map the range
    AdoptionPrices prices = {};
    /// False only in a test, which shows that the query is necessary.
    bool ask_before_use = true;
};

/// One thread at a time may use an object.
class RemappedMemory {
  public:
    struct Counters {
        std::uint64_t adoptions = 0;      ///< buffers that were remapped
        std::uint64_t adopted_bytes = 0;  ///< in ranges of the process now
        std::uint64_t given_back = 0;     ///< ranges that became private memory, at a fork
        std::uint64_t questions = 0;      ///< queries whether a range is still mapped
        std::uint64_t lost = 0;           ///< ranges found to be no longer mapped
        std::array<std::uint64_t, kRefusals> refusals{};
    };

    RemappedMemory(DirectMode mode, AdoptionLimits limits);
    RemappedMemory(const RemappedMemory&) = delete;
    RemappedMemory& operator=(const RemappedMemory&) = delete;
    ~RemappedMemory();

    /// Returns the reason why no buffer is remapped; empty if buffers may be.
    [[nodiscard]] std::string_view off() const noexcept { return off_; }
    /// Fills in the exposure if its buffer is remapped, by this call or an earlier one. Returns
    /// false if the caller has to use another method, which costs `use_ns`.
    [[nodiscard]] bool expose(base::Exposure& exposure, const base::Copies& copies,
                              std::uint64_t use_ns) noexcept;
    void conceal(const base::Exposure& exposure) noexcept;
    /// Ends an exposure of a failed call. Peers that do not know of the failure may continue, but
    /// cannot access the buffer's pages any more.
    void withdraw(const base::Exposure& exposure) noexcept;
    [[nodiscard]] Counters counters() const noexcept;

  private:
    using Pages = RemappedRange::Pages;

    [[nodiscard]] bool is_due(SeenBuffer& buffer, Pages pages, const base::Copies& copies,
                              std::uint64_t use_ns) const noexcept;
    [[nodiscard]] RemappedRange* use_known(SeenBuffer& buffer, base::Access access) noexcept;
    [[nodiscard]] RemappedRange* remap(SeenBuffer& buffer, Pages pages) noexcept;
    [[nodiscard]] std::optional<Refusal> refusal(Pages pages) noexcept;
    void recheck_another() noexcept;

    DirectMode mode_;
    AdoptionLimits limits_;
    AddressQuery query_;
    LargePages large_;
    RemappedRanges* ranges_ = nullptr;  ///< nullptr: no buffer is remapped
    int forked_ = 0;                    ///< forked() of the process that made this object
    std::string_view off_;
    SeenBuffers seen_;
    std::size_t rechecked_ = 0;
    std::uint64_t uses_ = 0;
    std::uint64_t properties_ns_ = 0;  ///< duration of the last query of properties
    Counters counters_;
};

}  // namespace weft::link
