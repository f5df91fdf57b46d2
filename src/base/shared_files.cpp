// SPDX-License-Identifier: BSD-3-Clause
#include "base/shared_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/random.hpp"

namespace weft::base {
namespace {

constexpr const char* kFolder = "/dev/shm";
constexpr std::string_view kNamePrefix = "weft-";
constexpr std::size_t kDigits = 32;    ///< hexadecimal digits of a name after kNamePrefix
constexpr int kLockTries = 2000;       ///< attempts to lock the folder, at intervals of 1 ms
constexpr int kKeeperPoll_ms = 5;      ///< interval at which a keeper checks that its owner lives
constexpr int kKeeperRemove_ms = 1;    ///< interval of a keeper's attempts to remove the name
constexpr int kKeeperStart_ms = 2000;  ///< longest wait of the owner until its keeper is ready

/// Returns true for the names that SharedFile::reserve() makes, also with a provider's suffix.
bool is_reserved(std::string_view name) {
    if (!name.starts_with(kNamePrefix) || name.size() < kNamePrefix.size() + kDigits) return false;
    return std::ranges::all_of(name.substr(kNamePrefix.size(), kDigits), [](char digit) {
        return (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f');
    });
}

std::vector<std::string> names_in_folder() {
    std::vector<std::string> names;
    DIR* const list = ::opendir(kFolder);
    if (list == nullptr) return names;
    while (const dirent* entry = ::readdir(list)) {
        if (is_reserved(entry->d_name)) names.emplace_back(entry->d_name);
    }
    ::closedir(list);
    return names;
}

/// Returns true if the file is a regular file of this user that no process has locked.
bool is_unused(int folder, const char* name) {
    const FileDescriptor file(
        ::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status;
    return file.open() && ::fstat(file.number(), &status) == 0 && S_ISREG(status.st_mode) &&
           status.st_uid == ::geteuid() && ::flock(file.number(), LOCK_EX | LOCK_NB) == 0;
}

/// State and stack of a keeper, in a mapping that the owner and the keeper share.
struct Keeper {
    static constexpr std::size_t kWatchedMax = 256;  ///< further peers are not watched
    std::array<std::byte, 16 << 10> stack;
    pid_t owner;
    std::array<pid_t, kWatchedMax> watched;
    std::size_t watched_count;
    std::array<pollfd, kWatchedMax + 1> pidfds;
    char path[128];
    /// True: the keeper has left the owner's session and changed its process name, so signals to
    /// all processes of the session or with the owner's name do not reach the keeper.
    std::atomic<bool> ready;
};

/// Sets `ready`, then waits until the owner or a peer that pidfd_open() can open has ended.
void wait_for_exit(Keeper& keeper) {
    nfds_t count = 0;
    bool ended = false;
    const long owner = ::syscall(SYS_pidfd_open, keeper.owner, 0);
    if (owner >= 0) keeper.pidfds[count++] = {static_cast<int>(owner), POLLIN, 0};
    const int pause_ms = owner >= 0 ? -1 : kKeeperPoll_ms;  // a kernel without pidfds: polls
    for (std::size_t i = 0; i < keeper.watched_count; ++i) {
        const long pidfd = ::syscall(SYS_pidfd_open, keeper.watched[i], 0);
        if (pidfd >= 0) keeper.pidfds[count++] = {static_cast<int>(pidfd), POLLIN, 0};
        if (pidfd < 0 && errno == ESRCH) ended = true;
    }
    keeper.ready.store(true, std::memory_order_release);
    while (!ended && ::getppid() == keeper.owner)
        ended = ::poll(keeper.pidfds.data(), count, pause_ms) > 0;
}

/// Main function of a keeper. Makes only system calls: library functions may need locks that other
/// threads of the owner held. Starts a session, because launchers signal sessions and groups.
int keep(void* argument) {
    auto& keeper = *static_cast<Keeper*>(argument);
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    ::setsid();
    ::prctl(PR_SET_NAME, "weft-keeper");
    ::close_range(0, ~0U, 0);  // inherited descriptors would keep the owner's locks and pipes open
    wait_for_exit(keeper);
    // The owner may create the file after a peer has ended: unlink repeatedly until the owner ends.
    bool last = false;
    do {
        last = ::getppid() != keeper.owner;
        ::unlink(keeper.path);
    } while (!last && ::poll(nullptr, 0, kKeeperRemove_ms) == 0);
    ::_exit(0);
}

/// Starts a keeper: a child that sends no SIGCHLD, is invisible to the application's wait() and
/// runs no fork handlers. Waits up to kKeeperStart_ms until it is ready. Returns its process id; -1
/// if clone() fails. The file of a killed owner then stays until the next job of this user.
pid_t start_keeper(const std::string& path, std::span<const pid_t> peers) {
    void* const memory =
        ::mmap(nullptr, sizeof(Keeper), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return -1;
    auto* const keeper = static_cast<Keeper*>(memory);
    keeper->owner = ::getpid();
    keeper->watched_count = std::min(peers.size(), keeper->watched.size());
    std::ranges::copy(peers.first(keeper->watched_count), keeper->watched.begin());
    path.copy(keeper->path, sizeof keeper->path - 1);
    constexpr int kNoSignal = 0;
    const pid_t pid =
        ::clone(&keep, keeper->stack.data() + keeper->stack.size(), kNoSignal, keeper);
    const auto is_ready = [&] { return keeper->ready.load(std::memory_order_acquire); };
    for (int i = 0; pid > 0 && i < kKeeperStart_ms && !is_ready(); ++i) ::poll(nullptr, 0, 1);
    ::munmap(memory, sizeof(Keeper));
    return pid;
}

}  // namespace

SharedFolder::SharedFolder() : folder_(::open(kFolder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    for (int i = 0; folder_.open() && !locked_ && i < kLockTries; ++i) {
        if (i > 0) ::poll(nullptr, 0, 1);
        locked_ = ::flock(folder_.number(), LOCK_EX | LOCK_NB) == 0;
    }
}

void SharedFolder::remove_unused() const {
    if (!locked_) return;
    for (const std::string& name : names_in_folder())
        if (is_unused(folder_.number(), name.c_str()))
            ::unlinkat(folder_.number(), name.c_str(), 0);
}

std::uint64_t SharedFolder::free_bytes() const {
    struct statvfs status;
    if (!folder_.open() || ::fstatvfs(folder_.number(), &status) != 0) return 0;
    return std::uint64_t{status.f_bavail} * status.f_frsize;
}

SharedFile& SharedFile::operator=(SharedFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(file_, other.file_);
    std::swap(keeper_, other.keeper_);
    return *this;
}

Result<SharedFile> SharedFile::reserve(std::span<const pid_t> peers) {
    const auto high = WEFT_TRY(system_entropy());
    const auto low = WEFT_TRY(system_entropy());
    SharedFile file;
    file.path_ = fmt::format("{}/{}{:016x}{:016x}", kFolder, kNamePrefix, high, low);
    file.keeper_ = start_keeper(file.path_, peers);
    return file;
}

std::string_view SharedFile::name() const {
    return std::string_view(path_).substr(std::string_view(kFolder).size() + 1);
}

Result<void> SharedFile::adopt() {
    file_ = FileDescriptor(::open(path_.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (!file_.open() && errno == ENOENT)
        return fail(Status::peer, "{} is gone; a process of the job has probably ended", path_);
    struct stat status;
    if (!file_.open() || ::fstat(file_.number(), &status) != 0)
        return fail(Status::environment, "cannot open {}: {}", path_, std::strerror(errno));
    if (::flock(file_.number(), LOCK_SH | LOCK_NB) != 0)
        return fail(Status::environment, "cannot lock {}: {}", path_, std::strerror(errno));
    int error = EINTR;  // older kernels return it for each signal
    while (error == EINTR) error = ::posix_fallocate(file_.number(), 0, status.st_size);
    if (error != 0)
        return fail(Status::memory, "cannot reserve {} bytes for {}: {}", status.st_size, path_,
                    std::strerror(error));
    return {};
}

void SharedFile::remove() noexcept {
    if (!path_.empty()) ::unlink(path_.c_str());
    path_.clear();
    file_.close();
    if (keeper_ <= 0) return;
    ::kill(keeper_, SIGKILL);
    while (::waitpid(keeper_, nullptr, __WALL) < 0 && errno == EINTR) {
    }
    keeper_ = -1;
}

}  // namespace weft::base
