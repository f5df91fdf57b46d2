// SPDX-License-Identifier: BSD-3-Clause
// typed_matrix.hpp - every reducing collective with elements that are no C integers, float or double, and with
// users' operations, on real ranks.
//
// Idea     Every type beyond the plain ones with every operation it has, in collectives that reduce; counts from
//          one cell to more than a cell, in place and not, aligned and not. Values have many ties, so
//          that minloc and maxloc have to compare indices. Results of an allreduce are compared between
//          ranks byte by byte, padding included, although the inputs' padding is spoilt.
// Next     collective_matrix.cpp for what else is run; reference.hpp for plain elements.
#pragma once

#include <fmt/format.h>

#include <complex>
#include <string>
#include <vector>

#include "tests/ranks/matrix_memory.hpp"
#include "tests/ranks/named_matrix.hpp"
#include "tests/ranks/reference.hpp"
#include "tests/support/typed_elements.hpp"
#include "weft/weft.hpp"

namespace weft::test {

template <class T>
T typed_contribution(Rank rank, std::size_t index, std::uint64_t round) {
    return typed_element<T>(mix(round * 1000003 + index * 131 + static_cast<std::uint64_t>(rank)));
}

/// A UserFunction for Triple.
inline void combine_triples(const void* in, void* inout, std::size_t count, void*) {
    for (std::size_t i = 0; i < count; ++i) {
        Triple a;
        Triple b;
        std::memcpy(&a, static_cast<const std::byte*>(in) + i * sizeof a, sizeof a);
        std::memcpy(&b, static_cast<std::byte*>(inout) + i * sizeof b, sizeof b);
        const Triple result = typed_fold(Op::user, a, b);
        std::memcpy(static_cast<std::byte*>(inout) + i * sizeof b, &result, sizeof b);
    }
}

class TypedMatrix {
  public:
    TypedMatrix(Team world, MatrixBook book)
        : world_(std::move(world)),
          triples_(&combine_triples, nullptr, sizeof(Triple), true),
          book_(std::move(book)) {}

    void run() {
        const std::vector<Op> numbers{Op::sum, Op::prod, Op::min, Op::max};
        const std::vector<Op> located{Op::minloc, Op::maxloc};
        type<long double>("longdouble", numbers);
        type<std::complex<float>>("cfloat", {Op::sum, Op::prod});
        type<std::complex<double>>("cdouble", {Op::sum, Op::prod});
        type<bool>("bool", {Op::land, Op::lor, Op::lxor, Op::band, Op::bor, Op::bxor});
        type<Float16>("float16", numbers);
        type<BFloat16>("bfloat16", numbers);
        type<ValueIndex<float>>("float_int", located);
        type<ValueIndex<double>>("double_int", located);
        type<ValueIndex<std::int16_t>>("int16_int", located);
        type<ValueIndex<std::int32_t>>("int32_int", located);
        type<ValueIndex<std::int64_t>>("int64_int", located);
        type<ValueIndex<long double>>("longdouble_int", located);
        type<ValueIndex<double, std::int64_t>>("double_int64", located);
        type<ValueIndex<std::int64_t, std::int64_t>>("int64_int64", located);
        type<Triple>("commutative user", {Op::user});
        rounds_alike<Float16>();
        rounds_alike<BFloat16>();
        rounds_alike<long double>();
        refuses_what_does_not_exist();
    }

  private:
    template <class T>
    void type(const char* name, const std::vector<Op>& ops) {
        for (const Op op : ops) {
            for (const std::size_t count : {1, 3, 70}) {
                ++turn_;
                const Place place{.in_place = turn_ % 2 == 1, .shift = turn_ % 3};
                for (const Collective collective :
                     {Collective::allreduce, Collective::reduce, Collective::reduce_scatter,
                      Collective::scan, Collective::exscan}) {
                    ++book_.covered["types"][name];
                    call<T>(collective, name, count, op, place);
                }
            }
        }
        if constexpr (!std::is_same_v<T, Triple>) moved<T>(name);
    }

