// SPDX-License-Identifier: BSD-3-Clause
#include "link/shared/process_ends.hpp"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weft::link {

base::Result<void> ProcessEnds::watch(Rank rank, pid_t process) {
    if (!events_.open()) events_ = base::FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
    // Some versions of glibc declare pidfd_open() in a form that C++ cannot call.
    base::FileDescriptor file(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.u64 = static_cast<std::uint64_t>(rank);
    if (!file.open() || ::epoll_ctl(events_.number(), EPOLL_CTL_ADD, file.number(), &event) != 0)
        return base::fail(Status::environment, "cannot watch process {} of rank {}: {}", process,
                          rank, std::strerror(errno));
    processes_[rank] = std::move(file);
    return {};
}

std::optional<Rank> ProcessEnds::next() {
    epoll_event event = {};
    if (!events_.open() || ::epoll_wait(events_.number(), &event, 1, 0) != 1) return std::nullopt;
    const auto rank = static_cast<Rank>(event.data.u64);
    processes_.erase(rank);  // also removes the file from the set
    return rank;
}

}  // namespace weft::link
