// SPDX-License-Identifier: BSD-3-Clause
// remote_address.hpp - address in a peer's segment or registered memory, for one-sided calls.
//
// Idea     Segments have the same layout on all ranks, so an offset is enough. The owner numbers
//          its registered memory; a request has number and offset packed in one word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/put.hpp"

namespace weft::run {

/// A peer's registered memory. Must stay at its address while calls use it.
struct PeerMemory {
    std::uint64_t number = 0;  ///< number at the owner, from 1
    std::uint64_t bytes = 0;
    std::uint64_t address = 0;    ///< address in the owner's process
    std::byte* mapped = nullptr;  ///< address in this process; nullptr: not mapped
    bool copied = false;          ///< the kernel can copy between the owner's process and this one
    base::RemoteRegion region;    ///< registration with the network; 0 bytes: none
};

/// Offset in a peer's segment or in registered memory of the peer.
struct RemoteAddress {
    static constexpr unsigned kOffsetBits = 48;
    static constexpr std::uint64_t kNumberMax = 0xffff;  ///< the other 16 bits of a packed word

    std::uint64_t offset = 0;
    const PeerMemory* memory = nullptr;  ///< nullptr: the segment

    constexpr RemoteAddress(std::uint64_t offset_in, const PeerMemory* memory_in = nullptr)
        : offset(offset_in), memory(memory_in) {}

    [[nodiscard]] constexpr RemoteAddress operator+(std::uint64_t bytes) const {
        return {offset + bytes, memory};
    }
    /// Returns the address as one word of a request.
    [[nodiscard]] constexpr std::uint64_t packed() const {
        return memory == nullptr ? offset : memory->number << kOffsetBits | offset;
    }
    /// Returns the address at the owner; for a segment the offset, whose alignment is equal.
    [[nodiscard]] constexpr std::uint64_t address() const {
        return memory == nullptr ? offset : memory->address + offset;
    }
    /// Returns true if the network can access the memory of a remote peer.
    [[nodiscard]] constexpr bool in_network() const {
        return memory == nullptr || memory->region.bytes != 0;
    }
    /// Returns the network's registration; nullptr for a segment.
    [[nodiscard]] constexpr const base::RemoteRegion* region() const {
        return memory == nullptr ? nullptr : &memory->region;
    }
};

/// This rank's registered memory, by number.
class RegisteredRanges {
  public:
    /// Adds memory and returns its number, or 0 if all numbers are in use.
    [[nodiscard]] std::uint64_t add(std::span<std::byte> memory) {
        for (std::uint64_t number = 1; number <= ranges_.size(); ++number) {
            if (ranges_[number - 1].data() != nullptr) continue;
            ranges_[number - 1] = memory;
            return number;
        }
        if (ranges_.size() == RemoteAddress::kNumberMax) return 0;
        ranges_.push_back(memory);
        return ranges_.size();
    }
    void remove(std::uint64_t number) { ranges_[number - 1] = {}; }
    /// Returns the address, or nullptr if the bytes are not within one registered range.
    [[nodiscard]] std::byte* find(std::uint64_t packed, std::uint64_t bytes) const noexcept {
        const std::uint64_t number = packed >> RemoteAddress::kOffsetBits;
        const std::uint64_t offset =
            packed & ((std::uint64_t{1} << RemoteAddress::kOffsetBits) - 1);
        if (number == 0 || number > ranges_.size()) return nullptr;
        const std::span<std::byte> range = ranges_[number - 1];
        if (offset > range.size() || bytes > range.size() - offset) return nullptr;
        return range.data() + offset;
    }

  private:
    std::vector<std::span<std::byte>> ranges_;  ///< index: number - 1; null data: number is free
};

}  // namespace weft::run
