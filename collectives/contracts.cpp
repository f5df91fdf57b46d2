// SPDX-License-Identifier: BSD-3-Clause
// contracts.cpp - derives the contracts of all collectives from the table of traits.
#include <array>

#include "base/check.hpp"
#include "collectives/collective_traits.hpp"
#include "collectives/registry.hpp"

namespace weft::collectives {

namespace {

using plan::Program;
using plan::UnitRange;

/// Returns the units of each block, for buffers with a block for each rank.
std::uint32_t units_of_block(const Program& header) {
    return header.units / as_u32(header.size);
}

UnitRange own_block(const Program& header) {
    const std::uint32_t units = units_of_block(header);
    return {as_u32(header.rank) * units, units};
}

UnitRange units_of(VectorPart part, const Program& header) {
    const auto whole_if = [&](bool has) { return UnitRange{0, has ? header.units : 0}; };
    switch (part) {
        case VectorPart::none:
            return {};
        case VectorPart::whole:
            return whole_if(true);
        case VectorPart::whole_at_root:
            return whole_if(header.rank == header.root);
        case VectorPart::whole_after_first:
            return whole_if(header.rank > 0);
        case VectorPart::own_block:
            return own_block(header);
    }
    return {};
}

/// Returns the required contents of a unit of the output.
plan::Expectation expected_of(Contribution contribution, const Program& header,
                              std::uint32_t unit) {
    const auto owner = [&] { return static_cast<Rank>(unit / units_of_block(header)); };
    switch (contribution) {
        case Contribution::none:
            break;
        case Contribution::root:
            return {unit, header.root, header.root, unit};
        case Contribution::owner:
            return {unit, owner(), owner(), unit};
        case Contribution::owner_own_block:
            return {unit, owner(), owner(),
                    own_block(header).first + unit % units_of_block(header)};
        case Contribution::all:
            return {unit, 0, header.size - 1, unit};
        case Contribution::up_to_own:
            return {unit, 0, header.rank, unit};
        case Contribution::before_own:
            return {unit, 0, header.rank - 1, unit};
    }
    return {};
}

plan::Contract contract_of(const CollectiveTraits& traits) {
    return {.collective = std::string(traits.name),
            .block_per_rank = traits.blocks(),
            .input = [&traits](const Program& header) { return units_of(traits.input, header); },
            .output = [&traits](const Program& header) { return units_of(traits.output, header); },
            .must_synchronize = traits.synchronizes(),
            .expected =
                [&traits](const Program& header) {
                    const UnitRange output = units_of(traits.output, header);
                    std::vector<plan::Expectation> list;
                    list.reserve(output.count);
                    for (std::uint32_t i = 0; i < output.count; ++i)
                        list.push_back(expected_of(traits.contribution, header, output.first + i));
                    return list;
                }};
}

}  // namespace

const plan::Contract* find_contract(std::string_view collective) {
    static const auto contracts = [] {
        std::array<plan::Contract, kCollectives.size()> all;
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = contract_of(kCollectives[i]);
        return all;
    }();
    const CollectiveTraits* const traits = find_collective(collective);
    if (traits == nullptr || traits->has_counts()) return nullptr;
    return &contracts[static_cast<std::size_t>(traits->collective)];
}

const plan::Contract& contract(std::string_view collective) {
    const plan::Contract* const found = find_contract(collective);
    WEFT_CHECK(found != nullptr, collective);
    return *found;
}

}  // namespace weft::collectives
