// SPDX-License-Identifier: BSD-3-Clause
// heat.cpp - heat spreads over a plate that is cut into a grid of pieces, one for each rank.
//
// Idea     Each step sends the edges, computes the inner cells, waits for the neighbors' edges,
//          and computes the outermost cells. Without a barrier, a rank is at most one step ahead
//          of its neighbors.
// Holds    With --check rank 0 computes the whole plate alone: the temperatures must have
//          the same bits.
// Next     halo.hpp for why the loop needs no barrier; README.md for how to run it.
#include <fmt/format.h>

#include <charconv>
#include <numeric>
#include <utility>
#include <vector>

#include "perf/apps/common/application.hpp"
#include "perf/apps/common/blocks.hpp"
#include "perf/apps/common/differences.hpp"
#include "perf/apps/heat/halo.hpp"

namespace {

using apps::Area;
using apps::Blocks;
using apps::Check;
using apps::CommandLine;
using apps::Field;

struct Options {
    std::int64_t rows = 480;
    std::int64_t columns = 640;
    std::uint64_t steps = 500;
    std::string grid;  ///< such as 3x2; empty: the grid with the shortest edges
    std::string exchange = "puts";
};

void declare(CommandLine& line, Options& options) {
    line.option("--rows", options.rows, "Cells from north to south").within(1, 1'000'000);
    line.option("--columns", options.columns, "Cells from west to east").within(1, 1'000'000);
    line.option("--steps", options.steps, "Steps in time").within(0, 1'000'000'000);
    line.option("--grid", options.grid,
                "Ranks from north to south and from west to east, as in 3x2; default: the "
                "shortest edges");
    line.option("--exchange", options.exchange,
                "How edges are sent: puts (with signals) or neighbors (a neighborhood call)");
}

/// Division of the plate into pieces. The piece at (row, column) belongs to rank
/// row * columns.count() + column.
struct Grid {
    Blocks rows{0, 1};
    Blocks columns{0, 1};

    [[nodiscard]] int row_of(int rank) const { return rank / columns.count(); }
    [[nodiscard]] int column_of(int rank) const { return rank % columns.count(); }
    [[nodiscard]] Area area(int rank) const {
        const int row = row_of(rank);
        const int column = column_of(rank);
        return {rows.begin(row), columns.begin(column), rows.size(row), columns.size(column)};
    }
    /// Returns the neighbor at each side, in the order of apps::Side, or -1.
    [[nodiscard]] std::array<weft::Rank, 4> neighbors_of(int rank) const {
        const int row = row_of(rank);
        const int column = column_of(rank);
        return {row > 0 ? rank - columns.count() : -1,
                row + 1 < rows.count() ? rank + columns.count() : -1, column > 0 ? rank - 1 : -1,
                column + 1 < columns.count() ? rank + 1 : -1};
    }
};

std::pair<int, int> read_grid(const std::string& text, int ranks) {
    std::pair<int, int> grid;
    const char* const end = text.data() + text.size();
    const auto rows = std::from_chars(text.data(), end, grid.first);
    const bool has_rows = rows.ec == std::errc() && rows.ptr != end && *rows.ptr == 'x';
    const auto columns = std::from_chars(has_rows ? rows.ptr + 1 : end, end, grid.second);
    if (columns.ec != std::errc() || columns.ptr != end || grid.first < 1 || grid.second < 1)
        throw apps::InvalidInput(
            fmt::format("--grid: \"{}\" is not a grid, expected a form such as 3x2", text));
    if (std::int64_t{grid.first} * grid.second != ranks)
        throw apps::InvalidInput(
            fmt::format("--grid: {} has {} pieces, expected one for each of {} ranks", text,
                        std::int64_t{grid.first} * grid.second, ranks));
    return grid;
}

/// Returns the grid (rows, columns) whose pieces have the shortest edges.
std::pair<int, int> best_grid(const Options& options, int ranks) {
    std::pair<int, int> best{ranks, 1};
    auto shortest = std::numeric_limits<std::int64_t>::max();
    for (int rows = 1; rows <= ranks; ++rows) {
        if (ranks % rows != 0) continue;
        const int columns = ranks / rows;
        if (rows > options.rows || columns > options.columns) continue;
        const std::int64_t edges = options.rows / rows + options.columns / columns;
        if (edges < shortest) {
            shortest = edges;
            best = {rows, columns};
        }
    }
    return best;
}

Grid make_grid(const Options& options, int ranks) {
    const auto [rows, columns] =
        options.grid.empty() ? best_grid(options, ranks) : read_grid(options.grid, ranks);
    if (rows > options.rows || columns > options.columns)
        throw apps::InvalidInput(
            fmt::format("{} x {} cells cannot be cut into {} x {} pieces, expected at least one "
                        "cell in each",
                        options.rows, options.columns, rows, columns));
    return {Blocks(options.rows, rows), Blocks(options.columns, columns)};
}

/// Computes all cells except the outermost, which need the neighbors' edges.
void step_inside(const Field& before, const Field& after) {
    const Area& area = after.area();
    after.step(before, 1, area.height - 1, 1, area.width - 1);
}

void step_outermost(const Field& before, const Field& after) {
    const Area& area = after.area();
    after.step(before, 0, 1, 0, area.width);
    if (area.height > 1) after.step(before, area.height - 1, area.height, 0, area.width);
    after.step(before, 1, area.height - 1, 0, 1);
    if (area.width > 1) after.step(before, 1, area.height - 1, area.width - 1, area.width);
}

/// Returns the final plate, computed by this process alone.
std::vector<double> compute_serially(const Options& options) {
    const Area whole{0, 0, options.rows, options.columns};
    std::vector<double> memory(whole.framed_cells());
    std::vector<double> other(whole.framed_cells());
    Field current(whole, memory);
    Field next(whole, other);
    current.initialize();
    next.initialize();  // for the frame; the steps compute all other cells
    for (std::uint64_t step = 0; step < options.steps; ++step) {
        next.step(current, 0, options.rows, 0, options.columns);
        std::swap(current, next);
    }
    std::vector<double> cells;
    for (std::int64_t row = 0; row < options.rows; ++row)
        cells.insert(cells.end(), &current.at(row, 0), &current.at(row, 0) + options.columns);
    return cells;
}

/// Collective: returns the whole plate on rank 0, and an empty vector on other ranks. `own_piece`:
/// this rank's piece, in symmetric memory.
std::vector<double> gather(weft::Team team, const Grid& grid, std::span<double> own_piece) {
    team.barrier();  // all ranks have computed
    std::vector<double> cells;
    if (team.rank() == 0) {
        cells.resize(static_cast<std::size_t>(grid.rows.items() * grid.columns.items()));
        std::vector<double> piece(own_piece.size());
        for (weft::Rank rank = 0; rank < team.size(); ++rank) {
            const Area area = grid.area(rank);
            team.get(piece.data(), own_piece.data(), area.framed_cells() * sizeof(double), rank);
            const Field field(area, piece);
            for (std::int64_t row = 0; row < area.height; ++row)
                std::copy_n(&field.at(row, 0), area.width,
                            cells.begin() + (area.row + row) * grid.columns.items() + area.column);
        }
    }
    team.barrier();  // no rank frees its memory before rank 0 has read it
    return cells;
}

/// Runs all steps. `current` has the initial values. After an odd number of steps, the memory of
/// `next` has the result, else the memory of `current`.
void run_steps(const Options& options, auto& halo, Field current, Field next) {
    for (std::uint64_t step = 0; step < options.steps; ++step) {
        halo.send_edges(current, step);
        step_inside(current, next);
        halo.receive_edges(current, step);
        step_outermost(current, next);
        std::swap(current, next);
    }
}

Check work(apps::Job& job, const Options& options) {
    if (options.exchange != "puts" && options.exchange != "neighbors")
        throw apps::InvalidInput(
            fmt::format("--exchange: \"{}\", expected puts or neighbors", options.exchange));
    weft::Team world = job.world;
    const Grid grid = make_grid(options, world.size());
    const Area area = grid.area(world.rank());
    const Area largest{0, 0, grid.rows.largest(), grid.columns.largest()};
    apps::Halo halo(world, grid.neighbors_of(world.rank()),
                    static_cast<std::size_t>(std::max(largest.height, largest.width)));
    apps::EdgeExchange exchange(world, grid.neighbors_of(world.rank()), area);
    // Symmetric, so that rank 0 can get the pieces at the end.
    const weft::Memory memory(world, largest.framed_cells() * sizeof(double));
    std::vector<double> other(area.framed_cells());
    const std::span<double> cells = memory.as<double>();
    Field current(area, cells);
    Field next(area, other);
    current.initialize();
    next.initialize();

    world.barrier();
    const apps::Stopwatch watch;
    if (options.exchange == "puts")
        run_steps(options, halo, current, next);
    else
        run_steps(options, exchange, current, next);
    const double seconds = world.allreduce(watch.seconds(), weft::Op::max);
    if (options.steps % 2 == 1) std::ranges::copy(other, cells.begin());

    apps::Report& report = job.report;
    report["rows"] = options.rows;
    report["columns"] = options.columns;
    report["grid"] = fmt::format("{}x{}", grid.rows.count(), grid.columns.count());
    report["steps"] = options.steps;
    report["exchange"] = options.exchange;
    report["seconds"] = seconds;
    report["cell_steps_per_s"] = static_cast<double>(options.rows * options.columns) *
                                 static_cast<double>(options.steps) / seconds;
    const std::vector<double> plate = gather(world, grid, cells);
    Check check = Check::none;
    if (world.rank() == 0) {
        report["mean_temperature"] =
            std::accumulate(plate.begin(), plate.end(), 0.0) / static_cast<double>(plate.size());
        if (job.check) {
            const std::size_t different = apps::count_different(plate, compute_serially(options));
            report["cells_compared"] = plate.size();
            report["cells_different"] = different;
            check = different == 0 ? Check::right : Check::wrong;
        }
    }
    return check;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    return apps::run(
        {.name = "heat",
         .summary = "Spreads heat over a plate that is cut into a piece for each rank.",
         .declare = [&](CommandLine& line) { declare(line, options); },
         .work = [&](apps::Job& job) { return work(job, options); }},
        argc, argv);
}
