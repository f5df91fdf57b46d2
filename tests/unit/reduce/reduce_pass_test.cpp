// SPDX-License-Identifier: BSD-3-Clause
// Goal: any number of operands is combined from the left into any number of targets, for every
// count and alignment, also if an operand is a target. Tests cover passes in registers, passes in
// tiles, and stores that bypass the caches.
// Method: tests compare with a fold of one-element references (known_elements.hpp), and put guard
// bytes around the buffers.
#include <algorithm>
#include <deque>
#include <tuple>

#include "tests/unit/reduce/known_elements.hpp"

namespace weft::run {
namespace {

struct Shape {
    std::size_t operands = 1;
    std::size_t targets = 1;
    std::size_t elements = 0;
    /// Misalignment in bytes of the first target, and its increment for each further buffer.
    std::size_t shift = 0;
    std::size_t shift_step = 0;
    int in_place = -1;  ///< operand that is also a target (its index modulo `targets`); -1: none

    friend std::ostream& operator<<(std::ostream& out, const Shape& shape) {
        return out << shape.operands << " operands, " << shape.targets << " targets, "
                   << shape.elements << " elements, shift " << shape.shift << " + "
                   << shape.shift_step << ", in place " << shape.in_place;
    }
};

template <class T>
class Buffers {
  public:
    Buffers(const Shape& shape, std::mt19937_64& random) {
        const auto add = [&](std::deque<Guarded<T>>& to, std::size_t i) {
            to.emplace_back(shape.elements, (shape.shift + i * shape.shift_step) % 32);
        };
        for (std::size_t i = 0; i < shape.targets; ++i) add(targets_, i);
        for (std::size_t i = 0; i < shape.operands; ++i) {
            add(operands_, i + 1);
            values_.emplace_back(shape.elements);
            std::generate(values_.back().begin(), values_.back().end(),
                          [&random] { return Known<T>::draw(random); });
            const bool in_place = static_cast<int>(i) == shape.in_place;
            Guarded<T>& buffer = in_place ? targets_[i % shape.targets] : operands_[i];
            buffer.set(values_.back());
            from_.push_back(buffer.data());
        }
        for (Guarded<T>& target : targets_) to_.push_back(target.data());
    }

    [[nodiscard]] std::span<std::byte* const> to() const { return to_; }
    [[nodiscard]] std::span<const std::byte* const> from() const { return from_; }

    void check(Op op) const {
        for (std::size_t i = 0; i < values_[0].size(); ++i) {
            T expected = values_[0][i];
            for (std::size_t k = 1; k < values_.size(); ++k)
                expected = Known<T>::combine(op, expected, values_[k][i]);
            for (const std::byte* const target : to_)
                ASSERT_TRUE(as_specified<T>(op, target + i * sizeof(T), expected))
                    << base::name_of(op) << ", element " << i;
        }
        for (const auto& list : {&targets_, &operands_})
            for (const Guarded<T>& buffer : *list) ASSERT_TRUE(buffer.guards_hold());
    }

