// SPDX-License-Identifier: BSD-3-Clause
// fit_memory.cpp - memory measurements of `weft fit`: a rank's own memory, and buffers that two
// ranks of a node copy from each other.
//
// Next     fit_measure.cpp for puts.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/copy.hpp"
#include "link/direct/direct_memory.hpp"
#include "run/team/choice.hpp"
#include "tools/cli/fit.hpp"
#include "tools/measure/fresh_buffers.hpp"

namespace weft::tools {

namespace {

// Sizes of the measured buffers.
constexpr std::array<std::size_t, 4> kCopiedBytes{32768, 65536, 131072, 262144};
constexpr std::array<std::size_t, 4> kAdoptedPages{8, 32, 64, 128};
constexpr std::size_t kUnpackedBytes = std::size_t{256} << 10;
constexpr std::size_t kLastCacheBytes = std::size_t{32} << 20;  ///< size if it is unknown
constexpr std::size_t kLastCacheMax = std::size_t{128} << 20;   ///< larger caches count as this

/// Copies pieces of two buffers in rotation. Each buffer is as large as the last cache, so the
/// pieces are in no cache.
double unpack_ns_per_byte(int repetitions) {
    const long cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
    const std::size_t known = cache > 0 ? static_cast<std::size_t>(cache) : kLastCacheBytes;
    const std::size_t pieces =
        std::max<std::size_t>(2, std::min(known, kLastCacheMax) / kUnpackedBytes);
    const std::vector<std::byte> from(pieces * kUnpackedBytes, std::byte{1});
    std::vector<std::byte> to(from.size(), std::byte{2});
    std::size_t next = 0;
    const double us = median_us(repetitions, [&] {
        const std::size_t at = next++ % pieces * kUnpackedBytes;
        base::copy_bytes(to.data() + at, from.data() + at, kUnpackedBytes);
    });
    return us * 1000 / kUnpackedBytes;
}

/// Measures the sum of two arrays of doubles that fit a cache.
double reduce_ns_per_byte() {
    constexpr std::size_t kElements = 4096;
    constexpr int kRounds = 200;
    const run::ReduceFn add = run::best_kernels().kernel(Type::float64, Op::sum);
    std::vector<double> sum(kElements, 1.0);
    const std::vector<double> other(kElements, 1.0);
    const double us =
        median_us(kRounds, [&] { add(sum.data(), sum.data(), other.data(), kElements); });
    return us * 1000 / (kElements * sizeof(double));
}

/// Returns options for a process that is its own local peer.
link::DirectOptions own_peer() {
    link::DirectOptions options;
    options.processes = {::getpid()};
    options.mode = link::DirectMode::adopt;
    return options;
}

/// Measures the time to remap ("adopt") a buffer, and to map a remapped buffer. The process is its
/// own local peer: it exposes the buffer and then maps it.
class AdoptionProbe {
  public:
    AdoptionProbe() : direct_(own_peer()) {}

    struct Times {
        double adopt_us = 0;   ///< time of the owner to remap the buffer
        double window_us = 0;  ///< time of the peer to map the buffer and read each page once
    };
    /// Measures a buffer that was not exposed before; returns nothing if it is not remapped.
    [[nodiscard]] std::optional<Times> time(std::span<std::byte> buffer) {
        std::uint64_t begin = base::monotonic_ns();
        const base::Exposure exposure =
            direct_.expose(buffer.data(), buffer.size(), base::Access::read);
        Times times{.adopt_us = elapsed_us(begin)};
        begin = base::monotonic_ns();
        const volatile std::byte* const seen = direct_.map(0, exposure.reach, buffer.size());
        if (seen != nullptr)
            for (std::size_t at = 0; at < buffer.size(); at += link::kPageBytes)
                static_cast<void>(seen[at]);
        times.window_us = elapsed_us(begin);
        const bool remapped = exposure.reach.method == base::AccessMethod::remapped;
        direct_.unexpose(exposure);
        if (!remapped || seen == nullptr) return std::nullopt;
        return times;
    }

    /// Exposes and unexposes a buffer.
    void expose(std::span<std::byte> buffer) {
        direct_.unexpose(direct_.expose(buffer.data(), buffer.size(), base::Access::read));
    }

