// SPDX-License-Identifier: BSD-3-Clause
// file_descriptor.hpp - a file descriptor that is closed by its destructor.
#pragma once

#include <unistd.h>

#include <utility>

namespace weft::base {

/// Owns a file descriptor and closes it. Cannot be copied. A move assignment exchanges descriptors.
class FileDescriptor {
  public:
    FileDescriptor() = default;
    explicit FileDescriptor(int number) noexcept : number_(number) {}
    FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~FileDescriptor() { close(); }

    void close() noexcept {
        if (number_ >= 0) ::close(std::exchange(number_, -1));
    }
    [[nodiscard]] int number() const noexcept { return number_; }  ///< -1 if not open
    [[nodiscard]] bool open() const noexcept { return number_ >= 0; }

  private:
    int number_ = -1;
};

}  // namespace weft::base
