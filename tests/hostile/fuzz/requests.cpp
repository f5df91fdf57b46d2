// SPDX-License-Identifier: BSD-3-Clause
// requests.cpp - fuzz target: the service of one-sided calls, which executes requests of a remote
// rank 1 that come in cells and immediates. The service must access only the segment and registered
// memory.
#include <cstring>
#include <vector>

#include "run/onesided/service.hpp"
#include "tests/hostile/fuzz/hostile_wire.hpp"
#include "tests/hostile/fuzz/targets.hpp"

void weft::fuzz::requests(std::string_view input) {
    HostileWire wire;
    const run::OneSidedArea area{.offset = 4096, .ranks = 2};
    WEFT_CHECK(area.offset + area.bytes() <= HostileWire::kSegmentBytes, area.bytes());
    run::Service<HostileWire> service(wire, area, 0);
    std::vector<std::byte> registered(1000);  // the address sanitizer reports accesses past its end
    WEFT_CHECK(service.registered().add(registered) == 1, registered.size());
    constexpr std::uint64_t kRequestsMax = 100;  // limits the time of an input
    for (std::uint64_t number = 1; !input.empty() && number < kRequestsMax && !wire.distrusted;
         ++number) {
        run::RemoteRequest request;
        const std::size_t bytes = std::min(input.size(), sizeof request);
        std::memcpy(&request, input.data(), bytes);
        input.remove_prefix(bytes);
        service.on_immediate(request.operand);
        base::Cell& cell = wire.cell(area.request(1, number));
        std::memcpy(cell.payload, &request, sizeof request);
        cell.flag.store(base::flag_word(number, 0), std::memory_order_release);
        service.serve();
    }
}
