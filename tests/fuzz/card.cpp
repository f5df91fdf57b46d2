// SPDX-License-Identifier: BSD-3-Clause
// What ranks publish at start-up: the card of a segment, and which ranks one has mapped.
#include "base/check.hpp"
#include "link/shared/node_map.hpp"
#include "link/shared/segment.hpp"
#include "tests/fuzz/targets.hpp"

void weft::fuzz::card(std::string_view input) {
    const auto bytes = std::as_bytes(std::span(input));
    const auto card = link::SegmentCard::from_bytes(bytes);
    if (card) {
        const auto again = link::SegmentCard::from_bytes(card->to_bytes());
        WEFT_CHECK(again.ok() && *again == *card, card->bytes);
    }
    const auto verdict = link::MapVerdict::from_bytes(bytes);
    if (!verdict) return;
    const auto again = link::MapVerdict::from_bytes(verdict->to_bytes());
    WEFT_CHECK(again.ok() && *again == *verdict, verdict->rank);
    (void)link::clique({&*verdict, 1}, verdict->rank);
}