  private:
    std::deque<Guarded<T>> targets_;
    std::deque<Guarded<T>> operands_;
    std::vector<std::vector<T>> values_;
    std::vector<std::byte*> to_;
    std::vector<const std::byte*> from_;
};

template <class T>
void check_shape(const ReduceTable& table, Op op, const Shape& shape, std::mt19937_64& random) {
    for (const Stores stores : {Stores::cached, Stores::streamed}) {
        Buffers<T> buffers(shape, random);
        reduce_many(table.reducer(type_of<T>(), op), buffers.to(), buffers.from(), shape.elements,
                    stores);
        buffers.check(op);
        if (testing::Test::HasFatalFailure())
            ADD_FAILURE() << shape << (stores == Stores::cached ? "" : ", streamed");
    }
}

template <class T>
void check_counts(Op op) {
    SCOPED_TRACE(base::name_of(type_of<T>()));
    const ReduceTable table = select_isa("auto").value();
    std::mt19937_64 random(5);
    std::vector<std::size_t> counts(71);
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = i;
    counts.insert(counts.end(), {511, 512, 513, 4097});  // a tile has 4 KiB
    for (std::size_t operands = 1; operands <= 5; ++operands)
        for (std::size_t targets = 1; targets <= 5; ++targets)
            for (const std::size_t elements : counts)
                for (const std::size_t step : {0, 3})
                    for (int place = -1; place < static_cast<int>(operands); ++place) {
                        // The shift of the first target equals the step.
                        check_shape<T>(table, op, {operands, targets, elements, step, step, place},
                                       random);
                        if (testing::Test::HasFailure()) return;
                    }
}

TEST(ReducePass, AllNumbersOfOperandsAndTargetsAreRight) {
    check_counts<double>(Op::sum);
    check_counts<std::int8_t>(Op::min);
    check_counts<float>(Op::max);  // tile by tile
}

template <class T>
void check_all_operations() {
    SCOPED_TRACE(base::name_of(type_of<T>()));
    for (const std::string_view isa : runnable_isas()) {
        SCOPED_TRACE(isa);
        const ReduceTable table = select_isa(isa).value();
        std::mt19937_64 random(6);
        for (int op = 0; op < kBuiltinOps; ++op) {
            if (table.kernel(type_of<T>(), static_cast<Op>(op)) == nullptr) continue;
            // Operands, targets, elements, shift, step of the shift, operand in place.
            check_shape<T>(table, static_cast<Op>(op), {2, 2, 700}, random);
            check_shape<T>(table, static_cast<Op>(op), {3, 1, 700, 1, 2, 2}, random);
            check_shape<T>(table, static_cast<Op>(op), {4, 3, 700, 0, 5, 1}, random);
        }
    }
}

TEST(ReducePass, EveryTypeAndOperationIsRightOnEveryInstructionSet) {
    std::apply([](auto... element) { (check_all_operations<decltype(element)>(), ...); },
               std::tuple<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                          std::uint16_t, std::uint32_t, std::uint64_t, float, double, long double,
                          std::complex<float>, std::complex<double>, bool, Float16, BFloat16,
                          ValueIndex<double, int>, ValueIndex<std::int16_t, int>>());
}

TEST(ReducePass, MoreOperandsAndTargetsThanOnePassHandlesAreRight) {
    const ReduceTable table = select_isa("auto").value();
    std::mt19937_64 random(7);
    for (const std::size_t operands : {1, 2, 15, 16, 17, 31, 32, 64})
        for (const std::size_t targets : {1, 2, 16, 17, 64})
            for (const int place : {-1, 0, static_cast<int>(operands) - 1})
                check_shape<double>(table, Op::sum, {operands, targets, 1200, 0, 8, place}, random);
}

TEST(ReducePass, SeveralOperandsMayBeTargets) {
    const Reducer reducer = select_isa("auto").value().reducer(Type::int32, Op::sum);
    std::vector<std::int32_t> x(3000);
    std::vector<std::int32_t> y(3000);
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<std::int32_t>(i);
        y[i] = static_cast<std::int32_t>(1000 * i);
    }
    std::byte* const targets[] = {reinterpret_cast<std::byte*>(x.data()),
                                  reinterpret_cast<std::byte*>(y.data())};
    const std::byte* const operands[] = {targets[1], targets[0], targets[1]};
    reduce_many(reducer, targets, operands, x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(x[i], static_cast<std::int32_t>(2001 * i));
        ASSERT_EQ(y[i], x[i]);
    }
}

TEST(ReducePass, LargeTargetsWithNontemporalStoresAreRight) {
    const ReduceTable table = select_isa("auto").value();
    std::mt19937_64 random(8);
    // Three buffers of this size exceed 32 MiB (kStreamBytesMin).
    constexpr std::size_t kElements = kStreamBytesMin / 3 / 8 + 1000;
    check_shape<double>(table, Op::sum, {2, 1, kElements}, random);
    check_shape<double>(table, Op::sum, {2, 2, kElements, 8}, random);
    check_shape<double>(table, Op::sum, {1, 2, kElements, 8}, random);
    check_shape<double>(table, Op::max, {2, 2, kElements, 8}, random);  // tile by tile
    // Buffers not aligned to elements; at different offsets in cache lines; in place.
    check_shape<double>(table, Op::sum, {2, 2, kElements, 3, 0}, random);
    check_shape<double>(table, Op::sum, {2, 2, kElements, 8, 8}, random);
    check_shape<double>(table, Op::sum, {2, 2, kElements, 8, 0, 1}, random);
    check_shape<double>(table, Op::sum, {3, 17, 250'000, 8}, random);
}

}  // namespace
}  // namespace weft::run
