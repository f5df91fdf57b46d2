// SPDX-License-Identifier: BSD-3-Clause
// fresh_buffers.hpp - a new buffer for each call.
//
// Idea     Each buffer has its own addresses in a reserved range of 1 TiB. supply() maps memory for
//          a group of buffers and unmaps the previous group.
// Why      A library may keep buffers mapped or registered for later calls. New buffers for each
//          call show the cost in programs whose calls rarely use the same buffers again.
// Holds    A buffer begins 64 bytes after a page boundary, like a large block of malloc, so its
//          first page is partial.
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

    /// Returns the largest argument of supply(): buffers of 64 MiB in total, but at least 1.
    [[nodiscard]] std::uint64_t calls_max() const;
    /// Makes buffers of zeros for `calls` calls and unmaps the previous ones. Throws std::bad_alloc
    /// if memory or addresses are exhausted.
    void supply(std::uint64_t calls);
    /// Returns the current buffer: after supply(), the first one.
    [[nodiscard]] std::byte* data() { return supplied_ + at_ * stride_; }
    /// Moves to the buffer of the next call. The first call after supply() uses the first buffer.
    void next();
    /// Calls visit(start) for each supplied buffer.
    template <class Visit>
    void for_each(Visit visit) {
        for (std::uint64_t i = 0; i < count_; ++i) visit(supplied_ + i * stride_);
    }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

  private:
    std::size_t bytes_;
    std::size_t stride_;  ///< bytes between buffers: whole pages
    std::byte* reserved_;
    std::size_t used_ = 0;           ///< reserved bytes that buffers have used
    std::byte* supplied_ = nullptr;  ///< first buffer of the current group
    std::uint64_t count_ = 0;        ///< number of buffers in the current group
    std::uint64_t at_ = 0;           ///< index of the current buffer in its group
    bool begun_ = false;             ///< next() was called since supply()
};

}  // namespace weft::lab
