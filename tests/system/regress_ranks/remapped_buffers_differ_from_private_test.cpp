// SPDX-License-Identifier: BSD-3-Clause
// Bug: buffers did not behave as private memory after the library had remapped them. Method: each
// rank function uses a buffer in calls until the library has remapped it, and then tests one
// behaviour. In commit 9d518da, which lacks the fixes, each fails:
//   - shrink: mremap() to fewer bytes loses 1 to 3 writes of another thread in 20 rounds.
//   - handlers: a fork handler locks a mutex that the program holds during calls: deadlock.
//   - watched: the registration of the buffer with a userfaultfd is lost: ENOENT.
//   - growing: memory with MAP_GROWSDOWN does not grow after a call: SIGSEGV.
//   - overlap: a call on another part of the buffer, or finalize(), makes pages private. If an
//     O_DIRECT read is in flight, up to half of its data is lost. The test needs no disk: it checks
//     that the mapping does not change.
//   - forked: after a fork, each page exists twice: 239 MB instead of 126 MB.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <mutex>
#include <thread>

#include "tests/system/regress_ranks/mappings.hpp"
#include "tests/system/regress_ranks/rank_function.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

constexpr std::size_t kBytes = std::size_t{8} << 20;
constexpr int kStatusUnavailable = 77;  ///< no memory is remapped, or userfaultfd is not permitted

/// Broadcasts from the buffer often enough for the library to remap it.
void use(Team team, std::byte* buffer, std::size_t bytes = kBytes) {
    for (int i = 0; i < 20; ++i) team.broadcast(buffer, bytes, Type::uint8, 0);
}

/// Returns the proportional set size of this process in KiB: of each page, an equal share for each
/// process that maps it.
long proportional_kib() {
    std::ifstream rollup("/proc/self/smaps_rollup");
    for (std::string line; std::getline(rollup, line);)
        if (line.rfind("Pss:", 0) == 0) return std::stol(line.substr(4));
    return 0;
}

/// Shrinks the buffer while another thread counts in it.
int shrink(const Words& /*none*/) {
    Runtime runtime;
    long lost = 0;
    for (int round = 0; round < 20; ++round) {
        std::byte* const buffer = map_private(2 * kBytes);
        use(runtime.world(), buffer);
        std::atomic<bool> stop{false};
        std::atomic<bool> counting{false};
        std::thread counter([&] {
            auto* const word = reinterpret_cast<volatile std::uint64_t*>(buffer);
            std::uint64_t count = 0;
            for (*word = 0; !stop; counting = true) {
                if (*word != count) ++lost;
                count = *word + 1;
                *word = count;
            }
        });
        while (!counting) std::this_thread::yield();
        if (::mremap(buffer, 2 * kBytes, kBytes, 0) != buffer) return 3;
        stop = true;
        counter.join();
        ::munmap(buffer, kBytes);
    }
    runtime.finalize();
    return lost == 0 ? 0 : 4;
}

std::mutex around_calls;  ///< the program holds it during calls

/// Forks in a thread while the program makes calls.
int handlers(const Words& /*none*/) {
    ::pthread_atfork([] { around_calls.lock(); }, [] { around_calls.unlock(); },
                     [] { around_calls.unlock(); });
    Runtime runtime;
    Team world = runtime.world();
    constexpr std::size_t kSmall = std::size_t{1} << 20;
    std::byte* const buffer = map_private(kSmall);
    std::atomic<bool> stop{false};
    std::thread forker([&] {
        while (!stop) {
            const pid_t child = ::fork();
            if (child == 0) ::_exit(0);
            ::waitpid(child, nullptr, 0);
            ::usleep(200);
        }
    });
    for (int i = 0; i < 300; ++i) {
        const std::scoped_lock guard(around_calls);
        world.broadcast(buffer, kSmall, Type::uint8, 0);
    }
    stop = true;
    forker.join();
    runtime.finalize();
    return 0;
}

