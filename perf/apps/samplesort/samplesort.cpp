// SPDX-License-Identifier: BSD-3-Clause
// samplesort.cpp - sorts a file of records by their keys into another file; each rank sorts a part.
//
// Idea     Each rank reads its part of the input and sorts it. From samples of all parts
//          (allgatherv) every rank computes the same splitters, which divide the sorted records
//          into a share for each rank. Each rank sends the pieces of its part to the ranks of their
//          shares (alltoallv) and merges the pieces that it receives. The position of its share in
//          the output is the number of records in the shares of lower ranks (exscan).
// Holds    The output does not depend on the number of ranks: records with equal keys keep their
//          order. With --check the ranks read the output, in parts of equal size. Keys must not
//          descend, and a digest that ignores order must equal the digest of the input.
// Next     splitters.hpp for even shares; README.md for how to run it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <vector>

#include "perf/apps/common/application.hpp"
#include "perf/apps/common/blocks.hpp"
#include "perf/apps/samplesort/record_file.hpp"
#include "perf/apps/samplesort/splitters.hpp"

namespace {

using apps::Blocks;
using apps::Check;
using apps::CommandLine;
using apps::Digest;
using apps::Records;

struct Options {
    std::string input;
    std::string output;
    apps::RecordShape shape;
    std::size_t samples = 64;
    std::int64_t make = -1;  ///< records to make; negative: the input exists
    apps::RecordGenerator generator;
};

void declare(CommandLine& line, Options& options) {
    line.option("input", options.input, "File of records").required();
    line.option("output", options.output, "File for the sorted records").required();
    line.option("--record-bytes", options.shape.bytes, "Size of a record").within(1, 1'000'000);
    line.option("--key-bytes", options.shape.key_bytes,
                "Size of the key that a record begins with, compared byte by byte")
        .within(1, 1'000'000);
    line.option("--samples", options.samples, "Samples of each rank, which determine the splitters")
        .within(1, 1'000'000);
    line.option("--make", options.make,
                "Make an input of this number of records first; the file must not exist")
        .within(0, 1'000'000'000);
    line.option("--distinct", options.generator.distinct,
                "With --make: largest number of different keys; default: no limit");
    line.option("--seed", options.generator.seed, "With --make: seed of the records");
}

std::size_t index_of(weft::Rank rank) {
    return static_cast<std::size_t>(rank);
}

/// Collective: returns the largest time of all ranks.
double slowest(weft::Team team, const apps::Stopwatch& watch) {
    return team.allreduce(watch.seconds(), weft::Op::max);
}

/// Collective: returns the digest of the records of all ranks.
Digest digest_of_all(weft::Team team, const Records& records) {
    Digest sum = apps::digest(records);
    team.allreduce(std::span<std::uint64_t>(sum.words), weft::Op::sum);
    return sum;
}

/// Collective: rank 0 creates a file of the right size, and all ranks write their part.
void write_file(weft::Team team, const std::string& path, std::int64_t first,
                const Records& records, std::int64_t records_of_all) {
    const auto bytes = static_cast<std::uint64_t>(records_of_all) * records.shape().bytes;
    apps::raise_on_all(team, team.rank() == 0 ? apps::make_record_file(path, bytes) : "");
    apps::raise_on_all(team, apps::write_records(path, first, records));
}

/// Collective: returns this rank's part of a file.
Records read_part(weft::Team team, const std::string& path, const apps::RecordShape& shape,
                  const Blocks& blocks) {
    Records part(shape, static_cast<std::size_t>(blocks.size(team.rank())));
    apps::raise_on_all(team, apps::read_records(path, blocks.begin(team.rank()), part));
    return part;
}

void make_input(weft::Team team, const Options& options) {
    const bool exists = std::filesystem::exists(options.input);
    apps::raise_on_all(team, exists ? fmt::format("--make: {} exists already", options.input) : "");
    const Blocks blocks(options.make, team.size());
    const auto first = blocks.begin(team.rank());
    const Records part =
        apps::make_records(options.shape, options.generator, static_cast<std::uint64_t>(first),
                           static_cast<std::size_t>(blocks.size(team.rank())));
    write_file(team, options.input, first, part, options.make);
}

/// Collective: returns the division of the input; rank 0 determines its length.
Blocks cut_input(weft::Team team, const Options& options) {
    apps::RecordCount count;
    if (team.rank() == 0) {
        count = apps::count_records(options.input, options.shape);
        std::error_code no_output_yet;
        if (std::filesystem::equivalent(options.input, options.output, no_output_yet))
            count.problem =
                fmt::format("{}: is also the input, expected another file", options.output);
    }
    apps::raise_on_all(team, count.problem);
    team.broadcast(std::span(&count.records, 1), 0);
    return {count.records, team.size()};
}

/// Collective: returns the samples of all ranks. Ranks with fewer than `samples` records have one
/// sample of each record. `blocks`: records of each rank.
Records gather_samples(weft::Team team, const apps::SortedPart& part, const Blocks& blocks,
                       std::size_t samples) {
    const Records mine = apps::take_samples(part, samples);
    std::vector<std::size_t> counts;  // in bytes
    for (weft::Rank rank = 0; rank < team.size(); ++rank)
        counts.push_back(std::min(samples, static_cast<std::size_t>(blocks.size(rank))) *
                         mine.shape().bytes);
    const std::size_t bytes = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    Records all(mine.shape(), bytes / mine.shape().bytes);
    team.allgatherv(mine.bytes().data(), all.bytes().data(), {.counts = counts}, weft::Type::uint8);
    return all;
}

/// Collective: returns this rank's share, merged from the sorted parts of all ranks. `starts`:
/// index of each share's first record in this part, then the number of records.
Records exchange(weft::Team team, const Records& sorted, const std::vector<std::size_t>& starts) {
    const std::size_t record_bytes = sorted.shape().bytes;
    const std::size_t ranks = index_of(team.size());
    std::vector<std::size_t> out_counts(ranks);  // in bytes
    std::vector<std::size_t> in_counts(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank)
        out_counts[rank] = (starts[rank + 1] - starts[rank]) * record_bytes;
    team.alltoall(out_counts.data(), in_counts.data(), 1, weft::type_of<std::size_t>());
    std::vector<std::size_t> blocks{0};  // in records
    for (const std::size_t bytes : in_counts)
        blocks.push_back(blocks.back() + bytes / record_bytes);
    Records mine(sorted.shape(), blocks.back());
    team.alltoallv(sorted.bytes().data(), {.counts = out_counts}, mine.bytes().data(),
                   {.counts = in_counts}, weft::Type::uint8);
    return apps::merge_blocks(mine, blocks);
}

/// Collective: returns this rank's share of the sorted records.
Records sort_together(weft::Team team, const Options& options, const Records& part,
                      const Blocks& blocks) {
    const apps::SortedPart sorted{.sorted = apps::sort_records(part),
                                  .first = static_cast<std::uint64_t>(blocks.begin(team.rank()))};
    const std::size_t ranks = index_of(team.size());
    const Records splitters =
        apps::choose_splitters(gather_samples(team, sorted, blocks, options.samples), ranks);
    return exchange(team, sorted.sorted.records, apps::cut(sorted, splitters, ranks));
}

/// Collective: returns the number of records before this rank's share.
std::int64_t place_of(weft::Team team, const Records& share) {
    const auto records = static_cast<std::int64_t>(share.count());
    std::int64_t before = 0;  // exscan does not write it on rank 0
    team.exscan(&records, &before, 1, weft::Type::int64, weft::Op::sum);
    return before;
}

/// Collective: checks the output. Each rank also reads the record before its part, so that the
/// ranks together compare every pair of adjacent records.
Check check_output(weft::Team team, const Options& options, const Blocks& blocks,
                   const Digest& expected, apps::Report& report) {
    const apps::RecordCount count = apps::count_records(options.output, options.shape);
    apps::raise_on_all(team, count.problem);
    const Records part = read_part(team, options.output, options.shape, blocks);
    const std::int64_t first = blocks.begin(team.rank());
    Records pairs(options.shape, part.count() + (first > 0 ? 1 : 0));
    apps::raise_on_all(team, apps::read_records(options.output, first > 0 ? first - 1 : 0, pairs));

    const Digest found = digest_of_all(team, part);
    const auto descents = team.allreduce(apps::count_descents(pairs), weft::Op::sum);
    report["records_checked"] = team.allreduce(part.count(), weft::Op::sum);
    report["descents"] = descents;
    report["digest_input"] = fmt::format("{:016x}{:016x}", expected.words[0], expected.words[1]);
    report["digest_output"] = fmt::format("{:016x}{:016x}", found.words[0], found.words[1]);
    const bool right = descents == 0 && found == expected && count.records == blocks.items();
    return apps::broadcast_check(team, right ? Check::right : Check::wrong);
}

Check work(apps::Job& job, const Options& options) {
    weft::Team world = job.world;
    if (options.shape.key_bytes > options.shape.bytes)
        throw apps::InvalidInput(
            fmt::format("--key-bytes: {}, expected at most the {} bytes of a record",
                        options.shape.key_bytes, options.shape.bytes));
    if (options.make >= 0) make_input(world, options);
    const Blocks blocks = cut_input(world, options);

    const apps::Stopwatch reading;
    const Records part = read_part(world, options.input, options.shape, blocks);
    const double read_s = slowest(world, reading);
    const apps::Stopwatch sorting;
    const Records share = sort_together(world, options, part, blocks);
    const double sort_s = slowest(world, sorting);
    const apps::Stopwatch writing;
    write_file(world, options.output, place_of(world, share), share, blocks.items());
    const double write_s = slowest(world, writing);

    apps::Report& report = job.report;
    report["records"] = blocks.items();
    report["record_bytes"] = options.shape.bytes;
    report["key_bytes"] = options.shape.key_bytes;
    report["share_max"] = world.allreduce(share.count(), weft::Op::max);
    report["read_s"] = read_s;
    report["sort_s"] = sort_s;
    report["write_s"] = write_s;
    report["records_per_s"] = static_cast<double>(blocks.items()) / sort_s;
    Check check = Check::none;
    if (job.check) check = check_output(world, options, blocks, digest_of_all(world, part), report);
    return check;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    return apps::run({.name = "samplesort",
                      .summary = "Sorts a file of records by their keys.",
                      .declare = [&](CommandLine& line) { declare(line, options); },
                      .work = [&](apps::Job& job) { return work(job, options); },
                      .check_help = "Read the output and compare it with the input"},
                     argc, argv);
}
