// SPDX-License-Identifier: BSD-3-Clause
// registry.cpp - all profiles in the order in which jobs try them: dedicated networks, then
// Ethernet, then providers for tests.
#include <array>

#include "providers/profiles.hpp"

namespace weft::link {

std::span<const Profile* const> preferred_profiles() {
    static const std::array kPreferred{
        &providers::cxi_profile(),           &providers::gni_profile(),
        &providers::opx_profile(),           &providers::psm2_profile(),
        &providers::verbs_ofi_rxm_profile(), &providers::efa_profile(),
        &providers::tcp_profile(),           &providers::net_profile(),
        &providers::tcp_ofi_rxm_profile(),   &providers::psm3_profile(),
        &providers::udp_ofi_rxd_profile(),   &providers::sockets_profile(),
        &providers::shm_profile(),
    };
    return kPreferred;
}

const Profile& profile_of(std::string_view provider) {
    for (const Profile* profile : preferred_profiles()) {
        if (profile->provider == provider) return *profile;
    }
    return providers::default_profile();
}

const Profile& usual_profile() {
    return providers::tcp_ofi_rxm_profile();
}

}  // namespace weft::link
