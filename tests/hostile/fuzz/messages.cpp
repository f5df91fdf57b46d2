// SPDX-License-Identifier: BSD-3-Clause
// messages.cpp - fuzz target: active messages from a remote rank 1, whose cells, slots and credits
// have any contents, while this rank answers. Handlers must get only bytes of the segment.
#include "run/onesided/messages.hpp"

#include "tests/hostile/fuzz/hostile_wire.hpp"
#include "tests/hostile/fuzz/targets.hpp"

namespace weft::fuzz {

namespace {

using Messages = run::Messages<HostileWire>;

/// Handler that reads all bytes of a message, and answers by handler 3.
struct Reader {
    HostileWire& wire;
    Messages& messages;
    std::uint64_t sum = 0;

    static void handle(void* self, Rank peer, const std::byte* data, std::size_t bytes) {
        auto& reader = *static_cast<Reader*>(self);
        const auto at = static_cast<std::uint64_t>(data - reader.wire.bytes());
        WEFT_CHECK(at <= HostileWire::kSegmentBytes && bytes <= HostileWire::kSegmentBytes - at, at,
                   bytes);
        for (std::size_t i = 0; i < bytes; ++i) reader.sum += std::to_integer<unsigned>(data[i]);
        if (peer == 1) reader.messages.send(1, 3, data, bytes);
    }
};

/// Removes up to `bytes` bytes from the front of the input and returns them.
std::string_view pop_front(std::string_view& input, std::size_t bytes) {
    const std::string_view front = input.substr(0, bytes);
    input.remove_prefix(front.size());
    return front;
}

}  // namespace

/// Executes the steps of the input. A step has a byte with the kind of message, a byte with the
/// number of bytes that follow, and these bytes, which rank 1 puts.
void messages(std::string_view input) {
    HostileWire wire;
    const run::MessageArea area{.offset = 4096, .ranks = 2};
    WEFT_CHECK(area.offset + area.bytes() <= HostileWire::kSegmentBytes, area.bytes());
    Messages messages(wire, area, 0);
    Reader reader{wire, messages};
    for (std::uint32_t handler = 0; handler < 4; ++handler)
        messages.set_handler(handler, {&Reader::handle, &reader});
    std::uint64_t arrived = 0;
    std::uint64_t credits = 0;
    constexpr std::uint64_t kArrivedMax = 1000;  // limits the time of an input
    while (input.size() > 1 && !wire.distrusted && arrived < kArrivedMax) {
        const std::string_view step = pop_front(input, 2);
        const std::string_view bytes = pop_front(input, static_cast<unsigned char>(step[1]));
        const auto kind = static_cast<std::uint16_t>(step[0] & 7);
        const bool is_credit = kind == 3;  // other kinds are messages; the flag has the kind
        const std::uint64_t number = is_credit ? ++credits : ++arrived;
        base::Cell& cell = wire.cell(is_credit ? area.credit(1, number) : area.cell(1, number));
        std::memcpy(cell.payload, bytes.data(), std::min(bytes.size(), sizeof cell.payload));
        std::memcpy(wire.bytes() + area.slot(1, number), bytes.data(), bytes.size());
        cell.flag.store(base::flag_word(number, kind), std::memory_order_release);
        messages.serve();
    }
}

}  // namespace weft::fuzz
