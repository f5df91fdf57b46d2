// SPDX-License-Identifier: BSD-3-Clause
// algorithms.cpp - exscan by puts; prefix.hpp describes the algorithms.
#include "collectives/entries.hpp"
#include "collectives/prefix.hpp"

namespace weft::collectives {

Algorithm exscan_linear() {
    return linear_prefix<Prefix::exclusive>();
}

Algorithm exscan_recursive_doubling() {
    return doubling_prefix<Prefix::exclusive>();
}

}  // namespace weft::collectives
