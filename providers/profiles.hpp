// SPDX-License-Identifier: BSD-3-Clause
// profiles.hpp - one line per profile that is written; registry.cpp lists them.
#pragma once

#include "link/fabric/profile.hpp"

namespace weft::providers {

[[nodiscard]] const link::Profile& default_profile();
[[nodiscard]] const link::Profile& tcp_ofi_rxm_profile();

}  // namespace weft::providers
