// SPDX-License-Identifier: BSD-3-Clause
// particles.cpp - particles in a trap with a thermostat; prints their energy with all digits.
//
// Idea     Each rank moves a block of the particles. After each step, a thermostat scales all
//          velocities by a factor of the total kinetic energy, the only data that ranks exchange.
//          So a sum that depends on the number of ranks changes every particle.
// Holds    With exact sums the energy has the same bits for any number of ranks. With --check,
//          rank 0 moves all particles and compares the bits; with --sums plain they usually differ.
// Next     weft/exact_sum.hpp.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>
#include <weft/exact_sum.hpp>

#include "perf/apps/common/application.hpp"
#include "perf/apps/common/blocks.hpp"
#include "perf/apps/common/mix.hpp"

namespace {

using apps::Check;

struct Options {
    std::uint64_t particles = 10'000;
    std::uint64_t steps = 100;
    std::string sums = "exact";

    [[nodiscard]] bool exact() const { return sums == "exact"; }
};

struct Energies {
    double kinetic = 0;
    double potential = 0;

    [[nodiscard]] double total() const { return kinetic + potential; }
};

/// A block of the particles. Positions and velocities are numbers; all masses are 1.
class Particles {
  public:
    Particles(std::int64_t first, std::int64_t count) {
        for (std::int64_t i = first; i < first + count; ++i) {
            position_.push_back(drawn(2 * i) - 0.5);
            velocity_.push_back(drawn(2 * i + 1) - 0.5);
        }
        terms_.resize(position_.size());
    }

    /// Moves by the force of the trap, -x - x^3, for one step (leapfrog).
    void move() {
        constexpr double kStep = 1.0 / 64;
        for (std::size_t i = 0; i < position_.size(); ++i) {
            const double x = position_[i];
            velocity_[i] -= kStep * (x + x * x * x);
            position_[i] += kStep * velocity_[i];
        }
    }
    void scale_velocities(double factor) {
        for (double& velocity : velocity_) velocity *= factor;
    }
    /// Returns v^2 / 2 of each particle. Valid until the next call of kinetic() or potential().
    [[nodiscard]] const std::vector<double>& kinetic() {
        for (std::size_t i = 0; i < terms_.size(); ++i) terms_[i] = velocity_[i] * velocity_[i] / 2;
        return terms_;
    }
    [[nodiscard]] const std::vector<double>& potential() {
        for (std::size_t i = 0; i < terms_.size(); ++i) {
            const double square = position_[i] * position_[i];
            terms_[i] = square / 2 + square * square / 4;
        }
        return terms_;
    }

  private:
    static double drawn(std::int64_t number) {
        return static_cast<double>(apps::mix(static_cast<std::uint64_t>(number)) >> 11) * 0x1p-53;
    }

    std::vector<double> position_;
    std::vector<double> velocity_;
    std::vector<double> terms_;
};

/// Sums the terms of all members. The exact sum of a member's terms is sent as integers, whose sum
/// over the members is again exact.
double sum_over(weft::Team team, const std::vector<double>& terms, bool exact) {
    if (exact) {
        weft::ExactSum sum;
        sum.add<double>(terms);
        team.allreduce(sum.words(), weft::Op::sum);
        return sum.value();
    }
    return team.allreduce(std::accumulate(terms.begin(), terms.end(), 0.0), weft::Op::sum);
}

/// Moves a block of particles; `sum` sums terms over all blocks.
template <class Sum>
Energies simulate(Particles particles, const Options& options, Sum sum) {
    Energies energies;
    // Mean of v^2 / 2 at the start: 1/24. A step removes about 1/16 of the deviation from it.
    const double wanted = static_cast<double>(options.particles) / 24;
    for (std::uint64_t step = 0; step < options.steps; ++step) {
        particles.move();
        const double kinetic = sum(particles.kinetic());
        particles.scale_velocities(1 + (std::sqrt(wanted / kinetic) - 1) / 16);
    }
    energies.kinetic = sum(particles.kinetic());
    energies.potential = sum(particles.potential());
    return energies;
}

Check work(apps::Job& job, const Options& options) {
    if (options.sums != "exact" && options.sums != "plain")
        throw apps::InvalidInput("--sums: '" + options.sums + "' is neither exact nor plain");
    weft::Team world = job.world;
    const auto particles = static_cast<std::int64_t>(options.particles);
    const apps::Blocks blocks(particles, world.size());
    const apps::Stopwatch watch;
    const Energies energies = simulate(
        Particles(blocks.begin(world.rank()), blocks.size(world.rank())), options,
        [&](const std::vector<double>& terms) { return sum_over(world, terms, options.exact()); });
    const double seconds = world.allreduce(watch.seconds(), weft::Op::max);

    char text[64];
    std::snprintf(text, sizeof text, "%.17g", energies.total());
    job.report["particles"] = options.particles;
    job.report["steps"] = options.steps;
    job.report["sums"] = options.sums;
    job.report["energy"] = text;  // a text keeps all digits
    job.report["seconds"] = seconds;
    if (!job.check) return Check::none;
    Check check = Check::none;
    if (world.rank() == 0) {
        const Energies alone =
            simulate(Particles(0, particles), options, [&](const std::vector<double>& terms) {
                if (!options.exact()) return std::accumulate(terms.begin(), terms.end(), 0.0);
                weft::ExactSum sum;
                sum.add<double>(terms);
                return sum.value();
            });
        const double mine = energies.total();
        const double other = alone.total();
        job.report["energies_compared"] = 1;
        check = std::memcmp(&mine, &other, sizeof mine) == 0 ? Check::right : Check::wrong;
    }
    return apps::broadcast_check(world, check);
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    return apps::run(
        {.name = "particles",
         .summary = "Moves particles in a trap and prints their energy.",
         .declare =
             [&](apps::CommandLine& line) {
                 line.option("--particles", options.particles,
                             "Number of particles of all ranks together")
                     .within(1, 1'000'000'000);
                 line.option("--steps", options.steps, "Steps of time").within(1, 1'000'000'000);
                 line.option("--sums", options.sums, "Sums of energies: exact or plain");
             },
         .work = [&](apps::Job& job) { return work(job, options); },
         .check_help = "Compare the bits with a run in one process"},
        argc, argv);
}
