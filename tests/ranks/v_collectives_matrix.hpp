// SPDX-License-Identifier: BSD-3-Clause
// v_collectives_matrix.hpp - calls whose blocks have counts, on real ranks.
//
// Idea     Counts follow from a pattern: some without elements, one large, all different, none at all. Blocks
//          stand apart and backwards, or behind each other. Calls that all know the counts of run by every
//          algorithm of the registry that has programs for the team. Each is run, started or prepared in turn.
// Next     named_matrix.hpp for blocks of equal size; reference.hpp for what elements are.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "collectives/registry.hpp"
#include "tests/ranks/matrix_memory.hpp"
#include "tests/ranks/named_matrix.hpp"
#include "tests/ranks/reference.hpp"
#include "weft/weft.hpp"

namespace weft::test {

class RaggedMatrix {
  public:
    RaggedMatrix(Team world, const UserOp& product, MatrixBook book)
        : world_(std::move(world)),
          product_(product),
          book_(std::move(book)),
          size_(world_.size()),
          me_(world_.rank()) {}

    void run() {
        for_each_spec("allgatherv", "allgather", [this](int pattern) {
            allgatherv<double>(pattern, {});
            allgatherv<Matrix>(pattern, {.in_place = true, .shift = 1});
        });
        for_each_spec("reduce_scatterv", "reduce_scatter", [this](int pattern) {
            reduce_scatterv<std::int32_t>(pattern, {.in_place = pattern % 2 == 0, .shift = 2});
        });
        world_.set_algorithm("reduce_scatterv", "pairwise");
        for (int pattern = 0; pattern < kPatterns; ++pattern)
            reduce_scatterv<Matrix>(pattern, {.in_place = pattern % 2 == 1});
        world_.set_algorithm("reduce_scatterv", "");
        for (int pattern = 0; pattern < kPatterns; ++pattern) {
            alltoallv<double>(pattern, {});
            alltoallv<std::uint8_t>(pattern, {.shift = 3});
            alltoallv<Matrix>(pattern, {});
            for (Rank root = 0; root < size_; ++root) {
                gatherv<std::int64_t>(pattern, root, {.in_place = (root + pattern) % 2 == 0});
                scatterv<float>(pattern, root, {.in_place = (root + pattern) % 3 == 0});
            }
        }
    }

  private:
    static constexpr int kPatterns = 5;
    static constexpr std::size_t kLarge = 30'001;  ///< more than a slot

    /// Blocks of a vector: counts, where they stand, and how long the vector is.
    struct Cut {
        std::vector<std::size_t> counts;
        std::vector<std::size_t> starts;
        bool apart = false;
        std::size_t end = 0;

        [[nodiscard]] Blocks blocks() const {
            Blocks made{.counts = counts};
            if (apart) made.displacements = starts;
            return made;
        }
    };
    /// apart: the last block first, an element between each two.
    static Cut cut(std::vector<std::size_t> counts, bool apart) {
        Cut made{.counts = std::move(counts), .starts = {}, .apart = apart};
        made.starts.resize(made.counts.size());
        for (std::size_t i = 0; i < made.counts.size(); ++i) {
            const std::size_t block = apart ? made.counts.size() - 1 - i : i;
            made.starts[block] = made.end;
            made.end += made.counts[block] + (apart ? 1 : 0);
        }
        return made;
    }

    /// What `from` has for `to`; of calls with a block for each rank, to is 0.
    [[nodiscard]] static std::size_t count(int pattern, Rank from, Rank to) {
        const auto pair = static_cast<std::size_t>(from * 7 + to * 3);
        switch (pattern) {
            case 0:
                return pair % 4;
            case 1:
                return from == 0 && to < 2 ? kLarge : pair % 2;
            case 2:
                return 0;
            case 3:
                return 5;
            default:
                return pair % 3 == 0 ? 0 : pair * 41 % 700;
        }
    }
    [[nodiscard]] std::vector<std::size_t> counts_from_all(int pattern, Rank to) const {
        std::vector<std::size_t> counts;
        for (Rank from = 0; from < size_; ++from) counts.push_back(count(pattern, from, to));
        return counts;
    }
    [[nodiscard]] std::vector<std::size_t> counts_to_all(int pattern, Rank from) const {
        std::vector<std::size_t> counts;
        for (Rank to = 0; to < size_; ++to) counts.push_back(count(pattern, from, to));
        return counts;
    }

