// SPDX-License-Identifier: BSD-3-Clause
// bench_page.hpp - the result of `weft bench` as one page that a browser shows: plots and a table.
//
// Holds    The page is one file and loads nothing; it can be sent by mail or kept beside a report.
#pragma once

#include <span>
#include <string>

#include "front/cli/bench_report.hpp"

namespace weft::front {

[[nodiscard]] std::string bench_page(const BenchHead& head, std::span<const BenchRow> rows);

}  // namespace weft::front
