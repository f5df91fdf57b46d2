// SPDX-License-Identifier: BSD-3-Clause
// raw_endpoint.hpp - an endpoint of libfabric without a port, to observe a provider's behavior.
//
// Idea     The memory of both ranks is one shared mapping, so an origin can read its target's
//          memory at the moment of a completion. The endpoint is opened on the same offer as a
//          port, with the same hints.
// Holds    One thread uses an endpoint. Each wait has a deadline, after which it throws.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "perf/micro/bare_endpoint.hpp"

namespace weft::test {

class RawEndpoint : private micro::BareEndpoint {
  public:
    /// Throws std::runtime_error if libfabric refuses a call.
    RawEndpoint(const link::FabricOptions& options, const link::Profile& profile,
                std::span<std::byte> memory);

    using Address = micro::BareAddress;
    using BareEndpoint::address;
    using BareEndpoint::connect;

    struct Write {
        std::size_t from = 0;  ///< offset in the local memory
        std::size_t bytes = 0;
        std::size_t to = 0;       ///< offset in the peer's memory
        std::uint64_t flags = 0;  ///< flags of fi_writemsg()
        std::uint64_t data = 0;   ///< immediate
    };
    /// Tries once. Returns false if no context is free or libfabric returns FI_EAGAIN.
    [[nodiscard]] bool try_write(const Write& write);
    /// Tries until the write is accepted, and polls between tries.
    void write(const Write& write);
    void poll();
    /// Polls until the condition holds.
    void until(const std::function<bool()>& condition, std::string_view what);
    /// Polls until the condition holds or the time has passed. Returns true if the condition held.
    [[nodiscard]] bool within(std::chrono::milliseconds time,
                              const std::function<bool()>& condition);

    std::uint64_t posted = 0;     ///< number of writes
    std::uint64_t completed = 0;  ///< number of completions of writes
    std::uint64_t arrived = 0;    ///< number of received immediates
    std::uint64_t last_data = 0;  ///< last received immediate
    std::uint64_t stray = 0;      ///< number of other completions
    [[nodiscard]] const link::Found& found() const { return found_; }

  private:
    void read_error();

    std::vector<fi_context2> contexts_;
    std::vector<fi_context2*> free_;  ///< libfabric owns a context until its completion
    void* desc_ = nullptr;
};

}  // namespace weft::test
