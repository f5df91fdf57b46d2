// SPDX-License-Identifier: BSD-3-Clause
// algorithm_matrix.hpp - runs each collective by each algorithm that has programs for a team, and
// each element type with each of its operations.
//
// Idea     The table of collectives and the registry of algorithms define the algorithms and the
//          values of their parameters to test. The calls of a collective have several roots, are in
//          place or not, and have counts from zero to more than a bank holds. Algorithms that keep
//          rank order get operations that do not commute; other algorithms must refuse these. In
//          calls with counts, block sizes follow patterns, and blocks are packed, have gaps or are
//          in reverse order.
// Next     matrix_caller.hpp makes a call and checks its result; collective_matrix.cpp has the
//          other tests.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "collectives/collective_traits.hpp"
#include "collectives/registry.hpp"
#include "tests/system/ranks/matrix_caller.hpp"

namespace weft::test {

class AlgorithmMatrix {
  public:
    /// Each algorithm of the barrier makes `barriers` calls. Without `every_shape`, each count,
    /// root and algorithm gets only one of the three shapes of call_with_root(), in rotation.
    AlgorithmMatrix(MatrixCaller& caller, int barriers, bool every_shape)
        : caller_(caller),
          world_(caller.world()),
          barriers_(barriers),
          every_shape_(every_shape),
          layout_(layout_of(world_)),
          direct_(buffers_are_reachable(world_)) {
        caller_.covered["access"]["direct"] += direct_ ? 1 : 0;
    }

    /// Runs each collective by its default algorithm and by each algorithm to test.
    void run() {
        for (const collectives::CollectiveTraits& traits : collectives::kCollectives) {
            call(traits, "", true);
            if (traits.has_pairwise_counts()) continue;  // these have a single algorithm
            for (const std::string& spec : specs_of(traits)) try_spec(traits, spec);
            world_.set_algorithm(traits.name, "");
        }
    }

    /// Runs each type with each of its operations. The default algorithm reduces 1, 3 and 70
    /// elements, of which 70 do not fit a cell; without `all_counts` each operation gets one of
    /// these counts.
    void run_types(bool all_counts) {
        for (int type = 0; type < kBuiltinTypes; ++type) {
            const oracle::Samples& samples = oracle::samples_of(static_cast<Type>(type));
            for (int op = 0; op < kBuiltinOps; ++op)
                if (oracle::has_operation(samples.type, static_cast<Op>(op)))
                    reduce_all(samples, static_cast<Op>(op), all_counts);
            for (const Collective collective : {Collective::allgather, Collective::broadcast})
                caller_.run_and_check({.collective = collective,
                                       .samples = &samples,
                                       .count = 5,
                                       .root = world_.size() - 1,
                                       .arrangement = {.shift = 1}},
                                      "");
        }
        reduce_all(oracle::triple_samples(), Op::user, all_counts);
    }

  private:
    using Traits = collectives::CollectiveTraits;
    using Contribution = collectives::Contribution;

    /// Returns the layout of the job. The lowest rank of a node identifies the node.
    static plan::Layout layout_of(Team& world) {
        std::int32_t lowest = world.rank();
        OwnedTeam node(world.split_by_node());
        node.broadcast(&lowest, 1, Type::int32, 0);
        std::vector<Rank> nodes(static_cast<std::size_t>(world.size()));
        world.allgather(&lowest, nodes.data(), 1, Type::int32);
        return plan::Layout::of(nodes);
    }

    /// Returns the request for the programs of this rank.
    [[nodiscard]] collectives::GenerateRequest request_of() const {
        return {.rank = world_.rank(),
                .size = world_.size(),
                .root = 0,
                .elements = 1,
                .element_bytes = 8,
                .layout = layout_};
    }
    /// Returns the specs of the registry to test, and the candidates for this number of ranks.
    [[nodiscard]] std::vector<std::string> specs_of(const Traits& traits) const {
        const std::string_view name = collectives::traits_of(traits.even).name;
        std::vector<std::string> specs = collectives::specs_to_try(name);
        const collectives::CandidateRequest request{.size = world_.size(), .layout = layout_};
        for (const collectives::Algorithm& algorithm : collectives::algorithms()) {
            if (algorithm.collective != name || algorithm.variants == nullptr) continue;
            if (algorithm.properties.notation) continue;  // tested in collective_matrix.cpp
            if (algorithm.properties.for_nodes && (traits.has_counts() || !request.mixed()))
                continue;
            for (std::string& spec : algorithm.variants(request))
                if (std::ranges::find(specs, spec) == specs.end()) specs.push_back(std::move(spec));
        }
        return specs;
    }

    /// Returns true if ranks can access each other's buffers; equal on all ranks of a node.
    [[nodiscard]] static bool buffers_are_reachable(Team world) {
        world.set_algorithm("allreduce", "mapped");
        bool reached = true;
        try {
            (void)world.allreduce(1, Op::sum);
        } catch (const Error&) {
            reached = false;
        }
        world.set_algorithm("allreduce", "");
        return reached;
    }

