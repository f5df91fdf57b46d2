// SPDX-License-Identifier: BSD-3-Clause
#include "plan/schedule/partition.hpp"

#include <algorithm>

namespace weft::plan {

Partition::Partition(const std::vector<std::uint64_t>& counts)
    : elements_(0), units_(static_cast<std::uint32_t>(counts.size())) {
    starts_.reserve(counts.size() + 1);
    for (const std::uint64_t count : counts) {
        starts_.push_back(elements_);
        elements_ += count;
    }
    starts_.push_back(elements_);
}

std::uint64_t Partition::begin(std::uint32_t u) const {
    if (!starts_.empty()) return starts_[u];
    if (u == 0 || units_ == 0) return 0;
    if (u == units_) return elements_;
    __extension__ using Wide = unsigned __int128;  // u * elements may pass 2^64
    return static_cast<std::uint64_t>(static_cast<Wide>(u) * elements_ / units_);
}

std::uint64_t Partition::unit_max() const {
    if (units_ == 0) return 0;
    if (starts_.empty()) return elements_ / units_ + (elements_ % units_ != 0 ? 1 : 0);
    std::uint64_t largest = 0;
    for (std::uint32_t u = 0; u < units_; ++u) largest = std::max(largest, size(u));
    return largest;
}

}  // namespace weft::plan
