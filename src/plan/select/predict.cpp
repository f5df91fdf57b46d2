// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/predict.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <variant>
#include <vector>

#include "plan/schedule/step.hpp"
#include "plan/select/chain.hpp"
#include "plan/select/equal_programs.hpp"
#include "plan/select/folding.hpp"
#include "plan/select/one_program.hpp"
#include "plan/select/processors.hpp"
#include "plan/select/put_models.hpp"
#include "plan/select/work.hpp"
#include "plan/simulate/simulate.hpp"

namespace weft::plan {

namespace {

__extension__ using Wide = __int128;

/// Largest message in the buffers of a connection.
constexpr std::uint64_t kHeldBytes = std::uint64_t{256} << 10;
/// Largest buffer that stays in a cache from one call to the next while other ranks put into it.
constexpr std::uint64_t kLandedBytes = std::uint64_t{2} << 20;
/// Calls that share a wait, for short and for long buffers. Far more calls have put targets.
constexpr Time kShortCalls = 16;
constexpr Time kLongCalls = 2;

constexpr Time kForever = std::numeric_limits<Time>::max();

/// Ranks whose buffers are read or written in place.
struct Reach {
    bool peers = false;   ///< of local peers
    bool others = false;  ///< of ranks on other nodes
};

bool is_of_peer(const Block& block) {
    return block.buffer == Buffer::mapped;
}
bool is_exposed(const Step& step) {
    return step.kind == StepKind::expose;
}

class Prediction {
  public:
    Prediction(const Machine& machine, Rank size, const Candidate& candidate,
               const VectorSize& vector, Interest interest = {})
        : machine_(machine),
          size_(size),
          candidate_(candidate),
          vector_(vector),
          exact_(interest.exact) {
        if (!machine.crowded()) give_up_ = interest.most;
        const Ways ways = ways_of(machine);
        apart_ = ways != Ways::near;
        mixed_ = ways == Ways::both && size <= kPredictedRanks;  // else all are far
        is_short_ = vector.elements * vector.element_bytes <= kShortBytes;
        held_ = vector.elements * vector.element_bytes <= kHeldBytes;
        if (!machine.crowded() && (size != 2 || apart_ || !held_)) return;
        const auto program = candidate.program(size, 0);
        passes_on_ = program && !program->synchronizing;
        const bool puts = program && std::ranges::none_of(program->blocks, is_of_peer) &&
                          std::ranges::none_of(program->steps, is_exposed);
        if (!machine.crowded()) {
            of_two_ = passes_on_ && puts;
            if (puts) give_up_ = kForever;
            if (puts && !passes_on_ && !is_short_)
                swapped_ = moved_of_two(near_time(copied_out_bytes(*program, vector))).there;
            return;
        }
        // No payload needs a put target, so a call waits for targets only before the last one.
        const bool lands = passes_on_ && apart_ && !puts && program->slot_units == 0 &&
                           vector.elements * vector.element_bytes <= kLandedBytes;
        streams_ = passes_on_ && (is_short_ || (held_ && (apart_ || puts)) || lands);
    }

    [[nodiscard]] base::Result<Predicted> run() const {
        if (exact_ && size_ > kPredictedRanks)
            return base::fail(Status::unsupported,
                              "{} ranks that share processors are more than {}", size_,
                              kPredictedRanks);
        if (!mixed_ && !model(true, true).needs_steps(vector_.elements * vector_.element_bytes)) {
            const auto stages = candidate_.stages(size_);
            if (stages) return of_stages(*stages);
            if (stages.failure().status != Status::unsupported) return stages.failure();
        }
        if (size_ > kPredictedRanks) return continued();
        if (mixed_ && !exact_ && period() == 0)
            if (const auto quick = by_one_program(machine_, size_, candidate_, vector_, give_up_))
                return *quick;
        return of_programs(size_);
    }

