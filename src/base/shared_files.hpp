// SPDX-License-Identifier: BSD-3-Clause
// shared_files.hpp - files in /dev/shm that are removed when their processes end.
//
// Idea     Some networks within a host keep each endpoint in a named file there. weft chooses a
//          random name. Every user of the file holds a lock of it (flock). A file with such a
//          name and a free lock belongs to a killed process and is removed. While a file has its
//          name, a small separate process, the keeper, waits for the end of its maker or another
//          process of the job. It then removes the name.
// Why      A process id proves nothing, since containers with their own process ids may share
//          /dev/shm. A lock belongs to the file in any container. A killed process cleans up
//          nothing, and not every launcher does it for its ranks. A launcher that kills all
//          processes of a job, keepers included, does so after one has ended. Therefore the names
//          are removed when the first process ends.
// Holds    A lock of the folder excludes making a file and removing unused ones at a time. A new
//          file without a lock is therefore never taken for an unused one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"
#include "base/result.hpp"

namespace weft::base {

/// Lock of the folder while this process makes or removes files in it. If another user holds the
/// lock for long, this object continues without it and removes nothing.
class SharedFolder {
  public:
    SharedFolder();

    /// Removes this user's files that no process has locked.
    void remove_unused() const;
    /// Returns the bytes that are free for files.
    [[nodiscard]] std::uint64_t room() const;

  private:
    FileDescriptor folder_;
    bool locked_ = false;
};

/// A file in the folder that this process makes and keeps in use. Its name is removed with the
/// object, or when the process or one of its `peers` ends, even by a signal.
class SharedFile {
  public:
    SharedFile() = default;
    SharedFile(SharedFile&& other) noexcept;
    SharedFile& operator=(SharedFile&& other) noexcept;
    ~SharedFile() { remove(); }

    /// Chooses an unused name and starts the keeper. `peers`: processes without which the
    /// file is useless.
    [[nodiscard]] static Result<SharedFile> reserve(std::span<const pid_t> peers);
    /// Returns the name without the folder.
    [[nodiscard]] std::string_view name() const;
    /// Takes over the file that was just made under this name, while the folder is locked. Reserves
    /// all its bytes, so that no access to it fails later (SIGBUS).
    [[nodiscard]] Result<void> adopt();

    /// Removes the name. Processes that have the file open or mapped keep it.
    void remove() noexcept;

  private:
    std::string path_;
    FileDescriptor file_;
    pid_t keeper_ = -1;  ///< process that removes the name if this process ends first
};

}  // namespace weft::base
