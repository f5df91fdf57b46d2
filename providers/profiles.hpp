// SPDX-License-Identifier: BSD-3-Clause
// profiles.hpp - declarations of all profiles; registry.cpp lists them.
#pragma once

#include "link/fabric/profile.hpp"

namespace weft::providers {

[[nodiscard]] const link::Profile& default_profile();
[[nodiscard]] const link::Profile& cxi_profile();
[[nodiscard]] const link::Profile& efa_profile();
[[nodiscard]] const link::Profile& gni_profile();
[[nodiscard]] const link::Profile& net_profile();
[[nodiscard]] const link::Profile& opx_profile();
[[nodiscard]] const link::Profile& psm2_profile();
[[nodiscard]] const link::Profile& psm3_profile();
[[nodiscard]] const link::Profile& shm_profile();
[[nodiscard]] const link::Profile& sockets_profile();
[[nodiscard]] const link::Profile& tcp_ofi_rxm_profile();
[[nodiscard]] const link::Profile& tcp_profile();
[[nodiscard]] const link::Profile& udp_ofi_rxd_profile();
[[nodiscard]] const link::Profile& verbs_ofi_rxm_profile();

}  // namespace weft::providers
