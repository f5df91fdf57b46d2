// SPDX-License-Identifier: BSD-3-Clause
#include "plan/schedule/partition.hpp"

#include <algorithm>
#include <limits>

namespace weft::plan {

Partition::Partition(const std::vector<std::uint64_t>& counts, std::uint32_t units,
                     std::uint64_t unit_elements)
    : elements_(0), units_(units), unit_elements_(unit_elements) {
    const auto blocks = static_cast<std::uint32_t>(counts.size());
    if (units > blocks && blocks > 0) block_units_ = units / blocks;
    const auto same = [&](std::uint64_t count) { return count == counts.front(); };
    if (block_units_ == 1 && blocks > 0 && std::ranges::all_of(counts, same)) {
        unit_size_ = counts.front();
        elements_ = unit_size_ * blocks;
        return;
    }
    starts_.reserve(counts.size() + 1);
    for (const std::uint64_t count : counts) {
        starts_.push_back(elements_);
        elements_ += count;
    }
    starts_.push_back(elements_);
}

std::uint64_t Partition::begin(std::uint32_t u) const {
    if (unit_size_ > 0) return u * unit_size_;
    if (!starts_.empty()) {
        const std::uint64_t start = starts_[u / block_units_];
        const std::uint32_t piece = u % block_units_;
        return piece == 0 ? start
                          : std::min(start + piece * unit_elements_, starts_[u / block_units_ + 1]);
    }
    if (u == 0 || units_ == 0) return 0;
    if (u == units_) return elements_;
    if (elements_ <= std::numeric_limits<std::uint32_t>::max()) return u * elements_ / units_;
    __extension__ using Wide = unsigned __int128;  // u * elements may exceed 2^64
    return static_cast<std::uint64_t>(static_cast<Wide>(u) * elements_ / units_);
}

std::uint64_t Partition::unit_max() const {
    if (unit_size_ > 0 || units_ == 0) return unit_size_;
    if (starts_.empty()) return elements_ / units_ + (elements_ % units_ != 0 ? 1 : 0);
    std::uint64_t largest = 0;
    for (std::size_t block = 0; block + 1 < starts_.size(); ++block)
        largest = std::max(largest, starts_[block + 1] - starts_[block]);
    return block_units_ == 1 ? largest : std::min(largest, unit_elements_);
}

}  // namespace weft::plan
