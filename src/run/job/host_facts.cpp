// SPDX-License-Identifier: BSD-3-Clause
#include "run/job/host_facts.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "base/random.hpp"

namespace weft::run {

namespace {

/// Applies the limit of the group at `folder`, if it is lower. Both versions of the file system
/// give the processor time in each period, in microseconds. "max" and -1 mean no limit.
void apply_limit(CpuQuota& quota, const std::string& folder) {
    double time = 0, period = 0;
    if (!(std::ifstream(folder + "/cpu.max") >> time >> period)) {
        std::ifstream(folder + "/cpu.cfs_quota_us") >> time;
        std::ifstream(folder + "/cpu.cfs_period_us") >> period;
    }
    if (!(time > 0) || !(period > 0)) return;
    const double thousandths = std::clamp(time / period * 1000, 1.0, 4e9);
    if (quota.limited() && thousandths >= quota.thousandths) return;
    struct stat status;
    if (::stat(folder.c_str(), &status) != 0) return;
    quota.thousandths = static_cast<std::uint32_t>(thousandths);
    quota.group = base::mix(status.st_dev) + base::mix(status.st_ino + 1);
}

/// Reads the group at `path` and its parents up to `root`. In a container, only `root` may exist.
void read_groups(CpuQuota& quota, const std::string& root, std::string path) {
    while (true) {
        apply_limit(quota, root + path);
        const std::size_t slash = path.rfind('/');
        if (slash == std::string::npos) return;
        path.resize(slash);
    }
}

}  // namespace

CpuQuota cpu_quota(const std::string& groups_file, const std::string& root) {
    CpuQuota quota;
    std::ifstream file(groups_file);
    // A line is NUMBER:CONTROLLERS:PATH; version 2 has no controllers.
    for (std::string line; std::getline(file, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        std::string path = line.substr(second + 1);
        if (path == "/") path.clear();
        if (controllers.empty()) read_groups(quota, root, path);
        if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
            read_groups(quota, root + '/' + controllers, path);
            if (controllers != "cpu") read_groups(quota, root + "/cpu", path);
        }
    }
    return quota;
}

link::HostOnNetwork HostFacts::on_network(std::uint64_t boot) const {
    return {base::mix(network ^ boot), {addresses, addresses + address_count}};
}

HostFacts read_host_facts() {
    HostFacts facts;
    facts.network = link::network_identity();
    facts.quota = cpu_quota();
    for (const link::HostAddress& address : link::host_addresses()) {
        if (facts.address_count == HostFacts::kAddressesMax) break;
        facts.addresses[facts.address_count++] = address;
    }
    return facts;
}

void HostCount::add(const cpu_set_t& cpus_of_rank, const CpuQuota& quota) {
    ++ranks;
    CPU_OR(&cpus, &cpus, &cpus_of_rank);
    if (!quota.limited()) return;
    ++limited_ranks;
    quotas[quota.group] = quota.thousandths;
}

int HostCount::processors() const {
    const int visible = std::max(1, CPU_COUNT(&cpus));
    if (limited_ranks < ranks) return visible;
    std::uint64_t thousandths = 0;
    for (const auto& [group, quota] : quotas) thousandths += quota;
    return static_cast<int>(
        std::clamp<std::uint64_t>(thousandths / 1000, 1, static_cast<std::uint64_t>(visible)));
}

bool HostCount::limited() const {
    return processors() < CPU_COUNT(&cpus);
}

std::optional<int> processor_for(std::span<const cpu_set_t> allowed, std::size_t index) {
    const cpu_set_t& all = allowed[index];
    const auto processors = static_cast<std::size_t>(CPU_COUNT(&all));
    if (allowed.size() > processors) index = index * processors / allowed.size();
    if (!std::ranges::all_of(allowed,
                             [&](const cpu_set_t& each) { return CPU_EQUAL(&each, &all); }))
        return std::nullopt;
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
        if (!CPU_ISSET(processor, &all)) continue;
        if (index-- == 0) return processor;
    }
    return std::nullopt;
}

void move_to(int processor) noexcept {
    cpu_set_t before;
    cpu_set_t target;
    CPU_ZERO(&target);
    CPU_SET(processor, &target);
    if (sched_getaffinity(0, sizeof before, &before) != 0) return;
    if (sched_setaffinity(0, sizeof target, &target) != 0) return;
    static_cast<void>(sched_setaffinity(0, sizeof before, &before));
}

}  // namespace weft::run
