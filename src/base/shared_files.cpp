// SPDX-License-Identifier: BSD-3-Clause
#include "base/shared_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.hpp"

namespace weft::base {
namespace {

constexpr const char* kFolder = "/dev/shm";
constexpr std::string_view kStart = "weft-";
constexpr int kLockTries = 400;  ///< 5 ms apart

std::vector<std::string> names_in(int folder) {
    std::vector<std::string> names;
    const int again = ::dup(folder);
    DIR* const list = again < 0 ? nullptr : ::fdopendir(again);
    if (list == nullptr) return names;
    ::rewinddir(list);
    while (const dirent* entry = ::readdir(list)) {
        if (std::string_view(entry->d_name).starts_with(kStart)) names.emplace_back(entry->d_name);
    }
    ::closedir(list);
    return names;
}

bool is_unused(int folder, const char* name) {
    const int file = ::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return false;
    struct stat status;
    const bool unused = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
                        status.st_uid == ::geteuid() && ::flock(file, LOCK_EX | LOCK_NB) == 0;
    ::close(file);
    return unused;
}

}  // namespace

SharedFolder::SharedFolder() : folder_(::open(kFolder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    for (int i = 0; folder_ >= 0 && !locked_ && i < kLockTries; ++i) {
        if (i > 0) ::poll(nullptr, 0, 5);
        locked_ = ::flock(folder_, LOCK_EX | LOCK_NB) == 0;
    }
}

SharedFolder::~SharedFolder() {
    if (folder_ >= 0) ::close(folder_);
}

void SharedFolder::remove_unused() const {
    if (!locked_) return;
    for (const std::string& name : names_in(folder_)) {
        if (is_unused(folder_, name.c_str())) ::unlinkat(folder_, name.c_str(), 0);
    }
}

std::uint64_t SharedFolder::room() const {
    struct statvfs status;
    if (folder_ < 0 || ::fstatvfs(folder_, &status) != 0) return 0;
    return std::uint64_t{status.f_bavail} * status.f_frsize;
}

SharedFile::SharedFile(SharedFile&& other) noexcept
    : name_(std::exchange(other.name_, {})), file_(std::exchange(other.file_, -1)) {}

SharedFile& SharedFile::operator=(SharedFile&& other) noexcept {
    std::swap(name_, other.name_);
    std::swap(file_, other.file_);
    return *this;
}

Result<std::string> SharedFile::random_name() {
    const auto high = system_entropy();
    if (!high) return high.failure();
    const auto low = system_entropy();
    if (!low) return low.failure();
    return fmt::format("{}{:016x}{:016x}", kStart, *high, *low);
}

Result<SharedFile> SharedFile::adopt(const std::string& name) {
    SharedFile owned;
    const std::string path = fmt::format("{}/{}", kFolder, name);
    owned.file_ = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    if (owned.file_ < 0 || ::fstat(owned.file_, &status) != 0)
        return fail(Status::environment, "{}: {}", path, std::strerror(errno));
    owned.name_ = path;
    if (::flock(owned.file_, LOCK_SH | LOCK_NB) != 0)
        return fail(Status::environment, "{}: flock: {}", path, std::strerror(errno));
    if (const int error = ::posix_fallocate(owned.file_, 0, status.st_size); error != 0)
        return fail(Status::memory, "{} of {} bytes: {}", path, status.st_size,
                    std::strerror(error));
    return owned;
}

void SharedFile::remove() noexcept {
    if (!name_.empty()) ::unlink(name_.c_str());
    name_.clear();
    if (file_ >= 0) ::close(std::exchange(file_, -1));
}

void remove_unused_shared_files() {
    SharedFolder().remove_unused();
}

}  // namespace weft::base
