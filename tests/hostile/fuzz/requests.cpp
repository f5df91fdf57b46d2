// SPDX-License-Identifier: BSD-3-Clause
// requests.cpp - requests of remote ranks, in cells and immediates, which the service of one-sided
// calls executes. It must only access the segment and registered memory, on this rank and the peer.
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
    for (std::uint64_t number = 1; !input.empty() && number < 100 && !wire.distrusted; ++number) {
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
