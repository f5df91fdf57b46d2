// SPDX-License-Identifier: BSD-3-Clause
// offer.cpp - entry point of the provider that libfabric loads: its name, and the attributes that
// it offers to programs (fi_getinfo), both from the profile.
//
// Idea     Of two providers with one name, libfabric uses the higher version, so this provider
//          replaces a built-in one. For a layered name ("core;layer") the provider has the name of
//          the layer: libfabric puts the core's name in front.
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/hostile/adversary/objects.hpp"
#include "tests/hostile/adversary/report.hpp"

namespace adversary {
namespace {

constexpr std::uint64_t kDirections =
    FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_SEND | FI_RECV;
/// Capabilities of every profile.
constexpr std::uint64_t kAlways = kDirections | FI_RMA | FI_LOCAL_COMM | FI_REMOTE_COMM;

std::string core_of(const std::string& name) {
    return name.substr(0, name.find(';'));
}
std::string layer_of(const std::string& name) {
    const auto at = name.find(';');
    return at == std::string::npos ? name : name.substr(at + 1);
}

std::uint64_t order_of(const Profile& profile) {
    if (profile.order == Order::none) return 0;
    return FI_ORDER_WAW | FI_ORDER_RMA_WAW | FI_ORDER_SAS;
}

/// Returns the memory registration modes that the caller supports.
int supported_mr_modes(const fi_info* hints, const Profile& profile) {
    if (hints == nullptr || hints->domain_attr == nullptr) return profile.mr_mode;
    const int mode = hints->domain_attr->mr_mode;
    // 1 is FI_MR_BASIC, used before there were mode bits; libfabric 2 warns if its name is used.
    if (mode == 1) return profile.mr_mode & ~FI_MR_LOCAL;
    return mode;
}

/// Returns true if the profile can satisfy the hints.
bool satisfies(const Profile& profile, const fi_info* hints) {
    if (hints == nullptr) return true;
    const std::uint64_t caps = kAlways | profile.caps;
    if ((hints->caps & ~caps) != 0) return false;
    if ((profile.mode & ~hints->mode) != 0) return false;
    if ((profile.mr_mode & ~supported_mr_modes(hints, profile)) != 0) return false;
    if (hints->ep_attr != nullptr) {
        const fi_ep_type type = hints->ep_attr->type;
        if (type != FI_EP_UNSPEC && type != FI_EP_RDM) return false;
        if (hints->ep_attr->max_msg_size > profile.message_bytes) return false;
    }
    if (const fi_tx_attr* tx = hints->tx_attr; tx != nullptr) {
        if ((tx->msg_order & ~order_of(profile) & ~std::uint64_t{FI_ORDER_SAS}) != 0) return false;
        if (tx->inject_size > profile.inject_bytes) return false;
        if (tx->iov_limit > profile.sources || tx->rma_iov_limit > profile.targets) return false;
    }
    if (hints->domain_attr != nullptr && hints->domain_attr->cq_data_size > profile.immediate_bytes)
        return false;
    return true;
}

/// A NIC, on its own PCI bus.
struct Nic {
    fid_nic nic{};  ///< first: libfabric's handle
    fi_bus_attr bus{};
};

int close_nic(fid* handle) {
    delete reinterpret_cast<Nic*>(handle);
    return 0;
}
int copy_nic(fid* handle, int command, void* copy);
fi_ops nic_ops{.size = sizeof(fi_ops), .close = close_nic, .control = copy_nic};

fid_nic* new_nic(const fi_bus_attr& bus) {
    auto* nic = new Nic{};
    nic->bus = bus;
    nic->nic.fid = {FI_CLASS_NIC, nullptr, &nic_ops};
    nic->nic.bus_attr = &nic->bus;
    return &nic->nic;
}

/// Called by fi_dupinfo().
int copy_nic(fid* handle, int command, void* copy) {
    if (command != FI_DUP) return -FI_ENOSYS;
    *static_cast<fid_nic**>(copy) = new_nic(reinterpret_cast<Nic*>(handle)->bus);
    return 0;
}

/// Returns NIC 0 or 1, which are on the PCI buses 1 and 0x81 of two_packages.xml (cards_test.cpp).
fid_nic* nic_with_number(std::size_t number) {
    fi_bus_attr bus{};
    bus.bus_type = FI_BUS_PCI;
    bus.attr.pci.bus_id = static_cast<std::uint8_t>(1 + number * 0x80);
    return new_nic(bus);
}

/// Fills the attributes of the domain with this number.
void fill(fi_info& info, const Profile& profile, const fi_info* hints, std::size_t number) {
    const bool has_caps = hints != nullptr && hints->caps != 0;
    info.caps = has_caps ? hints->caps | kDirections : kAlways | (profile.caps & FI_MSG);
    info.mode = profile.mode;
    info.addr_format = FI_FORMAT_UNSPEC;
    info.ep_attr->type = FI_EP_RDM;
    info.ep_attr->protocol = FI_PROTO_UNSPEC;
    info.ep_attr->max_msg_size = profile.message_bytes;
    info.ep_attr->tx_ctx_cnt = info.ep_attr->rx_ctx_cnt = 1;
    const bool has_tx = hints != nullptr && hints->tx_attr != nullptr;
    info.tx_attr->msg_order = has_tx ? hints->tx_attr->msg_order : order_of(profile);
    if (profile.order == Order::stream) info.tx_attr->msg_order |= order_of(profile);
    if (info.tx_attr->msg_order != 0) info.ep_attr->max_order_waw_size = profile.order_bytes;
    info.tx_attr->caps = info.rx_attr->caps = info.caps;
    info.tx_attr->mode = info.rx_attr->mode = info.mode;
    info.tx_attr->op_flags = has_tx ? hints->tx_attr->op_flags : 0;
    info.tx_attr->inject_size = profile.inject_bytes;
    info.tx_attr->iov_limit = profile.sources;
    info.tx_attr->rma_iov_limit = profile.targets;
    info.tx_attr->size = profile.transfers;
    info.rx_attr->msg_order = info.tx_attr->msg_order;
    info.rx_attr->iov_limit = profile.sources;
    info.rx_attr->size = 4096;
    fi_domain_attr& domain = *info.domain_attr;
    const std::string suffix = profile.domains > 1 ? std::to_string(number) : "";
    domain.name = ::strdup((core_of(profile.name) + "-adversary" + suffix).c_str());
    if (profile.domains > 1) info.nic = nic_with_number(number);
    domain.threading = FI_THREAD_SAFE;
    domain.control_progress = FI_PROGRESS_MANUAL;
    domain.data_progress = profile.auto_progress ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL;
    domain.resource_mgmt = FI_RM_ENABLED;
    domain.av_type = FI_AV_UNSPEC;
    domain.mr_mode = profile.mr_mode;
    domain.mr_key_size = profile.key_bytes;
    domain.cq_data_size = profile.immediate_bytes;
    domain.cq_cnt = domain.ep_cnt = domain.tx_ctx_cnt = domain.rx_ctx_cnt = 256;
    domain.cntr_cnt = domain.mr_cnt = 65536;
    domain.max_ep_tx_ctx = domain.max_ep_rx_ctx = 1;
    domain.mr_iov_limit = 1;
    info.fabric_attr->name = ::strdup("adversary");
}

/// Returns true if the hints name another provider than the profile's name, core or layer.
bool names_another(const fi_info* hints, const Profile& profile) {
    if (hints == nullptr || hints->fabric_attr == nullptr ||
        hints->fabric_attr->prov_name == nullptr)
        return false;
    const std::string wanted = hints->fabric_attr->prov_name;
    return wanted != profile.name && wanted != core_of(profile.name) &&
           wanted != layer_of(profile.name);
}

int get_info(std::uint32_t, const char*, const char*, std::uint64_t, const fi_info* hints,
             fi_info** out) {
    const Profile* profile = chosen_profile();
    if (profile == nullptr || names_another(hints, *profile) || !satisfies(*profile, hints))
        return -FI_ENODATA;
    universe_size();  // reads FI_UNIVERSE_SIZE now, as real providers do
    fi_info** next = out;
    for (std::size_t number = 0; number < profile->domains; ++number) {
        fi_info* info = fi_allocinfo();
        if (info == nullptr) return -FI_ENOMEM;
        fill(*info, *profile, hints, number);
        // libfabric adds the layer's name.
        if (layer_of(profile->name) != profile->name)
            info->fabric_attr->prov_name = ::strdup(core_of(profile->name).c_str());
        *next = info;
        next = &info->next;
    }
    return 0;
}

}  // namespace

std::size_t universe_size() {
    static const std::size_t kSize = [] {
        const char* size = std::getenv("FI_UNIVERSE_SIZE");
        if (size != nullptr) return static_cast<std::size_t>(std::strtoull(size, nullptr, 10));
        const Profile* profile = chosen_profile();
        return profile == nullptr ? 0 : profile->universe;
    }();
    return kSize;
}

const Profile* chosen_profile() {
    static Profile profile;
    const char* path = std::getenv("ADVERSARY_PROFILE");
    if (path == nullptr || *path == 0) return nullptr;
    if (profile.path == path) return &profile;
    try {
        profile = read_profile(path);
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "adversary: %s\n", problem.what());
        return nullptr;
    }
    report_for(profile.name);
    return &profile;
}

}  // namespace adversary

/// Entry point that libfabric calls after it has loaded this file.
extern "C" fi_provider* fi_prov_ini() {
    static std::string name;
    static fi_provider provider{};
    const adversary::Profile* profile = adversary::chosen_profile();
    name = profile == nullptr ? "adversary" : adversary::layer_of(profile->name);
    // Higher than the versions of libfabric's own providers: 117 (1.17) or 201 (2.1).
    provider.version = FI_VERSION(30000, 0);
    provider.fi_version = FI_VERSION(1, 17);
    provider.name = name.c_str();
    provider.getinfo = adversary::get_info;
    provider.fabric = adversary::open_fabric;
    return &provider;
}
