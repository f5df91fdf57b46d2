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
    std::uint32_t kinds_on = 0;      ///< bits of CallKind: calls that may be served
    std::uint32_t kinds_chosen = 0;  ///< bits of CallKind: calls in mode `auto`
    unsigned calls_before_team = 8;  ///< blocking calls on a communicator before its team is made
    bool statistics = false;
    bool progress = true;     ///< weft and the host drive each other; tests set it to false
    std::string ranges_file;  ///< empty: no file
    std::string ranges;       ///< content of that file
    std::string complaint;    ///< about the first invalid value; empty: all are valid
    std::string warning;      ///< why the file is not used; empty: it is used, or there is no file
};

/// Reads the variables of this process. A set-user-id program ignores them.
[[nodiscard]] Settings read_settings();

/// Result of compare_settings(), equal on all ranks.
struct Comparison {
    bool equal = false;             ///< the settings have equal values on all ranks
    bool threads_anywhere = false;  ///< a rank has MPI_THREAD_MULTIPLE
};

/// Compares the settings of all ranks. Collective over `comm`; threads: this rank has
/// MPI_THREAD_MULTIPLE. If settings differ, rank 0 prints the first of them with two values.
[[nodiscard]] Comparison compare_settings(MPI_Comm comm, const Settings& settings, bool threads);

/// Prints each set variable whose name begins with WEFT_MPI_ and is unknown.
void report_unknown_variables();

}  // namespace weft::mpi