    template <class Check>
    void for_each_spec(const std::string& name, const std::string& collective, Check check) {
        std::vector<std::string> specs = collectives::specs_to_try(collective);
        specs.insert(specs.begin(), "");
        for (const std::string& spec : specs) {
            if (!spec.empty()) {
                const auto parsed = collectives::parse_spec(spec);
                if (!collectives::generate(collective, *parsed,
                                           {.rank = me_, .size = size_, .elements = 1})
                         .ok())
                    continue;
                ++book_.covered[name][parsed->name];
            }
            world_.set_algorithm(name, spec);
            for (int pattern = 0; pattern < kPatterns; ++pattern) check(pattern);
        }
        world_.set_algorithm(name, "");
    }

    /// Blocking, started and prepared in turn. The arrays of a started call are gone when it is waited for.
    void make(Call call, const Cut& in, const Cut& out) {
        std::vector<Cut> held{in, out};
        if (!in.counts.empty()) call.in_blocks = held[0].blocks();
        if (!out.counts.empty()) call.out_blocks = held[1].blocks();
        const auto spoil = [&held] {
            for (Cut& one : held) {
                std::fill(one.counts.begin(), one.counts.end(), 77);
                std::fill(one.starts.begin(), one.starts.end(), 77);
            }
        };
        if (++turn_ % 3 == 0) {
            world_.run(call);
        } else if (turn_ % 3 == 1) {
            Request request = world_.start(call);
            spoil();
            request.wait();
        } else {
            PersistentRequest request = world_.prepare(call);
            spoil();
            request.start();
            request.wait();
        }
    }

    /// What the blocks of a vector must hold.
    template <class T>
    void judge(const char* name, int pattern, Vector<T>& memory, const Cut& cut,
               const std::function<std::vector<T>(Rank)>& expected) {
        for (Rank rank = 0; rank < size_; ++rank) {
            const std::size_t start = cut.starts[static_cast<std::size_t>(rank)];
            book_.judge(memory.equals(expected(rank), start),
                        fmt::format("{} pattern {}: block of rank {}", name, pattern, rank));
        }
    }
    /// Elements of what one rank has for another.
    template <class T>
    [[nodiscard]] std::vector<T> message(Rank from, Rank to, std::size_t count) const {
        return contributions<T>(from * 64 + to, count, book_.round);
    }

    template <class T>
    void allgatherv(int pattern, Place place) {
        ++book_.round;
        const Cut out = cut(counts_from_all(pattern, 0), pattern != 3);
        const auto me = static_cast<std::size_t>(me_);
        Vector<T> in(out.counts[me], place.shift);
        Vector<T> memory(out.end, place.shift);
        memory.spoil();
        const std::vector<T> own = message<T>(me_, 0, out.counts[me]);
        in.set(own);
        if (place.in_place) memory.set(own, out.starts[me]);
        void* const source =
            place.in_place ? static_cast<std::byte*>(memory.data()) + out.starts[me] * sizeof(T)
                           : in.data();
        make(typed<T>({.collective = Collective::allgatherv, .in = source, .out = memory.data()}),
             {}, out);
        judge<T>("allgatherv", pattern, memory, out, [&](Rank rank) {
            return message<T>(rank, 0, out.counts[static_cast<std::size_t>(rank)]);
        });
    }

    template <class T>
    void reduce_scatterv(int pattern, Place place) {
        ++book_.round;
        const Cut in = cut(counts_from_all(pattern, 0), false);
        const auto me = static_cast<std::size_t>(me_);
        Vector<T> memory(in.end, place.shift);
        Vector<T> out(in.counts[me], place.shift);
        memory.set(contributions<T>(me_, in.end, book_.round));
        out.spoil();
        const std::size_t start = in.starts[me];
        void* const target = place.in_place
                                 ? static_cast<std::byte*>(memory.data()) + start * sizeof(T)
                                 : out.data();
        make(typed<T>({.collective = Collective::reduce_scatterv,
                       .in = memory.data(),
                       .out = target,
                       .op = Op::sum}),
             in, {});
        const std::vector<T> all = reduction<T>(size_, in.end, book_.round,
                                                std::is_same_v<T, Matrix> ? Op::user : Op::sum);
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(start);
        const std::vector<T> expected(first, first + static_cast<std::ptrdiff_t>(in.counts[me]));
        book_.judge(place.in_place ? memory.equals(expected, start) : out.equals(expected),
                    fmt::format("reduce_scatterv pattern {}", pattern));
    }

