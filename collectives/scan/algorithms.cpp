// SPDX-License-Identifier: BSD-3-Clause
// algorithms.cpp - scan by puts; prefix.hpp describes the algorithms.
#include "collectives/entries.hpp"
#include "collectives/prefix.hpp"

namespace weft::collectives {

Algorithm scan_linear() {
    return linear_prefix<Prefix::inclusive>();
}

Algorithm scan_recursive_doubling() {
    return doubling_prefix<Prefix::inclusive>();
}

}  // namespace weft::collectives
