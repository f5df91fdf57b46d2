// SPDX-License-Identifier: BSD-3-Clause
// mpi_bench.cpp - the peer: the same calls in the same measuring loop, made through MPI.
//
// Idea     One source for every MPI library. It takes the options of `weft bench` and prints the same
//          fields, so that perf/compare treats both sides alike.
// Why      A ratio is honest only if both sides are timed by one loop: that loop is
//          base/measuring.hpp, and nothing else here reads the clock (but for the barrier's check).
// Holds    Every result is checked against a value computed without MPI. Exit status: 0 right, 1 a
//          result was wrong, 2 unusable arguments.
// Next     docs/measuring.md.
#include <fmt/format.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/measuring.hpp"
#include "base/units.hpp"

namespace {

using weft::base::Measurement;
using weft::base::MeasuringLoop;
using weft::base::MeasuringOptions;

/// Page-aligned doubles: no side shall lose for its buffers' alignment.
class Buffer {
  public:
    explicit Buffer(std::size_t bytes)
        : count_(bytes / sizeof(double)),
          memory_(static_cast<double*>(std::aligned_alloc(4096, (bytes / 4096 + 1) * 4096))) {
        if (!memory_) throw std::bad_alloc();
        std::fill_n(memory_.get(), count_, 0.0);
    }
    [[nodiscard]] double* data() { return memory_.get(); }
    [[nodiscard]] int count() const { return static_cast<int>(count_); }
    [[nodiscard]] std::span<double> values() { return {memory_.get(), count_}; }

  private:
    struct Free {
        void operator()(double* memory) const { std::free(memory); }
    };
    std::size_t count_;
    std::unique_ptr<double[], Free> memory_;
};

/// Element `index` of a vector that changes from batch to batch; small, so that sums are exact.
double pattern(std::size_t index, std::uint64_t batch) {
    return static_cast<double>((index + 7 * batch) % 13 + 1);
}

/// What the subjects share: how ranks meet and agree.
class Job {
  public:
    Job() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
    }
    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }

    [[nodiscard]] static std::uint64_t now_ns() { return weft::base::monotonic_ns(); }
    static void align() { MPI_Barrier(MPI_COMM_WORLD); }
    static void largest(std::span<double> values) {
        MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE,
                      MPI_MAX, MPI_COMM_WORLD);
    }

  private:
    int rank_ = 0;
    int size_ = 1;
};

