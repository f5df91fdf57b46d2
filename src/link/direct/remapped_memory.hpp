// SPDX-License-Identifier: BSD-3-Clause
// remapped_memory.hpp - the buffers of one rank whose pages belong to objects that local peers can
// map.
//
// Idea     A buffer that has come often enough (seen_buffers.hpp) is remapped: the whole pages
//          inside it become a range (remapped_ranges.hpp). Later calls expose the buffer through
//          the range, after the kernel has said that the pages are still the range's. If they are
//          not, the buffer counts as new.
// Holds    Memory is remapped only by a call that owns all of it, only if every property of its
//          mappings is known to be harmless, and only in a process whose madvise() and mremap()
//          reach the library (docs/direct-memory.md lists the promises). It stays remapped: a
//          buffer that finds no room is copied by the kernel. A known buffer costs one question to
//          the kernel, no lock and no allocation.
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

/// When a buffer is remapped.
enum class DirectMode : std::uint8_t {
    automatic,  ///< when copying it has cost as much as remapping does
    adopt,      ///< at its first use; also under allocators that automatic leaves alone
    copy,       ///< never
};

struct AdoptionLimits {
    std::size_t ranges_max = RemappedRanges::kRangesMax;  ///< fewer if few files may be open
    std::uint64_t bytes_max = ~std::uint64_t{0};          ///< of all runtimes of the process
    std::uint32_t mates = 1;                              ///< local peers, which map the range
    AdoptionPrices prices = {};
    /// False only in tests that show the fault which asking prevents.
    bool ask_before_use = true;
};

/// One thread at a time uses an object.
class RemappedMemory {
  public:
    struct Counters {
        std::uint64_t adoptions = 0;      ///< buffers that were remapped
        std::uint64_t adopted_bytes = 0;  ///< in ranges of the process now
        std::uint64_t given_back = 0;     ///< ranges that became private memory, at a fork
        std::uint64_t questions = 0;      ///< to the kernel: is it still this range?
        std::uint64_t lost = 0;           ///< ranges whose memory was found to be something else
        std::array<std::uint64_t, kRefusals> refusals{};
    };

    RemappedMemory(DirectMode mode, AdoptionLimits limits);

    /// Returns the reason why no buffer is ever remapped; empty if there is none.
    [[nodiscard]] std::string_view off() const noexcept { return off_; }
    /// Fills in the exposure if its buffer is remapped, now or before. False: it is not, and
    /// another method has to be found, at a price of `use_ns`.
    [[nodiscard]] bool expose(base::Exposure& exposure, const base::Copies& copies,
                              std::uint64_t use_ns) noexcept;
    /// Ends an exposure that expose() filled in.
    void conceal(const base::Exposure& exposure) noexcept;
    /// Does so for a call that failed: peers that do not know of the failure may go on reading and
    /// writing, but not this memory.
    void withdraw(const base::Exposure& exposure) noexcept;
    [[nodiscard]] Counters counters() const noexcept;

  private:
    using Pages = RemappedRange::Pages;

    [[nodiscard]] bool is_due(SeenBuffer& buffer, Pages pages, const base::Copies& copies,
                              std::uint64_t use_ns) const noexcept;
    [[nodiscard]] RemappedRange* use_known(SeenBuffer& buffer, base::Access access) noexcept;
    [[nodiscard]] RemappedRange* remap(SeenBuffer& buffer, Pages pages) noexcept;
    [[nodiscard]] std::optional<Refusal> refusal(Pages pages) noexcept;
    [[nodiscard]] std::optional<Refusal> refusal_of_mappings(Pages pages) noexcept;
    void recheck_another() noexcept;

    DirectMode mode_;
    AdoptionLimits limits_;
    AddressQuery query_;
    LargePages large_;
    RemappedRanges* ranges_ = nullptr;  ///< nullptr: no buffer is ever remapped
    int forked_ = 0;                    ///< of the process that made this object
    std::string_view off_;
    SeenBuffers seen_;
    std::size_t rechecked_ = 0;
    std::uint64_t uses_ = 0;
    std::uint64_t properties_ns_ = 0;  ///< time that the last question for properties took
    Counters counters_;
};

}  // namespace weft::link
