// SPDX-License-Identifier: BSD-3-Clause
// The signal handler makes two system calls: the counted one, and rt_sigreturn, which returns from
// the handler. The instructions of both are in a range of code that the kernel exempts from the
// dispatch.
#include "tests/system/ranks/system_call_counter.hpp"

#include <numeric>

#if defined(__x86_64__) && defined(__linux__)
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF 0
#define PR_SYS_DISPATCH_ON 1
#endif

extern "C" {
extern const char weft_test_exempt_begin[];
extern const char weft_test_exempt_end[];
long weft_test_system_call(long number, long a, long b, long c, long d, long e, long f);
void weft_test_return_from_signal();
}
// weft_test_system_call() moves its arguments to the registers of a system
// call. 15 is the number of rt_sigreturn.
asm(R"(
    .text
    .globl weft_test_exempt_begin
weft_test_exempt_begin:
    .globl weft_test_system_call
weft_test_system_call:
    mov %rdi, %rax
    mov %rsi, %rdi
    mov %rdx, %rsi
    mov %rcx, %rdx
    mov %r8, %r10
    mov %r9, %r8
    mov 8(%rsp), %r9
    syscall
    ret
    .globl weft_test_return_from_signal
weft_test_return_from_signal:
    mov $15, %eax
    syscall
    ud2
    .globl weft_test_exempt_end
weft_test_exempt_end:
)");

namespace weft::test {
namespace {

constexpr unsigned char kAllow = 0;  // SYSCALL_DISPATCH_FILTER_ALLOW
constexpr unsigned char kBlock = 1;  // SYSCALL_DISPATCH_FILTER_BLOCK

/// Global variables, because a signal handler has no argument for them.
volatile unsigned char selector = kAllow;
SystemCallCounter::Counts counted{};

void count_and_call(int, siginfo_t*, void* context) {
    greg_t* reg = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    const auto number = static_cast<std::size_t>(reg[REG_RAX]);
    ++counted[number < counted.size() ? number : counted.size() - 1];
    reg[REG_RAX] = weft_test_system_call(reg[REG_RAX], reg[REG_RDI], reg[REG_RSI], reg[REG_RDX],
                                         reg[REG_R10], reg[REG_R8], reg[REG_R9]);
}

/// The structure of the kernel's rt_sigaction. After the C library's sigaction(), the handler would
/// return by code that is not exempt.
struct KernelSigaction {
    void (*handler)(int, siginfo_t*, void*);
    unsigned long flags;
    void (*restorer)();
    unsigned long mask;
};
constexpr unsigned long kRestorerGiven = 0x04000000;  // SA_RESTORER

}  // namespace

SystemCallCounter::SystemCallCounter() {
    const KernelSigaction action{&count_and_call, SA_SIGINFO | kRestorerGiven,
                                 &weft_test_return_from_signal, 0};
    const long installed =
        ::syscall(SYS_rt_sigaction, SIGSYS, &action, nullptr, sizeof action.mask);
    const auto begin = reinterpret_cast<unsigned long>(weft_test_exempt_begin);
    const auto end = reinterpret_cast<unsigned long>(weft_test_exempt_end);
    if (installed != 0 || ::prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, begin,
                                  end - begin, &selector) != 0)
        reason_ = std::string("system call user dispatch: ") + std::strerror(errno);
}

SystemCallCounter::~SystemCallCounter() {
    stop();
    ::prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0);
    std::signal(SIGSYS, SIG_DFL);
}

void SystemCallCounter::start() {
    if (reason_.empty()) selector = kBlock;
}

void SystemCallCounter::stop() {
    selector = kAllow;
}

const SystemCallCounter::Counts& SystemCallCounter::counts() const {
    return counted;
}

}  // namespace weft::test

#else

namespace weft::test {

SystemCallCounter::SystemCallCounter() : reason_("no system call user dispatch on this machine") {}
SystemCallCounter::~SystemCallCounter() = default;
void SystemCallCounter::start() {}
void SystemCallCounter::stop() {}
const SystemCallCounter::Counts& SystemCallCounter::counts() const {
    static const Counts none{};
    return none;
}

}  // namespace weft::test

#endif

std::uint64_t weft::test::SystemCallCounter::total() const {
    return std::accumulate(counts().begin(), counts().end(), std::uint64_t{0});
}
