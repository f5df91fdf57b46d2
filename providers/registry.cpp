// SPDX-License-Identifier: BSD-3-Clause
// registry.cpp - all profiles, in the order of preference when no provider is asked for.
#include <array>

#include "providers/profiles.hpp"

namespace weft::link {

std::span<const Profile* const> preferred_profiles() {
    static const std::array kPreferred{
        &providers::tcp_ofi_rxm_profile(),
    };
    return kPreferred;
}

const Profile& profile_of(std::string_view provider) {
    for (const Profile* profile : preferred_profiles()) {
        if (profile->provider == provider) return *profile;
    }
    return providers::default_profile();
}

}  // namespace weft::link
