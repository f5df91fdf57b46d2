// SPDX-License-Identifier: BSD-3-Clause
// cg.cpp - solves A x = b by conjugate gradients; the rows of A, a Matrix Market file, are spread
// over the ranks.
//
// Idea     A solver uses two kinds of communication: dot products (allreduce) and, in each product
//          with the matrix, elements of other ranks (puts with a signal, distributed_matrix.hpp).
// Holds    Every rank reads the file and keeps its rows. With --check rank 0 also solves the
//          system alone and compares. The solutions may differ by rounding, because the order
//          of additions differs.
// Next     README.md for how to run it.
#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <vector>

#include "perf/apps/cg/conjugate_gradient.hpp"
#include "perf/apps/common/application.hpp"
#include "perf/apps/common/differences.hpp"

namespace {

using apps::Blocks;
using apps::Check;
using apps::CommandLine;
using apps::Solution;
using apps::SparseRows;

struct Options {
    std::string file;
    std::vector<std::int64_t> blocks;  ///< rows of each rank; empty: evenly divided
    apps::SolverOptions solver;
    double check_tolerance = 1e-6;
};

void declare(CommandLine& line, Options& options) {
    line.option("matrix", options.file,
                "Matrix Market file of a symmetric positive definite matrix")
        .required();
    line.option("--blocks", options.blocks, "Rows of each rank, such as 100,0,200; default: even")
        .comma_separated()
        .within(0, 2'147'483'647);
    line.option("--tolerance", options.solver.tolerance,
                "Residual norm to reach, relative to the norm of b")
        .within(1e-15, 1.0);
    line.option("--iterations", options.solver.iterations_max, "Limit of iterations")
        .within(1, 1'000'000'000);
    line.option("--check-tolerance", options.check_tolerance,
                "Largest accepted difference of solutions, relative to the largest element")
        .within(0.0, 1.0);
}

Blocks make_blocks(const Options& options, std::int64_t rows, int ranks) {
    if (options.blocks.empty()) return {rows, ranks};
    const Blocks blocks(options.blocks);
    if (blocks.count() != ranks)
        throw apps::InvalidInput(fmt::format(
            "--blocks: {} numbers, expected one for each of {} ranks", blocks.count(), ranks));
    if (blocks.items() != rows)
        throw apps::InvalidInput(fmt::format("--blocks: {} rows in all, expected the {} rows of {}",
                                             blocks.items(), rows, options.file));
    return blocks;
}

/// The part of the file for one rank.
struct Part {
    Blocks blocks{0, 1};
    SparseRows rows;
};

Part read_part(const Options& options, int rank, int ranks) {
    std::ifstream file(options.file);
    if (!file)
        throw apps::InvalidInput(
            fmt::format("{}: cannot be opened: {}", options.file, std::strerror(errno)));
    apps::MatrixMarketReader reader(file, options.file);
    Part part{.blocks = make_blocks(options, reader.rows(), ranks)};
    part.rows = read_symmetric_rows(reader, part.blocks.begin(rank), part.blocks.end(rank));
    return part;
}

/// Collective. The ranks may read different files on different machines, so a problem of one rank
/// becomes an error on all.
Part read_part_collectively(const Options& options, weft::Team team) {
    Part part;
    std::string problem;
    try {
        part = read_part(options, team.rank(), team.size());
    } catch (const std::runtime_error& error) {
        problem = error.what();
    }
    apps::raise_on_all(team, problem);
    return part;
}

/// Returns elements [begin, end) of b. An element depends only on its row.
std::vector<double> right_side(std::int64_t begin, std::int64_t end) {
    std::vector<double> b;
    for (std::int64_t row = begin; row < end; ++row) b.push_back(static_cast<double>(1 + row % 7));
    return b;
}

/// Collective: returns the whole vector on rank 0, and an empty vector on other ranks. Rank 0 gets
/// the blocks while the other ranks wait in a barrier.
std::vector<double> gather(weft::Team team, const Blocks& blocks,
                           std::span<const double> own_block) {
    const auto largest = static_cast<std::size_t>(std::max<std::int64_t>(blocks.largest(), 1));
    const weft::Memory memory(team, largest * sizeof(double));
    const std::span<double> block = memory.as<double>();
    std::ranges::copy(own_block, block.begin());
    team.barrier();
    std::vector<double> whole(team.rank() == 0 ? static_cast<std::size_t>(blocks.items()) : 0);
    if (team.rank() == 0) {
        for (weft::Rank rank = 0; rank < team.size(); ++rank)
            team.get(whole.data() + blocks.begin(rank), block.data(),
                     static_cast<std::size_t>(blocks.size(rank)) * sizeof(double), rank);
    }
    team.barrier();
    return whole;
}

/// Compares the solution with a serial one, on rank 0.
Check compare(const Options& options, std::span<const double> x, apps::Report& report) {
    const Part whole = read_part({.file = options.file}, 0, 1);
    const Solution serial =
        solve_serially(whole.rows, right_side(0, whole.blocks.items()), options.solver);
    const double difference = apps::relative_difference(x, serial.x);
    report["serial_iterations"] = serial.iterations;
    report["serial_residual"] = serial.residual;
    report["difference"] = difference;
    return serial.converged && difference <= options.check_tolerance ? Check::right : Check::wrong;
}

Check work(apps::Job& job, const Options& options) {
    weft::Team world = job.world;
    const Part part = read_part_collectively(options, world);
    const Blocks& blocks = part.blocks;
    apps::DistributedMatrix matrix(world, part.rows, blocks);
    const auto b = right_side(blocks.begin(world.rank()), blocks.end(world.rank()));

    world.barrier();
    const apps::Stopwatch watch;
    const Solution solution = solve(world, matrix, b, options.solver);
    const double seconds = world.allreduce(watch.seconds(), weft::Op::max);
    if (!solution.definite)
        throw apps::InvalidInput(fmt::format("{}: not positive definite, found in iteration {}",
                                             options.file, solution.iterations + 1));

    apps::Report& report = job.report;
    report["matrix"] = options.file;
    report["rows"] = blocks.items();
    report["entries"] = world.allreduce(part.rows.values.size(), weft::Op::sum);
    report["halo_elements_max"] = world.allreduce(matrix.halo_elements(), weft::Op::max);
    report["sources_max"] = world.allreduce(matrix.sources(), weft::Op::max);
    report["iterations"] = solution.iterations;
    report["converged"] = solution.converged;
    report["residual"] = solution.residual;
    report["seconds"] = seconds;
    job.failed = !solution.converged;
    if (!job.check) return Check::none;
    const std::vector<double> x = gather(world, blocks, solution.x);
    return world.rank() == 0 ? compare(options, x, report) : Check::none;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    return apps::run(
        {.name = "cg",
         .summary = "Solves A x = b by conjugate gradients, A from a Matrix Market file.",
         .declare = [&](CommandLine& line) { declare(line, options); },
         .work = [&](apps::Job& job) { return work(job, options); }},
        argc, argv);
}
