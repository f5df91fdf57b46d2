// SPDX-License-Identifier: BSD-3-Clause
// settings.hpp - the variables WEFT_MPI and WEFT_MPI_*: read, checked and compared over all ranks.
//
// Why      The settings decide which calls are served, and when the layer makes hidden calls, so
//          they must be equal on all ranks. MPI_Init is the first call in which all ranks take
//          part: they compare their settings there, and the content of the file of ranges.
// Next     layer.hpp for the use of the settings; docs/guide/mpi-backing.md for users.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

namespace weft::mpi {

struct Settings {
    std::uint32_t kinds_on = 0;      ///< bits of Kind: calls that may be served
    std::uint32_t kinds_chosen = 0;  ///< bits of Kind: served where weft is quicker
    unsigned calls_before_team = 8;  ///< blocking calls on a communicator before its team is made
    bool statistics = false;
    bool progress = true;     ///< off in tests: shows which programs need it
    std::string ranges_file;  ///< empty: no file
    std::string ranges;       ///< content of that file
    std::string complaint;    ///< sentence about the first value that is not understood
    std::string warning;      ///< why the file is not used, if it exists
};

/// Reads the variables of this process, which a set-user-id program ignores.
[[nodiscard]] Settings read_settings();

/// Result of comparing all ranks, equal on all of them.
struct Comparison {
    bool equal = false;             ///< the settings have equal values on all ranks
    bool threads_anywhere = false;  ///< a rank has MPI_THREAD_MULTIPLE
};

/// Collective over `comm`, with a value of `threads` from each rank. If settings differ, rank 0
/// prints the first one that does, and its values on two ranks.
[[nodiscard]] Comparison compare_settings(MPI_Comm comm, const Settings& settings, bool threads);

/// Prints each set variable whose name begins with WEFT_MPI_ and is unknown.
void report_unknown_variables();

}  // namespace weft::mpi
