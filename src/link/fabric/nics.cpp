// SPDX-License-Identifier: BSD-3-Clause
#include "link/fabric/nics.hpp"

#include <arpa/inet.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "base/units.hpp"
#include "link/fabric/discover.hpp"
#include "link/fabric/host_addresses.hpp"
#include "topology/hwloc_reader.hpp"

namespace weft::link {
namespace {

std::vector<std::vector<int>> processors_of(const HostRanks& host) {
    std::vector<cpu_set_t> sets = host.processors;
    if (sets.empty() && sched_getaffinity(0, sizeof(cpu_set_t), &sets.emplace_back()) != 0)
        CPU_ZERO(&sets.back());
    std::vector<std::vector<int>> processors(sets.size());
    for (std::size_t rank = 0; rank < sets.size(); ++rank)
        for (int processor = 0; processor < CPU_SETSIZE; ++processor)
            if (CPU_ISSET(processor, &sets[rank])) processors[rank].push_back(processor);
    return processors;
}

/// Returns the distances by rank and NIC; -1: unknown. All are unknown if there are fewer than two
/// NICs, if a NIC has no PCI address, or if hwloc fails.
std::vector<std::vector<int>> distances_of(std::span<const Nic> nics, const HostRanks& host) {
    const auto processors = processors_of(host);
    std::vector<std::vector<int>> unknown(processors.size(), std::vector<int>(nics.size(), -1));
    if (nics.size() < 2) return unknown;
    std::vector<topology::PciAddress> addresses;
    for (const Nic& nic : nics) {
        topology::PciAddress& address = addresses.emplace_back();
        if (std::sscanf(nic.bus.c_str(), "%x:%x:%x.%x", &address.domain, &address.bus,
                        &address.device, &address.function) != 4)
            return unknown;
    }
    const auto distances = topology::device_distances(addresses, processors);
    return distances ? *distances : unknown;
}

/// Returns the first acceptable offer of each NIC, by the NIC's name.
std::map<std::string, AcceptedOffer> offers_by_nic(const fi_info* list) {
    std::map<std::string, AcceptedOffer> offers;
    for (; list != nullptr; list = list->next)
        if (auto grant = accept_offer(*list))
            offers.try_emplace(list->domain_attr->name, AcceptedOffer{list, *grant});
    return offers;
}

/// Returns the PCI address of the offer's NIC as text, or an empty text.
std::string bus_of(const fi_info& offer) {
    if (offer.nic == nullptr || offer.nic->bus_attr == nullptr ||
        offer.nic->bus_attr->bus_type != FI_BUS_PCI)
        return {};
    const fi_pci_attr& pci = offer.nic->bus_attr->attr.pci;
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain_id, pci.bus_id, pci.device_id,
                       pci.function_id);
}

/// Returns true if `one` has an IPv4 address of this host, and `other` an address in its subnet.
bool are_in_one_subnet(const fi_info& one, const fi_info& other) {
    const auto address_of = [](const fi_info& offer) {
        const auto* socket_address = static_cast<const sockaddr_in*>(offer.src_addr);
        const bool known = socket_address != nullptr && socket_address->sin_family == AF_INET;
        return known ? ntohl(socket_address->sin_addr.s_addr) : 0;
    };
    return std::ranges::any_of(host_addresses(), [&](HostAddress own) {
        return own.address == address_of(one) && own.same_network({address_of(other)});
    });
}

/// Returns true if a rank may use the NIC of `other` instead of `used` without WEFT_CARDS. Both
/// must be PCI devices (kernel interfaces are not) of one fabric, with equal grants and address
/// formats. IP addresses must be in one subnet.
bool is_equivalent(const AcceptedOffer& used, const AcceptedOffer& other) {
    const fi_info& used_info = *used.offer;
    const fi_info& other_info = *other.offer;
    return !bus_of(used_info).empty() && !bus_of(other_info).empty() && used.grant == other.grant &&
           std::strcmp(used_info.fabric_attr->name, other_info.fabric_attr->name) == 0 &&
           used_info.addr_format == other_info.addr_format &&
           (!used.grant.internet_address || are_in_one_subnet(used_info, other_info));
}

}  // namespace