    template <class T>
    [[nodiscard]] std::vector<T> inputs(Rank rank, std::size_t count) const {
        std::vector<T> values;
        for (std::size_t i = 0; i < count; ++i)
            values.push_back(typed_contribution<T>(rank, i, book_.round));
        return values;
    }
    template <class T>
    static void write(Vector<T>& memory, const std::vector<T>& values) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            const T value = values[i];
            memory.put(i, &value);
        }
    }

    template <class T>
    void call(Collective collective, const char* name, std::size_t count, Op op, Place place) {
        ++book_.round;
        const auto ranks = static_cast<std::size_t>(world_.size());
        const auto me = static_cast<std::size_t>(world_.rank());
        const bool blocks = collective == Collective::reduce_scatter;
        const std::size_t all = blocks ? count * ranks : count;
        Vector<T> in(all, place.shift);
        Vector<T> out(all, place.shift);
        in.spoil();
        out.spoil();
        write(in, inputs<T>(world_.rank(), all));
        Vector<T>& result = place.in_place ? in : out;
        const std::size_t first = blocks ? me * count : 0;
        Call made{.collective = collective,
                  .in = in.data(),
                  .out = static_cast<std::byte*>(result.data()) + first * sizeof(T),
                  .count = count,
                  .op = op,
                  .root = static_cast<Rank>(book_.round % ranks)};
        if constexpr (std::is_same_v<T, Triple>)
            made = with_triples(made);
        else
            made.type = type_of<T>();
        world_.run(made);
        check(collective, made, result, first, name);
    }

    [[nodiscard]] Call with_triples(const Call& call) const {
        Call made = Call::allreduce(call.in, call.out, call.count, triples_);
        made.collective = call.collective;
        made.root = call.root;
        return made;
    }

    /// Against the fold over the first ranks, as many as the collective says.
    template <class T>
    void check(Collective collective, const Call& made, Vector<T>& result, std::size_t first,
               const char* name) {
        const Rank me = world_.rank();
        Rank folded = world_.size();
        if (collective == Collective::scan) folded = me + 1;
        if (collective == Collective::exscan) folded = me;
        if (collective == Collective::reduce && me != made.root) folded = 0;
        bool right = true;
        for (std::size_t i = first; i < first + made.count && folded > 0; ++i) {
            T expected = typed_contribution<T>(0, i, book_.round);
            for (Rank rank = 1; rank < folded; ++rank)
                expected =
                    typed_fold(made.op, expected, typed_contribution<T>(rank, i, book_.round));
            right = right && typed_equal(result.get(i), expected);
        }
        book_.judge(right,
                    fmt::format("collective {} of {} {} with op {}", static_cast<int>(collective),
                                made.count, name, static_cast<int>(made.op)));
        if (collective == Collective::allreduce && world_.size() > 1)
            same_on_all_ranks(result.data(), made.count * sizeof(T), name);
    }

    void same_on_all_ranks(const void* bytes, std::size_t count, const char* name) {
        std::uint64_t hash = 1;
        for (std::size_t i = 0; i < count; ++i)
            hash = mix(hash * 31 +
                       static_cast<std::uint64_t>(static_cast<const std::byte*>(bytes)[i]));
        const std::uint64_t least = world_.allreduce(hash, Op::min);
        const std::uint64_t most = world_.allreduce(hash, Op::max);
        book_.judge(least == most, fmt::format("bytes of {} differ between ranks", name));
    }

    /// Collectives that only move elements.
    template <class T>
    void moved(const char* name) {
        ++book_.round;
        const std::size_t count = 5;
        const std::vector<T> mine = inputs<T>(world_.rank(), count);
        Vector<T> in(count, 1);
        write(in, mine);
        Vector<T> out(count * static_cast<std::size_t>(world_.size()), 1);
        world_.allgather(in.data(), out.data(), count, type_of<T>());
        bool right = true;
        for (Rank rank = 0; rank < world_.size(); ++rank)
            for (std::size_t i = 0; i < count; ++i)
                right = right && typed_equal(out.get(static_cast<std::size_t>(rank) * count + i),
                                             typed_contribution<T>(rank, i, book_.round));
        const Rank root = world_.size() - 1;
        world_.broadcast(in.data(), count, type_of<T>(), root);
        for (std::size_t i = 0; i < count; ++i)
            right = right && typed_equal(in.get(i), typed_contribution<T>(root, i, book_.round));
        book_.judge(right, fmt::format("moving {}", name));
    }

    /// Sums that are not exact: all ranks must round alike.
    template <class T>
    void rounds_alike() {
        ++book_.round;
        for (const std::size_t count : {3, 700}) {
            Vector<T> values(count, 0);
            for (std::size_t i = 0; i < count; ++i) {
                const std::uint64_t bits =
                    mix(book_.round * 7 + i * 13 + static_cast<std::uint64_t>(world_.rank()));
                const T value(static_cast<float>(bits % 1000003) * 1e-3F / 3.0F);
                values.put(i, &value);
            }
            world_.allreduce(values.data(), values.data(), count, type_of<T>(), Op::sum);
            if (world_.size() > 1)
                same_on_all_ranks(values.data(), count * sizeof(T), "sums that round");
        }
    }

    void refuses_what_does_not_exist() {
        double value = 1;
        std::string said;
        try {
            world_.allreduce(&value, &value, 1, Type::float64, Op::minloc);
        } catch (const Error& error) {
            said = error.what();
        }
        bool named = true;
        for (const std::string& word :
             {std::string("minloc"), std::string("double"), std::string("sum prod min max land"),
              fmt::format("rank {}", world_.rank())})
            named = named && said.find(word) != std::string::npos;
        book_.judge(named, "minloc of double: " + said);
    }

    Team world_;
    UserOp triples_;
    MatrixBook book_;
    std::size_t turn_ = 0;
};

}  // namespace weft::test
