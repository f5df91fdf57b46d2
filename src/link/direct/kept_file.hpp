// SPDX-License-Identifier: BSD-3-Clause
// kept_file.hpp - a file descriptor that lives for long beside a program that does not know of it.
//
// Why      A program may close all descriptors that it did not open, and open its own files under
//          the same numbers. Before such a number is used or closed, its file is compared with the
//          one opened.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace weft::link {

class KeptFile {
  public:
    KeptFile() = default;
    /// Owns an open descriptor; -1: none.
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
    ~KeptFile() {
        if (intact()) ::close(number_);
    }

    [[nodiscard]] int number() const noexcept { return number_; }
    [[nodiscard]] std::uint64_t inode() const noexcept { return inode_; }
    [[nodiscard]] std::uint64_t device() const noexcept { return device_; }  ///< a dev_t
    /// Is the descriptor open, and still of this file?
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
