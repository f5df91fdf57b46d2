// SPDX-License-Identifier: BSD-3-Clause
// fresh_buffers.hpp - a new buffer for each call.
//
// Idea     Buffers are taken in order from a reserved range of addresses, each used once. Memory is
//          mapped for a group of them at a time, and unmapped afterwards.
// Why      A library may keep recurring buffers mapped or registered. Programs whose buffers never
//          recur must not pay for this; here the library finds nothing to keep.
// Holds    A buffer begins 64 bytes after a page boundary, as a large block of malloc does. So its
//          first and last page are partial.
// Next     measuring.hpp for its use; docs/performance.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::lab {

class FreshBuffers {
  public:
    /// Throws std::bad_alloc if the addresses cannot be reserved.
    explicit FreshBuffers(std::size_t bytes);
    FreshBuffers(const FreshBuffers&) = delete;
    FreshBuffers& operator=(const FreshBuffers&) = delete;
    ~FreshBuffers();

    /// Returns the largest number of calls for supply(): as fit into 64 MiB, but at least 1.
    [[nodiscard]] std::uint64_t calls_max() const;
    /// Makes buffers of zeros for `calls` calls and unmaps the previous ones. Throws std::bad_alloc
    /// if memory or addresses are exhausted.
    void supply(std::uint64_t calls);
    /// Returns the buffer of the call that next() has begun.
    [[nodiscard]] std::byte* data() { return supplied_ + at_ * stride_; }
    void next();
    /// Calls visit(start) for each supplied buffer.
    template <class Visit>
    void for_each(Visit visit) {
        for (std::uint64_t i = 0; i < count_; ++i) visit(supplied_ + i * stride_);
    }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

  private:
    std::size_t bytes_;
    std::size_t stride_;  ///< whole pages
    std::byte* reserved_;
    std::size_t used_ = 0;           ///< bytes of the reserved addresses
    std::byte* supplied_ = nullptr;  ///< the first buffer
    std::uint64_t count_ = 0;
    std::uint64_t at_ = 0;
    bool begun_ = false;
};

}  // namespace weft::lab
