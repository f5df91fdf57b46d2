// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lab/oracle/oracle.hpp"

#include <algorithm>
#include <utility>

#include "collectives/registry.hpp"

namespace weft::oracle {

namespace {

constexpr std::size_t kTile = 64;  ///< elements computed at a time

/// Writes the reduction of the inputs of ranks range.rank .. last_rank. At most kTile elements.
void fold(const Samples& samples, Op op, Rank last_rank, SampleRange range, std::byte* to) {
    samples.write(to, range);
    while (++range.rank <= last_rank) {
        std::byte other[kTile * kSampleBytesMax];
        samples.write(other, range);
        samples.fold(op, to, other, range.count);
    }
}

}  // namespace

bool is_reduction(const Samples& samples, Op op, Rank first_rank, Rank last_rank, SampleRange range,
                  const std::byte* found) {
    range.rank = first_rank;
    const std::uint64_t end = range.first + range.count;
    for (; range.first < end; range.first += kTile) {
        range.count = std::min<std::uint64_t>(kTile, end - range.first);
        std::byte expected[kTile * kSampleBytesMax];
        fold(samples, op, last_rank, range, expected);
        if (!samples.equal(found, expected, range.count)) return false;
        found += range.count * samples.bytes;
    }
    return true;
}

Oracle::Oracle(CallFacts facts, Rank rank) : facts_(std::move(facts)), rank_(rank) {
    plan::Program header;
    header.rank = rank;
    header.size = facts_.size;
    header.root = facts_.root;
    header.units = traits().blocks() ? static_cast<std::uint32_t>(facts_.size) : 1;
    // A v-collective has the contract of the collective with equal blocks.
    const plan::Contract& contract =
        collectives::contract(collectives::traits_of(traits().even).name);
    const plan::UnitRange input = contract.input_of(header);
    for (std::uint32_t unit = input.first; unit < input.first + input.count; ++unit)
        input_.push_back({unit, facts_.count(rank, unit)});
    expected_ = contract.expected(header);
    for (const plan::Expectation& expected : expected_)
        output_.push_back({expected.unit, facts_.count(expected.first_rank, expected.source_unit)});
}

void Oracle::write(const SizedUnit& unit, std::uint64_t batch, std::byte* to) const {
    facts_.samples->write(
        to, {.rank = rank_, .unit = unit.unit, .first = 0, .count = unit.count, .batch = batch});
}

bool Oracle::is_expected(std::size_t index, std::uint64_t batch, const std::byte* found) const {
    const plan::Expectation& expected = expected_[index];
    return is_reduction(
        *facts_.samples, facts_.op, expected.first_rank, expected.last_rank,
        {.unit = expected.source_unit, .count = output_[index].count, .batch = batch}, found);
}

void Oracle::write(std::uint64_t batch, std::byte* to) const {
    for (const SizedUnit& unit : input_) {
        write(unit, batch, to);
        to += unit.count * facts_.samples->bytes;
    }
}

bool Oracle::is_expected(std::uint64_t batch, const std::byte* found) const {
    for (std::size_t i = 0; i < output_.size(); ++i) {
        if (!is_expected(i, batch, found)) return false;
        found += output_[i].count * facts_.samples->bytes;
    }
    return true;
}

std::size_t Oracle::bytes_of(const std::vector<SizedUnit>& units) const {
    std::uint64_t elements = 0;
    for (const SizedUnit& unit : units) elements += unit.count;
    return elements * facts_.samples->bytes;
}

}  // namespace weft::oracle
