// SPDX-License-Identifier: BSD-3-Clause
// named_matrix.hpp - every algorithm of the registry that has programs for a team, on real ranks.
//
// Idea     What is run is read from the registry: names, and parameter values worth trying. Each collective
//          gets counts from none to more than one bank, in place and not, roots in turn, operations that do
//          not commute where order is kept (elsewhere they must be refused). Programs know the nodes.
// Next     collective_matrix.cpp for what else is run; reference.hpp for what must come out.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "collectives/registry.hpp"
#include "tests/ranks/matrix_memory.hpp"
#include "tests/ranks/reference.hpp"
#include "weft/weft.hpp"

namespace weft::test {

/// How often what was run, by group and name.
using Covered = std::map<std::string, std::map<std::string, int>>;

/// Where results go.
struct MatrixBook {
    std::uint64_t& round;  ///< of the next call: its inputs follow from it
    Covered& covered;
    std::function<void(bool right, const std::string& what)> judge;
};

class NamedMatrix {
  public:
    NamedMatrix(Team world, const UserOp& product, int barriers, MatrixBook book)
        : world_(std::move(world)),
          product_(product),
          barriers_(barriers),
          book_(std::move(book)),
          turn_(static_cast<Rank>(book_.round % 4)),
          layout_(layout_of(world_)) {}