    /// Returns the bound of computation and waits along the chain of last waits.
    [[nodiscard]] base::Result<LeastTime> least(const ChainEnd& end) const {
        if (size_ > kPredictedRanks || streams_ || of_two_) return LeastTime{.whole = true};
        const PutModels both = put_models(machine_, true, !machine_.crowded());
        const auto waiting = chain_time(candidate_, size_, vector_, both, end);
        if (!waiting || !machine_.crowded()) return waiting;
        const PutModels work = put_models(machine_, false, true);
        const auto computing = chain_time(candidate_, size_, vector_, work, end);
        if (!computing) return computing;
        return LeastTime{waiting->time + computing->time + machine_.calls(),
                         waiting->whole && computing->whole};
    }

    [[nodiscard]] bool is_quick() const {
        return size_ <= kPredictedRanks && seems_to_fold(candidate_, size_, period(), vector_);
    }

  private:
    /// Returns the model of a team whose puts all use one path.
    [[nodiscard]] MessageModel model(bool waits, bool computes) const {
        return only_model(machine_, apart_, waits, computes);
    }
    [[nodiscard]] const PutCost& put() const { return apart_ ? machine_.far : machine_.near; }

    /// Returns the work of all ranks per processor of a host.
    [[nodiscard]] Time shared_out(Wide sum, Rank size) const {
        return static_cast<Time>(sum * machine_.host_ranks / machine_.host_processors / size);
    }

    /// Combines the simulated makespans of waits and computation. `makespan(waits, computes)`
    /// simulates a call; `again()` returns the waits of the next call.
    template <class Makespan, class Again>
    [[nodiscard]] base::Result<Predicted> combined(Makespan makespan, Again again, const Work& all,
                                                   Rank size, const Loads& loads = {}) const {
        const bool crowded = machine_.crowded();
        const base::Result<Time> first = makespan(true, !crowded);
        if (!first) return first.failure();
        // With two ranks, the busier one determines the time of each call.
        if (of_two_ && !loads.empty())
            return Predicted{*first, all.messages, std::ranges::max(loads)};
        if (!crowded) return Predicted{*first + swapped_, all.messages, *first + swapped_};
        const base::Result<Time> computing = makespan(false, true);
        if (!computing) return computing.failure();
        const Time work = shared_out(Wide{all.sent(machine_.near, put())} + all.combining, size);
        const Time most = passes_on_ ? std::max(busiest(machine_, loads), work) : work;
        // A call takes at least the time of its busiest processor. The exception is a short
        // call within a node: part of a root's receipt overlaps with the sends of others, by
        // half as measured.
        const bool half = !apart_ && is_short_;
        Time in_a_row = streams_ && !apart_ ? all.in_a_row * machine_.near.latency : 0;
        if (streams_ && half) in_a_row += all.combined_in_a_row * machine_.near.slot;
        const Time shared = (half ? work + (most - work) / 2 : most) + in_a_row;
        const Time alone = *first + std::max(*computing, shared) + machine_.calls();
        Predicted predicted{.time = alone, .messages = all.messages, .in_stream = alone};
        if (!streams_) return predicted;
        const base::Result<Time> each = again();
        if (!each) return each.failure();
        predicted.in_stream = in_stream(*first, *each, shared) + machine_.calls();
        return predicted;
    }

    /// Returns the time that a call adds to a stream. Waits for answers, which a second call in a
    /// row still has (`each`), count in full; a share of the other waits is added.
    [[nodiscard]] Time in_stream(Time waits, Time each, Time work) const {
        if (!apart_ && is_short_) return work + each;
        if (is_short_) return work + each + (waits - each) / kShortCalls;
        if (!apart_ || !candidate_.banks) return work + each + (waits - each) / kLongCalls;
        const Time calls = std::max<Time>(1, candidate_.banks(size_) / 2);
        return work + each + (waits - each) / std::min(calls, kShortCalls) + meeting() / calls;
    }

