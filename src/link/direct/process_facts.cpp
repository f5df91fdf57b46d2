// SPDX-License-Identifier: BSD-3-Clause
#include "link/direct/process_facts.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/file_descriptor.hpp"
#include "link/direct/address_query.hpp"

namespace weft::link {
namespace {

/// Returns the load address of the library or program that contains `address`, or nullptr.
void* base_of(const void* address) noexcept {
    Dl_info info{};
    return address != nullptr && ::dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

/// Returns the address of the function that the program calls by this name, or nullptr. Usually
/// dlsym() returns it. Exception: if a non-PIE program takes the function's address, dlsym() gives
/// the program's PLT entry, and the symbol there is undefined. The function is then in the first
/// later object of the link map that defines it.
void* definition_of(const char* name) noexcept {
    void* const found = ::dlsym(RTLD_DEFAULT, name);
    Dl_info info{};
    void* extra = nullptr;
    if (found == nullptr || ::dladdr1(found, &info, &extra, RTLD_DL_SYMENT) == 0) return nullptr;
    const auto* const symbol = static_cast<const ElfW(Sym)*>(extra);
    if (symbol == nullptr || symbol->st_shndx != SHN_UNDEF) return found;
    if (::dladdr1(found, &info, &extra, RTLD_DL_LINKMAP) == 0) return nullptr;
    for (auto* object = static_cast<link_map*>(extra)->l_next; object != nullptr;
         object = object->l_next) {
        void* const handle = ::dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD);
        if (handle == nullptr) {
            if (std::strncmp(object->l_name, "linux-vdso", 10) == 0) continue;
            return nullptr;
        }
        void* const defined = ::dlsym(handle, name);  // may be in a library that the object needs
        ::dlclose(handle);
        if (defined != nullptr && base_of(defined) == base_of(object->l_ld)) return defined;
    }
    return nullptr;
}

/// Reads a text file of the system line by line.
class Lines {
  public:
    explicit Lines(const char* path) noexcept : file_(::open(path, O_RDONLY | O_CLOEXEC)) {}

    [[nodiscard]] bool open() const noexcept { return file_.open(); }
    /// Returns the next line, valid until the next call; nullptr at the end, or if failed().
    [[nodiscard]] const char* next() noexcept {
        while (true) {
            char* const line = text_ + start_;
            if (auto* const newline = std::memchr(line, '\n', end_ - start_)) {
                *static_cast<char*>(newline) = '\0';
                start_ = static_cast<std::size_t>(static_cast<char*>(newline) + 1 - text_);
                return line;
            }
            std::memmove(text_, line, end_ - start_);
            end_ -= std::exchange(start_, 0);
            const ssize_t count = ::read(file_.number(), text_ + end_, sizeof text_ - end_);
            failed_ = count < 0 || (count == 0 && end_ != 0);  // also a line without a newline
            if (count <= 0) return nullptr;
            end_ += static_cast<std::size_t>(count);
        }
    }

    /// Returns true if the file could not be read, or a line exceeds the buffer.
    [[nodiscard]] bool failed() const noexcept { return failed_; }

