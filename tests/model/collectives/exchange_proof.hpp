// SPDX-License-Identifier: BSD-3-Clause
// exchange_proof.hpp - proofs of v-collectives: the messages of a call, and the programs that send
// them, which are generated on each rank from its own messages only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/v_collective.hpp"
#include "tools/verify/verify.hpp"

namespace weft::collectives {

/// The messages of all ranks in one call.
struct Exchange {
    std::string_view collective;
    std::uint64_t piece = 1;     ///< maximum number of elements in a segment
    std::uint32_t parallel = 1;  ///< maximum number of messages from one rank to another
    std::vector<std::vector<Message>> sent = {};      ///< by rank
    std::vector<std::vector<Message>> received = {};  ///< by rank

    [[nodiscard]] Rank size() const { return static_cast<Rank>(sent.size()); }
    [[nodiscard]] const std::vector<Message>& sent_by(Rank rank) const {
        return sent[static_cast<std::size_t>(rank)];
    }
    [[nodiscard]] const std::vector<Message>& received_by(Rank rank) const {
        return received[static_cast<std::size_t>(rank)];
    }
    /// Returns the number of units of each block at a rank: enough for its largest message.
    [[nodiscard]] std::uint64_t units_per_block(Rank rank) const {
        std::uint64_t units = 1;
        for (const auto* list : {&sent_by(rank), &received_by(rank)})
            for (const Message& message : *list)
                units = std::max(units, (message.count + piece - 1) / piece);
        return units;
    }
    /// Returns the number of units in a rank's input. The units of its output follow.
    [[nodiscard]] std::uint32_t input_units(Rank rank) const {
        return static_cast<std::uint32_t>(sent_by(rank).size() * units_per_block(rank));
    }
    [[nodiscard]] std::vector<plan::Program> programs() const {
        std::vector<plan::Program> list;
        for (Rank rank = 0; rank < size(); ++rank) {
            auto program = generate_v_collective({.collective = collective,
                                                  .rank = rank,
                                                  .size = size(),
                                                  .piece_elements = piece,
                                                  .parallel_max = parallel,
                                                  .sent = sent_by(rank),
                                                  .received = received_by(rank)});
            EXPECT_TRUE(program.ok());
            list.push_back(*std::move(program));
        }
        return list;
    }
    /// Returns the expected output of a rank: each received message has the data of the sent
    /// message with the same ranks and parallel number.
    [[nodiscard]] std::vector<plan::Expectation> expected(Rank rank) const {
        std::vector<plan::Expectation> list;
        const auto& own = received_by(rank);
        for (std::size_t i = 0; i < own.size(); ++i) {
            const Rank source = own[i].peer;
            const auto& candidates = sent_by(source);
            const auto found = std::ranges::find_if(candidates, [&](const Message& message) {
                return message.peer == rank && message.parallel_index == own[i].parallel_index;
            });
            const auto at = static_cast<std::uint64_t>(found - candidates.begin());
            const std::uint64_t first = input_units(rank) + i * units_per_block(rank);
            for (std::uint64_t p = 0; p * piece < own[i].count; ++p)
                list.push_back({static_cast<std::uint32_t>(first + p), source, source,
                                static_cast<std::uint32_t>(at * units_per_block(source) + p)});
        }
        return list;
    }
    /// Returns a contract that refers to this object.
    [[nodiscard]] plan::Contract contract() const {
        return {.collective = std::string(collective),
                .input =
                    [this](const plan::Program& header) {
                        return plan::UnitRange{0, input_units(header.rank)};
                    },
                .output =
                    [this](const plan::Program& header) {
                        const std::uint32_t first = input_units(header.rank);
                        return plan::UnitRange{first, header.units - first};
                    },
                .expected = [this](const plan::Program& header) { return expected(header.rank); }};
    }
    [[nodiscard]] plan::Verdict verify() const {
        const auto list = programs();
        const plan::Contract own_contract = contract();
        return plan::verify(
            {.programs = list, .contract = &own_contract, .elements = 0, .in_place = false});
    }
};

}  // namespace weft::collectives
