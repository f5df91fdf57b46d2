// SPDX-License-Identifier: BSD-3-Clause
// triggered.hpp - writes that start without this rank when a counter has reached a number.
//
// Idea     An endpoint separate from the job's port, with libfabric's triggered operations and its
//          own progress. NIC or provider run queued operations without this rank. Writes of peers
//          are counted by their keys: each counter has a registration of the same memory.
// Why      The endpoint is separate so that ordinary calls pay nothing, and request no capability
//          that slows them down.
// Holds    One thread drives it. Counters only grow. Operations are kept until the second
//          begin() after them.
// Next     plan/offload for the operations; triggered_port.cpp for libfabric's side;
//          docs/offload.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "link/fabric/fabric.hpp"

namespace weft::link {

struct TriggeredOptions {
    FabricOptions fabric;  ///< its provider must be named
    bool combines = false;
    Type type = Type::int64;  ///< of the combined elements
    Op op = Op::sum;
};

struct TriggeredFacts {
    std::string provider;
    std::string version;
    std::size_t write_bytes_max = 0;
    std::size_t combine_bytes_max = 0;  ///< 0: not requested
};

/// One write for the provider.
struct TriggeredOperation {
    Rank peer = 0;  ///< may be this rank
    bool combine = false;
    std::uint64_t source = 0;  ///< offset in this rank's memory
    std::uint64_t target = 0;  ///< offset in the peer's memory
    std::uint64_t bytes = 0;
    std::uint32_t counted = 0;    ///< the peer's counter that counts its delivery
    std::uint32_t trigger = 0;    ///< counter here that starts it
    std::uint64_t threshold = 0;  ///< value of `trigger` that starts it
    std::uint32_t completes = 0;  ///< counter here that counts its completion
};

class TriggeredPort {
  public:
    virtual ~TriggeredPort() = default;

    [[nodiscard]] virtual const TriggeredFacts& facts() const = 0;
    /// Registers the memory under `counters` counters, for peers and for this rank. Call once. A
    /// counter counts deliveries under its key, and completions that name it.
    [[nodiscard]] virtual base::Result<void> expose(std::span<std::byte> memory,
                                                    std::uint32_t counters) = 0;
    /// Returns the data that peers need. Valid after expose(). Opaque.
    [[nodiscard]] virtual std::span<const std::byte> address() const = 0;
    [[nodiscard]] virtual base::Result<void> set_peer(Rank rank,
                                                      std::span<const std::byte> address) = 0;
    /// Connects to a peer and waits for it, because queued operations cannot wait. The peer must
    /// also be connecting.
    [[nodiscard]] virtual base::Result<void> connect(Rank rank) = 0;

    /// Begins a call. Operations of the call before the last one may be forgotten.
    virtual void begin() noexcept = 0;
    [[nodiscard]] virtual base::Result<void> queue(const TriggeredOperation& operation) = 0;
    [[nodiscard]] virtual std::uint64_t count(std::uint32_t counter) noexcept = 0;
    /// Returns the number of failed operations.
    [[nodiscard]] virtual std::uint64_t failures(std::uint32_t counter) noexcept = 0;
};

/// Opens the endpoint. Returns Status::unsupported, with the reason, if the provider has no
/// triggered operations that run without this rank, or cannot combine such elements.
[[nodiscard]] base::Result<std::unique_ptr<TriggeredPort>> open_triggered(
    const TriggeredOptions& options);
/// Loads weft_fabric.so, as load_port() does, and calls its open_triggered().
[[nodiscard]] base::Result<std::unique_ptr<TriggeredPort>> load_triggered(
    const TriggeredOptions& options);

}  // namespace weft::link
