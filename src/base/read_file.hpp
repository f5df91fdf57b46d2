// SPDX-License-Identifier: BSD-3-Clause
// read_file.hpp - the contents of a file, up to a limit.
//
// Why      A name may be that of a device or of a pipe without end: what says how large it is says
//          nothing then, so reading stops at the limit.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"

namespace weft::base {

/// Whether read_file() accepts a named pipe. It may then wait for a writer without end.
enum class Pipes { allowed, refused };

/// Returns the contents of a file. Fails if it cannot be read or has more than `bytes_max` bytes.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t bytes_max,
                                            Pipes pipes = Pipes::allowed);

}  // namespace weft::base
