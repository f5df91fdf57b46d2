// SPDX-License-Identifier: BSD-3-Clause
// own_stack.hpp - runs a function on a stack whose size does not depend on ulimit -s.
//
// Why      PMIx_server_setup_fork() has a stack frame of 200 KiB, and threads that PMIx starts have
//          stacks of the limit's size. With a small limit, both would end the launcher by SIGSEGV.
#pragma once

#include <functional>

#include "base/result.hpp"

namespace weft::tools {

/// Runs `work` in a new thread and waits for its end. Its stack, and those of threads started later
/// in this process, have at least 2 MiB. Fails if the thread cannot start. Only for the launcher,
/// because it changes a default of the process.
[[nodiscard]] base::Result<void> run_on_own_stack(const std::function<void()>& work);

}  // namespace weft::tools
