// SPDX-License-Identifier: BSD-3-Clause
// fresh_buffers.hpp - a buffer for each call that no call had before.
//
// Idea     Buffers are taken one after the other from a range of addresses that is reserved once
//          and never used a second time; memory is put behind some of them at a time, and taken
//          away again.
// Why      What a library does for buffers that come again (keeping them mapped or registered) must
//          not be paid by programs whose buffers never do; here it finds nothing to keep.
// Holds    A buffer begins 64 bytes after the begin of a page, as a large one of malloc lies in its
//          pages: the first and the last page of each are not whole.
// Next     measuring.hpp for who asks for them; docs/performance.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::lab {

class FreshBuffers {
  public:
    /// Throws std::bad_alloc if so many addresses cannot be reserved.
    explicit FreshBuffers(std::size_t bytes);
    FreshBuffers(const FreshBuffers&) = delete;
    FreshBuffers& operator=(const FreshBuffers&) = delete;
    ~FreshBuffers();

    /// How many calls can be supplied at once: 64 MiB, but one in any case.
    [[nodiscard]] std::uint64_t calls_max() const;
    /// Buffers of zeros for so many calls; those before are gone. Throws std::bad_alloc if there is
    /// no memory or all addresses have been used.
    void supply(std::uint64_t calls);
    /// Of the call that next() has begun.
    [[nodiscard]] std::byte* data() { return supplied_ + at_ * stride_; }
    void next();
    /// visit(start) for each of those supplied.
    template <class Visit>
    void for_each(Visit visit) {
        for (std::uint64_t i = 0; i < count_; ++i) visit(supplied_ + i * stride_);
    }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

  private:
    std::size_t bytes_;
    std::size_t stride_;  ///< whole pages
    std::byte* reserved_;
    std::size_t used_ = 0;           ///< of the reserved addresses
    std::byte* supplied_ = nullptr;  ///< the first buffer
    std::uint64_t count_ = 0;
    std::uint64_t at_ = 0;
    bool begun_ = false;
};

}  // namespace weft::lab
