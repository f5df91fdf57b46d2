// SPDX-License-Identifier: BSD-3-Clause
// exact_sums.cpp - ranks that compare exact sums with a multi-precision reference: all reducing
// collectives, forms, types and algorithms, and sums of distributed arrays.
#include <complex>
#include <cstdlib>
#include <functional>
#include <optional>

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

/// The sums that the collectives must return to this rank, by element.
template <class T>
struct Expected {
    std::vector<T> total;   ///< over all ranks
    std::vector<T> scan;    ///< over the ranks up to this one
    std::vector<T> exscan;  ///< over the ranks before this one
};

/// Input values of all ranks. If `kind` is empty, value i has kind i % kHardKinds.
struct Inputs {
    std::optional<Hard> kind;
    std::size_t count;

    template <class T>
    [[nodiscard]] T value(Rank rank, std::size_t i) const {
        return hard_value<T>(kind.value_or(static_cast<Hard>(i % kHardKinds)), i * 31 + count,
                             static_cast<std::uint64_t>(rank));
    }
};

/// Computes the expected sums. Each rank computes those of its share of the elements for all ranks,
/// and sends each rank its part.
template <class T>
Expected<T> expected_sums(Team team, const Inputs& inputs) {
    const auto size = static_cast<std::size_t>(team.size());
    const std::size_t share = (inputs.count + size - 1) / size;
    const std::size_t first = share * static_cast<std::size_t>(team.rank());
    std::vector<T> up_to(size * share);  // row: rank; column: element of the share
    std::vector<T> before(size * share);
    for (std::size_t column = 0; column < share; ++column) {
        ReferenceSum sum;
        for (std::size_t rank = 0; rank < size; ++rank) {
            before[rank * share + column] = sum.template rounded_to<T>();
            sum.add(as_double(inputs.value<T>(static_cast<Rank>(rank), first + column)));
            up_to[rank * share + column] = sum.template rounded_to<T>();
        }
    }
    Expected<T> result;
    for (auto* part : {&result.total, &result.scan, &result.exscan}) part->resize(size * share);
    const std::size_t bytes = share * sizeof(T);
    const T* const last_row = up_to.data() + (size - 1) * share;
    team.allgather(last_row, result.total.data(), bytes, Type::uint8);
    team.alltoall(up_to.data(), result.scan.data(), bytes, Type::uint8);
    team.alltoall(before.data(), result.exscan.data(), bytes, Type::uint8);
    return result;
}

/// Calls of all reducing collectives with the same input, and their expected results.
template <class T>
class Case {
  public:
    Case(Team team, Inputs inputs, Type type)
        : team_(team),
          inputs_(inputs),
          type_(type),
          elements_(inputs.count / values_in_element()),
          in_(inputs.count),
          out_(inputs.count) {
        for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = inputs.value<T>(team.rank(), i);
        const Expected<T> sums = expected_sums<T>(team, inputs);
        add_whole("allreduce", Call::allreduce(in_.data(), out_.data(), elements_, type, kOp),
                  sums.total);
        const Rank root = team.size() - 1;
        add_whole("reduce", Call::reduce(in_.data(), out_.data(), elements_, type, kOp, root),
                  team.rank() == root ? sums.total : std::vector<T>());
        add_whole("scan", Call::scan(in_.data(), out_.data(), elements_, type, kOp), sums.scan);
        add_whole("exscan", Call::exscan(in_.data(), out_.data(), elements_, type, kOp),
                  team.rank() == 0 ? std::vector<T>() : sums.exscan);
        add_scatters(sums.total);
    }

    /// Makes each call blocking, started and persistent, and an allreduce in place.
    void try_all_forms() {
        for (const Trial& trial : trials_) {
            attempt(trial, "blocking", [&] { team_.run(trial.call); });
            attempt(trial, "started", [&] {
                Request request = team_.start(trial.call);
                request.wait();
            });
            PersistentRequest persistent = team_.prepare(trial.call);
            for (int i = 0; i < 2; ++i)
                attempt(trial, "persistent", [&] {
                    persistent.start();
                    persistent.wait();
                });
        }
        Trial in_place = trials_.front();
        in_place.call = Call::allreduce(out_.data(), out_.data(), elements_, type_, kOp);
        attempt(in_place, "in place", [&] {
            out_ = in_;
            team_.run(in_place.call);
        });
    }
    /// Makes each call with each algorithm. Returns the number of calls.
    int try_all_algorithms() {
        int calls = 0;
        for (const Trial& trial : trials_) {
            if (trial.collective == "reduce_scatterv") continue;  // has those of reduce_scatter
            for (const auto& candidate :
                 team_.candidates_of(trial.collective, elements_, Type::float64)) {
                team_.set_algorithm(trial.collective, candidate.algorithm);
                attempt(trial, candidate.algorithm, [&] { team_.run(trial.call); });
                ++calls;
            }
            team_.set_algorithm(trial.collective, "");
        }
        return calls;
    }

