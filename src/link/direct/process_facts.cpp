// SPDX-License-Identifier: BSD-3-Clause
#include "link/direct/process_facts.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "link/shared/os_handles.hpp"

namespace weft::link {
namespace {

/// Where the object file that has the address is loaded; nullptr if none has.
void* base_of(const void* address) noexcept {
    Dl_info info{};
    return address != nullptr && ::dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

struct CloseFile {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
struct CloseFolder {
    void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};

/// The number of a line "Name:   123 kB", in bytes.
std::uint64_t bytes_of_line(const char* status, const char* name) noexcept {
    const char* const line = std::strstr(status, name);
    return line == nullptr ? 0 : std::strtoull(line + std::strlen(name), nullptr, 10) * 1024;
}

}  // namespace

bool has_library_allocator() noexcept {
    void* const library = base_of(::dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
    constexpr std::array kNames{"malloc", "free", "realloc", "mmap", "munmap"};
    return library != nullptr && std::all_of(kNames.begin(), kNames.end(), [&](const char* name) {
               return base_of(::dlsym(RTLD_DEFAULT, name)) == library;
           });
}

HeldMemory held_memory() noexcept {
    constexpr HeldMemory kUnknown{~std::uint64_t{0}, ~std::uint64_t{0}};
    const Descriptor file(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
    char status[8192];
    const ssize_t length =
        file.open() ? ::read(file.number(), status, sizeof status - 1) : ssize_t{-1};
    if (length <= 0) return kUnknown;
    status[length] = '\0';
    return {bytes_of_line(status, "VmLck:"), bytes_of_line(status, "VmPin:")};
}

bool has_lasting_advice(std::uint64_t begin, std::uint64_t end) noexcept {
    const std::unique_ptr<std::FILE, CloseFile> smaps(std::fopen("/proc/self/smaps", "re"));
    if (smaps == nullptr) return true;
    bool overlaps = false;
    char line[512];
    while (std::fgets(line, sizeof line, smaps.get()) != nullptr) {
        unsigned long from = 0;
        unsigned long to = 0;
        if (std::sscanf(line, "%lx-%lx ", &from, &to) == 2) overlaps = from < end && begin < to;
        if (!overlaps || std::strncmp(line, "VmFlags:", 8) != 0) continue;
        for (const char* flag : {" dc", " wf", " mg", " dd"})
            if (std::strstr(line, flag) != nullptr) return true;
    }
    return false;
}

bool has_device_open() noexcept {
    constexpr std::array<std::string_view, 4> kDevices{"/dev/infiniband/", "/dev/nvidia",
                                                       "/dev/kfd", "/dev/dri/"};
    const std::unique_ptr<DIR, CloseFolder> folder(::opendir("/proc/self/fd"));
    if (folder == nullptr) return true;
    while (const dirent* entry = ::readdir(folder.get())) {
        char target[64];
        const ssize_t length =
            ::readlinkat(::dirfd(folder.get()), entry->d_name, target, sizeof target);
        const std::string_view path(target, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
        if (std::any_of(kDevices.begin(), kDevices.end(),
                        [&](std::string_view device) { return path.starts_with(device); }))
            return true;
    }
    return false;
}

}  // namespace weft::link
