// SPDX-License-Identifier: BSD-3-Clause
// read_file.hpp - reads a file up to a limit.
//
// Why      A device or a pipe may have no end, so reading stops at the limit.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"

namespace weft::base {

/// Treatment of named pipes. If allowed, read_file() may wait forever for a writer.
enum class Pipes { allowed, refused };

/// Returns the contents of a file. Fails if it cannot be read or has more than `bytes_max` bytes.
Result<std::string> read_file(const std::string& path, std::size_t bytes_max,
                              Pipes pipes = Pipes::allowed);

}  // namespace weft::base
