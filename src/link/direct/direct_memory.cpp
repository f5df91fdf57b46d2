// SPDX-License-Identifier: BSD-3-Clause
#include "link/direct/direct_memory.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <utility>

#include "base/copy.hpp"

namespace weft::link {
namespace {

/// Copies all bytes. Returns false at a page that the kernel cannot access.
bool copy_all(decltype(&::process_vm_readv) copy, pid_t pid, std::byte* here, std::uint64_t there,
              std::uint64_t bytes) {
    while (bytes > 0) {
        const iovec local{here, bytes};
        const iovec remote{reinterpret_cast<void*>(there), bytes};
        const ssize_t copied = copy(pid, &local, 1, &remote, 1, 0);
        if (copied < 0 && errno == EINTR) continue;
        if (copied <= 0) return false;
        here += copied;
        there += static_cast<std::uint64_t>(copied);
        bytes -= static_cast<std::uint64_t>(copied);
    }
    return true;
}

/// Bytes that are copied at once through the staging memory. They stay in the core's own cache.
constexpr std::size_t kStagingBytes = 8 * kPageBytes;

/// Returns the limits with defaults filled in. options.processes includes the calling rank's.
AdoptionLimits limits_of(const DirectOptions& options) {
    AdoptionLimits limits = options.limits;
    const auto local = std::ranges::count_if(options.processes, [](pid_t pid) { return pid != 0; });
    limits.peers = static_cast<std::uint32_t>(std::max<std::ptrdiff_t>(local - 1, 1));
    if (limits.bytes_max != 0) return limits;
    limits.bytes_max = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * kPageBytes / 4 /
                       static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(local, 1));
    return limits;
}

}  // namespace

DirectMemory::DirectMemory(DirectOptions options)
    : options_(std::move(options)),
      remapped_(options_.mode, limits_of(options_)),
      bounce_(options_.mode == DirectMode::copy ? std::span<std::byte>() : options_.bounce),
      windows_(options_.limits.prices) {}

void DirectMemory::allow_copying() noexcept {
    // Without Yama the call fails, and copies are not restricted.
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

base::Exposure DirectMemory::expose(std::byte* data, std::uint64_t bytes, base::Access access,
                                    const base::Copies& copies) noexcept {
    base::Exposure exposure{.alias = data, .data = data, .bytes = bytes, .access = access};
    exposure.reach.address = reinterpret_cast<std::uintptr_t>(data);
    const AdoptionPrices& prices = options_.limits.prices;
    const std::uint64_t copies_ns = prices.cost_of_copies(copies);
    const std::uint64_t bounce_ns = prices.cost_of_bounce(bytes, access);
    // Peers copy at the same time, so the elapsed time is less than the sum of their copies. A
    // bounced buffer is copied by its owner alone.
    const std::uint64_t elapsed_ns = copies_ns / std::min(copies.at_once, options_.processors);
    const bool bounces =
        !copies.read_once && bytes <= bounce_.bytes_max() && bounce_ns < elapsed_ns;
    if (remapped_.expose(exposure, copies, bounces ? bounce_ns : copies_ns)) return exposure;
    if (bounces) bounce(exposure);
    return exposure;
}

/// Copies the buffer to the bounce area. Leaves the exposure unchanged if the area has no space.
void DirectMemory::bounce(base::Exposure& exposure) noexcept {
    std::byte* const piece = bounce_.take(exposure.bytes);
    if (piece == nullptr) return;
    // unexpose() copies all bytes back, so bytes that no rank writes must have their old values.
    if (exposure.access != base::Access::overwrite)
        base::copy_bytes(piece, exposure.data, exposure.bytes);
    exposure.alias = piece;
    exposure.reach.address = reinterpret_cast<std::uintptr_t>(piece);
    exposure.reach.offset = static_cast<std::uint64_t>(piece - options_.segment);
    exposure.reach.method = base::AccessMethod::bounced;
    // With room for the next call's buffer, the owner may start this call while peers still read.
    exposure.separate_copy =
        exposure.access == base::Access::read && bounce_.has_room(exposure.bytes);
}

void DirectMemory::unexpose(const base::Exposure& exposure) noexcept {
    if (exposure.reach.method == base::AccessMethod::remapped) remapped_.unexpose(exposure);
    if (exposure.reach.method != base::AccessMethod::bounced) return;
    if (exposure.access != base::Access::read)
        base::copy_bytes(exposure.data, exposure.alias, exposure.bytes);
    bounce_.give_back(exposure.alias);
}

void DirectMemory::revoke(const base::Exposure& exposure) noexcept {
    // The piece of a bounced buffer is not freed: peers may still write to it.
    if (exposure.reach.method == base::AccessMethod::remapped) remapped_.revoke(exposure);
}

std::byte* DirectMemory::map(Rank peer, const base::Reach& reach, std::uint64_t bytes) noexcept {
    const pid_t pid = options_.processes[peer];
    if (reach.method != base::AccessMethod::remapped || pid == 0) return nullptr;
    std::byte* const object = windows_.find(peer, pid, reach, bytes);
    return object == nullptr ? nullptr : object + reach.offset;
}

/// Returns kStagingBytes of memory at the same offset within a page as `address`. Returns nullptr
/// if no memory can be allocated, or if a direct copy is fast: the kernel's copies are slow at the
/// smaller half of the distances that base/copy.hpp lists.
std::byte* DirectMemory::staging_for(std::uint64_t address, std::uint64_t distance,
                                     std::uint64_t bytes) noexcept {
    constexpr std::size_t kSlowMax = 31;
    if (bytes <= base::kRegisterCopyMax || base::page_distance(distance, 1) >= kSlowMax ||
        !base::has_slow_distances())
        return nullptr;
    if (staging_ == nullptr)
        staging_.reset(new (std::nothrow) std::byte[kStagingBytes + kPageBytes]);
    if (staging_ == nullptr) return nullptr;
    const auto start = reinterpret_cast<std::uintptr_t>(staging_.get());
    return staging_.get() + base::page_distance(address, start);
}

/// Copies to or from `address` in the peer, through staging memory if a direct copy would be slow.
bool DirectMemory::copy(Copy call, Rank peer, std::uint64_t address, std::byte* local,
                        std::uint64_t bytes) noexcept {
    const pid_t pid = options_.processes[peer];
    if (pid == 0) return false;
    const bool reads = call == &::process_vm_readv;
    const auto own = reinterpret_cast<std::uintptr_t>(local);
    std::byte* const staging = staging_for(address, reads ? own - address : address - own, bytes);
    if (staging == nullptr) return copy_all(call, pid, local, address, bytes);
    for (std::uint64_t at = 0; at < bytes; at += kStagingBytes) {
        const std::uint64_t size = std::min<std::uint64_t>(kStagingBytes, bytes - at);
        if (!reads) base::copy_bytes(staging, local + at, size);
        if (!copy_all(call, pid, staging, address + at, size)) return false;
        if (reads) base::copy_bytes(local + at, staging, size);
    }
    return true;
}

bool DirectMemory::can_copy(pid_t pid, const void* address, std::uint64_t expected) noexcept {
    std::uint64_t found = ~expected;
    return copy_all(&::process_vm_readv, pid, reinterpret_cast<std::byte*>(&found),
                    reinterpret_cast<std::uintptr_t>(address), sizeof found) &&
           found == expected;
}

}  // namespace weft::link
