// SPDX-License-Identifier: BSD-3-Clause
// exposed_memory.hpp - memory that other ranks access in place, on the node or over the network.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/reach.hpp"
#include "base/result.hpp"
#include "link/direct/direct_memory.hpp"
#include "link/fabric/fabric.hpp"

namespace weft::link {

class ExposedMemory {
  public:
    /// See Wire. `segments` must outlive this object.
    ExposedMemory(std::span<std::byte* const> segments, Rank rank, std::uint64_t segment_bytes,
                  FabricPort* port, std::unique_ptr<DirectMemory> direct)
        : segments_(segments),
          own_(segments[rank]),
          segment_bytes_(segment_bytes),
          port_(port),
          direct_(std::move(direct)) {}

    /// Makes memory accessible to local peers. `bytes`: size of a buffer that belongs to the call;
    /// 0: parts of it do not, so it is neither remapped nor bounced. `copies` describes the copies
    /// that the kernel makes if peers cannot map the buffer.
    [[nodiscard]] base::Exposure expose(std::byte* data, std::uint64_t bytes, base::Access access,
                                        const base::Copies& copies) noexcept {
        base::Exposure exposure{.alias = data, .data = data, .bytes = bytes, .access = access};
        exposure.reach.address = reinterpret_cast<std::uintptr_t>(data);
        if (in_segment(data)) {
            exposure.reach.method = base::AccessMethod::segment;
            exposure.reach.offset = static_cast<std::uint64_t>(data - own_);
            return exposure;
        }
        if (direct_ == nullptr || bytes == 0) return exposure;
        return direct_->expose(data, bytes, access, copies);
    }
    /// Makes memory accessible to puts of remote ranks until unexpose(). Requires a port.
    base::Result<base::Exposure> expose_far(std::byte* data, std::uint64_t bytes) noexcept {
        if (in_segment(data)) {
            const base::Exposure exposure = expose(data, 0, base::Access::write, {});
            WEFT_TRY(use_memory(exposure.reach.offset, bytes));
            return exposure;
        }
        if (port_->facts().notify.large == Notify::counter)
            return base::fail(
                Status::unsupported,
                "WEFT_NOTIFY=counter counts only puts to the segment, not to a buffer");
        const auto region = WEFT_TRY(port_->expose({data, bytes}));
        return base::Exposure{.reach = base::Reach::of(region),
                              .alias = data,
                              .data = data,
                              .bytes = bytes,
                              .access = base::Access::write};
    }
    void unexpose(const base::Exposure& exposure) noexcept {
        if (exposure.reach.method == base::AccessMethod::registered)
            port_->unexpose(exposure.reach.region());
        else if (direct_ != nullptr)
            direct_->unexpose(exposure);
    }
    /// Revokes the access of local peers. Registered memory stays registered, because a put to
    /// unregistered memory would break the peer's connection.
    void revoke(const base::Exposure& exposure) noexcept {
        if (exposure.reach.method != base::AccessMethod::registered && direct_ != nullptr)
            direct_->revoke(exposure);
    }
    /// Returns the address of exposed memory in this process, or nullptr if only the kernel can
    /// copy it. The caller has checked `reach`, which the owner sent.
    [[nodiscard]] std::byte* reach(Rank rank, const base::Reach& reach,
                                   std::uint64_t bytes) noexcept {
        if (reach.method == base::AccessMethod::segment ||
            reach.method == base::AccessMethod::bounced)
            return segments_[rank] + reach.offset;
        return direct_ != nullptr ? direct_->map(rank, reach, bytes) : nullptr;
    }
    /// Have the kernel copy from or to exposed memory. Return false and set errno if it refuses.
    [[nodiscard]] bool copy_from(Rank rank, const base::Reach& reach, std::byte* to,
                                 std::uint64_t bytes) noexcept {
        return direct_ != nullptr && direct_->read(rank, reach.address, to, bytes);
    }
    [[nodiscard]] bool copy_to(Rank rank, const base::Reach& reach, const std::byte* from,
                               std::uint64_t bytes) noexcept {
        return direct_ != nullptr && direct_->write(rank, reach.address, from, bytes);
    }
    [[nodiscard]] const DirectMemory* direct() const noexcept { return direct_.get(); }

    /// Makes a part of the segment accessible to remote ranks; see FabricPort.
    base::Result<void> use_memory(std::uint64_t offset, std::uint64_t bytes) {
        return port_ != nullptr ? port_->use_memory(offset, bytes) : base::Result<void>();
    }
    /// Registers memory outside the segment, for accesses of remote ranks with Put::region and
    /// Read::region. Without a network, the result has 0 bytes.
    base::Result<base::RemoteRegion> register_memory(std::span<std::byte> memory) {
        if (port_ == nullptr) return base::RemoteRegion{};
        return port_->expose(memory);
    }
    void unregister_memory(const base::RemoteRegion& region) noexcept {
        if (port_ != nullptr && region.bytes != 0) port_->unexpose(region);
    }

  private:
    [[nodiscard]] bool in_segment(const std::byte* data) const noexcept {
        return data >= own_ && data < own_ + segment_bytes_;
    }

    std::span<std::byte* const> segments_;
    std::byte* own_;
    std::uint64_t segment_bytes_;
    FabricPort* port_;
    std::unique_ptr<DirectMemory> direct_;
};

}  // namespace weft::link
