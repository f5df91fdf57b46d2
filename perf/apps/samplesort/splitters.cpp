// SPDX-License-Identifier: BSD-3-Clause
#include "perf/apps/samplesort/splitters.hpp"

#include <algorithm>

namespace apps {

namespace {

/// Writes the sample of record `index` of the sorted part.
void write_sample(const SortedPart& part, std::size_t index, std::span<std::byte> to) {
    const auto key = part.sorted.records.key(index);
    std::ranges::copy(key, to.begin());
    const std::uint64_t place = part.first + part.sorted.original_indices[index];
    for (std::size_t byte = 0; byte < sizeof place; ++byte)
        to[key.size() + byte] = static_cast<std::byte>(place >> (8 * (sizeof place - 1 - byte)));
}

}  // namespace

RecordShape sample_shape(const RecordShape& shape) {
    const std::size_t bytes = shape.key_bytes + sizeof(std::uint64_t);
    return {.bytes = bytes, .key_bytes = bytes};
}

Records take_samples(const SortedPart& part, std::size_t samples) {
    const std::size_t count = part.sorted.records.count();
    Records taken(sample_shape(part.sorted.records.shape()), std::min(samples, count));
    for (std::size_t i = 0; i < taken.count(); ++i)
        write_sample(part, (2 * i + 1) * count / (2 * taken.count()), taken.record(i));
    return taken;
}

Records choose_splitters(const Records& samples, std::size_t shares) {
    if (samples.count() == 0) return samples;
    const Records sorted = sort_records(samples).records;
    Records splitters(samples.shape(), shares - 1);
    for (std::size_t i = 0; i + 1 < shares; ++i)
        std::ranges::copy(sorted.record((i + 1) * sorted.count() / shares),
                          splitters.record(i).begin());
    return splitters;
}

std::vector<std::size_t> cut(const SortedPart& part, const Records& splitters, std::size_t shares) {
    const std::size_t count = part.sorted.records.count();
    std::vector<std::size_t> starts{0};
    std::vector<std::byte> sample(splitters.shape().bytes);
    for (std::size_t i = 0; i < splitters.count(); ++i) {
        // Finds the first record that is not before the splitter.
        std::size_t low = starts.back();
        for (std::size_t high = count; low < high;) {
            const std::size_t middle = low + (high - low) / 2;
            write_sample(part, middle, sample);
            if (compare_keys(sample, splitters.key(i)) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        starts.push_back(low);
    }
    starts.resize(shares + 1, count);
    return starts;
}

}  // namespace apps
