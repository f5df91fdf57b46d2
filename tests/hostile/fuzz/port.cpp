// SPDX-License-Identifier: BSD-3-Clause
// port.cpp - fuzz target: the decoder of the card that a port publishes (link::decode_card), which
// has the peer's address and keys.
#include "base/check.hpp"
#include "link/fabric/card.hpp"
#include "tests/hostile/fuzz/targets.hpp"

void weft::fuzz::port(std::string_view input) {
    const auto bytes = std::as_bytes(std::span(input));
    const auto card = link::decode_card(bytes);
    if (!card) return;
    WEFT_CHECK(card->endpoint.size() <= bytes.size(), card->endpoint.size());
    const auto encoded = link::encode_card(*card);
    const auto read = link::decode_card(encoded);
    WEFT_CHECK(read.ok() && read->provider == card->provider && read->notify == card->notify &&
                   read->memory.key == card->memory.key && read->landing.key == card->landing.key &&
                   read->endpoint.size() == card->endpoint.size(),
               encoded.size());
}
