// SPDX-License-Identifier: BSD-3-Clause
// exact_sums.cpp - ranks that compare exact sums with a multi-precision reference: all collectives,
// forms and types, and distributed arrays.
#include <complex>
#include <cstdlib>
#include <functional>

#include "check.hpp"
#include "tests/support/exact_reference.hpp"
#include "weft/exact_sum.hpp"

namespace weft::test {
namespace {

template <class T>
double as_double(T value) {
    if constexpr (std::is_floating_point_v<T>)
        return value;
    else
        return static_cast<float>(value);
}

/// Values of all ranks, and the results that follow from them.
template <class T>
class Case {
  public:
    Case(Team team, Hard kind, std::size_t count, Type type)
        : team_(team), kind_(kind), count_(count), type_(type) {}

    /// Returns element i of a rank's array of `all` elements.
    [[nodiscard]] T value(Rank rank, std::size_t all, std::size_t i) const {
        return hard_value<T>(kind_, i * 31 + all, static_cast<std::uint64_t>(rank));
    }
    [[nodiscard]] std::vector<T> input(Rank rank, std::size_t all) const {
        std::vector<T> values(all);
        for (std::size_t i = 0; i < all; ++i) values[i] = value(rank, all, i);
        return values;
    }
    /// Returns the sums of the first `ranks` ranks' elements from `first`.
    [[nodiscard]] std::vector<T> sums(Rank ranks, std::size_t all, std::size_t first,
                                      std::size_t count) const {
        std::vector<T> result(count);
        for (std::size_t i = 0; i < count; ++i) {
            ReferenceSum sum;
            for (Rank rank = 0; rank < ranks; ++rank)
                sum.add(as_double(value(rank, all, first + i)));
            result[i] = sum.template rounded_to<T>();
        }
        return result;
    }

    void run() const {
        const Rank size = team_.size();
        const Rank me = team_.rank();
        const std::size_t elements = count_ / parts();
        const std::vector<T> mine = input(me, count_);
        const std::vector<T> total = sums(size, count_, 0, count_);
        const void* const in = mine.data();
        std::vector<T> out(count_);
        in_all_forms("allreduce", out, total,
                     Call::allreduce(in, out.data(), elements, type_, Op::exact_sum));
        const Rank root = size - 1;
        in_all_forms("reduce", out, me == root ? total : std::vector<T>(),
                     Call::reduce(in, out.data(), elements, type_, Op::exact_sum, root));
        in_all_forms("scan", out, sums(me + 1, count_, 0, count_),
                     Call::scan(in, out.data(), elements, type_, Op::exact_sum));
        in_all_forms("exscan", out, me == 0 ? std::vector<T>() : sums(me, count_, 0, count_),
                     Call::exscan(in, out.data(), elements, type_, Op::exact_sum));
        std::vector<T> in_place = mine;
        team_.run(
            Call::allreduce(in_place.data(), in_place.data(), elements, type_, Op::exact_sum));
        compare("allreduce in place", in_place, total);
        scatter();
    }

  private:
    [[nodiscard]] std::size_t parts() const {
        return type_ == Type::cfloat || type_ == Type::cdouble ? 2 : 1;
    }
    void scatter() const {
        const auto size = static_cast<std::size_t>(team_.size());
        const auto me = static_cast<std::size_t>(team_.rank());
        const std::size_t block = std::min<std::size_t>(count_, 100);
        const std::vector<T> even = input(team_.rank(), size * block);
        std::vector<T> out(block);
        in_all_forms(
            "reduce_scatter", out, sums(team_.size(), even.size(), me * block, block),
            Call::reduce_scatter(even.data(), out.data(), block / parts(), type_, Op::exact_sum));
        std::vector<std::size_t> counts(size);
        std::size_t all = 0;
        std::size_t first = 0;
        for (std::size_t rank = 0; rank < size; ++rank) {
            counts[rank] = 3 * rank % 7;
            if (rank == me) first = all;
            all += counts[rank] * parts();
        }
        const std::vector<T> uneven = input(team_.rank(), all);
        out.resize(counts[me] * parts());
        in_all_forms(
            "reduce_scatterv", out, sums(team_.size(), all, first, counts[me] * parts()),
            Call::reduce_scatterv(uneven.data(), out.data(), counts, type_, Op::exact_sum));
    }
    /// Compares with the expected result; an empty one: this rank has no result.
    void in_all_forms(const char* name, std::vector<T>& out, const std::vector<T>& expected,
                      const Call& call) const {
        const auto attempt = [&](const char* form, const std::function<void()>& make) {
            std::fill(out.begin(), out.end(), T(1.0F));
            make();
            compare(fmt::format("{} {}", form, name), out, expected);
        };
        Team team = team_;
        attempt("blocking", [&] { team.run(call); });
        attempt("started", [&] {
            Request request = team.start(call);
            request.wait();
        });
        PersistentRequest persistent = team.prepare(call);
        for (int i = 0; i < 2; ++i)
            attempt("persistent", [&] {
                persistent.start();
                persistent.wait();
            });
    }
    void compare(const std::string& what, const std::vector<T>& found,
                 const std::vector<T>& expected) const {
        for (std::size_t i = 0; i < expected.size(); ++i)
            if (!same_bits(found[i], expected[i]))
                return check(false, fmt::format("{} of {} elements, kind {}, type {}: element {} "
                                                "is {}, expected {}",
                                                what, count_, static_cast<int>(kind_),
                                                static_cast<int>(type_), i, as_double(found[i]),
                                                as_double(expected[i])));
    }

