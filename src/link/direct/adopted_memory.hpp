// SPDX-License-Identifier: BSD-3-Clause
// adopted_memory.hpp - the buffers of the calling rank whose pages belong to objects that mates can
// map.
//
// Idea     A buffer that has come often enough (seen_buffers.hpp) is adopted: the whole pages
//          inside it become a range (adopted_range.hpp). A buffer that a range shows is exposed
//          through it, after the kernel has said that the pages are still the range's; if they are
//          not, the range is dropped and the buffer counts as new.
// Holds    What private memory promises (docs/direct-memory.md names each promise), or a buffer is
//          not adopted. At most ranges_max ranges and bytes_max bytes: the one used longest ago is
//          given back. Ranges that went away with their memory are found while buffers come.
//          What devices may write (pinned pages) stays where it is.
//          A known buffer costs one question to the kernel and no allocation.
// Next     process_events.hpp for fork and madvise.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/reach.hpp"
#include "link/direct/address_query.hpp"
#include "link/direct/adopted_range.hpp"
#include "link/direct/process_events.hpp"
#include "link/direct/process_facts.hpp"
#include "link/direct/seen_buffers.hpp"

namespace weft::link {

/// When the pages of a buffer are adopted.
enum class DirectMode : std::uint8_t {
    automatic,  ///< when it has come so often that copying has cost as much as adoption does
    adopt,      ///< at its first use; also under allocators that automatic leaves alone
    copy,       ///< never
};

/// Why a buffer that was due was not adopted.
enum class Refusal : std::uint8_t {
    kind,     ///< not private memory of the process that it may write, in pages of 4 KiB
    held,     ///< memory is locked or pinned, or a device that may access memory is open
    advised,  ///< the program asked for something with madvise() that adoption would undo
    placed,   ///< it has a memory policy, or lies on another memory node than new pages would
    exposed,  ///< part of it belongs to a range that mates use now
    limit,    ///< too many bytes are adopted, and none can be given back
    system,   ///< no memory, no descriptor, no address, or the size of files is limited
};
inline constexpr int kRefusals = 7;

struct AdoptionLimits {
    std::size_t ranges_max = 256;  ///< lower if the process may open few files
    std::uint64_t bytes_max = ~std::uint64_t{0};
    std::uint32_t mates = 1;  ///< that map what is adopted
    AdoptionPrices prices = {};
    /// False only where tests show what goes wrong then.
    bool ask_before_use = true;
};

class AdoptedMemory : public ProcessEvents {
  public:
    struct Counters {
        std::uint64_t adoptions = 0;
        std::uint64_t adopted_bytes = 0;  ///< now
        std::uint64_t given_back = 0;     ///< ranges
        std::uint64_t questions = 0;      ///< to the kernel: is it still this range?
        std::uint64_t lost = 0;           ///< ranges whose memory was found to be something else
        std::array<std::uint64_t, kRefusals> refusals{};
    };

    AdoptedMemory(DirectMode mode, AdoptionLimits limits);
    ~AdoptedMemory() override;

    /// Why nothing is ever adopted; empty: it may be.
    [[nodiscard]] std::string_view off() const noexcept { return off_; }
    /// Fills in the exposure and counts it if its buffer is adopted, now or before. False: it is
    /// not, and another way has to be found, at a price of `use_ns`.
    [[nodiscard]] bool expose(base::Exposure& exposure, const base::Copies& copies,
                              std::uint64_t use_ns) noexcept;
    /// Ends an exposure that expose() filled in.
    void conceal(const base::Exposure& exposure) noexcept;
    /// The same for a call that failed: mates may go on reading and writing, but not this memory.
    void withdraw(const base::Exposure& exposure) noexcept;
    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

    void before_fork() noexcept override;
    void in_child() noexcept override;
    void before_advice(std::uint64_t begin, std::uint64_t end) noexcept override;

  private:
    using Pages = AdoptedRange::Pages;
    struct Slot {
        std::optional<AdoptedRange> range;
        std::uint64_t last_use = 0;
    };

    /// Those that have a range are among them; where nothing is adopted, there are none to look at.
    [[nodiscard]] std::span<Slot> used_slots() noexcept { return {slots_.data(), used_}; }
    [[nodiscard]] bool is_due(SeenBuffer& buffer, Pages pages, const base::Copies& copies,
                              std::uint64_t use_ns) const noexcept;
    [[nodiscard]] Slot* find(SeenBuffer& buffer) noexcept;
    [[nodiscard]] bool is_intact(const AdoptedRange& range, base::Access access) noexcept;
    [[nodiscard]] Slot* adopt(SeenBuffer& buffer, Pages pages) noexcept;
    [[nodiscard]] std::optional<Refusal> refusal(Pages pages) noexcept;
    [[nodiscard]] bool is_private_memory(Pages pages) noexcept;
    [[nodiscard]] bool is_placed(Pages pages) noexcept;
    [[nodiscard]] bool is_pinned() noexcept;
    [[nodiscard]] Slot* slot_of(const base::Exposure& exposure) noexcept;
    [[nodiscard]] Slot* make_room(std::uint64_t bytes) noexcept;
    void give_back(Slot& slot) noexcept;
    void release(Slot& slot) noexcept;
    void look_after_another(const Slot* than) noexcept;

    DirectMode mode_;
    AdoptionLimits limits_;
    AddressQuery query_;
    StatusFile status_;
    LargePages large_;
    bool pinned_ = false;  ///< some memory was when that was last known
    std::string_view off_;
    bool enlisted_;  ///< for forks and advice; not where nothing is ever adopted
    SeenBuffers seen_;
    std::vector<Slot> slots_;
    std::size_t used_ = 0;  ///< up to the last one with a range
    std::size_t looked_after_ = 0;
    std::uint64_t uses_ = 0;
    Counters counters_;
};

}  // namespace weft::link
