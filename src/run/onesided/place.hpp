// SPDX-License-Identifier: BSD-3-Clause
// place.hpp - where a one-sided call goes: into a peer's segment, or memory that it registered.
//
// Idea     Segments have the same layout on all ranks, so an offset is enough. Registered memory
//          lies anywhere; its owner has a number for it, and who calls knows how it is reached: by
//          loads and stores (this rank's own), by the kernel, by the network, and always by
//          requests, in which number and offset travel as one word.
// Why      One word for both kinds, so that each request can name either.
// Next     onesided.hpp for the calls; service.hpp for who finds the memory of a number;
//          run/runtime/registered_memory.hpp for how ranks learn of each other's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/put.hpp"

namespace weft::run {

/// What this rank knows of memory that a peer has registered. Stays where it is while calls use it.
struct PeerMemory {
    std::uint64_t number = 0;     ///< at its owner, from 1
    std::uint64_t bytes = 0;      ///< of it
    std::uint64_t address = 0;    ///< at its owner
    std::byte* mapped = nullptr;  ///< where loads and stores of this rank reach it, or nullptr
    bool copied = false;          ///< the kernel copies from and to it
    base::RemoteRegion region;    ///< as the network reaches it; 0 bytes: it does not
};

/// Bytes at an offset in a peer's segment, or in memory that it has registered.
struct Place {
    static constexpr unsigned kOffsetBits = 48;
    static constexpr std::uint64_t kNumberMax = 0xffff;

    std::uint64_t offset = 0;
    const PeerMemory* memory = nullptr;  ///< nullptr: the segment

    constexpr Place(std::uint64_t offset_in, const PeerMemory* memory_in = nullptr)
        : offset(offset_in), memory(memory_in) {}

    [[nodiscard]] constexpr Place operator+(std::uint64_t bytes) const {
        return {offset + bytes, memory};
    }
    /// As it travels in a request.
    [[nodiscard]] constexpr std::uint64_t packed() const {
        return memory == nullptr ? offset : memory->number << kOffsetBits | offset;
    }
    /// Aligned as the address at the owner is.
    [[nodiscard]] constexpr std::uint64_t address() const {
        return memory == nullptr ? offset : memory->address + offset;
    }
    [[nodiscard]] constexpr const base::RemoteRegion* region() const {
        return memory == nullptr ? nullptr : &memory->region;
    }
};

/// Memory of this rank by the number that requests have for it.
class RegisteredRanges {
  public:
    /// 0: there is no number left.
    [[nodiscard]] std::uint64_t add(std::span<std::byte> memory) {
        for (std::uint64_t number = 1; number <= ranges_.size(); ++number) {
            if (ranges_[number - 1].data() != nullptr) continue;
            ranges_[number - 1] = memory;
            return number;
        }
        if (ranges_.size() == Place::kNumberMax) return 0;
        ranges_.push_back(memory);
        return ranges_.size();
    }
    void remove(std::uint64_t number) { ranges_[number - 1] = {}; }
    /// nullptr: they do not lie in registered memory.
    [[nodiscard]] std::byte* find(std::uint64_t packed, std::uint64_t bytes) const noexcept {
        const std::uint64_t number = packed >> Place::kOffsetBits;
        const std::uint64_t offset = packed & ((std::uint64_t{1} << Place::kOffsetBits) - 1);
        if (number == 0 || number > ranges_.size()) return nullptr;
        const std::span<std::byte> range = ranges_[number - 1];
        if (offset > range.size() || bytes > range.size() - offset) return nullptr;
        return range.data() + offset;
    }

  private:
    std::vector<std::span<std::byte>> ranges_;  ///< by number - 1; no memory: the number is free
};

}  // namespace weft::run
