// SPDX-License-Identifier: BSD-3-Clause
// default.cpp - the profile of a provider that has none of its own: the careful answers.
#include "providers/profiles.hpp"

namespace weft::providers {

const link::Profile& default_profile() {
    static constexpr link::Profile kProfile{};
    return kProfile;
}

}  // namespace weft::providers