    /// Returns the time in which all ranks meet, once for half of the calls with put targets
    /// (run/execute/window.hpp). It is about a dissemination between nodes.
    [[nodiscard]] Time meeting() const {
        std::vector<Rank> nodes = machine_.node_of;
        std::ranges::sort(nodes);
        nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
        const auto rounds = static_cast<Time>(std::bit_width(nodes.size() - 1));
        const Wide messages = Wide{rounds} * static_cast<Time>(nodes.size());
        return rounds * latency_of(machine_, machine_.far) +
               shared_out(messages * (machine_.far.issue + machine_.far.receive), size_);
    }

    [[nodiscard]] base::Result<Predicted> of_stages(const Stages& stages) const {
        const auto makespan = [&](bool waits, bool computes) -> base::Result<Time> {
            Surroundings around;
            around.model = model(waits, computes);
            auto outcome = simulate_folded(stages, vector_, around);
            if (!outcome) outcome = simulate_structured(stages, vector_, around);
            if (!outcome) return outcome.failure();
            return outcome->makespan;
        };
        // All puts of such stages use one path, or the call synchronizes.
        const auto again = [] { return base::Result<Time>(0); };
        return combined(makespan, again, work_of(stages), size_);
    }

    [[nodiscard]] Work work_of(const Stages& stages) const {
        Work work;
        const std::uint64_t bytes =
            stages.carries ? vector_.elements * vector_.element_bytes : std::uint64_t{0};
        const Time combine = model_of(machine_, put(), false, true).combine(bytes, 2);
        for (const Stage& stage : stages.stages) {
            const std::uint64_t messages = raises_of(stages, stage);
            work.messages += messages;
            if (!stages.carries) continue;
            const auto* exchange = std::get_if<ExchangeStage>(&stage);
            const bool combines = exchange != nullptr && exchange->keeps_own;
            const std::uint64_t taken =
                messages - (combines ? replaced(stages, *exchange) : std::uint64_t{0});
            work.combining += static_cast<Time>(taken) * (combines ? combine : unpacking(bytes));
        }
        work.bytes = work.messages * bytes;
        if (fits_no_cell(bytes)) work.slots = work.messages;
        if (apart_) {
            work.far_messages = work.messages;
            work.far_bytes = work.bytes;
            work.far_slots = work.slots;
        }
        return work;
    }

    /// Remainders that receive start with the first message, so they combine nothing with it.
    static std::uint64_t replaced(const Stages& stages, const ExchangeStage& exchange) {
        if (!exchange.remainders_receive) return 0;
        return static_cast<std::uint64_t>(stages.remainders_of(exchange).count);
    }

    /// Predicts by the programs of all ranks of a team of `size` ranks.
    [[nodiscard]] base::Result<Predicted> of_programs(Rank size) const {
        // A buffer with a block for each rank is shorter in a smaller team.
        const VectorSize vector{candidate_.elements ? candidate_.elements(size) : vector_.elements,
                                vector_.element_bytes};
        const auto shown =
            show_team(candidate_, size, period(), vector, !machine_.crowded() && !of_two_);
        if (!shown) return shown.failure();
        Work work;
        Loads loads(static_cast<std::size_t>(shown->ranks));
        for (Rank rank = 0; rank < shown->ranks && (machine_.crowded() || of_two_); ++rank)
            add_work(shown->program_of(rank), rank, vector, work, loads);
        const auto times = static_cast<std::uint64_t>(size / shown->ranks);
        work.multiply(times);
        Reach reach;
        const auto simulate = [&](bool waits, bool computes,
                                  Surroundings around) -> base::Result<Outcome> {
            PutModels models = put_models(machine_, waits, computes);
            if (!mixed_) models = {model(waits, computes), {}};
            around.model = models.model;
            around.give_up = give_up_;
            std::optional<Fold> fold;
            if (shown->folded()) fold = Fold{shown->ranks};
            ImagePart part(around.model, vector, models.far, fold);
            Known known{.equal = EqualPrograms(mixed_ ? &machine_.node_of : nullptr)};
            for (Rank rank = 0; rank < shown->ranks; ++rank) {
                if (auto added = add(part, *shown, rank, reach, known); !added)
                    return added.failure();
                if (rank + 1 != shown->ranks / 4 || rank < kFewRanks) continue;
                if (around.give_up == kForever) continue;
                const Time least = simulate_first_ranks(part, around);
                if (least > around.give_up) return Outcome{.makespan = least};
            }
            return simulate_generic({&part, 1}, around);
        };
        const auto makespan = [&](bool waits, bool computes) -> base::Result<Time> {
            const auto outcome = simulate(waits, computes, {});
            if (!outcome) return outcome.failure();
            work.messages = outcome->messages * times;
            return outcome->makespan;
        };
        // In two successive calls, each rank starts the second when its first one ends.
        const auto again = [&]() -> base::Result<Time> {
            const auto first = simulate(true, false, {.ends = true});
            if (!first) return first.failure();
            const auto second = simulate(true, false, {.starts = first->ends});
            if (!second) return second.failure();
            return second->makespan - first->makespan;
        };
        auto predicted = combined(makespan, again, work, size, loads);
        if (!predicted) return predicted;
        predicted->in_place = reach.peers;
        predicted->lands = reach.others;
        return predicted;
    }

