// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/statistics.hpp"

#include <cstdio>
#include <string>

namespace weft::mpi {

void Statistics::print(MPI_Comm comm) const {
    std::array<Row, kKindNames.size()> sums{};
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    constexpr int words = sizeof sums / sizeof(std::uint64_t);
    if (PMPI_Reduce(rows_.data(), sums.data(), words, MPI_UINT64_T, MPI_SUM, 0, comm) !=
            MPI_SUCCESS ||
        rank != 0)
        return;
    std::string text = "weft: collectives of MPI (sums over ranks)\n";
    text +=
        "weft: call                      calls     served          bytes  served ms    host ms"
        "  handed back\n";
    for (std::size_t kind = 0; kind < sums.size(); ++kind) {
        const Row& row = sums[kind];
        std::uint64_t calls = 0;
        std::string back;
        for (std::size_t why = 0; why < kWhyNames.size(); ++why) {
            calls += row.by_why[why];
            if (why == 0 || row.by_why[why] == 0) continue;
            back += back.empty() ? "" : ", ";
            back += std::to_string(row.by_why[why]) + " ";
            back += kWhyNames[why];
        }
        if (calls == 0) continue;
        char line[160];
        std::snprintf(line, sizeof line, "weft: %-21s %9llu  %9llu %14llu %10.2f %10.2f  ",
                      kKindNames[kind].data(), static_cast<unsigned long long>(calls),
                      static_cast<unsigned long long>(row.by_why[0]),
                      static_cast<unsigned long long>(row.bytes),
                      static_cast<double>(row.served_ns) / 1e6,
                      static_cast<double>(row.host_ns) / 1e6);
        text += line;
        text += (back.empty() ? "none" : back) + "\n";
    }
    std::fputs(text.c_str(), stderr);
}

}  // namespace weft::mpi
