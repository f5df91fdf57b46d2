// SPDX-License-Identifier: BSD-3-Clause
// shared_files.hpp - files in /dev/shm that are removed when their processes end.
//
// Idea     Some network providers keep each endpoint in a named file in /dev/shm. weft chooses a
//          random name. Every process that uses the file locks it (flock). A file with such a name
//          that no process has locked is left from a killed process, and is removed. While a file
//          has its name, a small separate process, the *keeper*, waits for the end of the process
//          that made the file, or of another process of the job. Then it removes the name.
// Why      Process ids in the names would not suffice, because containers with separate process ids
//          may share /dev/shm; locks work across containers. A killed process leaves its files, and
//          not every launcher removes them. A launcher may also kill keepers, but only after a
//          process of the job has ended. So keepers remove names when the first process ends.
// Holds    A process locks the folder while it makes a file or removes unused files. So a new file
//          that is not locked yet is never removed as unused.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/file_descriptor.hpp"
#include "base/result.hpp"

namespace weft::base {

/// Lock of the folder /dev/shm, held during the object's life. If another process holds the lock
/// for more than 2 s, the object is made without the lock and removes no files.
class SharedFolder {
  public:
    SharedFolder();

    /// Removes this user's files that no process has locked.
    void remove_unused() const;
    [[nodiscard]] std::uint64_t free_bytes() const;

  private:
    FileDescriptor folder_;
    bool locked_ = false;
};

/// A file in the folder that this process makes and uses. Its name is removed by the destructor, or
/// when this process or one of its `peers` ends, even by a signal.
class SharedFile {
  public:
    SharedFile() = default;
    SharedFile(SharedFile&& other) noexcept { *this = std::move(other); }
    SharedFile& operator=(SharedFile&& other) noexcept;
    ~SharedFile() { remove(); }

    /// Chooses an unused name and starts the keeper. Does not make the file. `peers`: other
    /// processes whose end also removes the name.
    static Result<SharedFile> reserve(std::span<const pid_t> peers);
    /// Returns the name without the folder.
    [[nodiscard]] std::string_view name() const;
    /// Opens and locks the file. The caller has made it under this name, and still locks the
    /// folder. Reserves memory for all bytes of the file, so that no later access fails (SIGBUS).
    Result<void> adopt();

    /// Removes the name. Processes that have the file open or mapped can still use it.
    void remove() noexcept;

  private:
    std::string path_;
    FileDescriptor file_;
    pid_t keeper_ = -1;  ///< process that removes the name if this process ends first
};

}  // namespace weft::base