    /// Added programs that other ranks may repeat.
    struct Known {
        std::vector<ImagePart::Added> by_rank = {};
        EqualPrograms equal;
    };
    base::Result<void> add(ImagePart& part, const Shown& shown, Rank rank, Reach& reach,
                           Known& known) const {
        const auto note = [&](const Program& program) {
            const Reach found = reach_of(program, rank);
            reach = {reach.peers || found.peers, reach.others || found.others};
        };
        if (!shown.programs.empty()) {
            note(shown.program_of(rank));
            return part.add(shown.program_of(rank), rank);
        }
        const Rank same =
            exact_ || !candidate_.same_as ? rank : candidate_.same_as(shown.team, rank);
        if (same < rank) {
            part.repeat(known.by_rank[at(same)], rank);
            return base::Done{};
        }
        const auto program = candidate_.program(shown.team, rank);
        if (!program) return program.failure();
        note(*program);
        if (auto added = known.equal.add(*program, part); !added) return added.failure();
        if (!candidate_.same_as) return base::Done{};
        known.by_rank.resize(at(shown.team));
        known.by_rank[at(rank)] = known.equal.added();
        return base::Done{};
    }

    /// Returns whose buffers the program accesses in place when `rank` runs it.
    [[nodiscard]] Reach reach_of(const Program& program, Rank rank) const {
        Reach reach;
        for (const Step& step : program.steps) {
            if (step.kind != StepKind::expose) continue;
            (is_far(program, rank, step.peer) ? reach.others : reach.peers) = true;
        }
        return reach;
    }

    /// Returns true if a peer named by the program is on another node when `rank` runs it.
    [[nodiscard]] bool is_far(const Program& program, Rank rank, Rank peer) const {
        if (!apart_ || !mixed_) return apart_;
        if (peer == kNoRank) return false;
        return machine_.node_of[at(meant(program, rank, peer))] != machine_.node_of[at(rank)];
    }
    /// Returns the peer that the program names when `rank` runs it.
    [[nodiscard]] static Rank meant(const Program& program, Rank rank, Rank peer) {
        return static_cast<Rank>((std::int64_t{peer} + rank - program.rank + program.size) %
                                 program.size);
    }

