// SPDX-License-Identifier: BSD-3-Clause
#include "link/shared/process_ends.hpp"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weft::link {

base::Result<void> ProcessEnds::watch(Rank rank, pid_t process) {
    const auto failure = [&](const char* call) {
        return base::fail(Status::environment, "cannot watch process {} of rank {}: {}: {}",
                          process, rank, call, std::strerror(errno));
    };
    if (!epoll_.open()) epoll_ = base::FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_.open()) return failure("epoll_create1");
    // Some versions of glibc declare pidfd_open() in a form that C++ cannot call.
    base::FileDescriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    if (!pidfd.open()) return failure("pidfd_open (needs Linux 5.3)");
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.u64 = static_cast<std::uint64_t>(rank);
    if (::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, pidfd.number(), &event) != 0)
        return failure("epoll_ctl");
    pidfds_[rank] = std::move(pidfd);
    return {};
}

std::optional<Rank> ProcessEnds::next() {
    epoll_event event = {};
    if (!epoll_.open() || ::epoll_wait(epoll_.number(), &event, 1, 0) != 1) return std::nullopt;
    const auto rank = static_cast<Rank>(event.data.u64);
    // While a forked child holds the pidfd open, closing it here does not remove it from the set.
    ::epoll_ctl(epoll_.number(), EPOLL_CTL_DEL, pidfds_[rank].number(), nullptr);
    pidfds_.erase(rank);
    return rank;
}

}  // namespace weft::link
