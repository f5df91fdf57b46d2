// SPDX-License-Identifier: BSD-3-Clause
#include "perf/apps/cg/sparse_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <tuple>

#include "perf/apps/common/mix.hpp"

namespace apps {

namespace {

/// Returns a hash of an entry.
std::uint64_t hash_of(std::int64_t row, std::int64_t column, double value) {
    const double without_negative_zero = value + 0.0;
    return mix(std::bit_cast<std::uint64_t>(without_negative_zero) +
               mix(static_cast<std::uint64_t>(row) + mix(static_cast<std::uint64_t>(column) + 1)));
}

SparseRows compress(const MatrixMarketReader& reader, std::vector<Entry>& entries,
                    std::int64_t begin, std::int64_t end) {
    std::ranges::sort(entries, {}, [](const Entry& entry) {
        return std::tuple(entry.row, entry.column, entry.line);
    });
    SparseRows rows;
    std::size_t at = 0;
    for (std::int64_t row = begin; row < end; ++row) {
        for (; at < entries.size() && entries[at].row == row; ++at) {
            const Entry& entry = entries[at];
            if (at > 0 && entries[at - 1].row == row && entries[at - 1].column == entry.column)
                throw reader.error(entry.line,
                                   fmt::format("this entry is also in line {}; expected once",
                                               entries[at - 1].line));
            rows.add(entry.column, entry.value);
        }
        rows.end_row();
    }
    return rows;
}

}  // namespace

SparseRows read_symmetric_rows(MatrixMarketReader& reader, std::int64_t begin, std::int64_t end) {
    if (reader.rows() != reader.columns())
        throw reader.error(0, fmt::format("{} rows and {} columns, expected equal numbers",
                                          reader.rows(), reader.columns()));
    std::vector<Entry> entries;
    const auto keep_own = [&](const Entry& entry) {
        if (entry.row >= begin && entry.row < end) entries.push_back(entry);
    };
    // Adds the hash of each entry and subtracts the hash of its mirror image. The sum is 0 if the
    // matrix is symmetric. A search for mirror images would have to keep all entries in memory.
    std::uint64_t sum = 0;
    while (const auto entry = reader.next()) {
        keep_own(*entry);
        const Entry mirrored{entry->column, entry->row, entry->value, entry->line};
        if (reader.symmetric()) {
            if (entry->row != entry->column) keep_own(mirrored);
        } else {
            sum += hash_of(entry->row, entry->column, entry->value) -
                   hash_of(mirrored.row, mirrored.column, mirrored.value);
        }
    }
    if (sum != 0) throw reader.error(0, "the matrix is not symmetric; expected a symmetric one");
    return compress(reader, entries, begin, end);
}

}  // namespace apps