    void add_work(const Program& program, Rank rank, const VectorSize& vector, Work& work,
                  Loads& loads) const {
        const MessageModel costs =
            mixed_ ? model_of(machine_, put(), false, true) : model(false, true);
        Time& load = loads[at(rank)];
        const std::size_t here = processor_of(machine_, rank);
        Time crossing = 0;   // near messages to ranks of other processors
        Time elsewhere = 0;  // near messages among them that are not shared
        for_each_message(program, vector, [&](const Happening& message) {
            const Rank peer = message.peer;
            const bool far = is_far(program, rank, peer);
            const std::uint64_t bytes = message.bytes;
            const bool slot = fits_no_cell(bytes);
            work.add_message(bytes, far, slot);
            const PutCost& cost = far ? machine_.far : machine_.near;
            const Time moving = to_time(static_cast<std::int64_t>(bytes) * cost.byte_fs);
            // Near stores proceed in the background; a reader waits for data that another processor
            // has written. As measured, receiving roots are a bottleneck there. Sending roots
            // are a bottleneck only if several messages in a row are for another processor.
            const bool waits = !far && peer != kNoRank;
            const Time more = slot ? cost.slot : 0;
            const bool crosses =
                waits && processor_of(machine_, meant(program, rank, peer)) != here;
            if (crosses) ++crossing;
            if (crosses && !message.shared) ++elsewhere;
            const Moved moved = waits ? moved_near(moving, message.shared) : Moved{moving, moving};
            load += moved.here + (waits ? 0 : cost.issue + more);
            if (peer != kNoRank)
                loads[at(meant(program, rank, peer)) % loads.size()] +=
                    cost.receive + moved.there + (waits ? more : 0);
        });
        work.in_a_row = std::max(work.in_a_row, elsewhere - 1);
        const Time before = work.combining;
        Time combined = 0;  // payloads out of put targets
        // Where buffers are used in place, ranks wait for each line of another processor.
        if (!apart_ && std::ranges::any_of(program.steps, is_exposed))
            work.combining += crossing * machine_.near.latency;
        for_each_reduction(program, vector, [&](const Happening& reduction) {
            const bool in_place = reduction.mapped_vectors > 0;
            const std::uint32_t payloads = in_place ? 0 : reduction.operands - 1;
            work.combining += costs.combine(reduction.bytes, reduction.operands, in_place);
            if (fits_no_cell(reduction.bytes)) combined += payloads;
            load += fetched(reduction.bytes * payloads);
        });
        work.combined_in_a_row = std::max(work.combined_in_a_row, combined - 1);
        const bool in_pieces =
            program.segments > 1 && vector.elements * vector.element_bytes > kCachedPiece;
        for_each_touching(
            program, vector,
            [&](const Happening& step) {
                work.combining += costs.touch(step.mapped_vectors, step.mapped_bytes) +
                                  costs.copy(step.own_bytes);
                const bool cached = in_pieces && step.slot_bytes <= kCachedPiece;
                work.combining += unpacking(step.slot_bytes) / (cached ? kCachedPart : 1);
                load += fetched(step.slot_bytes);
            },
            !is_short_ || costs.copy_byte_fs > 0);
        const auto near = [&](Rank peer) { return !is_far(program, rank, peer); };
        work.combining += cold_time(program, vector, costs, near);
        if (costs.expose > 0) work.combining += costs.expose * exposed_vectors(program, near);
        if (unpacks()) work.combining += unpacking(exposed_slot_bytes(program, vector, near));
        load += work.combining - before;
    }
    /// Returns the times of sender and receiver for the bytes of a near message. Stores of short
    /// ones proceed in the background.
    [[nodiscard]] Moved moved_near(Time moving, bool shared) const {
        if (of_two_) return moved_of_two(moving);
        if (is_short_) return {0, moving};
        // On a single node fetched() counts the receiver's time, where it reads put targets.
        const Moved moved = moved_long(moving, shared);
        return {moved.here, apart_ ? moved.there : 0};
    }
    [[nodiscard]] Time near_time(std::uint64_t bytes) const {
        return to_time(static_cast<std::int64_t>(bytes) * machine_.near.byte_fs);
    }
    [[nodiscard]] Time fetched(std::uint64_t bytes) const {
        if (apart_ || of_two_ || is_short_) return 0;
        return moved_long(near_time(bytes)).there;
    }
    /// Returns true if copies out of put targets cost extra. Within a node they are part of the
    /// cost of a put, and short data is in the cache that the network has filled.
    [[nodiscard]] bool unpacks() const { return apart_ && !is_short_; }
    [[nodiscard]] Time unpacking(std::uint64_t bytes) const {
        if (!unpacks()) return 0;
        return to_time(static_cast<std::int64_t>(bytes) * machine_.slot_byte_fs);
    }
    [[nodiscard]] bool fits_no_cell(std::uint64_t bytes) const {
        return bytes > machine_.cell_bytes;
    }
    static std::size_t at(Rank rank) { return static_cast<std::size_t>(rank); }

