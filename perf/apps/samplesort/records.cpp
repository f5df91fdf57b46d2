// SPDX-License-Identifier: BSD-3-Clause
#include "perf/apps/samplesort/records.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "perf/apps/common/mix.hpp"

namespace apps {

namespace {

Records copy_in_order(const Records& records, std::span<const std::size_t> order) {
    Records copies(records.shape(), order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        std::ranges::copy(records.record(order[i]), copies.record(i).begin());
    return copies;
}

std::vector<std::size_t> all_indices(const Records& records) {
    std::vector<std::size_t> order(records.count());
    std::iota(order.begin(), order.end(), std::size_t{0});
    return order;
}

auto by_key(const Records& records) {
    return [&records](std::size_t left, std::size_t right) {
        return compare_keys(records.key(left), records.key(right)) < 0;
    };
}

/// Returns up to 8 bytes as a word.
std::uint64_t word_of(std::span<const std::byte> bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), bytes.size());
    return word;
}

/// Fills `to` with bytes derived from a number. If it has 8 bytes or more, different numbers give
/// different bytes.
void write_mixed(std::span<std::byte> to, std::uint64_t number) {
    for (std::size_t at = 0; at < to.size(); at += sizeof(std::uint64_t)) {
        const std::uint64_t word = mix(number + at * 0x9e3779b97f4a7c15U);
        std::memcpy(to.data() + at, &word, std::min(sizeof word, to.size() - at));
    }
}

}  // namespace

int compare_keys(std::span<const std::byte> left, std::span<const std::byte> right) {
    return std::memcmp(left.data(), right.data(), left.size());
}

Sorted sort_records(const Records& records) {
    std::vector<std::size_t> order = all_indices(records);
    std::ranges::stable_sort(order, by_key(records));
    Records sorted = copy_in_order(records, order);
    return {std::move(sorted), std::move(order)};
}

Records merge_blocks(const Records& records, std::span<const std::size_t> starts) {
    std::vector<std::size_t> order = all_indices(records);
    const std::size_t blocks = starts.size() - 1;
    const auto at = [&](std::size_t block) {
        return order.begin() + static_cast<std::ptrdiff_t>(starts[std::min(block, blocks)]);
    };
    // Merges pairs of adjacent blocks, then pairs of the merged blocks, and so on.
    for (std::size_t width = 1; width < blocks; width *= 2) {
        for (std::size_t block = 0; block + width < blocks; block += 2 * width)
            std::inplace_merge(at(block), at(block + width), at(block + 2 * width),
                               by_key(records));
    }
    return copy_in_order(records, order);
}

std::size_t count_descents(const Records& records) {
    std::size_t descents = 0;
    for (std::size_t i = 1; i < records.count(); ++i)
        descents += compare_keys(records.key(i), records.key(i - 1)) < 0;
    return descents;
}

Digest digest(const Records& records) {
    Digest sum;
    for (std::size_t i = 0; i < records.count(); ++i) {
        std::uint64_t words[2] = {1, 2};
        for (std::span<const std::byte> rest = records.record(i); !rest.empty();) {
            const auto part = rest.first(std::min(rest.size(), sizeof(std::uint64_t)));
            for (std::uint64_t& word : words)
                word = mix(word * 0x9e3779b97f4a7c15U + word_of(part));
            rest = rest.subspan(part.size());
        }
        for (std::size_t half = 0; half < 2; ++half) sum.words[half] += words[half];
    }
    return sum;
}

Records make_records(RecordShape shape, const RecordGenerator& generator, std::uint64_t first,
                     std::size_t count) {
    Records records(shape, count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t number = first + i;
        const std::uint64_t draw = mix(mix(generator.seed) + number);
        write_mixed(records.record(i), number);
        write_mixed(
            records.record(i).first(shape.key_bytes),
            mix(~generator.seed) + (generator.distinct == 0 ? draw : draw % generator.distinct));
    }
    return records;
}

}  // namespace apps
