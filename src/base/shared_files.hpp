// SPDX-License-Identifier: BSD-3-Clause
// shared_files.hpp - files in /dev/shm that end with the processes that use them.
//
// Idea     Some networks between processes of one host keep each endpoint in a named file there. We
//          choose the name, at random; every user of the file holds a lock of it (flock), and a
//          file of ours whose lock is free belongs to a process that was killed, and is removed.
//          While a file has its name, a small process of its own, the keeper, waits for the end of
//          the one that made it, or of another one of the job, and removes the name then.
// Why      A number of a process proves nothing: containers with process numbers of their own may
//          share /dev/shm. A lock belongs to the file, wherever its holder runs. A process that is
//          killed cleans up nothing, and not every launcher does it for its ranks. One that kills
//          all processes of a job at once, keepers included, does so because one has ended: so the
//          names go when the first one ends.
// Holds    Making a file and removing unused ones exclude each other by a lock of the folder, so a
//          file that is new and not yet locked is never taken for an unused one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace weft::base {

/// The folder while this process makes or removes files in it. Other users may hold its lock, too;
/// then this one goes on after a while, and removes nothing.
class SharedFolder {
  public:
    SharedFolder();
    ~SharedFolder();
    SharedFolder(const SharedFolder&) = delete;
    SharedFolder& operator=(const SharedFolder&) = delete;

    /// Removes this user's files that no process has locked.
    void remove_unused() const;
    /// Bytes that files may still grow by.
    [[nodiscard]] std::uint64_t room() const;

  private:
    int folder_ = -1;
    bool locked_ = false;
};

/// A file in the folder that this process makes and keeps in use. Its name goes when the object
/// goes or the process ends, however it ends, or a mate does.
class SharedFile {
  public:
    SharedFile() = default;
    SharedFile(SharedFile&& other) noexcept;
    SharedFile& operator=(SharedFile&& other) noexcept;
    ~SharedFile() { remove(); }

    /// Draws a name that no file has yet. Mates: processes without which the file is of no use.
    [[nodiscard]] static Result<SharedFile> reserve(std::span<const pid_t> mates);
    /// Without the folder.
    [[nodiscard]] std::string_view name() const;
    /// Takes over the file that was just made under this name, while the folder is held. All its
    /// bytes are reserved, so that no access to it fails later (SIGBUS).
    [[nodiscard]] Result<void> adopt();

    /// Removes the name: what has the file open or mapped keeps it.
    void remove() noexcept;

  private:
    std::string path_;
    int file_ = -1;
    pid_t keeper_ = -1;  ///< removes the name if this process ends first
};

/// SharedFolder().remove_unused()
void remove_unused_shared_files();

}  // namespace weft::base
