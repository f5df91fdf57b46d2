// SPDX-License-Identifier: BSD-3-Clause
// choice_file.hpp - results of trials in a file, for later jobs.
//
// Idea     The file has a line for each place of communicators of one size: the MPI, ranks,
//          collective, lowest bytes, and the faster library. Rank 0 reads the file and sends it to
//          all ranks when the runtime starts, and replaces it when MPI ends.
// Holds    Lines of other MPIs, and of places that this job has not tried, are kept. A malformed
//          line is reported and dropped; the others count. Jobs may replace the file at the same
//          time: each writes a new file and renames it, so a reader never sees part of a file.
// Next     choices.hpp for the trials; WEFT_MPI_TUNING in docs/guide/mpi-backing.md.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "faces/mpi/choices.hpp"

namespace weft::mpi {

/// Verdicts by number of ranks of a communicator.
using KnownWays = std::map<int, Choices::Ways>;

/// Reads the verdicts of this MPI. `complaint` receives the first malformed line, if any.
[[nodiscard]] KnownWays read_ways(std::string_view text, std::string_view mpi,
                                  std::string& complaint);

/// Returns `text` with the lines of this MPI that `known` has added or replaced.
[[nodiscard]] std::string write_ways(std::string_view text, std::string_view mpi,
                                     const KnownWays& known);

/// Returns the content of a file, which is empty if the file does not exist. Prints a line and
/// returns nothing if it is not a regular file or has more than 4 MiB.
[[nodiscard]] std::optional<std::string> content_of(const std::string& file);

/// Replaces a file as a whole: a reader sees the old content or the new one. No link is followed.
/// Returns false if it cannot be written.
[[nodiscard]] bool replace_content(const std::string& file, std::string_view content);

}  // namespace weft::mpi