    mutable Team team_;
    Hard kind_;
    std::size_t count_;
    Type type_;
};

template <class T>
void check_type(Team team, std::initializer_list<Type> types) {
    for (const Type type : types)
        for (int kind = 0; kind < kHardKinds; ++kind)
            for (const std::size_t count : {0, 2, 18, 700})
                Case<T>(team, static_cast<Hard>(kind), count, type).run();
}

/// The sum, dot product and norm of an array do not depend on its distribution.
void check_distributed(Team team, std::size_t count) {
    ReferenceSum sum;
    ReferenceSum dot;
    ExactSum own_sum;
    ExactSum own_dot;
    const auto size = static_cast<std::size_t>(team.size());
    std::vector<double> left;
    std::vector<double> right;
    for (std::size_t i = 0; i < count; ++i) {
        const double a = hard_value<double>(Hard::wide, 5, i);
        const double b = hard_value<double>(Hard::similar, 6, i);
        sum.add(a);
        dot.add_product(a, b);
        if (i % size != static_cast<std::size_t>(team.rank())) continue;
        left.push_back(a);
        right.push_back(b);
    }
    own_sum.add(left);
    own_dot.add_products(left, right);
    team.allreduce(own_sum.words(), Op::sum);
    team.allreduce(own_dot.words(), Op::sum);
    check(same_bits(own_sum.value(), sum.rounded_to<double>()), "sum of a distributed array");
    check(same_bits(own_dot.value(), dot.rounded_to<double>()), "distributed dot product");
    ExactSum twice = own_sum;
    twice.merge(own_sum);
    check(same_bits(twice.value(), 2 * sum.rounded_to<double>()), "merge with itself");
}

/// A long allreduce, in several pieces.
void check_long(Team team, std::size_t count) {
    for (const Hard kind : {Hard::wide, Hard::special, Hard::cancelling})
        Case<double>(team, kind, count, Type::float64).run();
}

void check_refusals(Team team) {
    long double number = 0;
    refused("long double", Status::argument, "exact_sum does not exist for longdouble",
            [&] { team.allreduce(&number, &number, 1, Type::longdouble, Op::exact_sum); });
    std::int64_t integer = 0;
    refused("int64", Status::argument, "exact_sum does not exist for int64", [&] {
        static_cast<void>(
            team.prepare(Call::allreduce(&integer, &integer, 1, Type::int64, Op::exact_sum)));
    });
    double value = 0;
    refused("null", Status::argument, "null",
            [&] { team.allreduce(nullptr, &value, 1, Type::float64, Op::exact_sum); });
    weft_exact_sum sum = {};
    check(weft_exact_add(&sum, &integer, 1, WEFT_INT64) == WEFT_ERR_ARGUMENT, "int64 values");
    check(weft_exact_add(nullptr, &value, 1, WEFT_DOUBLE) == WEFT_ERR_ARGUMENT, "no sum");
    check(weft_exact_add(&sum, nullptr, 1, WEFT_DOUBLE) == WEFT_ERR_ARGUMENT, "no values");
}

int run(std::size_t count) {
    Runtime runtime;
    Team world = runtime.world();
    check_type<double>(world, {Type::float64, Type::cdouble});
    check_type<float>(world, {Type::float32, Type::cfloat});
    check_type<Float16>(world, {Type::float16});
    check_type<BFloat16>(world, {Type::bfloat16});
    check_distributed(world, count);
    check_long(world, count);
    check_refusals(world);
    const int all_wrong = world.allreduce(wrong, Op::sum);
    if (world.rank() == 0 && all_wrong == 0)
        fmt::print("{} ranks: all exact sums are right\n", world.size());
    runtime.finalize();
    return all_wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace weft::test

int main(int argc, char** argv) {
    return weft::test::run(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 3000);
}
