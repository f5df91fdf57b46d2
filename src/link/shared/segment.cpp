// SPDX-License-Identifier: BSD-3-Clause
#include "link/shared/segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include "base/log.hpp"
#include "base/random.hpp"
#include "base/units.hpp"

namespace weft::link {
namespace {

constexpr std::uint64_t kCardKind = 0x7765'6674'6361'7231;  // "weftcar1"
constexpr std::uint64_t kPageBytes = 4096;
constexpr std::size_t kReserveProbeBytes = std::size_t{1} << 40;  ///< tried for free_bases

std::uint64_t hash_of(std::string_view text) noexcept {
    std::uint64_t hash = text.size();
    for (const char character : text)
        hash = base::mix(hash ^ static_cast<unsigned char>(character)) + 0x9e3779b97f4a7c15U;
    return hash;
}

/// Returns the kernel's random id of this boot, or the host's name if /proc has no such file. Two
/// hosts may have equal names; then inode and nonce show that their segments are different.
std::string boot_identity() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    return std::getline(file, id) ? id : "host " + base::host_name();
}

std::string pid_namespace_identity() {
    struct stat status;
    if (::stat("/proc/self/ns/pid", &status) != 0) return "host " + base::host_name();
    return fmt::format("{}:{}", status.st_dev, status.st_ino);
}

/// Returns the bits of SegmentCard::free_bases.
std::uint32_t free_common_bases() noexcept {
    std::uint32_t bits = 0;
    for (int k = 0; k < kCommonBases; ++k) {
        const AddressRange range = reserve_addresses(kReserveProbeBytes, common_base(k));
        if (range.start() != nullptr) bits |= std::uint32_t{1} << k;
    }
    return bits;
}

/// Returns the failure of a system call on a segment of `bytes` bytes, from errno.
base::Failure failure_of(const char* call, std::uint64_t bytes) {
    const int error = errno;
    return base::fail(error == ENOMEM || error == EFBIG ? Status::memory : Status::environment,
                      "segment of {}: {}: {}", base::format_bytes(bytes), call,
                      std::strerror(error));
}

/// Fails if the limit on file sizes (RLIMIT_FSIZE), which includes memfds, is below `bytes`.
/// Without this check, SIGXFSZ would end the process.
base::Result<void> check_file_limit(std::uint64_t bytes) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        bytes <= limit.rlim_cur)
        return base::Done{};
    return base::fail(Status::memory,
                      "segment of {}: it is a file in memory, and files may have {} at most; raise "
                      "the limit (ulimit -f), or make WEFT_HEAP_SIZE smaller",
                      base::format_bytes(bytes), base::format_bytes(limit.rlim_cur));
}

}  // namespace

base::Result<SegmentCard> SegmentCard::from_bytes(std::span<const std::byte> bytes) {
    SegmentCard card;
    if (bytes.size() != sizeof card)
        return base::fail(Status::argument, "segment card: found {} bytes, expected {}",
                          bytes.size(), sizeof card);
    std::memcpy(&card, bytes.data(), sizeof card);
    if (card.kind != kCardKind)
        return base::fail(Status::argument, "segment card: found kind {:#x}, expected {:#x}",
                          card.kind, kCardKind);
    return card;
}

base::Result<Segment> Segment::create(SegmentOptions options) {
    constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 46;
    if (options.bytes <= kSegmentHeaderBytes || options.bytes > kBytesMax)
        return base::fail(Status::argument, "segment bytes: found {}, expected {} to {}",
                          options.bytes, kSegmentHeaderBytes + 1, kBytesMax);
    const std::uint64_t bytes = (options.bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    WEFT_TRY(check_file_limit(bytes));
    auto nonce = WEFT_TRY(base::system_entropy());

    base::FileDescriptor file(open_memory_object("weft-segment"));
    if (!file.open()) return failure_of("memfd_create", bytes);
    if (::ftruncate(file.number(), static_cast<off_t>(bytes)) != 0)
        return failure_of("ftruncate", bytes);
    if (::fcntl(file.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return failure_of("fcntl(F_ADD_SEALS)", bytes);
    const SegmentHeader header{.nonce = nonce, .bytes = bytes};
    if (::pwrite(file.number(), &header, sizeof header, 0) != sizeof header)
        return failure_of("writing the header", bytes);
    struct stat status;
    if (::fstat(file.number(), &status) != 0) return failure_of("fstat", bytes);

    const std::string boot = boot_identity();
    SegmentCard card;
    card.kind = kCardKind;
    card.boot = hash_of(boot);
    card.host = hash_of(boot + pid_namespace_identity());
    card.inode = status.st_ino;
    card.nonce = nonce;
    card.bytes = bytes;
    card.pid = ::getpid();
    card.descriptor = file.number();
    card.node = options.node;
    card.free_bases = free_common_bases();
    return Segment(std::move(file), card);
}

}  // namespace weft::link
