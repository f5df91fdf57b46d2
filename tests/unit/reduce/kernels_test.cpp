// SPDX-License-Identifier: BSD-3-Clause
// Goal: every kernel of every instruction set gives the right bits, for any count, alignment and
// aliasing. Method: all types x operations x instruction sets against one-element references that
// share no code with the kernels (128-bit integers, classified floats), with guard bytes around.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "run/reduce/reduce.hpp"

namespace weft::run {
namespace {

constexpr std::size_t kCountMax = 70;
constexpr std::size_t kGuard = 64;
constexpr std::byte kGuardByte{0xa5};

template <class T>
bool truth(T x) {
    return !(x == T{0});
}

template <class T>
T integer_reference(Op op, T left, T right) {
    const auto a = static_cast<__int128>(left);
    const auto b = static_cast<__int128>(right);
    switch (op) {
        case Op::sum:
            return static_cast<T>(a + b);
        case Op::prod:
            return static_cast<T>(static_cast<unsigned __int128>(a) *
                                  static_cast<unsigned __int128>(b));
        case Op::min:
            return a <= b ? left : right;
        case Op::max:
            return a >= b ? left : right;
        case Op::land:
            return truth(left) && truth(right) ? T{1} : T{0};
        case Op::lor:
            return truth(left) || truth(right) ? T{1} : T{0};
        case Op::lxor:
            return truth(left) != truth(right) ? T{1} : T{0};
        case Op::band:
            return static_cast<T>(a & b);
        case Op::bor:
            return static_cast<T>(a | b);
        default:
            return static_cast<T>(a ^ b);
    }
}

template <class T>
T float_reference(Op op, T left, T right) {
    const volatile T a = left;
    const volatile T b = right;
    switch (op) {
        case Op::sum:
            return a + b;
        case Op::prod:
            return a * b;
        case Op::land:
            return truth(left) && truth(right) ? T{1} : T{0};
        case Op::lor:
            return truth(left) || truth(right) ? T{1} : T{0};
        case Op::lxor:
            return truth(left) != truth(right) ? T{1} : T{0};
        default:
            break;
    }
    if (std::isnan(left) || std::isnan(right)) return std::numeric_limits<T>::quiet_NaN();
    if (left == right && std::signbit(left) != std::signbit(right))
        return op == Op::min ? -T{0} : T{0};
    const bool left_is_less = left < right;
    return left_is_less == (op == Op::min) ? left : right;
}

template <class T>
T reference(Op op, T left, T right) {
    if constexpr (std::is_integral_v<T>)
        return integer_reference(op, left, right);
    else
        return float_reference(op, left, right);
}

/// Values at which operations go wrong: extremes, zeros, and for floats infinities and NaNs.
template <class T>
std::vector<T> special_values() {
    using Limits = std::numeric_limits<T>;
    std::vector<T> values = {T{0},
                             T{1},
                             T{2},
                             Limits::min(),
                             Limits::max(),
                             Limits::lowest(),
                             static_cast<T>(-1),
                             static_cast<T>(Limits::max() - T{1})};
    if constexpr (std::is_floating_point_v<T>) {
        const T more[] = {-T{0},
                          Limits::infinity(),
                          -Limits::infinity(),
                          Limits::quiet_NaN(),
                          -Limits::quiet_NaN(),
                          Limits::denorm_min(),
                          -Limits::denorm_min()};
        values.insert(values.end(), std::begin(more), std::end(more));
    }
    return values;
}

template <class T>
T random_value(std::mt19937_64& random) {
    static const std::vector<T> special = special_values<T>();
    if (random() % 4 == 0) return special[random() % special.size()];
    if constexpr (std::is_floating_point_v<T>)
        return static_cast<T>(std::ldexp(static_cast<double>(random()) - 0x1p63,
                                         static_cast<int>(random() % 80) - 100));
    else
        return static_cast<T>(random());
}

template <class T>
bool same_bits(T a, T b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Sums and products promise a NaN, not which one, when the processor makes or passes it on.
template <class T>
bool as_promised(Op op, T found, T expected) {
    if constexpr (std::is_floating_point_v<T>)
        if ((op == Op::sum || op == Op::prod) && std::isnan(expected)) return std::isnan(found);
    return same_bits(found, expected);
}

/// A vector at a chosen misalignment inside guard bytes.
template <class T>
class Guarded {
  public:
    Guarded(std::size_t count, std::size_t shift)
        : bytes_(count * sizeof(T)),
          at_(kGuard + shift),
          memory_(bytes_ + 2 * kGuard + 64, kGuardByte) {}

    void set(const std::vector<T>& values) {
        if (bytes_ != 0) std::memcpy(data(), values.data(), bytes_);
    }
    [[nodiscard]] std::byte* data() { return memory_.data() + at_; }
    [[nodiscard]] T get(std::size_t i) {
        T value;
        std::memcpy(&value, data() + i * sizeof(T), sizeof(T));
        return value;
    }
    [[nodiscard]] bool guards_hold() const {
        for (std::size_t i = 0; i < memory_.size(); ++i)
            if ((i < at_ || i >= at_ + bytes_) && memory_[i] != kGuardByte) return false;
        return true;
    }

  private:
    std::size_t bytes_;
    std::size_t at_;
    std::vector<std::byte> memory_;
};

enum class Alias { none, left, right, both };

template <class T>
void check_kernel(ReduceFn kernel, Op op, std::size_t count, std::array<std::size_t, 3> shifts,
                  Alias alias, std::mt19937_64& random) {
    std::vector<T> a(count);
    std::vector<T> b(count);
    for (T& x : a) x = random_value<T>(random);
    for (T& x : b) x = random_value<T>(random);
    if (alias == Alias::both) b = a;
    Guarded<T> target(count, shifts[0]);
    Guarded<T> left(count, shifts[1]);
    Guarded<T> right(count, shifts[2]);
    Guarded<T>& from_left = alias == Alias::left || alias == Alias::both ? target : left;
    Guarded<T>& from_right = alias == Alias::right || alias == Alias::both ? target : right;
    from_left.set(a);
    from_right.set(b);
    kernel(target.data(), from_left.data(), from_right.data(), count);
    for (std::size_t i = 0; i < count; ++i)
        ASSERT_TRUE(as_promised(op, target.get(i), reference(op, a[i], b[i])))
            << "op " << static_cast<int>(op) << " count " << count << " element " << i << ": "
            << +a[i] << " (op) " << +b[i] << " gave " << +target.get(i);
    ASSERT_TRUE(target.guards_hold() && left.guards_hold() && right.guards_hold());
}

template <class T>
void check_type(const ReduceTable& table, Type type) {
    std::mt19937_64 random(20240611 + static_cast<unsigned>(type));
    constexpr std::array<std::array<std::size_t, 3>, 5> kShifts = {
        {{0, 0, 0}, {1, 0, 0}, {0, 3, 5}, {7, 7, 7}, {13, 2, 9}}};
    for (int op_index = 0; op_index < kBuiltinOps; ++op_index) {
        const Op op = static_cast<Op>(op_index);
        const ReduceFn kernel = table.kernel(type, op);
        const bool bitwise = op == Op::band || op == Op::bor || op == Op::bxor;
        const bool located = op == Op::minloc || op == Op::maxloc;
        ASSERT_EQ(kernel == nullptr, located || (bitwise && std::is_floating_point_v<T>))
            << op_index;
        if (kernel == nullptr) continue;
        for (std::size_t count = 0; count <= kCountMax; ++count)
            for (const auto& shifts : kShifts)
                for (const Alias alias : {Alias::none, Alias::left, Alias::right, Alias::both})
                    check_kernel<T>(kernel, op, count, shifts, alias, random);
    }
}

TEST(Kernels, EveryTypeAndOperationIsRightForEveryCountAlignmentAndAlias) {
    for (const std::string_view isa : runnable_isas()) {
        SCOPED_TRACE(isa);
        const ReduceTable table = select_isa(isa).value();
        check_type<std::int8_t>(table, Type::int8);
        check_type<std::int16_t>(table, Type::int16);
        check_type<std::int32_t>(table, Type::int32);
        check_type<std::int64_t>(table, Type::int64);
        check_type<std::uint8_t>(table, Type::uint8);
        check_type<std::uint16_t>(table, Type::uint16);
        check_type<std::uint32_t>(table, Type::uint32);
        check_type<std::uint64_t>(table, Type::uint64);
        check_type<float>(table, Type::float32);
        check_type<double>(table, Type::float64);
    }
}

/// Every pair of special values, in a vector long enough for the vector body and in one of one
/// element: position, instruction set and order of the operands must not show.
template <class T>
void check_extremes(const ReduceTable& table, Type type, Op op) {
    std::vector<T> values = special_values<T>();
    values.push_back(static_cast<T>(std::nan("0x123")));
    const ReduceFn kernel = table.kernel(type, op);
    for (const T a : values)
        for (const T b : values) {
            const std::vector<T> left(33, a);
            const std::vector<T> right(33, b);
            std::vector<T> forward(33);
            std::vector<T> backward(33);
            T one{};
            kernel(forward.data(), left.data(), right.data(), 33);
            kernel(backward.data(), right.data(), left.data(), 33);
            kernel(&one, &a, &b, 1);
            for (std::size_t i = 0; i < 33; ++i) {
                ASSERT_TRUE(same_bits(forward[i], reference(op, a, b))) << a << " with " << b;
                ASSERT_TRUE(same_bits(backward[i], forward[i])) << a << " with " << b;
            }
            ASSERT_TRUE(same_bits(one, forward[0])) << a << " with " << b;
        }
}

TEST(Kernels, MinAndMaxTreatNanAndSignedZeroAlikeInEitherOrder) {
    for (const std::string_view isa : runnable_isas()) {
        SCOPED_TRACE(isa);
        const ReduceTable table = select_isa(isa).value();
        for (const Op op : {Op::min, Op::max}) {
            check_extremes<float>(table, Type::float32, op);
            check_extremes<double>(table, Type::float64, op);
        }
    }
}

TEST(Kernels, NanAndZeroTable) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    struct Row {
        double a, b, minimum, maximum;
    };
    const Row rows[] = {{-0.0, 0.0, -0.0, 0.0}, {0.0, 0.0, 0.0, 0.0},  {-0.0, -0.0, -0.0, -0.0},
                        {nan, 1.0, nan, nan},   {-nan, nan, nan, nan}, {-1.0, -nan, nan, nan},
                        {1.0, 2.0, 1.0, 2.0}};
    for (const std::string_view isa : runnable_isas()) {
        const ReduceTable table = select_isa(isa).value();
        for (const Row& row : rows) {
            double least = 0;
            double greatest = 0;
            table.kernel(Type::float64, Op::min)(&least, &row.a, &row.b, 1);
            table.kernel(Type::float64, Op::max)(&greatest, &row.a, &row.b, 1);
            EXPECT_TRUE(same_bits(least, row.minimum)) << isa << ": min " << row.a << ", " << row.b;
            EXPECT_TRUE(same_bits(greatest, row.maximum))
                << isa << ": max " << row.a << ", " << row.b;
        }
    }
}

/// Long random vectors: the same bits from every instruction set.
template <class T>
void check_same_on_all_sets(Type type) {
    std::mt19937_64 random(7);
    constexpr std::size_t kCount = 1013;
    std::vector<T> a(kCount);
    std::vector<T> b(kCount);
    for (T& x : a) x = random_value<T>(random);
    for (T& x : b) x = random_value<T>(random);
    if constexpr (std::is_floating_point_v<T>)  // two NaNs: the payload is not promised
        for (std::size_t i = 0; i < kCount; ++i)
            if (std::isnan(a[i]) && std::isnan(b[i])) b[i] = T{1};
    const auto names = runnable_isas();
    for (int op = 0; op < kBuiltinOps; ++op) {
        const ReduceFn plain = select_isa(names[0]).value().kernel(type, static_cast<Op>(op));
        if (plain == nullptr) continue;
        std::vector<T> expected(kCount);
        plain(expected.data(), a.data(), b.data(), kCount);
        for (const std::string_view isa : names) {
            std::vector<T> found(kCount);
            select_isa(isa).value().kernel(type, static_cast<Op>(op))(found.data(), a.data(),
                                                                      b.data(), kCount);
            ASSERT_EQ(std::memcmp(found.data(), expected.data(), kCount * sizeof(T)), 0)
                << isa << " type " << static_cast<int>(type) << " op " << op;
        }
    }
}

TEST(Kernels, AllInstructionSetsGiveTheSameBits) {
    check_same_on_all_sets<std::int8_t>(Type::int8);
    check_same_on_all_sets<std::int16_t>(Type::int16);
    check_same_on_all_sets<std::int32_t>(Type::int32);
    check_same_on_all_sets<std::int64_t>(Type::int64);
    check_same_on_all_sets<std::uint8_t>(Type::uint8);
    check_same_on_all_sets<std::uint16_t>(Type::uint16);
    check_same_on_all_sets<std::uint32_t>(Type::uint32);
    check_same_on_all_sets<std::uint64_t>(Type::uint64);
    check_same_on_all_sets<float>(Type::float32);
    check_same_on_all_sets<double>(Type::float64);
}

TEST(SelectIsa, AutoTakesTheBestAndNamesAreObeyed) {
    const auto names = runnable_isas();
    ASSERT_FALSE(names.empty());
    EXPECT_EQ(select_isa("").value().name(), names.back());
    EXPECT_EQ(select_isa("auto").value().name(), names.back());
    for (const std::string_view isa : names) EXPECT_EQ(select_isa(isa).value().name(), isa);
    EXPECT_EQ(reduce_kernel(Type::float64, Op::sum),
              select_isa("").value().kernel(Type::float64, Op::sum));
}

TEST(SelectIsa, UnknownNamesAreRefusedInWords) {
    const auto refused = select_isa("sse9");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.failure().status, Status::argument);
    EXPECT_NE(refused.failure().text.find("'sse9'"), std::string::npos) << refused.failure().text;
    EXPECT_NE(refused.failure().text.find(runnable_isas().front()), std::string::npos);
}

TEST(SelectIsa, UserTypesAndOperationsHaveNoKernel) {
    EXPECT_EQ(reduce_kernel(Type::user, Op::sum), nullptr);
    EXPECT_EQ(reduce_kernel(Type::int32, Op::user), nullptr);
    EXPECT_EQ(reduce_kernel(Type::float32, Op::bxor), nullptr);
}

}  // namespace
}  // namespace weft::run
