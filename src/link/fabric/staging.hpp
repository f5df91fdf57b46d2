// SPDX-License-Identifier: BSD-3-Clause
// staging.hpp - a few registered buffers for copies of unregistered sources.
//
// Holds    take() and give() allocate nothing.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

namespace weft::link {

class Staging {
  public:
    static constexpr std::size_t kBufferBytes = std::size_t{64} << 10;
    static constexpr std::size_t kBuffers = 32;

    Staging()
        : memory_(static_cast<std::byte*>(std::aligned_alloc(4096, kBufferBytes * kBuffers))) {
        if (memory_ == nullptr) return;
        free_.reserve(kBuffers);
        for (std::size_t index = kBuffers; index-- > 0;) {
            free_.push_back(memory_.get() + index * kBufferBytes);
        }
    }

    /// Returns all buffers, for registration. Empty if there was no memory.
    [[nodiscard]] std::span<std::byte> memory() const {
        return {memory_.get(), memory_ == nullptr ? 0 : kBufferBytes * kBuffers};
    }
    /// Returns a buffer of kBufferBytes bytes, or nullptr if all are in use.
    [[nodiscard]] std::byte* take() noexcept {
        if (free_.empty()) return nullptr;
        std::byte* buffer = free_.back();
        free_.pop_back();
        return buffer;
    }
    void give(std::byte* buffer) noexcept { free_.push_back(buffer); }

  private:
    struct Free {
        void operator()(std::byte* memory) const noexcept { std::free(memory); }
    };
    std::unique_ptr<std::byte[], Free> memory_;
    std::vector<std::byte*> free_;
};

}  // namespace weft::link
