// SPDX-License-Identifier: BSD-3-Clause
// triggered.hpp - writes that start without this rank when a counter has reached a number.
//
// Idea     An endpoint separate from the job's port, with libfabric's triggered operations and
//          automatic progress. NIC or provider run queued operations without this rank. Each
//          counter has a registration of the same memory, and counts writes with the key of this
//          registration.
// Why      The endpoint is separate, because its capabilities may slow down the writes of an
//          endpoint, and ordinary calls do not need them.
// Holds    One thread drives a triggered port. Counters only grow. Queued operations are kept until
//          the second begin() after them.
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
    FabricOptions fabric;     ///< `provider` must not be empty
    bool combines = false;    ///< operations may combine elements; `type` and `op` then apply
    Type type = Type::int64;  ///< type of the combined elements
    Op op = Op::sum;
};

struct TriggeredFacts {
    std::string provider;
    std::string version;
    std::size_t write_bytes_max = 0;
    std::size_t combine_bytes_max = 0;  ///< 0: TriggeredOptions::combines is false
};

/// One write for the provider.
struct TriggeredOperation {
    Rank peer = 0;             ///< may be this rank
    bool combine = false;      ///< combines source and target instead of overwriting the target
    std::uint64_t source = 0;  ///< offset in this rank's memory
    std::uint64_t target = 0;  ///< offset in the peer's memory
    std::uint64_t bytes = 0;
    std::uint32_t counted = 0;    ///< the peer's counter that counts the delivery
    std::uint32_t trigger = 0;    ///< this rank's counter that starts the operation
    std::uint64_t threshold = 0;  ///< value of `trigger` that starts the operation
    std::uint32_t completes = 0;  ///< this rank's counter that counts the completion
};

class TriggeredPort {
  public:
    virtual ~TriggeredPort() = default;

    [[nodiscard]] virtual const TriggeredFacts& facts() const = 0;
    /// Opens `counters` counters, and registers the memory for each of them. Call once. A counter
    /// counts deliveries with its key, and completions of operations whose `completes` names it.
    [[nodiscard]] virtual base::Result<void> expose(std::span<std::byte> memory,
                                                    std::uint32_t counters) = 0;
    /// Returns this port's card, which peers pass to set_peer(). Valid after expose().
    [[nodiscard]] virtual std::span<const std::byte> address() const = 0;
    [[nodiscard]] virtual base::Result<void> set_peer(Rank rank,
                                                      std::span<const std::byte> address) = 0;
    /// Connects to a peer and waits up to 20 s for it, because queued operations cannot wait for a
    /// connection. The peer must call connect() at the same time.
    [[nodiscard]] virtual base::Result<void> connect(Rank rank) = 0;

    /// Begins a call. Frees the operations of the call before the previous one, which must have
    /// ended.
    virtual void begin() noexcept = 0;
    [[nodiscard]] virtual base::Result<void> queue(const TriggeredOperation& operation) = 0;
    /// Returns the value of a counter of this rank.
    [[nodiscard]] virtual std::uint64_t count(std::uint32_t counter) noexcept = 0;
    /// Returns the number of failed operations that a counter would have counted.
    [[nodiscard]] virtual std::uint64_t failures(std::uint32_t counter) noexcept = 0;
};

/// Opens the endpoint. Fails with Status::unsupported, and the reason, if the provider has no
/// triggered operations that run without this rank, or cannot combine elements of the type.
[[nodiscard]] base::Result<std::unique_ptr<TriggeredPort>> open_triggered(
    const TriggeredOptions& options);
/// Loads weft_fabric.so, as load_port() does, and calls its open_triggered().
[[nodiscard]] base::Result<std::unique_ptr<TriggeredPort>> load_triggered(
    const TriggeredOptions& options);

}  // namespace weft::link
