// SPDX-License-Identifier: BSD-3-Clause
// card.cpp - fuzz target: parsers of the cards that ranks publish at start-up. These are the
// business card, the mapping card, and their parts: the card of a segment and the list of ranks
// whose memory a rank has mapped (link::MapVerdict).
#include "base/check.hpp"
#include "link/shared/node_map.hpp"
#include "link/shared/segment.hpp"
#include "run/job/cards.hpp"
#include "tests/hostile/fuzz/targets.hpp"

void weft::fuzz::card(std::string_view input) {
    const auto bytes = std::as_bytes(std::span(input));
    (void)run::business_card_from(bytes, 0);
    if (const auto mapping = run::mapping_card_from(bytes, 1, 8)) {
        const auto reparsed = run::mapping_card_from(run::to_bytes(*mapping), 1, 8);
        WEFT_CHECK(reparsed.ok() && reparsed->verdict == mapping->verdict, mapping->address.size());
    }
    const auto card = link::SegmentCard::from_bytes(bytes);
    if (card) {
        const auto reparsed = link::SegmentCard::from_bytes(std::as_bytes(std::span(&*card, 1)));
        WEFT_CHECK(reparsed.ok() && *reparsed == *card, card->bytes);
    }
    const auto verdict = link::MapVerdict::from_bytes(bytes);
    if (!verdict) return;
    const auto reparsed = link::MapVerdict::from_bytes(verdict->to_bytes());
    WEFT_CHECK(reparsed.ok() && *reparsed == *verdict, verdict->rank);
    (void)link::clique({&*verdict, 1}, verdict->rank);
}
