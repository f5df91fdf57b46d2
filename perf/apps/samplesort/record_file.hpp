// SPDX-License-Identifier: BSD-3-Clause
// record_file.hpp - a file of records; each rank reads and writes a part.
//
// Holds    Functions return a problem as text, empty on success, as raise_on_all() expects. So a
//          rank that lacks the file does not leave the other ranks waiting.
#pragma once

#include <cstdint>
#include <string>

#include "perf/apps/samplesort/records.hpp"

namespace apps {

/// Number of records in a file; -1 and a problem if the file is not usable.
struct RecordCount {
    std::int64_t records = -1;
    std::string problem;
};
[[nodiscard]] RecordCount count_records(const std::string& path, const RecordShape& shape);

/// Fills `records` with the records of the file from number `first` on.
[[nodiscard]] std::string read_records(const std::string& path, std::int64_t first,
                                       Records& records);

/// Creates a file of `bytes` bytes, or resizes an existing file.
[[nodiscard]] std::string make_record_file(const std::string& path, std::uint64_t bytes);

/// Writes records into an existing file, from number `first` on.
[[nodiscard]] std::string write_records(const std::string& path, std::int64_t first,
                                        const Records& records);

}  // namespace apps
