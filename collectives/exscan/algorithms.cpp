// SPDX-License-Identifier: BSD-3-Clause
// algorithms.cpp - the exscans: prefix.hpp says how they work.
#include "collectives/exscan/exscan.hpp"
#include "collectives/prefix.hpp"

namespace weft::collectives {

Algorithm exscan_linear() {
    return linear_prefix<Prefix::exclusive>();
}

Algorithm exscan_recursive_doubling() {
    return doubling_prefix<Prefix::exclusive>();
}

}  // namespace weft::collectives
