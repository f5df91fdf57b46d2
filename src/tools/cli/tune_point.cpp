// SPDX-License-Identifier: BSD-3-Clause
// tune_point.cpp - the tournament of algorithms for one call.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "collectives/collective_traits.hpp"
#include "tools/cli/bench_subjects.hpp"
#include "tools/cli/tune.hpp"

namespace weft::tools {

namespace {

constexpr double kBatchNs = 4e6;              // duration of a batch, unless one call takes longer
constexpr std::uint64_t kWarmCalls = 12;      // enough calls for the library to remap buffers
constexpr std::size_t kRoundsMin = 12;        // rounds before a winner is accepted
constexpr std::size_t kRoundsStable = 7;      // rounds in which the winner must stay the same
constexpr std::size_t kRoundsBeforeDrop = 4;  // rounds before a contender is left out
constexpr std::uint64_t kBanksMax = 512;      // banks of put targets, for calls of a few bytes
constexpr double kEqual = 1.02;               // ratio of medians that counts as equal
constexpr double kEqualJobs = 1.04;           // as kEqual, over several jobs, which vary more

template <class Subject>
class Tournament {
  public:
    Tournament(Team world, const TuneCall& call, std::vector<Contender> contenders)
        : world_(world), call_(call), name_(collectives::traits_of(call.collective).name) {
        result_.contenders = std::move(contenders);
    }

    template <class... Arguments>
    base::Result<TunedResult> run(double seconds, const Arguments&... arguments) {
        const auto subject =
            WEFT_TRY(make_subject<Subject>(world_, call_.bytes, world_, call_.bytes, arguments...));
        WEFT_TRY(enter(*subject));
        const std::uint64_t begin = Subject::now_ns();
        while (!result_.stable && result_.wrong.empty()) {
            play_round(*subject);
            judge();
            double elapsed = static_cast<double>(Subject::now_ns() - begin) * 1e-9;
            subject->reduce_max(std::span(&elapsed, 1));
            if (elapsed > seconds && result_.rounds >= static_cast<int>(kRoundsBeforeDrop)) break;
        }
        world_.set_algorithm(name_, "");
        return std::move(result_);
    }

  private:
    /// Checks the result of each contender, warms it up and determines its calls per batch. Removes
    /// contenders that refuse the call, which they do on all ranks.
    base::Result<void> enter(Subject& subject) {
        std::vector<Contender> able;
        for (Contender& contender : result_.contenders) {
            try {
                world_.set_algorithm(name_, contender.algorithm);
                subject.prepare(able.size() + 1);
                subject.call();
            } catch (const Error& error) {
                if (error.status() != Status::unsupported) throw;
                continue;
            }
            double wrong = subject.check(able.size() + 1) ? 0 : 1;
            subject.reduce_max(std::span(&wrong, 1));
            if (wrong > 0) {
                result_.wrong = contender.algorithm;
                return {};
            }
            for (std::uint64_t call = 0; call < kWarmCalls; ++call) subject.call();
            calls_.push_back(lab::measuring::calibrate(subject, lab::MeasuringLoop::back_to_back,
                                                       kBatchNs, kCallsMax)
                                 .calls);
            able.push_back(std::move(contender));
        }
        if (able.empty())
            return base::fail(Status::unsupported, "{} of {} bytes: no algorithm serves the call",
                              name_, call_.bytes);
        result_.contenders = std::move(able);
        return {};
    }

