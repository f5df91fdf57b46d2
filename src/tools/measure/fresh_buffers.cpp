// SPDX-License-Identifier: BSD-3-Clause
#include "tools/measure/fresh_buffers.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace weft::lab {
namespace {

constexpr std::size_t kReservedBytes = std::size_t{1} << 40;   ///< addresses, not memory
constexpr std::size_t kSuppliedBytes = std::size_t{64} << 20;  ///< most memory of a group
constexpr std::size_t kOffset = 64;  ///< bytes from a page boundary to a buffer

/// Rounds up to whole pages of this machine.
std::size_t in_pages(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

/// Reserves addresses without memory: at `at`, whose memory is unmapped, or where the kernel
/// chooses if `at` is nullptr.
std::byte* reserve(std::byte* at, std::size_t bytes) {
    void* const found = ::mmap(
        at, bytes, PROT_NONE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at == nullptr ? 0 : MAP_FIXED), -1, 0);
    if (found == MAP_FAILED) throw std::bad_alloc();
    return static_cast<std::byte*>(found);
}

}  // namespace

FreshBuffers::FreshBuffers(std::size_t bytes)
    : bytes_(bytes),
      stride_(in_pages(bytes + kOffset)),
      reserved_(reserve(nullptr, kReservedBytes)) {}

FreshBuffers::~FreshBuffers() {
    ::munmap(reserved_, kReservedBytes);
}

std::uint64_t FreshBuffers::calls_max() const {
    return std::max<std::uint64_t>(kSuppliedBytes / stride_, 1);
}

void FreshBuffers::supply(std::uint64_t calls) {
    if (count_ > 0) reserve(supplied_ - kOffset, count_ * stride_);
    const std::size_t bytes = calls * stride_;
    count_ = 0;
    if (bytes > kReservedBytes - used_) throw std::bad_alloc();
    std::byte* const begin = reserved_ + used_;
    if (::mprotect(begin, bytes, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    std::memset(begin, 0, bytes);
    used_ += bytes;
    supplied_ = begin + kOffset;
    count_ = calls;
    at_ = 0;
    begun_ = false;
}

void FreshBuffers::next() {
    at_ = begun_ ? at_ + 1 : 0;
    begun_ = true;
}

}  // namespace weft::lab