    /// Runs an algorithm if it has programs for this team, with the operations that they permit.
    void try_spec(const Traits& traits, const std::string& spec) {
        const std::string_view name = collectives::traits_of(traits.even).name;
        const auto parsed = collectives::parse_spec(spec);
        collectives::GenerateRequest request = request_of();
        if (!collectives::generate(name, *parsed, request).ok()) return;
        const bool direct =
            (*collectives::find_algorithm(name, *parsed))->properties_of(*parsed).direct;
        if (direct && !direct_) return;
        // The parameter `near` exposes blocks to all local peers.
        if (parsed->find("near") != nullptr && world_.size() > kExposersMax) return;
        request.ordered = true;
        const bool ordered = collectives::generate(name, *parsed, request).ok();
        ++caller_.covered[std::string(traits.name)][parsed->name];
        world_.set_algorithm(traits.name, spec);
        call(traits, spec, ordered);
        if (traits.reduces() && !ordered) caller_.expect_refusal(traits.collective, spec);
    }

    /// Makes calls with all roots (default algorithm) or a quarter of the roots (other algorithms).
    void call(const Traits& traits, const std::string& spec, bool ordered) {
        if (!traits.has_data()) {
            for (int i = 0; i < barriers_; ++i) world_.barrier();
            return;
        }
        ++turn_;
        for (Rank root = 0; root < world_.size(); ++root) {
            if (!traits.rooted()) {
                call_with_root(traits, spec, ordered, -1);
                break;
            }
            if (spec.empty() || root % 4 == turn_ % 4) call_with_root(traits, spec, ordered, root);
        }
    }

    /// Makes calls in three shapes: a sum of doubles in separate buffers, a maximum of unaligned
    /// integers in place, and an operation that does not commute if the algorithm permits it.
    void call_with_root(const Traits& traits, const std::string& spec, bool ordered, Rank root) {
        for (const std::size_t count : counts_of(traits)) {
            ++turn_;
            ++shape_;
            MatrixCall matrix_call{.collective = traits.collective, .count = count, .root = root};
            if (traits.has_counts()) {
                matrix_call.pattern = static_cast<int>(count);
                matrix_call.arrangement.in_spacing = static_cast<Spacing>(turn_ % 3);
                matrix_call.arrangement.out_spacing =
                    static_cast<Spacing>((turn_ + world_.rank()) % 3);  // members may differ
            }
            // Calls with pairwise counts use one shape at a time, like those without `every_shape`.
            const bool all_shapes = every_shape_ && !traits.has_pairwise_counts();
            const bool has_two_buffers = traits.collective != Collective::broadcast;
            if ((all_shapes && has_two_buffers) || shape_ % 3 == 0)
                caller_.run_and_check(matrix_call, spec);
            matrix_call.samples = &oracle::samples_of(Type::int32);
            matrix_call.op = Op::max;
            matrix_call.arrangement.in_place = true;
            matrix_call.arrangement.shift = 1;
            if (all_shapes || shape_ % 3 == 1) caller_.run_and_check(matrix_call, spec);
            if (!ordered || (!traits.has_pairwise_counts() && !traits.reduces())) continue;
            matrix_call.samples = &oracle::affine_samples();
            matrix_call.op = Op::user;
            matrix_call.count = count % 1000;
            matrix_call.arrangement.in_place = turn_ % 2 == 0;
            if (all_shapes || shape_ % 3 == 2) caller_.run_and_check(matrix_call, spec);
        }
    }

    /// Returns the counts to test or, for calls with counts, the indices of the count patterns.
    static std::vector<std::size_t> counts_of(const Traits& traits) {
        if (traits.has_counts()) {
            std::vector<std::size_t> patterns;
            for (std::size_t i = 0; i < kCountPatterns; ++i) patterns.push_back(i);
            return patterns;
        }
        if (traits.blocks()) return {0, 1, 3, 100, 6007};
        if (traits.contribution == Contribution::root) return {0, 1, 6, 1000, 70'000};
        if (traits.contribution == Contribution::all) return {0, 1, 7, 500, 20'011};
        return {0, 1, 3, 100, 6007};
    }

    /// Makes each reducing collective with one count by the default algorithm.
    void reduce_all(const oracle::Samples& samples, Op op, bool all_counts) {
        constexpr std::size_t kCounts[] = {1, 3, 70};
        for (std::size_t i = 0; i < std::size(kCounts); ++i) {
            if (!all_counts && i != static_cast<std::size_t>(op) % 3) continue;
            for (const Traits& traits : collectives::kCollectives) {
                if (!traits.reduces() || traits.has_counts()) continue;
                ++turn_;
                caller_.run_and_check(
                    {.collective = traits.collective,
                     .samples = &samples,
                     .op = op,
                     .count = kCounts[i],
                     .root = traits.rooted() ? turn_ % world_.size() : -1,
                     .arrangement = {.in_place = turn_ % 2 == 1,
                                     .shift = static_cast<std::size_t>(turn_ % 3)}},
                    "");
            }
        }
    }

    /// Largest team in which a program can expose blocks to all local peers.
    static constexpr Rank kExposersMax = 8;

    MatrixCaller& caller_;
    Team world_;
    int barriers_;
    bool every_shape_;
    plan::Layout layout_;
    bool direct_;    ///< ranks can access buffers of local peers
    Rank turn_ = 0;  ///< counts calls; selects roots, spacings and arguments
    int shape_ = 0;  ///< counts call_with_root(); selects the shape if only one is made
};

}  // namespace weft::test
