// SPDX-License-Identifier: BSD-3-Clause
// os_handles.hpp - memory objects without names, and owners of address ranges.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace weft::link {

/// Creates a memory object that has no name in the file system and can be sealed. Returns its
/// descriptor, or -1 and sets errno. Systems may refuse executable objects (vm.memfd_noexec=2), and
/// kernels before 6.3 reject MFD_NOEXEC_SEAL.
[[nodiscard]] inline int open_memory_object(const char* name) noexcept {
    constexpr unsigned kNoExecSeal = 8;  // MFD_NOEXEC_SEAL, which older headers lack
    constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    const int file = ::memfd_create(name, kFlags | kNoExecSeal);
    return file < 0 && errno == EINVAL ? ::memfd_create(name, kFlags) : file;
}

/// Owns a range of addresses, and unmaps it with all mappings inside. Can be moved, not copied.
class AddressRange {
  public:
    AddressRange() = default;
    AddressRange(void* start, std::size_t bytes) noexcept
        : start_(static_cast<std::byte*>(start)), bytes_(bytes) {}
    AddressRange(AddressRange&& other) noexcept
        : start_(std::exchange(other.start_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    AddressRange& operator=(AddressRange&& other) noexcept {
        std::swap(start_, other.start_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~AddressRange() {
        if (start_ != nullptr) ::munmap(start_, bytes_);
    }

    [[nodiscard]] std::byte* start() const noexcept { return start_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  private:
    std::byte* start_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Reserves `bytes` bytes of addresses without memory, at address `at`, or anywhere if `at` is 0.
/// On failure the result is empty (start() is nullptr), and errno has the reason.
[[nodiscard]] inline AddressRange reserve_addresses(std::size_t bytes, std::uintptr_t at) noexcept {
    const int placement = at == 0 ? 0 : MAP_FIXED_NOREPLACE;
    void* const requested = reinterpret_cast<void*>(at);
    void* const found = ::mmap(requested, bytes, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | placement, -1, 0);
    if (found == MAP_FAILED) return {};
    AddressRange range(found, bytes);
    // Kernels without MAP_FIXED_NOREPLACE treat the address as a hint.
    if (at != 0 && found != requested) return {};
    return range;
}

}  // namespace weft::link
