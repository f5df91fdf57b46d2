// SPDX-License-Identifier: BSD-3-Clause
// Requests of remote ranks in this rank's cells and in immediates, which the service of one-sided
// calls reads and executes. It must not access memory outside of the segment and registered memory,
// here or at the peer.
#include <cstring>
#include <vector>

#include "run/onesided/service.hpp"
#include "tests/hostile/fuzz/far_wire.hpp"
#include "tests/hostile/fuzz/targets.hpp"

void weft::fuzz::requests(std::string_view input) {
    FarWire wire;
    const run::OneSidedArea area{.offset = 4096, .ranks = 2};
    WEFT_CHECK(area.offset + area.bytes() <= FarWire::kSegmentBytes, area.bytes());
    run::Service<FarWire> service(wire, area, 0);
    std::vector<std::byte> registered(1000);  // the address sanitizer knows where it ends
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
