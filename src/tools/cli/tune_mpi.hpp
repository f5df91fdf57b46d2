// SPDX-License-Identifier: BSD-3-Clause
// tune_mpi.hpp - `weft tune --mpi`: measures which library is faster in MPI programs.
//
// Idea     Jobs of the program peer_openmpi or peer_mpich call MPI's collectives with weft's layer.
//          Jobs in which the MPI library serves all calls alternate with jobs in which weft does.
//          The medians give ranges of sizes, which the layer reads with WEFT_MPI=auto.
// Holds    Collectives that the file has for an MPI and a number of ranks are not measured again
//          unless requested. The file is replaced as a whole after each collective.
// Next     src/faces/mpi/choices.hpp for the use of the file; docs/guide/mpi-backing.md.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace weft::tools {

/// Options of `weft tune`.
struct TuneArguments {
    std::vector<std::string> collectives;
    std::string output;
    std::string bytes = "8,64,512,4K,32K,256K,1M";
    std::string type = "double";
    std::string op = "sum";
    std::string ranks;
    std::vector<std::string> layouts;
    std::string launcher;  ///< empty: the launchers of all MPIs that are installed
    double seconds = 2;
    double total_seconds = 0;
    double within = 4;
    int candidates = 8;
    int jobs = 3;
    bool exhaustive = false;
    bool again = false;
    bool mpi = false;
};

/// Measures these collectives. Returns the exit status.
[[nodiscard]] base::Result<int> tune_mpi(const TuneArguments& arguments,
                                         const std::vector<std::string>& collectives);

}  // namespace weft::tools