  private:
    base::FileDescriptor file_;
    bool failed_ = false;
    char text_[8192];
    std::size_t start_ = 0;  ///< unread bytes are text_[start_, end_)
    std::size_t end_ = 0;
};

/// Returns true if a device may write to memory through this descriptor after a system call has
/// returned. path: the target of the descriptor's link in /proc/self/fd.
bool gives_device_access(const char* number, std::string_view path) noexcept {
    for (const std::string_view device :
         // lint: allow(provider-name): a device file has the name of its driver
         {"/dev/infiniband/", "/dev/cxi", "/dev/hfi1", "/dev/kgni", "/dev/nvidia", "/dev/kfd",
          "/dev/dri/", "anon_inode:[io_uring]"})
        if (path.starts_with(device)) return true;
    const int flags = ::fcntl(std::atoi(number), F_GETFL);
    return flags >= 0 && (flags & O_DIRECT) != 0;
}

/// Returns true if all flags of a VmFlags line in smaps are harmless: access, sharing, accounting,
/// and advice about large pages. Remapping might lose the property behind any other flag.
bool is_usual(const char* flags) noexcept {
    constexpr std::array<std::string_view, 13> kUsual{"rd", "wr", "sh", "mr", "mw", "me", "ms",
                                                      "ac", "nr", "sd", "hg", "nh", ""};
    std::string_view rest(flags);
    while (!rest.empty()) {
        const std::size_t length = std::min(rest.find(' '), rest.size());
        if (std::ranges::find(kUsual, rest.substr(0, length)) == kUsual.end()) return false;
        rest.remove_prefix(std::min(length + 1, rest.size()));
    }
    return true;
}

/// Calls `body(begin, end, usual)` for each mapping, by ascending address, until it returns false.
/// `usual`: is_usual(flags) and protection key 0. Returns false if the list could not be read.
template <class Body>
bool for_each_mapping(Body body) noexcept {
    Lines smaps("/proc/self/smaps");
    bool listed = false;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool has_key = false;
    while (const char* const line = smaps.next()) {
        if (std::isupper(static_cast<unsigned char>(line[0])) == 0) {  // "begin-end ..."
            char* dash = nullptr;
            begin = std::strtoull(line, &dash, 16);
            end = std::strtoull(dash + (*dash == '-' ? 1 : 0), nullptr, 16);
            has_key = false;
        } else if (std::strncmp(line, "ProtectionKey:", 14) == 0) {
            has_key = std::strtoul(line + 14, nullptr, 10) != 0;
        } else if (std::strncmp(line, "VmFlags:", 8) == 0) {
            listed = true;
            if (!body(begin, end, !has_key && is_usual(line + 8))) break;
        }
    }
    return listed && !smaps.failed();
}

}  // namespace

bool has_library_allocator() noexcept {
    void* const library = base_of(::dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
    constexpr std::array kNames{"malloc", "free", "realloc", "mmap", "munmap"};
    return library != nullptr && std::ranges::all_of(kNames, [&](const char* name) {
               return base_of(definition_of(name)) == library;
           });
}

std::optional<std::uint64_t> pinned_bytes() noexcept {
    Lines status("/proc/self/status");
    while (const char* const line = status.next())
        if (std::strncmp(line, "VmPin:", 6) == 0)
            return std::strtoull(line + 6, nullptr, 10) * 1024;
    return std::nullopt;
}

bool has_only_usual_properties(std::uint64_t begin, std::uint64_t end) noexcept {
    bool usual = true;
    const bool listed = for_each_mapping([&](auto from, auto to, bool is_usual_here) {
        usual = usual && (is_usual_here || to <= begin || from >= end);
        return usual && to < end;
    });
    return listed && usual;
}

bool for_each_unusual_mapping(
    const std::function<void(std::uint64_t, std::uint64_t)>& body) noexcept {
    return for_each_mapping([&](auto from, auto to, bool is_usual_here) {
        if (!is_usual_here) body(from, to);
        return true;
    });
}

bool has_own_policy(std::uint64_t address) noexcept {
    int mode = MPOL_DEFAULT;
    return ::syscall(SYS_get_mempolicy, &mode, nullptr, 0, address, MPOL_F_ADDR) == 0 &&
           mode != MPOL_DEFAULT;
}

bool is_on_other_memory_node(std::uint64_t begin, std::uint64_t end) noexcept {
    Lines nodes("/sys/devices/system/node/has_memory");
    const char* const list = nodes.open() ? nodes.next() : nullptr;
    // The list of NUMA nodes with memory is "0" on a machine with one node, or for example "0-1".
    if (list == nullptr || std::strpbrk(list, "-,") == nullptr) return false;
    unsigned here = 0;
    if (::getcpu(nullptr, &here) != 0) return true;
    std::array<void*, 256> pages;
    std::array<int, 256> node_of;
    for (std::uint64_t at = begin; at < end;) {
        std::size_t count = 0;
        for (; count < pages.size() && at < end; at += kPageBytes)
            pages[count++] = reinterpret_cast<void*>(at);
        if (::syscall(SYS_move_pages, 0, count, pages.data(), nullptr, node_of.data(), 0) != 0)
            return true;
        // A negative node means that the address has no page yet.
        if (std::any_of(node_of.begin(), node_of.begin() + count,
                        [&](int node) { return node >= 0 && node != static_cast<int>(here); }))
            return true;
    }
    return false;
}

bool may_write_large_files() noexcept {
    rlimit file_size{};
    return ::getrlimit(RLIMIT_FSIZE, &file_size) == 0 && file_size.rlim_cur == RLIM_INFINITY;
}

bool has_device_open() noexcept {
    const base::FileDescriptor folder(::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder.open()) return true;
    alignas(dirent64) char entries[4096];
    while (true) {
        const long filled = ::syscall(SYS_getdents64, folder.number(), entries, sizeof entries);
        if (filled <= 0) return filled < 0;
        for (long at = 0; at < filled;) {
            const auto* const entry = reinterpret_cast<const dirent64*>(entries + at);
            at += entry->d_reclen;
            char target[64];
            const ssize_t length =
                ::readlinkat(folder.number(), entry->d_name, target, sizeof target);
            if (length > 0 &&
                gives_device_access(entry->d_name, {target, static_cast<std::size_t>(length)}))
                return true;
        }
    }
}

}  // namespace weft::link
