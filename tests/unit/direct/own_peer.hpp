// SPDX-License-Identifier: BSD-3-Clause
// own_peer.hpp - for tests: a process that is its own local peer, and queries of its memory.
#pragma once

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "link/direct/direct_memory.hpp"

namespace weft::link::testing {

using base::Access;
using base::AccessMethod;

inline constexpr std::size_t kPage = kPageBytes;

/// Returns options with this process as the only rank, so that map() returns a peer's view.
inline DirectOptions own_peer(DirectMode mode = DirectMode::adopt, AdoptionLimits limits = {}) {
    return {.processes = {::getpid()}, .mode = mode, .limits = limits};
}

/// Maps private memory that is filled with zeros, as a program would.
inline std::byte* map_private(std::size_t bytes) {
    void* const at =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return static_cast<std::byte*>(at);
}

/// Owns private memory.
class Pages {
  public:
    explicit Pages(std::size_t count) : at_(map_private(count * kPage)), bytes_(count * kPage) {}
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    ~Pages() { ::munmap(at_, bytes_); }
    [[nodiscard]] std::byte* at() const { return at_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

  private:
    std::byte* at_;
    std::size_t bytes_;
};

/// Returns byte `i` of the pattern with this salt.
inline std::byte pattern(std::size_t i, int salt) {
    return static_cast<std::byte>(i * 7 + i / 251 + static_cast<std::size_t>(salt));
}
inline void fill(std::byte* at, std::size_t bytes, int salt) {
    for (std::size_t i = 0; i < bytes; ++i) at[i] = pattern(i, salt);
}
/// Returns the number of bytes before the first difference from the pattern.
inline std::size_t matching(const std::byte* at, std::size_t bytes, int salt) {
    std::size_t i = 0;
    while (i < bytes && at[i] == pattern(i, salt)) ++i;
    return i;
}

/// Returns the number of this process's mappings whose line in /proc/self/maps contains the text.
inline int mappings_with(const char* text) {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);)
        count += line.find(text) != std::string::npos ? 1 : 0;
    return count;
}
/// Returns true if the page is mapped as shared, as pages of adopted memory are.
inline bool is_shared(const std::byte* at) {
    AddressQuery query;
    Mapping mapping;
    return query.find(reinterpret_cast<std::uintptr_t>(at), mapping) && mapping.shared;
}
/// Returns a value from a file in /proc/self, in KiB; 0 if the file has no line with the name.
inline std::uint64_t kib_of(const char* file, const std::string& name) {
    std::ifstream status(std::string("/proc/self/") + file);
    for (std::string line; std::getline(status, line);)
        if (line.rfind(name, 0) == 0) return std::stoull(line.substr(name.size()));
    return 0;
}

inline std::uint64_t refusals(const DirectMemory& direct, Refusal reason) {
    return direct.adoption_counters().refusals[static_cast<std::size_t>(reason)];
}
/// Returns adoption_off() and the number of refusals for each reason, for messages.
inline std::string why(const DirectMemory& direct) {
    std::string text(direct.adoption_off());
    for (const auto count : direct.adoption_counters().refusals)
        text += " " + std::to_string(count);
    return text;
}

/// Waits for a child to end. Returns its status, which is 0 on success.
inline int status_of(pid_t child) {
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
}

/// Runs the body in a child, and fails if the body fails or does not return.
inline void in_child(const std::function<void()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        body();
        ::_exit(::testing::Test::HasFailure() ? 99 : 0);
    }
    const int status = status_of(child);
    EXPECT_EQ(status, 0) << "exit status " << WEXITSTATUS(status);
}

/// Makes the system call fail from now on.
inline void refuse_system_call(int number, int error) {
    const sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{4, const_cast<sock_filter*>(rules)};
    ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/// Skips tests on kernels without PROCMAP_QUERY (before Linux 6.11).
class Adopted : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!AddressQuery().available()) GTEST_SKIP() << "this kernel has no PROCMAP_QUERY";
    }
    /// Exposes a buffer once, and expects that it is adopted.
    static void adopt(DirectMemory& direct, std::byte* data, std::size_t bytes) {
        const auto exposure = direct.expose(data, bytes, Access::read);
        EXPECT_EQ(exposure.reach.method, AccessMethod::remapped) << why(direct);
        direct.unexpose(exposure);
    }
};

}  // namespace weft::link::testing
