// SPDX-License-Identifier: BSD-3-Clause
// splitters.hpp - where the sorted records of all ranks are cut, so that each rank gets a share.
//
// Idea     Each rank gives samples of its sorted records, evenly spaced; of all samples, sorted,
//          every n-th is a splitter. A sample is a record of its own: the key, and then where the
//          record stood in the input, as a number whose first byte weighs most. Bytes so compare as
//          the pair does.
// Why      Places make all samples differ. Any number of records of one key is then shared out
//          evenly, and they keep their order, since of two ranks the lower one has the earlier
//          places.
// Holds    With s samples of each rank no share has more than about total / ranks + total / s
//          records.
// Next     Shi and Schaeffer, Parallel Sorting by Regular Sampling (1992).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "perf/apps/samplesort/records.hpp"

namespace apps {

/// Of samples of such records.
[[nodiscard]] RecordShape sample_shape(const RecordShape& shape);

/// What one rank has: its records, sorted, and the place in the input that its part began at.
struct SortedPart {
    Sorted sorted;
    std::uint64_t first = 0;
};

/// min(samples, records) of them.
[[nodiscard]] Records take_samples(const SortedPart& part, std::size_t samples);

/// Between `shares` shares: shares - 1, or none if there is no sample.
[[nodiscard]] Records choose_splitters(const Records& samples, std::size_t shares);

/// Where each share of this part starts, and the end of the last.
[[nodiscard]] std::vector<std::size_t> cut(const SortedPart& part, const Records& splitters,
                                           std::size_t shares);

}  // namespace apps