  private:
    link::DirectMemory direct_;
};

}  // namespace

std::optional<NearCopies> MemoryMeasure::copies() {
    std::optional<NearCopies> found;
    const std::vector<Rank>& peers = ranks_.local_peers();
    ranks_.with_pair(peers.empty() ? std::nullopt : std::optional(peers.front()),
                     [&](Team pair) { found = copies_of(pair); });
    return found;
}

/// Measures copies of ordinary buffers, which the first calls remap. If buffers are not remapped,
/// measures copies of symmetric memory, which is always mapped.
std::optional<NearCopies> MemoryMeasure::copies_of(Team pair) {
    constexpr int kCallsUntilAdopted = 64;
    pair.set_algorithm("broadcast", "mapped");
    pair.set_algorithm("reduce", "mapped");
    const auto broadcast = [&](std::byte* buffer, std::size_t bytes) {
        pair.broadcast(buffer, bytes, Type::uint8, 0);
    };
    const auto reduce = [&](std::byte* buffer, std::size_t bytes) {
        pair.reduce(buffer, buffer + kCopiedBytes.back(), bytes / sizeof(double), Type::float64,
                    Op::sum, 0);
    };
    try {
        NearCopies found;
        found.expose_us = expose_us(kCopiedBytes.back());
        own_.resize(2 * kCopiedBytes.back());
        const Memory mapped(pair, own_.size());
        std::memset(mapped.data(), 0, own_.size());
        std::byte* const buffer =
            found.expose_us ? own_.data() : static_cast<std::byte*>(mapped.data());
        for (int i = 0; i < kCallsUntilAdopted; ++i) {
            broadcast(buffer, kCopiedBytes.back());
            reduce(buffer, kCopiedBytes.back());
        }
        const auto same = [&](std::size_t) { return buffer; };
        const auto job = [&](std::size_t) { return static_cast<std::byte*>(mapped.data()); };
        found.of_job = measure_copies(pair, job, broadcast);
        found.in_place = measure_copies(pair, same, broadcast);
        found.reduced = measure_copies(pair, same, reduce);
        std::optional<lab::FreshBuffers> fresh;
        found.by_kernel = measure_copies(
            pair,
            [&](std::size_t bytes) {
                if (!fresh || fresh->bytes() != bytes) fresh.emplace(bytes);
                fresh->supply(1);
                fresh->next();
                return fresh->data();
            },
            broadcast);
        return found;
    } catch (const Error& error) {
        if (error.status() != Status::unsupported) throw;
        return std::nullopt;  // on both ranks
    }
}

/// Returns the time to expose a remapped buffer; nothing if buffers are not remapped.
std::optional<double> MemoryMeasure::expose_us(std::size_t bytes) {
    AdoptionProbe probe;
    exposed_.resize(bytes);
    if (!probe.time(exposed_)) return std::nullopt;
    return median_us(repetitions_, [&] { probe.expose(exposed_); });
}

OwnMemory MemoryMeasure::own_memory() {
    OwnMemory found;
    const long cache = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
    if (cache > 0) found.cache_bytes = static_cast<std::size_t>(cache);
    ranks_.while_others_sleep({}, [&] {
        const auto copy_us = [&](std::size_t bytes) {
            const std::vector<std::byte> from(bytes, std::byte{1});
            std::vector<std::byte> to(bytes);
            return median_us(repetitions_,
                             [&] { base::copy_bytes(to.data(), from.data(), bytes); });
        };
        const std::size_t cached = found.cache_bytes / 16;
        found.copy_ns_per_byte = copy_us(cached) * 1000 / static_cast<double>(cached);
        // Reads and writes four times the size of the cache, which has one of the four parts.
        const std::size_t beyond = found.cache_bytes * 2;
        const double cold_ns =
            copy_us(beyond) * 1000 - found.copy_ns_per_byte * static_cast<double>(beyond);
        found.cold_ns_per_byte = cold_ns / static_cast<double>(2 * beyond - found.cache_bytes);
        found.unpack_ns_per_byte = unpack_ns_per_byte(repetitions_);
        found.reduce_ns_per_byte = reduce_ns_per_byte();
    });
    return found;
}

/// Times call(buffer, bytes) with the buffers of next(bytes). A low percentile is the time of calls
/// without polls of the network, which are slow and exist only in jobs of several nodes.
lab::Points MemoryMeasure::measure_copies(
    Team pair, const std::function<std::byte*(std::size_t)>& next,
    const std::function<void(std::byte*, std::size_t)>& call) const {
    lab::Points points;
    for (const std::size_t bytes : kCopiedBytes) {
        std::byte* buffer = nullptr;
        const std::vector<double> times = times_us(
            repetitions_, [&] { call(buffer, bytes); },
            [&] {
                buffer = next(bytes);
                pair.barrier();
            });
        points.push_back({static_cast<double>(bytes), lab::percentile(times, kUndisturbed)});
    }
    return points;
}

std::optional<Adoption> MemoryMeasure::adoption() {
    // More buffers are not remapped at the same time.
    constexpr int kBuffersMax = 32;
    std::optional<Adoption> found;
    ranks_.while_others_sleep({}, [&] {
        AdoptionProbe probe;
        Adoption measured;
        for (const std::size_t pages : kAdoptedPages) {
            lab::FreshBuffers fresh((pages + 1) * link::kPageBytes);  // its first page is partial
            std::vector<double> adopted;
            std::vector<double> mapped;
            for (int i = 0; i < std::min(kBuffersMax, repetitions_); ++i) {
                fresh.supply(1);
                fresh.next();
                std::memset(fresh.data(), 1, fresh.bytes());
                const auto times = probe.time({fresh.data(), fresh.bytes()});
                if (!times) return;
                adopted.push_back(times->adopt_us);
                mapped.push_back(times->window_us);
            }
            measured.adopt.push_back({static_cast<double>(pages), lab::median(adopted)});
            measured.window.push_back({static_cast<double>(pages), lab::median(mapped)});
        }
        found = std::move(measured);
    });
    return found;
}

}  // namespace weft::tools
