// SPDX-License-Identifier: BSD-3-Clause
// matrix.cpp - fuzz target: the reader of Matrix Market files of perf/apps/cg.
#include <sstream>

#include "base/check.hpp"
#include "perf/apps/cg/matrix_market.hpp"
#include "tests/hostile/fuzz/targets.hpp"

void weft::fuzz::matrix(std::string_view input) {
    std::istringstream in{std::string(input)};
    try {
        apps::MatrixMarketReader reader(in, "file");
        std::int64_t read = 0;
        while (const auto entry = reader.next()) {
            ++read;
            WEFT_CHECK(entry->row >= 0 && entry->row < reader.rows(), entry->row);
            WEFT_CHECK(entry->column >= 0 && entry->column < reader.columns(), entry->column);
        }
        WEFT_CHECK(read == reader.listed(), read, reader.listed());
    } catch (const apps::FormatError&) {  // the reader must refuse invalid files like this
    }
}
