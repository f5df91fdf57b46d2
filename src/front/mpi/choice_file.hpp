// SPDX-License-Identifier: BSD-3-Clause
// choice_file.hpp - what trials have shown, kept in a file for later jobs.
//
// Idea     A line of text for each place of communicators of so many ranks: the MPI, ranks,
//          collective, bytes from which on, and who is quicker. Rank 0 reads the file and gives it
//          to all ranks when the runtime starts, and writes it anew when MPI ends.
// Holds    Lines of other MPIs stay as they are. A line that is none is told of and left out; the
//          others count.
// Next     choices.hpp for the trials; WEFT_MPI_TUNING in docs/guide/mpi-backing.md.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "front/mpi/choices.hpp"

namespace weft::mpi {

/// By the number of ranks of a communicator.
using KnownWays = std::map<int, Choices::Ways>;

/// What a file says of this MPI; `complaint`: the first line that says nothing, if any.
[[nodiscard]] KnownWays read_ways(std::string_view text, std::string_view mpi,
                                  std::string& complaint);

/// The file with what is known now in place of what it said of this MPI.
[[nodiscard]] std::string write_ways(std::string_view text, std::string_view mpi,
                                     const KnownWays& known);

}  // namespace weft::mpi
