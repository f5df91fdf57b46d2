// SPDX-License-Identifier: BSD-3-Clause
// splitters.hpp - cuts the sorted records of all ranks into shares, one for each rank.
//
// Idea     Each rank provides evenly spaced samples of its sorted records. All samples are sorted,
//          and evenly spaced ones become splitters. A sample is a key, followed by the record's
//          position in the input as a big-endian number. So bytes compare in the order of (key,
//          position).
// Why      Positions make all samples differ, so records with equal keys are also divided evenly.
//          They keep their order, because lower ranks have earlier positions.
// Holds    With n ranks and s samples of each, a share has at most about 1/n + 1/s of all records.
// Next     Shi and Schaeffer, Parallel Sorting by Regular Sampling (1992), for the method.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "perf/apps/samplesort/records.hpp"

namespace apps {

/// Returns the shape of samples of records of this shape.
[[nodiscard]] RecordShape sample_shape(const RecordShape& shape);

/// The sorted records of one rank, and the position in the input where its part begins.
struct SortedPart {
    Sorted sorted;
    std::uint64_t first = 0;
};

/// Returns min(samples, records) samples of the part.
[[nodiscard]] Records take_samples(const SortedPart& part, std::size_t samples);

/// Returns the shares - 1 splitters between `shares` shares; empty without samples.
[[nodiscard]] Records choose_splitters(const Records& samples, std::size_t shares);

/// Returns the index of each share's first record in this part, then the number of records.
[[nodiscard]] std::vector<std::size_t> cut(const SortedPart& part, const Records& splitters,
                                           std::size_t shares);

}  // namespace apps