std::vector<std::string> names_in(std::string_view list) {
    std::vector<std::string> names;
    for (const std::string_view part : base::split_list(list)) {
        std::string name(part);
        std::erase(name, ' ');
        if (!name.empty()) names.push_back(std::move(name));
    }
    return names;
}

std::vector<std::size_t> spread_over_nics(std::span<const std::vector<int>> distances) {
    std::vector<std::size_t> chosen;
    std::vector<std::size_t> ranks_on_nic(distances.empty() ? 0 : distances.front().size());
    for (const std::vector<int>& from_rank : distances) {
        std::size_t best = 0;
        // As unsigned numbers, unknown distances are greater than known ones.
        const auto order = [&](std::size_t nic) {
            return std::pair(static_cast<unsigned>(from_rank[nic]), ranks_on_nic[nic]);
        };
        for (std::size_t nic = 1; nic < ranks_on_nic.size(); ++nic)
            if (order(nic) < order(best)) best = nic;
        ++ranks_on_nic[best];
        chosen.push_back(best);
    }
    return chosen;
}

void assign_nics(std::vector<Nic>& nics, const HostRanks& host) {
    if (nics.empty()) return;
    const auto distances = distances_of(nics, host);
    const auto chosen = spread_over_nics(distances);
    for (std::size_t nic = 0; nic < nics.size(); ++nic) {
        nics[nic].distance = distances[host.position][nic];
        nics[nic].chosen = chosen[host.position] == nic;
        for (std::size_t rank = 0; rank < chosen.size(); ++rank)
            if (chosen[rank] == nic) nics[nic].ranks.push_back(rank);
    }
}

// --- NICs among libfabric's offers ---

bool is_among(std::span<const std::string> names, const fi_info& offer) {
    return names.empty() || std::ranges::find(names, offer.domain_attr->name) != names.end();
}

void choose_nic(Found& found, const fi_info* list, const FabricOptions& options,
                std::span<const std::string> names) {
    std::map<std::string, AcceptedOffer> offers = offers_by_nic(list);
    const AcceptedOffer initial{found.info.get(), found.grant};
    const std::string name = found.info->domain_attr->name;
    std::erase_if(offers, [&](const auto& each) {
        const fi_info& info = *each.second.offer;
        if (found.source.forced ||
            std::strcmp(initial.offer->fabric_attr->prov_name, info.fabric_attr->prov_name) != 0)
            return true;
        return names.empty() ? !is_equivalent(initial, each.second) : !is_among(names, info);
    });
    offers[name] = initial;  // this offer is bound to found.source; its entry may be erased
    for (const auto& [nic, offer] : offers)
        found.nics.push_back({.name = nic, .bus = bus_of(*offer.offer)});
    assign_nics(found.nics, options.host);
    std::vector<const Nic*> by_preference;
    for (const Nic& nic : found.nics) by_preference.push_back(&nic);
    std::ranges::stable_sort(by_preference, {}, [](const Nic* nic) {
        return std::pair(!nic->chosen, static_cast<unsigned>(nic->distance));
    });
    const AcceptedOffer& chosen = offers.at(by_preference.front()->name);
    found.grant = chosen.grant;
    for (const Nic* nic : by_preference) {
        const AcceptedOffer& offer = offers.at(nic->name);
        if (nic->chosen || offer.grant != chosen.grant) continue;
        if (Info info(fi_dupinfo(offer.offer)); info != nullptr)
            found.other_nics.push_back(std::move(info));
    }
    if (by_preference.front()->name == name) return;
    found.info = Info(fi_dupinfo(chosen.offer));  // frees the offer of `initial`
    found.source = {};
}

base::Result<void> check_nics(const fi_info* list, std::span<const std::string> names,
                              std::string_view provider) {
    const auto offers = offers_by_nic(list);
    for (const std::string& name : names) {
        if (offers.contains(name)) continue;
        std::vector<std::string> available;
        for (const auto& [nic, offer] : offers) available.push_back(nic);
        return base::fail(
            Status::environment,
            "WEFT_CARDS: no network card \"{}\" of {} on this host; available: {}", name,
            provider.empty() ? "any provider" : fmt::format("provider \"{}\"", provider),
            fmt::join(available, ", "));
    }
    return {};
}

}  // namespace weft::link
