// SPDX-License-Identifier: BSD-3-Clause
// default.cpp - conservative profile, for providers that have no file in this folder.
#include "providers/profiles.hpp"

namespace weft::providers {

const link::Profile& default_profile() {
    static constexpr link::Profile kProfile{};
    return kProfile;
}

}  // namespace weft::providers
