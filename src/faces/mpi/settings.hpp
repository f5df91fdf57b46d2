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
#include <vector>

#include "faces/mpi/choices.hpp"

namespace weft::mpi {

/// Value of a variable, or a digest of the file of ranges, that ranks compare.
struct ComparedValue {
    char name[48];   ///< name of the variable, or a description of the file
    char text[120];  ///< the start of the value, for a message
    std::int64_t hash;
};

struct Settings {
    std::uint32_t kinds_on = 0;       ///< bits of CallKind: calls that may be served
    std::uint32_t kinds_chosen = 0;   ///< bits of CallKind: calls in mode `auto`
    unsigned calls_before_team = 0;   ///< blocking calls on a communicator before it gets a team
    bool statistics = false;          ///< print WEFT_MPI_STATS at the end
    bool exact_sums = false;          ///< MPI_SUM of floating-point types is WEFT_EXACT_SUM
    bool threads_anywhere = false;    ///< some rank has MPI_THREAD_MULTIPLE
    bool progress = true;             ///< weft and the host drive each other; tests set it to false
    std::vector<ChoiceRange> ranges;  ///< from the file of ranges
    std::string complaint;            ///< why the first invalid value is invalid; empty: all valid
    std::string warning;              ///< why the file of ranges is not used; empty: it is valid
    std::vector<ComparedValue> compared;  ///< in an order that is equal on all ranks
};

/// Reads the variables of this process. A set-user-id program ignores them.
[[nodiscard]] Settings read_settings();

/// Compares the settings of all ranks, and sets `threads_anywhere`. Collective over `comm`;
/// threads: this rank has MPI_THREAD_MULTIPLE. Returns true on all ranks if the settings are equal
/// and valid. Rank 0 prints the first difference, or the complaint, the warning and unknown
/// variables.
[[nodiscard]] bool compare_settings(MPI_Comm comm, Settings& settings, bool threads);

}  // namespace weft::mpi
