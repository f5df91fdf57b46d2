// SPDX-License-Identifier: BSD-3-Clause
// Bug: a job that needed 126 MB was killed in a control group of 200 MB. Remapped memory needed
// twice its size while it became private, at the end of the runtime and after a fork.
//
// Method: run the job in a control group whose limit is the memory that the job needs without its
// buffers, plus the buffers, plus 8 MiB. The kernel kills a rank that exceeds the limit. Needs root
// and the memory controller of cgroup version 1 or 2. In commit 9d518da, which lacks the fix, the
// job needed 239 to 247 MB without a limit.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/system/regress_ranks/rank_function.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

constexpr int kRanks = 2;
constexpr std::size_t kSmall = std::size_t{1} << 20;   ///< bytes of a buffer
constexpr std::size_t kLarge = std::size_t{48} << 20;  ///< bytes of a buffer
/// Maximum memory of the job beyond its buffers.
constexpr std::size_t kExtraBytes = std::size_t{8} << 20;

/// Uses a buffer in calls, forks, and writes to the buffer, twice. After the runtime's end, frees
/// the buffer and fills another one. Argument: bytes of the buffer.
int run_rank(const Words& words) {
    const std::size_t bytes = std::stoul(words[0]);
    void* const at =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto* const buffer = static_cast<std::byte*>(at);
    std::memset(buffer, 1, bytes);
    Runtime runtime;
    Team world = runtime.world();
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 8; ++i) world.broadcast(buffer, bytes, Type::uint8, 0);
        world.barrier();
        const pid_t child = ::fork();
        if (child == 0) ::_exit(0);
        ::waitpid(child, nullptr, 0);
        std::memset(buffer, round, bytes);
        world.barrier();
    }
    for (int i = 0; i < 8; ++i) world.broadcast(buffer, bytes, Type::uint8, 0);
    runtime.finalize();
    ::munmap(buffer, bytes);
    void* const other =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memset(other, 1, bytes);
    return 0;
}
const RankFunction kRankFunction("remapped_memory_doubles", run_rank);

/// A control group of version 1 or 2. The destructor removes the group.
class MemoryGroup {
  public:
    MemoryGroup() {
        const std::string name = fmt::format("weft-test.{}", ::getpid());
        for (const bool version_2 : {false, true}) {
            const fs::path root = version_2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
            std::error_code error;
            if (!fs::exists(root / "cgroup.procs", error)) continue;
            if (!fs::create_directory(root / name, error)) continue;
            folder_ = root / name;
            limit_ = version_2 ? "memory.max" : "memory.limit_in_bytes";
            peak_ = version_2 ? "memory.peak" : "memory.max_usage_in_bytes";
            if (fs::exists(folder_ / limit_) && fs::exists(folder_ / peak_)) return;
            remove();
        }
    }
    MemoryGroup(const MemoryGroup&) = delete;
    MemoryGroup& operator=(const MemoryGroup&) = delete;
    ~MemoryGroup() { remove(); }

    [[nodiscard]] bool exists() const { return !folder_.empty(); }
    void limit(std::size_t bytes) const { std::ofstream(folder_ / limit_) << bytes << std::flush; }
    /// Returns the maximum of bytes that the group has used.
    [[nodiscard]] std::size_t peak() const {
        std::size_t bytes = 0;
        std::ifstream(folder_ / peak_) >> bytes;
        return bytes;
    }
    /// Runs the job in the group. `method` is the value of WEFT_DIRECT.
    [[nodiscard]] Outcome run(std::size_t bytes, const std::string& method) const {
        const Words program{RANK_PROGRAMS "/weft_regress_ranks_test", "--rank",
                            "remapped_memory_doubles", std::to_string(bytes)};
        Words command{"sh", "-c", "echo $$ > \"$0\"/cgroup.procs && exec \"$@\"", folder_};
        const Words job = weft_run({"-n", std::to_string(kRanks), "--timeout", "60"}, program);
        command.insert(command.end(), job.begin(), job.end());
        return run_command(command, {"WEFT_DIRECT=" + method});
    }

  private:
    void remove() {
        std::error_code error;
        if (!folder_.empty()) fs::remove(folder_, error);
        folder_.clear();
    }

    fs::path folder_;
    std::string limit_;
    std::string peak_;
};

TEST(RemappedMemory, MemoryUseDoesNotDouble) {
    std::size_t without_buffers = 0;
    {
        const MemoryGroup group;
        if (!group.exists()) GTEST_SKIP() << "no control group for memory";
        ASSERT_EQ(group.run(kSmall, "copy").status, 0);
        without_buffers = group.peak() - kRanks * kSmall;
    }
    for (const char* const method : {"copy", "auto", "adopt"}) {
        const MemoryGroup group;
        group.limit(without_buffers + kRanks * kLarge + kExtraBytes);
        const Outcome outcome = group.run(kLarge, method);
        EXPECT_EQ(outcome.status, 0) << method << '\n' << outcome.errors;
        RecordProperty(method, std::to_string(group.peak() - without_buffers));
        fmt::print("{}: {:.1f} MiB beyond the buffers\n", method,
                   static_cast<double>(group.peak()) / (1 << 20) -
                       static_cast<double>(without_buffers + kRanks * kLarge) / (1 << 20));
    }
}

}  // namespace
}  // namespace weft::test
