// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/exchange.hpp"

#include <fmt/format.h>

#include "run/bind/bind.hpp"

namespace weft::test {

using collectives::Message;

namespace {

constexpr ExchangeElement kUntouched = 0xfefefefe;  ///< initial value of gaps and of the output

/// Returns the value of element `index` of a message.
ExchangeElement element(std::uint64_t call, Rank from, Rank to, std::uint64_t index) {
    return static_cast<ExchangeElement>(
        base::mix(base::mix(call * 64 + static_cast<std::uint64_t>(from)) +
                  static_cast<std::uint64_t>(to) * 100'000 + index));
}

/// Returns the start of each message's block, in elements. Blocks are in reverse order, with a gap
/// of one element after each. Sets `end` to the size of the buffer in elements.
std::vector<std::uint64_t> block_starts(const std::vector<Message>& messages, std::uint64_t& end) {
    std::vector<std::uint64_t> starts(messages.size());
    end = 1;
    for (std::size_t i = messages.size(); i-- > 0;) {
        starts[i] = end;
        end += messages[i].count + 1;
    }
    return starts;
}

constexpr std::uint64_t kBankBytes = 4096;  ///< small, so that long messages have several pieces

}  // namespace

CountMatrix draw_counts(base::Random& random, Rank size) {
    CountMatrix matrix{size, std::vector<std::uint64_t>(static_cast<std::size_t>(size * size), 0)};
    // 0: all counts are 0; 1: one sender; 2: one receiver; 3: full; 4: sparse.
    const std::uint64_t kind = random.below(5);
    const auto root = static_cast<Rank>(random.below(static_cast<std::uint64_t>(size)));
    const std::uint64_t count_max = random.chance(1, 4) ? 2000 : 40;
    for (Rank from = 0; from < size; ++from) {
        for (Rank to = 0; to < size; ++to) {
            if (kind == 0 || (kind == 1 && from != root) || (kind == 2 && to != root)) continue;
            if (kind == 3 || random.chance(1, 3)) matrix.at(from, to) = random.below(count_max);
        }
    }
    return matrix;
}

Message ExchangeMapping::message(Rank own, Rank peer, std::uint64_t count) const {
    const bool mapped = count >= count_min && nodes[static_cast<std::size_t>(own)] ==
                                                  nodes[static_cast<std::size_t>(peer)];
    return {peer, count, mapped};
}

ExchangeSide exchange_side(std::uint64_t call, Rank rank, const CountMatrix& sends,
                           const CountMatrix& expects, const base::RegionShape& shape,
                           const ExchangeMapping& mapping) {
    ExchangeSide side;
    for (Rank peer = 0; peer < sends.size; ++peer) {
        const std::uint64_t sent = sends.at(rank, peer);
        const std::uint64_t expected = expects.at(peer, rank);
        if (sent > 0) side.sent.push_back(mapping.message(rank, peer, sent));
        if (expected > 0) side.received.push_back(mapping.message(rank, peer, expected));
    }
    std::uint64_t end = 0;
    side.in_starts = block_starts(side.sent, end);
    side.input.assign(end, kUntouched);
    for (std::size_t i = 0; i < side.sent.size(); ++i)
        for (std::uint64_t k = 0; k < side.sent[i].count; ++k)
            side.input[side.in_starts[i] + k] = element(call, rank, side.sent[i].peer, k);
    side.out_starts = block_starts(side.received, end);
    side.output.assign(end, kUntouched);
    const std::uint64_t slot = run::even_slot_bytes(shape, static_cast<std::uint32_t>(sends.size),
                                                    collectives::kVCollectiveDepth);
    auto program =
        collectives::generate_v_collective({.collective = "exchange",
                                            .rank = rank,
                                            .size = sends.size,
                                            .piece_elements = slot / sizeof(ExchangeElement),
                                            .sent = side.sent,
                                            .received = side.received});
    WEFT_CHECK(program.ok(), call, rank);
    std::vector<std::uint64_t> in_starts = side.in_starts;
    in_starts.resize(side.sent.size() + side.received.size());
    std::vector<std::uint64_t> out_starts(side.sent.size());
    out_starts.insert(out_starts.end(), side.out_starts.begin(), side.out_starts.end());
    auto bound = run::bind(*std::move(program), {.element_bytes = sizeof(ExchangeElement),
                                                 .call_hash = 77,
                                                 .description = "exchange of uint32 by direct",
                                                 .shape = shape,
                                                 .input_starts = in_starts,
                                                 .output_starts = out_starts});
    WEFT_CHECK(bound.ok(), call, rank);
    side.program = *std::move(bound);
    return side;
}

run::Registers registers_of(ExchangeSide& side) {
    const auto* const own = reinterpret_cast<const std::byte*>(side.input.data());
    return {.input = side.exposed != nullptr ? side.exposed : own,
            .output = reinterpret_cast<std::byte*>(side.output.data())};
}

std::string check_exchange(const ExchangeSide& side, std::uint64_t call, Rank rank) {
    std::vector<ExchangeElement> expected(side.output.size(), kUntouched);
    for (std::size_t i = 0; i < side.received.size(); ++i)
        for (std::uint64_t k = 0; k < side.received[i].count; ++k)
            expected[side.out_starts[i] + k] = element(call, side.received[i].peer, rank, k);
    for (std::size_t i = 0; i < expected.size(); ++i)
        if (side.output[i] != expected[i])
            return fmt::format("call {} at rank {}: element {} is {:x} instead of {:x}", call, rank,
                               i, side.output[i], expected[i]);
    return "";
}

base::RegionShape exchange_shape(Rank size, std::uint32_t banks) {
    return {.cells = base::cells_for(static_cast<std::uint32_t>(size)),
            .banks = banks,
            .bulk_banks = 4,
            .bulk_bytes = kBankBytes};
}

}  // namespace weft::test