    template <class T>
    void alltoallv(int pattern, Place place) {
        ++book_.round;
        const Cut in = cut(counts_to_all(pattern, me_), pattern % 2 == 0);
        const Cut out = cut(counts_from_all(pattern, me_), pattern != 3);
        Vector<T> source(in.end, place.shift);
        Vector<T> memory(out.end, place.shift);
        memory.spoil();
        for (Rank to = 0; to < size_; ++to) {
            const auto at = static_cast<std::size_t>(to);
            source.set(message<T>(me_, to, in.counts[at]), in.starts[at]);
        }
        make(typed<T>(
                 {.collective = Collective::alltoallv, .in = source.data(), .out = memory.data()}),
             in, out);
        judge<T>("alltoallv", pattern, memory, out, [&](Rank rank) {
            return message<T>(rank, me_, out.counts[static_cast<std::size_t>(rank)]);
        });
    }

    template <class T>
    void gatherv(int pattern, Rank root, Place place) {
        ++book_.round;
        const bool here = root == me_;
        const Cut out = here ? cut(counts_from_all(pattern, root), pattern != 3) : Cut{};
        const std::size_t mine = count(pattern, me_, root);
        Vector<T> in(mine, place.shift);
        Vector<T> memory(out.end, place.shift);
        memory.spoil();
        in.set(message<T>(me_, root, mine));
        Call call = typed<T>({.collective = Collective::gatherv,
                              .in = in.data(),
                              .out = memory.data(),
                              .count = mine,
                              .root = root});
        if (here && place.in_place) {
            const std::size_t start = out.starts[static_cast<std::size_t>(me_)];
            memory.set(message<T>(me_, root, mine), start);
            call.in = static_cast<std::byte*>(memory.data()) + start * sizeof(T);
        }
        make(call, {}, out);
        if (!here) return;
        judge<T>("gatherv", pattern, memory, out, [&](Rank rank) {
            return message<T>(rank, root, out.counts[static_cast<std::size_t>(rank)]);
        });
    }

    template <class T>
    void scatterv(int pattern, Rank root, Place place) {
        ++book_.round;
        const bool here = root == me_;
        const Cut in = here ? cut(counts_to_all(pattern, root), pattern != 3) : Cut{};
        const std::size_t mine = count(pattern, root, me_);
        Vector<T> source(in.end, place.shift);
        Vector<T> memory(mine, place.shift);
        memory.spoil();
        for (Rank to = 0; here && to < size_; ++to) {
            const auto at = static_cast<std::size_t>(to);
            source.set(message<T>(root, to, in.counts[at]), in.starts[at]);
        }
        Call call = typed<T>({.collective = Collective::scatterv,
                              .in = source.data(),
                              .out = memory.data(),
                              .count = mine,
                              .root = root});
        const std::size_t start = here ? in.starts[static_cast<std::size_t>(me_)] : 0;
        const bool in_place = here && place.in_place;
        if (in_place) call.out = static_cast<std::byte*>(source.data()) + start * sizeof(T);
        make(call, in, {});
        const std::vector<T> expected = message<T>(root, me_, mine);
        book_.judge(in_place ? source.equals(expected, start) : memory.equals(expected),
                    fmt::format("scatterv pattern {} from {}", pattern, root));
    }

    /// The call with elements of T. Calls that only move them take matrices as so many words.
    template <class T>
    [[nodiscard]] Call typed(Call call) const {
        if constexpr (std::is_same_v<T, Matrix>) {
            const Call with_product = Call::allreduce(nullptr, nullptr, 0, product_);
            call.type = with_product.type;
            call.op = with_product.op;
            call.user = with_product.user;
        } else {
            call.type = type_of<T>();
        }
        return call;
    }

    Team world_;
    const UserOp& product_;
    MatrixBook book_;
    Rank size_;
    Rank me_;
    int turn_ = 0;
};

}  // namespace weft::test
