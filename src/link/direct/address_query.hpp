// SPDX-License-Identifier: BSD-3-Clause
// address_query.hpp - queries the kernel for the mapping at an address of the calling process.
//
// Idea     The ioctl PROCMAP_QUERY of /proc/self/maps (Linux 6.11) describes one mapping. Older
//          kernels only list all mappings as text, which is too slow to read before every call.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace weft::link {

inline constexpr std::uint64_t kPageBytes = 4096;

/// A long-lived file descriptor. The program may close all descriptors, and its own files may then
/// get their numbers. So intact() checks that the inode and device have not changed.
class KeptFile {
  public:
    KeptFile() = default;
    /// Owns the open descriptor `number`. A negative number means no descriptor.
    explicit KeptFile(int number) noexcept : number_(number) {
        struct stat status {};
        if (number < 0 || ::fstat(number, &status) != 0) return;
        inode_ = status.st_ino;
        device_ = status.st_dev;
    }
    KeptFile(KeptFile&& other) noexcept { *this = std::move(other); }
    KeptFile& operator=(KeptFile&& other) noexcept {
        std::swap(number_, other.number_);
        std::swap(inode_, other.inode_);
        std::swap(device_, other.device_);
        return *this;
    }
    ~KeptFile() { close(); }

    /// Closes the descriptor unless the program has closed it. inode() and device() stay valid.
    void close() noexcept {
        if (intact()) ::close(number_);
        number_ = -1;
    }

    [[nodiscard]] int number() const noexcept { return number_; }  ///< negative: no descriptor
    [[nodiscard]] std::uint64_t inode() const noexcept { return inode_; }
    [[nodiscard]] std::uint64_t device() const noexcept { return device_; }  ///< a dev_t
    /// Returns true if the descriptor is open and refers to the file that it was opened for.
    [[nodiscard]] bool intact() const noexcept {
        struct stat status {};
        return number_ >= 0 && ::fstat(number_, &status) == 0 && status.st_ino == inode_ &&
               status.st_dev == device_;
    }

  private:
    int number_ = -1;
    std::uint64_t inode_ = 0;
    std::uint64_t device_ = 0;
};

struct Mapping {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t page_bytes = 0;
    std::uint64_t offset = 0;  ///< offset in the file that is mapped at `begin`
    std::uint64_t inode = 0;   ///< 0: no file
    std::uint64_t device = 0;  ///< device of the file, as a dev_t
    bool readable = false;
    bool writable = false;
    bool executable = false;
    bool shared = false;
    char name[48] = {};  ///< name in /proc/self/maps, truncated; empty unless requested

    /// Returns the PROT_* bits for mmap() and mprotect().
    [[nodiscard]] int protection() const noexcept;
};

class AddressQuery {
  public:
    enum class Names : bool { no, yes };

    AddressQuery() noexcept;

    /// Returns true if the kernel answered a first query in the constructor.
    [[nodiscard]] bool available() const noexcept { return available_; }
    /// Fills in the mapping that covers the address, or the next mapping above the address. Returns
    /// false if no such mapping exists, or if query_failed().
    [[nodiscard]] bool find(std::uint64_t address, Mapping& mapping,
                            Names names = Names::no) noexcept;
    /// Returns true if the kernel did not answer the last find().
    [[nodiscard]] bool query_failed() const noexcept { return query_failed_; }

  private:
    [[nodiscard]] bool open() noexcept;

    KeptFile maps_;
    bool available_;
    bool query_failed_ = false;
};

}  // namespace weft::link