    static constexpr Rank kContinuedRanks = 64;
    static constexpr Rank kFewRanks = 64;  ///< larger quarters of a team are simulated first

    /// Extrapolates the time to larger teams. The growth from a quarter to a half and to all of
    /// kContinuedRanks ranks gives the growth for each doubling.
    [[nodiscard]] base::Result<Predicted> continued() const {
        std::array<Time, 3> times{};
        Predicted largest;
        for (std::size_t i = 0; i < times.size(); ++i) {
            const auto predicted = of_programs(kContinuedRanks >> (2 - i));
            if (!predicted) return predicted;
            times[i] = predicted->time;
            largest = *predicted;
        }
        const Time before = std::max<Time>(1, times[1] - times[0]);
        const Time last = std::max<Time>(1, times[2] - times[1]);
        Time time = times[2];
        Wide step = last;
        for (std::int64_t held = kContinuedRanks; held < size_; held *= 2) {
            step = std::min<Wide>(step * last / before, Wide{1} << 61);
            const Wide part = step * std::min<std::int64_t>(held, size_ - held) / held;
            time = static_cast<Time>(std::min<Wide>(time + part, Wide{1} << 62));
        }
        largest.time = largest.in_stream = time;
        return largest;
    }

    /// Returns the number of ranks that represent all; 1: any rank; 0: none.
    [[nodiscard]] Rank period() const {
        if (exact_) return 0;
        if (!mixed_) return 1;
        return period_of(machine_.node_of);
    }

    const Machine& machine_;
    Rank size_;
    const Candidate& candidate_;
    const VectorSize& vector_;
    bool exact_ = false;
    bool apart_ = false;      ///< several nodes
    bool mixed_ = false;      ///< several nodes, and some ranks share one
    bool passes_on_ = false;  ///< data flows without synchronization: no call waits for all ranks
    /// Ranks share processors, and calls of a stream overlap. A waiting rank leaves the processor
    /// to others, which continue to later calls while their payloads have room. So it waits once
    /// for many calls. False for long buffers used in place on a node: as measured, a chain of
    /// ranks takes as long in a stream as alone. False also for messages larger than the buffers of
    /// a connection: they need both ranks at once, but ranks in a later call use the processors.
    bool streams_ = false;
    bool of_two_ = false;      ///< two ranks of a node, with a processor each; one sends
    Time swapped_ = 0;         ///< if both send: time to copy the other's data
    bool held_ = false;        ///< messages fit the buffers of a connection
    bool is_short_ = false;    ///< even many messages at a time fit
    Time give_up_ = kForever;  ///< cutoff, where each rank has a processor
};

}  // namespace

base::Result<LeastTime> least_time(const Machine& machine, Rank size, const Candidate& candidate,
                                   const VectorSize& vector, const ChainEnd& end) {
    return Prediction(machine, size, candidate, vector).least(end);
}

bool is_quickly_predicted(const Machine& machine, Rank size, const Candidate& candidate,
                          const VectorSize& vector) {
    return Prediction(machine, size, candidate, vector).is_quick();
}

base::Result<Predicted> predict(const Machine& machine, Rank size, const Candidate& candidate,
                                const VectorSize& vector, Interest interest) {
    return Prediction(machine, size, candidate, vector, interest).run();
}

}  // namespace weft::plan
