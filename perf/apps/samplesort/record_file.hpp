// SPDX-License-Identifier: BSD-3-Clause
// record_file.hpp - a file of records of which each rank reads and writes a part.
//
// Holds    What is wrong is a text that is not empty, for all_or_none(): a rank whose machine lacks
//          the file must not leave the others alone.
#pragma once

#include <cstdint>
#include <string>

#include "perf/apps/samplesort/records.hpp"

namespace apps {

/// How many records the file has; -1 and a problem if it cannot be used.
struct RecordCount {
    std::int64_t records = -1;
    std::string problem;
};
[[nodiscard]] RecordCount count_records(const std::string& path, const RecordShape& shape);

/// Fills `records` with those from number `first` on.
[[nodiscard]] std::string read_records(const std::string& path, std::int64_t first,
                                       Records& records);

/// Makes the file, or cuts it, to be this long.
[[nodiscard]] std::string make_record_file(const std::string& path, std::uint64_t bytes);

/// Writes them into a file that is there, from number `first` on.
[[nodiscard]] std::string write_records(const std::string& path, std::int64_t first,
                                        const Records& records);

}  // namespace apps
