// SPDX-License-Identifier: BSD-3-Clause
// wire.cpp - a network that delays every packet by a given time.
//
//     delayed_wire PREFIX COUNT MICROSECONDS
//
// Idea     Each of the network namespaces PREFIX0, PREFIX1, ... gets an interface `delayed`. This
//          program reads the packets that a namespace sends, holds them, and writes them to the
//          interface of their destination. Namespace n has the address 10.83.0.(n + 1). All packets
//          are held for the same time, so they keep their order.
// Why      Kernels of virtual machines often lack netem. If waits for the network are long, ranks
//          that share two processors finish as if each had its own.
// Holds    The program prints "up" when all interfaces exist. It ends when its stdin is closed.
// Next     ../papers/delayed, which creates the namespaces and starts this program.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

std::int64_t now_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

[[noreturn]] void fail(const std::string& what) {
    std::perror(("delayed_wire: " + what).c_str());
    std::exit(3);
}

/// Enters a network namespace and opens its interface. The process stays in this namespace.
int open_interface(const std::string& network) {
    const std::string path = "/run/netns/" + network;
    const int name_space = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (name_space < 0 || ::setns(name_space, CLONE_NEWNET) != 0) fail(path);
    ::close(name_space);
    const int file = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    ifreq request{};
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    std::strncpy(request.ifr_name, "delayed", IFNAMSIZ - 1);
    if (file < 0 || ::ioctl(file, TUNSETIFF, &request) != 0) fail("/dev/net/tun");
    return file;
}

struct Packet {
    std::int64_t due_ns = 0;  ///< time of delivery, on the monotonic clock
    std::size_t to = 0;       ///< index of the destination's interface
    std::vector<char> bytes;
};

class Wire {
  public:
    Wire(std::vector<int> interfaces, std::int64_t delay_ns)
        : interfaces_(std::move(interfaces)), delay_ns_(delay_ns) {
        for (const int file : interfaces_) polled_.push_back({file, POLLIN, 0});
        polled_.push_back({STDIN_FILENO, POLLIN, 0});
    }

    void run() {
        while (true) {
            wait();
            if (polled_.back().revents != 0) return;
            for (std::size_t i = 0; i < interfaces_.size(); ++i)
                if (polled_[i].revents != 0) read_packets(interfaces_[i]);
            deliver_due_packets();
        }
    }

  private:
    static constexpr std::size_t kPacketBytesMax = 65'536;
    static constexpr std::size_t kDestination = 19;  ///< offset of the address's last byte in IPv4

    void wait() {
        std::int64_t left = kNsPerSecond;
        if (!held_.empty()) left = std::max<std::int64_t>(0, held_.front().due_ns - now_ns());
        const timespec time{left / kNsPerSecond, left % kNsPerSecond};
        ::ppoll(polled_.data(), polled_.size(), &time, nullptr);
    }

    void read_packets(int file) {
        while (true) {
            const ssize_t bytes = ::read(file, buffer_.data(), buffer_.size());
            if (bytes <= static_cast<ssize_t>(kDestination)) return;
            const auto number = static_cast<unsigned char>(buffer_[kDestination]);
            if (buffer_[0] >> 4 != 4 || number < 1 || number > interfaces_.size()) continue;
            held_.push_back({now_ns() + delay_ns_, std::size_t{number} - 1,
                             std::vector<char>(buffer_.begin(), buffer_.begin() + bytes)});
        }
    }

    void deliver_due_packets() {
        while (!held_.empty() && held_.front().due_ns <= now_ns()) {
            const Packet& packet = held_.front();
            // If the receiver's queue is full, the packet is lost, as on any network.
            static_cast<void>(
                ::write(interfaces_[packet.to], packet.bytes.data(), packet.bytes.size()));
            held_.pop_front();
        }
    }

    std::vector<int> interfaces_;
    std::int64_t delay_ns_;
    std::vector<pollfd> polled_;
    std::deque<Packet> held_;
    std::array<char, kPacketBytesMax> buffer_{};
};

}  // namespace

int main(int argc, char** argv) {
    const int count = argc == 4 ? std::atoi(argv[2]) : 0;
    const std::int64_t delay_us = argc == 4 ? std::atoll(argv[3]) : 0;
    if (count < 1 || count > 250 || delay_us < 0) {
        fmt::print(stderr, "usage: delayed_wire PREFIX COUNT MICROSECONDS\n");
        return 2;
    }
    std::vector<int> interfaces;
    for (int i = 0; i < count; ++i)
        interfaces.push_back(open_interface(argv[1] + std::to_string(i)));
    // High priority, so that ranks do not delay a packet that is due.
    ::setpriority(PRIO_PROCESS, 0, -20);
    ::prctl(PR_SET_TIMERSLACK, 1);
    fmt::print("up\n");
    std::fflush(stdout);
    Wire(std::move(interfaces), delay_us * 1000).run();
    return 0;
}