class Barrier : public Job {
  public:
    void prepare(std::uint64_t) {}
    void call() { MPI_Barrier(MPI_COMM_WORLD); }
    /// One rank comes late: nobody may leave before it has come. All ranks are on one machine,
    /// whose clock they share.
    [[nodiscard]] bool check(std::uint64_t batch) {
        const std::uint64_t begin = now_ns();
        if (batch % static_cast<std::uint64_t>(size()) == static_cast<std::uint64_t>(rank()))
            while (now_ns() < begin + 50'000) continue;
        const auto entry = static_cast<double>(now_ns());
        call();
        const auto exit = static_cast<double>(now_ns());
        double bounds[2] = {entry, -exit};
        largest(bounds);
        return bounds[0] <= -bounds[1];
    }
};

class Allreduce : public Job {
  public:
    explicit Allreduce(std::size_t bytes) : in_(bytes), out_(bytes) {
        for (int rank = 0; rank < size(); ++rank) weight_sum_ += weight(rank);
    }
    void prepare(std::uint64_t batch) {
        for (std::size_t i = 0; i < in_.values().size(); ++i)
            in_.values()[i] = weight(rank()) * pattern(i, batch);
        std::fill(out_.values().begin(), out_.values().end(), -1.0);
    }
    void call() {
        MPI_Allreduce(in_.data(), out_.data(), in_.count(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    [[nodiscard]] bool check(std::uint64_t batch) {
        for (std::size_t i = 0; i < out_.values().size(); ++i)
            if (out_.values()[i] != weight_sum_ * pattern(i, batch)) return false;
        return true;
    }

  private:
    /// Different for all ranks, and no two of them make a third.
    static double weight(int rank) { return 1.0 + 3.0 * rank * rank; }

    Buffer in_;
    Buffer out_;
    double weight_sum_ = 0;
};

class Broadcast : public Job {
  public:
    Broadcast(std::size_t bytes, int root) : buffer_(bytes), root_(root) {}
    void prepare(std::uint64_t batch) {
        for (std::size_t i = 0; i < buffer_.values().size(); ++i)
            buffer_.values()[i] = rank() == root_ ? pattern(i, batch) : -1.0;
    }
    void call() { MPI_Bcast(buffer_.data(), buffer_.count(), MPI_DOUBLE, root_, MPI_COMM_WORLD); }
    [[nodiscard]] bool check(std::uint64_t batch) {
        for (std::size_t i = 0; i < buffer_.values().size(); ++i)
            if (buffer_.values()[i] != pattern(i, batch)) return false;
        return true;
    }

  private:
    Buffer buffer_;
    int root_;
};

struct Options {
    std::string collective;
    std::string loop = "back-to-back";
    std::string bytes_text = "0";
    std::vector<std::uint64_t> bytes;
    int root = 0;
    bool json = false;
    MeasuringOptions measuring;
};

void declare(CLI::App& app, Options& options) {
    app.add_option("--collective", options.collective, "What to call")
        ->required()
        ->check(CLI::IsMember({"barrier", "allreduce", "broadcast"}));
    app.add_option("--bytes", options.bytes_text, "Sizes, such as 8,64K,1M")->capture_default_str();
    app.add_option("--iterations", options.measuring.iterations,
                   "Timed calls in all (0: as many as fit into --seconds)")
        ->capture_default_str();
    app.add_option("--seconds", options.measuring.seconds, "Time for one size, all batches")
        ->check(CLI::Range(1e-3, 3600.0))
        ->capture_default_str();
    app.add_option("--batches", options.measuring.batches, "Samples")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--warmup", options.measuring.warmup, "Calls before anything is timed")
        ->capture_default_str();
    app.add_option("--loop", options.loop, "How calls follow each other")
        ->check(CLI::IsMember({"back-to-back", "separated"}))
        ->capture_default_str();
    app.add_option("--root", options.root, "Root of a broadcast")->capture_default_str();
    app.add_flag("--json", options.json, "One JSON object on stdout");
}

/// What is wrong with the options beyond their form; empty if nothing.
std::string complete(Options& options, int size) {
    auto bytes = weft::base::parse_bytes_list(options.bytes_text);
    if (!bytes) return bytes.failure().within("--bytes").text;
    for (const std::uint64_t value : *bytes)
        if (value % sizeof(double) != 0 || value / sizeof(double) > 0x7fffffff)
            return fmt::format("--bytes: {} is not a multiple of {}, or too large", value,
                               sizeof(double));
    if (options.collective == "barrier") *bytes = {0};
    if (options.root < 0 || options.root >= size)
        return fmt::format("--root: {} is not a rank from 0 to {}", options.root, size - 1);
    options.bytes = *bytes;
    options.measuring.loop =
        options.loop == "separated" ? MeasuringLoop::separated : MeasuringLoop::back_to_back;
    return {};
}

Measurement measure_one(const Options& options, std::uint64_t bytes) {
    if (options.collective == "barrier") {
        Barrier subject;
        return measure(subject, options.measuring);
    }
    if (options.collective == "allreduce") {
        Allreduce subject(bytes);
        return measure(subject, options.measuring);
    }
    Broadcast subject(bytes, options.root);
    return measure(subject, options.measuring);
}

std::string library_version() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string version(text, static_cast<std::size_t>(length));
    std::string first = version.substr(0, version.find_first_of(",\n"));
    std::ranges::replace(first, '\t', ' ');
    return first;
}

nlohmann::ordered_json describe(const Measurement& measurement, std::uint64_t bytes) {
    return {{"algorithm", "library"},
            {"bytes", bytes},
            {"iterations", measurement.iterations},
            {"min_us", measurement.call_us.min},
            {"median_us", measurement.call_us.median},
            {"p99_us", measurement.call_us.p99},
            {"max_us", measurement.call_us.max},
            {"checked", measurement.checked}};
}

void print_line(const Measurement& measurement, std::uint64_t bytes) {
    fmt::print("{:>10} {:>12} {:>10.3f} {:>10.3f} {:>10.3f} {:>10.3f}  {}\n", bytes,
               measurement.iterations, measurement.call_us.min, measurement.call_us.median,
               measurement.call_us.p99, measurement.call_us.max,
               measurement.checked ? "right" : "WRONG");
}

/// Measures every size; rank 0 prints. True if all results were right.
bool run(const Options& options, const Job& job) {
    nlohmann::ordered_json object{{"collective", options.collective},
                                  {"ranks", job.size()},
                                  {"library", library_version()},
                                  {"type", "double"},
                                  {"op", options.collective == "allreduce" ? "sum" : "none"},
                                  {"loop", options.loop},
                                  {"results", nlohmann::ordered_json::array()}};
    const bool speaks = job.rank() == 0;
    if (speaks && !options.json)
        fmt::print("{} on {} ranks, {}\n{:>10} {:>12} {:>10} {:>10} {:>10} {:>10}\n",
                   options.collective, job.size(), library_version(), "bytes", "iterations",
                   "min_us", "median_us", "p99_us", "max_us");
    bool right = true;
    for (const std::uint64_t bytes : options.bytes) {
        const Measurement measurement = measure_one(options, bytes);
        right = right && measurement.checked;
        if (speaks && options.json) object["results"].push_back(describe(measurement, bytes));
        if (speaks && !options.json) print_line(measurement, bytes);
    }
    if (speaks && options.json) fmt::print("{}\n", object.dump());
    return right;
}

/// The exit status if the program should not measure.
std::optional<int> read_options(int argument_count, char** arguments, Options& options,
                                const Job& job) {
    CLI::App app{"Times collective calls of an MPI library."};
    declare(app, options);
    try {
        app.parse(argument_count, arguments);
    } catch (const CLI::ParseError& error) {
        if (job.rank() == 0) return app.exit(error) == 0 ? 0 : 2;
        return error.get_exit_code() == 0 ? 0 : 2;
    }
    const std::string complaint = complete(options, job.size());
    if (complaint.empty()) return std::nullopt;
    if (job.rank() == 0) fmt::print(stderr, "{}\n", complaint);
    return 2;
}

}  // namespace

int main(int argument_count, char** arguments) {
    MPI_Init(&argument_count, &arguments);
    int status = 0;
    {
        const Job job;
        Options options;
        if (const auto refused = read_options(argument_count, arguments, options, job))
            status = *refused;
        else
            status = run(options, job) ? 0 : 1;
    }
    MPI_Finalize();
    return status;
}
