// SPDX-License-Identifier: BSD-3-Clause
// forbid.hpp - makes the kernel refuse a system call to this process, and to programs that it
// executes, as old or hardened kernels do.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::test {

/// Installs a seccomp filter of `count` rules. The last two numbers of a BPF_JUMP are the rules to
/// skip if the comparison is true, and if it is false.
inline bool install_filter(const sock_filter* rules, unsigned short count) {
    const sock_fprog program{count, const_cast<sock_filter*>(rules)};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// Makes the kernel refuse process_vm_readv() and process_vm_writev(), with EPERM.
inline bool forbid_process_vm() {
    const sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    return install_filter(rules, 5);
}

/// Makes PROCMAP_QUERY an unknown ioctl, as before Linux 6.11. Older headers do not define it: it
/// is ioctl 17 of /proc/PID/maps, with a struct of 104 bytes.
inline bool forbid_procmap_query() {
    constexpr auto kQuery = static_cast<std::uint32_t>(_IOWR('f', 17, char[104]));
    const sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kQuery, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
    };
    return install_filter(rules, 6);
}

/// Forbids `what`: process_vm or procmap_query. Returns false if `what` is another word or the
/// filter cannot be installed.
inline bool forbid(std::string_view what) {
    if (what == "process_vm") return forbid_process_vm();
    return what == "procmap_query" && forbid_procmap_query();
}

}  // namespace weft::test