    void run() {
        for_each_spec("allreduce", [this](const std::string& spec, bool ordered) {
            for (const std::size_t count : kCounts) {
                allreduce<double>(spec, count, Op::sum, {});
                allreduce<std::int32_t>(spec, count, Op::max, {.in_place = true, .shift = 1});
                if (ordered) allreduce<Matrix>(spec, count % 100, Op::user, {.in_place = true});
            }
            if (!ordered) refuses_what_does_not_commute(Collective::allreduce, spec);
        });
        for_each_root("reduce", [this](const std::string& spec, bool ordered, Rank root) {
            for (const std::size_t count : kCounts) {
                reduce<double>(spec, count, Op::sum, root, {});
                reduce<std::int32_t>(spec, count, Op::max, root, {.in_place = true, .shift = 1});
                if (ordered) reduce<Matrix>(spec, count % 1000, Op::user, root, {.in_place = true});
            }
            if (!ordered) refuses_what_does_not_commute(Collective::reduce, spec);
        });
        for_each_root("broadcast", [this](const std::string& spec, bool, Rank root) {
            for (const std::size_t count : {0, 1, 6, 1000, 70'000}) broadcast(spec, count, root);
        });
        for (const Collective collective :
             {Collective::gather, Collective::scatter, Collective::allgather, Collective::alltoall,
              Collective::reduce_scatter, Collective::scan, Collective::exscan})
            further(collective);
        for_each_spec("barrier", [this](const std::string&, bool) {
            for (int i = 0; i < barriers_; ++i) world_.barrier();
        });
    }

  private:
    /// Which node each rank is on, by what the ranks of each node tell.
    static plan::Layout layout_of(Team& world) {
        std::int32_t first = world.rank();
        OwnedTeam node(world.split_by_node());
        node.broadcast(&first, 1, Type::int32, 0);
        std::vector<Rank> nodes(static_cast<std::size_t>(world.size()));
        world.allgather(&first, nodes.data(), 1, Type::int32);
        return plan::Layout::of(nodes);
    }

    static constexpr const char* kNames[] = {
        "barrier",   "broadcast", "reduce",         "allreduce", "gather", "scatter",
        "allgather", "alltoall",  "reduce_scatter", "scan",      "exscan"};
    static constexpr std::size_t kCounts[] = {0, 1, 7, 500, 20'011};

    /// `check` gets a spec that is in force (empty: the default), and whether it keeps rank order when
    /// that is needed.
    template <class Check>
    void for_each_spec(const std::string& collective, Check check) {
        check("", true);
        for (const std::string& spec : specs_of(collective)) {
            const auto parsed = collectives::parse_spec(spec);
            collectives::GenerateRequest request{.rank = world_.rank(),
                                                 .size = world_.size(),
                                                 .root = 0,
                                                 .elements = 1,
                                                 .element_bytes = 8,
                                                 .layout = layout_};
            if (!collectives::generate(collective, *parsed, request).ok()) continue;
            request.ordered = true;
            ++book_.covered[collective][parsed->name];
            world_.set_algorithm(collective, spec);
            check(spec, collectives::generate(collective, *parsed, request).ok());
        }
        world_.set_algorithm(collective, "");
    }
    /// What the registry names, and what it proposes for so many ranks.
    [[nodiscard]] std::vector<std::string> specs_of(const std::string& collective) const {
        std::vector<std::string> specs = collectives::specs_to_try(collective);
        const collectives::CandidateRequest request{.size = world_.size(), .layout = layout_};
        for (const collectives::Algorithm& algorithm : collectives::algorithms()) {
            if (algorithm.collective != collective || algorithm.variants == nullptr) continue;
            if (algorithm.properties.notation) continue;  // the whole family has its own matrix
            if (algorithm.properties.for_nodes && !request.mixed()) continue;
            for (std::string& spec : algorithm.variants(request))
                if (std::find(specs.begin(), specs.end(), spec) == specs.end())
                    specs.push_back(std::move(spec));
        }
        return specs;
    }
    /// All roots with the default, a quarter of them with each spec.
    template <class Check>
    void for_each_root(const std::string& collective, Check check) {
        for_each_spec(collective, [&](const std::string& spec, bool ordered) {
            for (Rank root = 0; root < world_.size(); ++root)
                if (spec.empty() || root % 4 == turn_ % 4) check(spec, ordered, root);
            ++turn_;
        });
    }

    /// Collectives that move blocks, and scans.
    void further(Collective collective) {
        const std::string name(kNames[static_cast<std::size_t>(collective)]);
        const bool reduces = collective >= Collective::reduce_scatter;
        for_each_spec(name, [&](const std::string& spec, bool ordered) {
            ++turn_;
            const Rank root = turn_ % world_.size();
            for (const std::size_t count : {0, 1, 3, 100, 6007}) {
                blocks<double>(collective, spec, count, Op::sum, root, {});
                blocks<std::int32_t>(collective, spec, count, Op::max, root,
                                     {.in_place = true, .shift = 1});
                if (reduces && ordered)
                    blocks<Matrix>(collective, spec, count % 700, Op::user, root,
                                   {.in_place = turn_ % 2 == 0});
            }
            if (reduces && !ordered) refuses_what_does_not_commute(collective, spec);
        });
    }

    template <class T>
    void blocks(Collective collective, const std::string& spec, std::size_t count, Op op, Rank root,
                Place place) {
        ++book_.round;
        const auto ranks = static_cast<std::size_t>(world_.size());
        const auto me = static_cast<std::size_t>(world_.rank());
        const bool in_blocks = collective == Collective::scatter ||
                               collective == Collective::alltoall ||
                               collective == Collective::reduce_scatter;
        const bool out_blocks = collective == Collective::gather ||
                                collective == Collective::allgather ||
                                collective == Collective::alltoall;
        const std::size_t all = in_blocks || out_blocks ? count * ranks : count;
        // In place both are the vector of all blocks; a rank's own block lies where it belongs.
        Vector<T> in(all, place.shift);
        Vector<T> out(all, place.shift);
        const auto own = contributions<T>(world_.rank(), in_blocks ? all : count, book_.round);
        in.set(own, out_blocks && !in_blocks ? me * count : 0);
        out.spoil();
        Vector<T>& result = place.in_place ? in : out;
        const std::size_t block_bytes = count * sizeof(T);
        Call call{.collective = collective,
                  .in = in.data(),
                  .out = result.data(),
                  .count = count,
                  .type = Type::user,
                  .op = op,
                  .root = root};
        if (out_blocks && !in_blocks)
            call.in = static_cast<std::byte*>(in.data()) + me * block_bytes;
        if (in_blocks && !out_blocks)
            call.out = static_cast<std::byte*>(result.data()) + me * block_bytes;
        if constexpr (std::is_same_v<T, Matrix>) {
            call = with_product(call);
        } else {
            call.type = type_of<T>();
        }
        world_.run(call);
        const auto expected = expected_of<T>(collective, count, op, root);
        const std::size_t first = in_blocks && !out_blocks ? me * count : 0;
        book_.judge(result.equals(expected, first),
                    fmt::format("{} {} of {} elements of {} bytes, root {}",
                                kNames[static_cast<std::size_t>(collective)], spec, count,
                                sizeof(T), root));
    }

    /// The same call with the product of matrices.
    [[nodiscard]] Call with_product(const Call& call) const {
        Call made = Call::allreduce(call.in, call.out, call.count, product_);
        made.collective = call.collective;
        made.root = call.root;
        return made;
    }

    /// What this rank must hold afterwards; nothing where it has no output.
    template <class T>
    std::vector<T> expected_of(Collective collective, std::size_t count, Op op, Rank root) {
        const Rank me = world_.rank();
        const std::size_t own = static_cast<std::size_t>(me) * count;
        const std::size_t all = count * static_cast<std::size_t>(world_.size());
        std::vector<T> expected;
        const auto append = [&](Rank rank, std::size_t first) {
            for (std::size_t i = first; i < first + count; ++i)
                expected.push_back(contribution<T>(rank, i, book_.round));
        };
        const auto cut = [&](const std::vector<T>& vector) {
            expected.assign(vector.begin() + static_cast<std::ptrdiff_t>(own),
                            vector.begin() + static_cast<std::ptrdiff_t>(own + count));
        };
        if (collective == Collective::gather && me != root) return expected;
        if (collective == Collective::exscan && me == 0) return expected;
        if (collective == Collective::scatter) append(root, own);
        if (collective == Collective::reduce_scatter)
            cut(reduction<T>(world_.size(), all, book_.round, op));
        if (collective == Collective::scan) return reduction<T>(me + 1, count, book_.round, op);
        if (collective == Collective::exscan) return reduction<T>(me, count, book_.round, op);
        if (collective == Collective::scatter || collective == Collective::reduce_scatter)
            return expected;
        for (Rank rank = 0; rank < world_.size(); ++rank)
            append(rank, collective == Collective::alltoall ? own : 0);
        return expected;
    }

    template <class T>
    void allreduce(const std::string& spec, std::size_t count, Op op, Place place) {
        ++book_.round;
        Vector<T> in(count, place.shift);
        Vector<T> out(count, place.shift);
        in.set(contributions<T>(world_.rank(), count, book_.round));
        out.spoil();
        Vector<T>& result = place.in_place ? in : out;
        if constexpr (std::is_same_v<T, Matrix>) {
            world_.allreduce(in.data(), result.data(), count, product_);
        } else {
            world_.allreduce(in.data(), result.data(), count, type_of<T>(), op);
        }
        book_.judge(result.equals(reduction<T>(world_.size(), count, book_.round, op)),
                    fmt::format("allreduce {} of {} elements of {} bytes", spec, count, sizeof(T)));
    }

    void refuses_what_does_not_commute(Collective collective, const std::string& spec) {
        std::vector<Matrix> in(static_cast<std::size_t>(world_.size()));
        std::vector<Matrix> out(in.size());
        bool refused = false;
        try {
            world_.run(with_product({.collective = collective,
                                     .in = in.data(),
                                     .out = out.data(),
                                     .count = 1,
                                     .root = 0}));
        } catch (const Error&) {
            refused = true;
        }
        ++book_.covered["refusals"][kNames[static_cast<std::size_t>(collective)]];
        book_.judge(refused, fmt::format("{} {} takes an operation that does not commute",
                                         kNames[static_cast<std::size_t>(collective)], spec));
    }

    /// The root's result; nobody else's memory changes.
    template <class T>
    void reduce(const std::string& spec, std::size_t count, Op op, Rank root, Place place) {
        ++book_.round;
        const bool at_root = world_.rank() == root;
        Vector<T> in(count, place.shift);
        Vector<T> out(at_root ? count : 0, place.shift);
        const auto own = contributions<T>(world_.rank(), count, book_.round);
        in.set(own);
        out.spoil();
        const bool in_place = place.in_place && at_root;
        void* const target = in_place ? in.data() : at_root ? out.data() : nullptr;
        if constexpr (std::is_same_v<T, Matrix>) {
            world_.reduce(in.data(), target, count, product_, root);
        } else {
            world_.reduce(in.data(), target, count, type_of<T>(), op, root);
        }
        const std::string what =
            fmt::format("reduce {} of {} elements of {} bytes to {}", spec, count, sizeof(T), root);
        if (at_root)
            book_.judge(
                (in_place ? in : out).equals(reduction<T>(world_.size(), count, book_.round, op)),
                what);
        if (!in_place) book_.judge(in.equals(own), "the input was changed by " + what);
    }

    void broadcast(const std::string& spec, std::size_t count, Rank root) {
        ++book_.round;
        Vector<std::int32_t> buffer(count, static_cast<std::size_t>(root) % 3);
        const auto expected = contributions<std::int32_t>(root, count, book_.round);
        buffer.spoil();
        if (world_.rank() == root) buffer.set(expected);
        world_.broadcast(buffer.data(), count, Type::int32, root);
        book_.judge(buffer.equals(expected),
                    fmt::format("broadcast {} of {} from {}", spec, count, root));
    }

    Team world_;
    const UserOp& product_;
    int barriers_;
    MatrixBook book_;
    Rank turn_;
    plan::Layout layout_;
};

}  // namespace weft::test
