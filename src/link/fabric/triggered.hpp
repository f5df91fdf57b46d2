// SPDX-License-Identifier: BSD-3-Clause
// triggered.hpp - writes that start by themselves when a counter has reached a number.
//
// Idea     An endpoint of its own beside the job's port, with libfabric's triggered operations and
//          a progress of its own: once operations are queued, card or provider runs them without
//          this rank. What peers write is counted by the key that they name: each counter has a
//          registration of the same memory.
// Why      Apart from the port, so that ordinary calls pay for none of it, and ask for no
//          capability that slows them down.
// Holds    One thread drives it. Counters only grow. Operations are kept until the second
//          next begin().
// Next     plan/offload for what is queued; triggered_port.cpp for libfabric's side;
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
    Type type = Type::int64;  ///< of what is combined
    Op op = Op::sum;
};

struct TriggeredFacts {
    std::string provider;
    std::string version;
    std::size_t write_bytes_max = 0;
    std::size_t combine_bytes_max = 0;  ///< 0: not asked for
};

/// One write, as the provider gets it.
struct TriggeredOperation {
    Rank peer = 0;  ///< may be this rank
    bool combine = false;
    std::uint64_t source = 0;  ///< offset in this rank's memory
    std::uint64_t target = 0;  ///< offset in the peer's memory
    std::uint64_t bytes = 0;
    std::uint32_t counted = 0;    ///< counter of the peer that counts its landing
    std::uint32_t trigger = 0;    ///< counter here that starts it,
    std::uint64_t threshold = 0;  ///< once it has reached this
    std::uint32_t completes = 0;  ///< counter here that counts its completion
};

class TriggeredPort {
  public:
    virtual ~TriggeredPort() = default;

    [[nodiscard]] virtual const TriggeredFacts& facts() const = 0;
    /// Registers the memory under so many counters, for peers and for this rank. Once. A counter
    /// counts what lands under it, and the completions that name it.
    [[nodiscard]] virtual base::Result<void> expose(std::span<std::byte> memory,
                                                    std::uint32_t counters) = 0;
    /// What peers need; after expose(). Opaque.
    [[nodiscard]] virtual std::span<const std::byte> address() const = 0;
    [[nodiscard]] virtual base::Result<void> set_peer(Rank rank,
                                                      std::span<const std::byte> address) = 0;
    /// Connects to a peer, which has to be there: queued operations must not have to. Waits.
    [[nodiscard]] virtual base::Result<void> connect(Rank rank) = 0;

    /// The call before the last one has ended: what was queued for it may be forgotten.
    virtual void begin() noexcept = 0;
    [[nodiscard]] virtual base::Result<void> queue(const TriggeredOperation& operation) = 0;
    [[nodiscard]] virtual std::uint64_t count(std::uint32_t counter) noexcept = 0;
    /// Operations that failed so far.
    [[nodiscard]] virtual std::uint64_t failures(std::uint32_t counter) noexcept = 0;
};

/// Status::unsupported with the reason if the provider has no triggered operations that run
/// without this rank, or does not combine such elements so.
[[nodiscard]] base::Result<std::unique_ptr<TriggeredPort>> open_triggered(
    const TriggeredOptions& options);
/// Loads weft_fabric.so, as load_port() does, and calls its open_triggered().
[[nodiscard]] base::Result<std::unique_ptr<TriggeredPort>> load_triggered(
    const TriggeredOptions& options);

}  // namespace weft::link
