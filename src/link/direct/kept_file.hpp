// SPDX-License-Identifier: BSD-3-Clause
// kept_file.hpp - a long-lived file descriptor that the program might close.
//
// Why      A program may close all descriptors, and then open its own files under the same numbers.
//          intact() compares the inode and device of the open file with the original ones.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace weft::link {

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

}  // namespace weft::link
