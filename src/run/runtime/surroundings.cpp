// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime/surroundings.hpp"

#include <algorithm>

#include "base/random.hpp"

namespace weft::run {

link::HostOnNetwork Surroundings::on_network(std::uint64_t boot) const {
    return {base::mix(network ^ boot), {addresses, addresses + address_count}};
}

Surroundings look_around() {
    Surroundings around;
    around.network = link::network_identity();
    around.quota = cpu_quota();
    for (const link::HostAddress& address : link::host_addresses()) {
        if (around.address_count == Surroundings::kAddressesMax) break;
        around.addresses[around.address_count++] = address;
    }
    return around;
}

void HostCount::add(const cpu_set_t& cpus_of_rank, const CpuQuota& quota) {
    ++ranks;
    CPU_OR(&cpus, &cpus, &cpus_of_rank);
    if (!quota.limited()) return;
    ++limited_ranks;
    quotas[quota.group] = quota.thousandths;
}

int HostCount::processors() const {
    const int seen = std::max(1, CPU_COUNT(&cpus));
    if (limited_ranks < ranks) return seen;
    std::uint64_t thousandths = 0;
    for (const auto& [group, each] : quotas) thousandths += each;
    return static_cast<int>(
        std::clamp<std::uint64_t>(thousandths / 1000, 1, static_cast<std::uint64_t>(seen)));
}

bool HostCount::limited() const {
    return processors() < CPU_COUNT(&cpus);
}

}  // namespace weft::run
