// SPDX-License-Identifier: BSD-3-Clause
// remapped_memory.hpp - the remapped buffers of one rank: their pages belong to objects that local
// peers can map.
//
// Idea     A buffer that is used often enough (seen_buffers.hpp) is remapped: the whole pages
//          inside it become a range (remapped_ranges.hpp). Later calls expose the buffer through
//          the range if the kernel confirms that the range is still mapped at these addresses.
//          Otherwise the buffer is treated as new.
// Holds    A buffer is remapped only in a call that owns it, only if all properties of its mappings
//          are harmless, and only if the process's madvise() and mremap() reach this library
//          (docs/direct-memory.md lists the promises). Memory stays remapped after the call. Use of
//          a remapped buffer allocates nothing, and usually needs one query and no lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/environment.hpp"
#include "base/reach.hpp"
#include "link/direct/address_query.hpp"
#include "link/direct/remapped_ranges.hpp"
#include "link/direct/seen_buffers.hpp"

namespace weft::link {

using base::DirectMode;

struct AdoptionLimits {
    /// Ranges of the process, which may also have at most a quarter of its file descriptors.
    std::size_t ranges_max = RemappedRanges::kRangesMax;
    std::uint64_t bytes_max = ~std::uint64_t{0};  ///< bytes in all ranges of the process
    std::uint32_t peers = 1;                      ///< local peers that may map a range
    AdoptionPrices prices = {};
    /// Query the kernel before each use of a range. Only a test of its necessity sets it to false.
    bool ask_before_use = true;
};

/// Not thread-safe.
class RemappedMemory {
  public:
    struct Counters {
        std::uint64_t adoptions = 0;      ///< number of buffers that were remapped
        std::uint64_t adopted_bytes = 0;  ///< bytes that are remapped in the process now
        std::uint64_t given_back = 0;     ///< ranges that became private memory at forks
        std::uint64_t queries = 0;        ///< queries for the mapping of a range before a use
        std::uint64_t lost = 0;           ///< ranges that the program has unmapped or changed
        std::array<std::uint64_t, kRefusals> refusals{};  ///< number for each Refusal
    };

    RemappedMemory(DirectMode mode, AdoptionLimits limits);
    RemappedMemory(const RemappedMemory&) = delete;
    RemappedMemory& operator=(const RemappedMemory&) = delete;
    ~RemappedMemory();

    /// Returns the reason why no buffer can be remapped; empty if buffers can.
    [[nodiscard]] std::string_view off() const noexcept { return off_; }
    /// Fills in the exposure if its buffer is remapped, by this call or an earlier one. Returns
    /// false if the caller must use another method. use_ns: cost of one use by that method.
    [[nodiscard]] bool expose(base::Exposure& exposure, const base::Copies& copies,
                              std::uint64_t use_ns) noexcept;
    /// Ends an exposure that expose() filled in and that no peer uses any more.
    void unexpose(const base::Exposure& exposure) noexcept;
    /// Ends an exposure of a failed call. Peers that have not noticed the failure continue, but
    /// cannot access the buffer's pages any more; see RemappedRanges::revoke() for exceptions.
    void revoke(const base::Exposure& exposure) noexcept;
    [[nodiscard]] Counters counters() const noexcept;

  private:
    using Pages = RemappedRange::Pages;

    [[nodiscard]] bool charge(SeenBuffer& buffer, Pages pages, const base::Copies& copies,
                              std::uint64_t use_ns) const noexcept;
    [[nodiscard]] RemappedRange* try_use_range(SeenBuffer& buffer, base::Access access) noexcept;
    [[nodiscard]] RemappedRange* remap(SeenBuffer& buffer, Pages pages) noexcept;
    [[nodiscard]] std::optional<Refusal> refusal(Pages pages) noexcept;
    void recheck_next_range() noexcept;

    DirectMode mode_;
    AdoptionLimits limits_;
    AddressQuery query_;
    LargePages large_;
    RemappedRanges* ranges_ = nullptr;  ///< nullptr: no buffer is remapped
    int forked_ = 0;                    ///< RemappedRanges::forked() at construction
    std::string_view off_;              ///< see off()
    SeenBuffers seen_;
    std::size_t rechecked_ = 0;        ///< table entry of the last recheck, modulo kRangesMax
    std::uint64_t uses_ = 0;           ///< number of exposures through ranges
    std::uint64_t properties_ns_ = 0;  ///< processor time of the last query of properties
    Counters counters_;
};

}  // namespace weft::link