  private:
    static constexpr Op kOp = Op::exact_sum;

    struct Trial {
        std::string collective;
        Call call;
        std::vector<T> expected;  ///< first elements of the result; empty: this rank has none
    };

    /// A complex element has two values.
    [[nodiscard]] std::size_t values_in_element() const {
        return type_ == Type::cfloat || type_ == Type::cdouble ? 2 : 1;
    }
    void add_whole(const char* collective, Call call, std::vector<T> expected) {
        expected.resize(std::min(expected.size(), elements_ * values_in_element()));
        trials_.push_back({collective, call, std::move(expected)});
    }
    void add_scatters(const std::vector<T>& total) {
        const auto size = static_cast<std::size_t>(team_.size());
        const auto me = static_cast<std::size_t>(team_.rank());
        const auto slice = [&](std::size_t first, std::size_t count) {
            const T* const from = total.data() + first * values_in_element();
            return std::vector<T>(from, from + count * values_in_element());
        };
        const std::size_t block = elements_ / size;
        trials_.push_back(
            {"reduce_scatter",
             Call::reduce_scatter(in_.data(), out_.data(), block, type_, Op::exact_sum),
             slice(me * block, block)});
        std::size_t weights = 0;
        for (std::size_t rank = 0; rank < size; ++rank) weights += 3 * rank % 7 + 1;
        std::size_t first = 0;
        for (std::size_t rank = 0; rank < size; ++rank) {
            counts_.push_back(elements_ * (3 * rank % 7 + 1) / weights);
            if (rank < me) first += counts_.back();
        }
        trials_.push_back(
            {"reduce_scatterv",
             Call::reduce_scatterv(in_.data(), out_.data(), counts_, type_, Op::exact_sum),
             slice(first, counts_[me])});
    }
    void attempt(const Trial& trial, const std::string& method, const std::function<void()>& make) {
        std::ranges::fill(out_, T(1.0F));
        make();
        for (std::size_t i = 0; i < trial.expected.size(); ++i)
            if (!same_bits(out_[i], trial.expected[i]))
                return check(
                    false, fmt::format("{} ({}) of {} elements, kind {}, type {}: value {} is {}, "
                                       "expected {}",
                                       trial.collective, method, elements_,
                                       inputs_.kind ? static_cast<int>(*inputs_.kind) : -1,
                                       static_cast<int>(type_), i, as_double(out_[i]),
                                       as_double(trial.expected[i])));
    }

    Team team_;
    Inputs inputs_;
    Type type_;
    std::size_t elements_;
    std::vector<T> in_;
    std::vector<T> out_;
    std::vector<std::size_t> counts_;  ///< of reduce_scatterv
    std::vector<Trial> trials_;
};

/// Short calls of each kind of values, and a long one of all kinds, in several pieces.
template <class T>
void check_type(Team team, std::size_t long_count, std::initializer_list<Type> types) {
    for (const Type type : types) {
        for (int kind = 0; kind < kHardKinds; ++kind)
            for (const std::size_t count : {0, 2, 18, 700})
                Case<T>(team, {static_cast<Hard>(kind), count}, type).try_all_forms();
        Case<T>(team, {{}, long_count}, type).try_all_forms();
    }
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

/// Long calls with each algorithm. Values over the whole range are sent as up to 35 words each.
void check_algorithms(Team team, std::size_t count) {
    int calls = Case<double>(team, {Hard::similar, count}, Type::float64).try_all_algorithms();
    calls += Case<double>(team, {{}, count / 20}, Type::float64).try_all_algorithms();
    check(team.size() == 1 || calls >= 50, fmt::format("{} calls with forced algorithms", calls));
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
    check_type<double>(world, count, {Type::float64, Type::cdouble});
    check_type<float>(world, count, {Type::float32, Type::cfloat});
    check_type<Float16>(world, count, {Type::float16});
    check_type<BFloat16>(world, count, {Type::bfloat16});
    check_distributed(world, count);
    check_algorithms(world, count);
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