    /// Runs a batch of each contender. Each round begins with another contender, and odd rounds are
    /// in reverse order, so that no contender always follows the same one.
    void play_round(Subject& subject) {
        const std::size_t count = result_.contenders.size();
        for (std::size_t i = 0; i < count; ++i) {
            const bool reverse = result_.rounds % 2 == 1;
            const std::size_t position = reverse ? count - 1 - i : i;
            const std::size_t turn = (position + static_cast<std::size_t>(result_.rounds)) % count;
            Contender& contender = result_.contenders[turn];
            if (contender.dropped) continue;
            world_.set_algorithm(name_, contender.algorithm);
            // Untimed calls bring the put targets into the caches again: each bank is used again
            // only after kBanksMax calls. Without them, equal programs differed by a factor of 2.
            const std::uint64_t first = std::clamp<std::uint64_t>(calls_[turn] / 2, 1, kBanksMax);
            for (std::uint64_t call = 0; call < first; ++call) subject.call();
            const auto batch =
                lab::measuring::time_batch(subject, lab::MeasuringLoop::back_to_back, calls_[turn]);
            double us = batch.calls_ns / static_cast<double>(calls_[turn]) * 1e-3;
            subject.reduce_max(std::span(&us, 1));
            contender.times_us.push_back(us);
        }
        ++result_.rounds;
    }

    /// Drops slow contenders, and determines the winner: the first contender within kEqual of the
    /// best. Contenders are in the order of their predicted times.
    void judge() {
        double best = std::numeric_limits<double>::infinity();
        for (const Contender& contender : result_.contenders)
            if (!contender.dropped) best = std::min(best, contender.median_us());
        const auto rounds = static_cast<std::size_t>(result_.rounds);
        if (rounds >= kRoundsBeforeDrop)
            for (Contender& contender : result_.contenders) {
                // Drop a contender whose fastest batch is clearly slower than the best median.
                const double least = *std::ranges::min_element(contender.times_us);
                const double margin = rounds < kRoundsMin ? 1.5 : 1.1;
                if (least > margin * best) contender.dropped = true;
            }
        std::size_t winner = 0;
        while (result_.contenders[winner].dropped ||
               result_.contenders[winner].median_us() > kEqual * best)
            ++winner;
        same_winner_ = winner == result_.winner ? same_winner_ + 1 : 0;
        result_.winner = winner;
        const auto left = std::ranges::count(result_.contenders, false, &Contender::dropped);
        result_.stable = rounds >= kRoundsBeforeDrop && left == 1;
        if (rounds >= kRoundsMin && same_winner_ >= kRoundsStable) result_.stable = true;
    }

    static constexpr std::uint64_t kCallsMax = 10'000;

    Team world_;
    TuneCall call_;
    std::string_view name_;
    TunedResult result_;
    std::vector<std::uint64_t> calls_;  ///< calls of a batch, by contender
    std::size_t same_winner_ = 0;       ///< rounds since the winner changed
};

}  // namespace

double Contender::median_us() const {
    return times_us.empty() ? 0 : lab::median(times_us);
}

std::size_t winner_of_jobs(std::span<const Contender> contenders) {
    std::vector<double> logarithms(contenders.size());
    const std::size_t jobs = contenders.front().jobs_us.size();
    for (std::size_t job = 0; job < jobs; ++job) {
        double least = std::numeric_limits<double>::infinity();
        for (const Contender& contender : contenders)
            least = std::min(least, contender.jobs_us[job]);
        for (std::size_t i = 0; i < contenders.size(); ++i)
            logarithms[i] += std::log(contenders[i].jobs_us[job] / least);
    }
    const double equal =
        *std::ranges::min_element(logarithms) + static_cast<double>(jobs) * std::log(kEqualJobs);
    return static_cast<std::size_t>(
        std::ranges::find_if(logarithms, [&](double sum) { return sum <= equal; }) -
        logarithms.begin());
}

base::Result<TunedResult> tune_point(Team world, const TuneCall& call,
                                     std::vector<Contender> contenders, double seconds) {
    if (call.collective == Collective::barrier)
        return Tournament<BarrierSubject>(world, call, std::move(contenders)).run(seconds);
    return Tournament<CallSubject>(world, call, std::move(contenders))
        .run(seconds, CallOptions{.collective = call.collective, .type = call.type, .op = call.op});
}

}  // namespace weft::tools