int growing(const Words& /*none*/) {
    Runtime runtime;
    constexpr std::size_t kSmall = std::size_t{512} << 10;
    // An address with free memory below it.
    void* const at = ::mmap(reinterpret_cast<void*>(0x300000000000), kSmall, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0);
    if (at == MAP_FAILED) return 3;
    auto* const buffer = static_cast<std::byte*>(at);
    use(runtime.world(), buffer, kSmall);
    static_cast<volatile std::byte*>(buffer)[-100] = std::byte{1};  // the memory must grow down
    runtime.finalize();
    return 0;
}

int watched(const Words& /*none*/) {
    Runtime runtime;
    constexpr std::size_t kSmall = std::size_t{1} << 20;
    std::byte* const buffer = map_private(kSmall);
    const int file = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK));
    uffdio_api api{.api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP, .ioctls = 0};
    const uffdio_range range{reinterpret_cast<std::uintptr_t>(buffer), kSmall};
    uffdio_register watch{.range = range, .mode = UFFDIO_REGISTER_MODE_WP, .ioctls = 0};
    if (file < 0 || ::ioctl(file, UFFDIO_API, &api) != 0 ||
        ::ioctl(file, UFFDIO_REGISTER, &watch) != 0)
        return kStatusUnavailable;
    use(runtime.world(), buffer, kSmall);
    uffdio_writeprotect protect{.range = range, .mode = UFFDIO_WRITEPROTECT_MODE_WP};
    const bool still_watched = ::ioctl(file, UFFDIO_WRITEPROTECT, &protect) == 0;
    ::close(file);
    runtime.world().barrier();
    runtime.finalize();
    return still_watched ? 0 : 4;
}

int overlap(const Words& /*none*/) {
    Runtime runtime;
    std::byte* const buffer = map_private(2 * kBytes);
    use(runtime.world(), buffer);
    const std::string before = mapping_of(buffer);
    if (!is_shared(buffer)) return kStatusUnavailable;
    use(runtime.world(), buffer + kBytes / 2);
    if (mapping_of(buffer) != before) return 4;
    runtime.finalize();
    return mapping_of(buffer) == before ? 0 : 5;
}

int forked(const Words& /*none*/) {
    Runtime runtime;
    std::byte* const buffer = map_private(kBytes);
    use(runtime.world(), buffer);
    runtime.world().barrier();
    const long before = proportional_kib();
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
    std::memset(buffer, 7, kBytes);
    const long after = proportional_kib();
    runtime.world().barrier();
    runtime.finalize();
    // The peer shares the pages, so half of the buffer counts for each process. If the peer unmaps
    // the pages, its half is added to this process. 512 KiB are for other changes.
    return after - before <= static_cast<long>(kBytes / 2048) + 512 ? 0 : 4;
}

const RankFunction kShrink("remapped_shrink", shrink);
const RankFunction kHandlers("remapped_handlers", handlers);
const RankFunction kGrowing("remapped_growing", growing);
const RankFunction kWatched("remapped_watched", watched);
const RankFunction kOverlap("remapped_overlap", overlap);
const RankFunction kForked("remapped_forked", forked);

TEST(RemappedBuffers, BuffersBehaveAsPrivateMemory) {
    for (const char* function :
         {"remapped_shrink", "remapped_handlers", "remapped_growing", "remapped_forked"}) {
        const Outcome outcome = run_function({"-n", "2", "--timeout", "60"}, function);
        EXPECT_EQ(outcome.status, 0) << function << '\n' << outcome.errors;
    }
}

TEST(RemappedBuffers, BuffersKeepTheirUserfaultfd) {
    const Outcome outcome = run_function({"-n", "2", "--timeout", "60"}, "remapped_watched");
    if (outcome.status == kStatusUnavailable) GTEST_SKIP() << "no userfaultfd for write protection";
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
}

TEST(RemappedBuffers, BuffersKeepTheirAddressesAtOverlapAndFinalize) {
    const Outcome outcome = run_function({"-n", "2", "--timeout", "60"}, "remapped_overlap");
    if (outcome.status == kStatusUnavailable)
        GTEST_SKIP() << "no memory is remapped on this machine";
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
}

}  // namespace
}  // namespace weft::test
