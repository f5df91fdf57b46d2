// SPDX-License-Identifier: BSD-3-Clause
// bench_page.hpp - results of `weft bench` as a page for browsers: plots and a table.
//
// Holds    The page is one file and loads nothing, so it can be mailed or archived.
#pragma once

#include <span>
#include <string>

#include "tools/cli/bench_report.hpp"

namespace weft::tools {

[[nodiscard]] std::string bench_page(const BenchHead& head, std::span<const BenchRow> rows);

}  // namespace weft::tools
