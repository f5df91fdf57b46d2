// SPDX-License-Identifier: BSD-3-Clause
// sparse_rows.hpp - consecutive rows of a sparse matrix, and their product with a vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "perf/apps/cg/matrix_market.hpp"

namespace apps {

/// Rows in compressed form. Columns are columns of the matrix, or indices of a vector that the user
/// of the rows defines.
struct SparseRows {
    std::vector<std::size_t> starts{0};  ///< index of each row's first entry; the number of entries
    std::vector<std::int64_t> columns;   ///< column of each entry, ascending in each row
    std::vector<double> values;          ///< value of each entry

    [[nodiscard]] std::size_t count() const { return starts.size() - 1; }
    void add(std::int64_t column, double value) {
        columns.push_back(column);
        values.push_back(value);
    }
    void end_row() { starts.push_back(columns.size()); }

    /// y = y + A x
    void multiply_add(std::span<const double> x, std::span<double> y) const {
        for (std::size_t row = 0; row < count(); ++row) {
            double sum = 0;
            for (std::size_t at = starts[row]; at < starts[row + 1]; ++at)
                sum += values[at] * x[static_cast<std::size_t>(columns[at])];
            y[row] += sum;
        }
    }
};

/// Returns the rows [begin, end) of a symmetric matrix; reads the whole file. A file in general
/// format is accepted if its entries are symmetric. Throws FormatError if the matrix is not
/// symmetric, or if the file lists an entry of these rows twice.
[[nodiscard]] SparseRows read_symmetric_rows(MatrixMarketReader& reader, std::int64_t begin,
                                             std::int64_t end);

}  // namespace apps
