// SPDX-License-Identifier: BSD-3-Clause
#include "front/launch/core_binding.hpp"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string>

namespace weft::front {
namespace {

/// The lowest hardware thread of the core of `cpu`; the kernel lists them as "0,32" or "0-1".
int first_thread_of_core(int cpu) {
    std::ifstream file(
        fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
    std::string text;
    int first = cpu;
    if (std::getline(file, text)) std::from_chars(text.data(), text.data() + text.size(), first);
    return first;
}

}  // namespace

base::Result<std::vector<cpu_set_t>> usable_cores() {
    cpu_set_t usable;
    if (::sched_getaffinity(0, sizeof usable, &usable) != 0) {
        return base::fail(Status::environment, "--bind core: cannot read the usable CPUs: {}",
                          std::strerror(errno));
    }
    std::vector<int> first_thread;
    std::vector<cpu_set_t> cores;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &usable)) continue;
        const int first = first_thread_of_core(cpu);
        std::size_t core = 0;
        while (core < cores.size() && first_thread[core] != first) ++core;
        if (core == cores.size()) {
            first_thread.push_back(first);
            CPU_ZERO(&cores.emplace_back());
        }
        CPU_SET(cpu, &cores[core]);
    }
    return cores;
}

}  // namespace weft::front
