// SPDX-License-Identifier: BSD-3-Clause
#include "link/wire/exposed_memory.hpp"

namespace weft::link {

base::Exposure ExposedMemory::expose(std::byte* data, std::uint64_t bytes, base::Access access,
                                     const base::Copies& copies) noexcept {
    base::Exposure exposure{.alias = data, .data = data, .bytes = bytes, .access = access};
    exposure.reach.address = reinterpret_cast<std::uintptr_t>(data);
    if (in_segment(data)) {
        exposure.reach.way = base::AccessMethod::segment;
        exposure.reach.offset = static_cast<std::uint64_t>(data - own_);
        return exposure;
    }
    if (direct_ == nullptr || bytes == 0) return exposure;
    return direct_->expose(data, bytes, access, copies);
}

base::Result<base::Exposure> ExposedMemory::expose_far(std::byte* data,
                                                       std::uint64_t bytes) noexcept {
    if (in_segment(data)) {
        const base::Exposure exposure = expose(data, 0, base::Access::write, {});
        if (auto done = use_memory(exposure.reach.offset, bytes); !done) return done.failure();
        return exposure;
    }
    if (port_->facts().notify.large == Notify::counter)
        return base::fail(Status::unsupported,
                          "WEFT_NOTIFY=counter counts only puts to the segment, not to a buffer");
    const auto region = port_->expose({data, bytes});
    if (!region) return region.failure();
    return base::Exposure{.reach = base::Reach::of(*region),
                          .alias = data,
                          .data = data,
                          .bytes = bytes,
                          .access = base::Access::write};
}

}  // namespace weft::link
