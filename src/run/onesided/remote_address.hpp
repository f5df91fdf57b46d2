// SPDX-License-Identifier: BSD-3-Clause
// remote_address.hpp - target of a one-sided call: a peer's segment, or memory that it registered.
//
// Idea     Segments have the same layout on all ranks, so an offset is enough. Registered memory is
//          at any address; its owner has a number for it. Requests carry number and offset in one
//          word.
// Next     onesided.hpp for the calls; service.hpp, which finds memory by number;
//          run/memory/registered_memory.hpp for the exchange of numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/put.hpp"

namespace weft::run {

/// A peer's registered memory, as this rank knows it. Does not move while calls use it.
struct PeerMemory {
    std::uint64_t number = 0;     ///< number at the owner, from 1
    std::uint64_t bytes = 0;      ///< size
    std::uint64_t address = 0;    ///< address at the owner
    std::byte* mapped = nullptr;  ///< address for loads and stores of this rank, or nullptr
    bool copied = false;          ///< the kernel can copy from and to it
    base::RemoteRegion region;    ///< handle for the network; 0 bytes: not reachable
};

/// Offset in a peer's segment, or in memory that it has registered.
struct RemoteAddress {
    static constexpr unsigned kOffsetBits = 48;
    static constexpr std::uint64_t kNumberMax = 0xffff;

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
    /// Returns a number with the same alignment as the address at the owner.
    [[nodiscard]] constexpr std::uint64_t address() const {
        return memory == nullptr ? offset : memory->address + offset;
    }
    /// Returns true if writes and reads of the network reach it, if the peer is remote.
    [[nodiscard]] constexpr bool in_network() const {
        return memory == nullptr || memory->region.bytes != 0;
    }
    [[nodiscard]] constexpr const base::RemoteRegion* region() const {
        return memory == nullptr ? nullptr : &memory->region;
    }
};

/// This rank's registered memory, by the numbers that requests use.
class RegisteredRanges {
  public:
    /// Returns the number of new memory, or 0 if all numbers are in use.
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
    /// Returns the address, or nullptr if the bytes are not within registered memory.
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
    std::vector<std::span<std::byte>> ranges_;  ///< by number - 1; null data: the number is free
};

}  // namespace weft::run
