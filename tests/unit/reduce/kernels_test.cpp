// SPDX-License-Identifier: BSD-3-Clause
// Goal: every kernel of every instruction set gives the right bits, for any count, alignment and
// aliasing of target and operands. more_types_test.cpp has the other element types.
// Method: tests compare kernels of integers, float and double with one-element references
// (known_elements.hpp), and put guard bytes around the buffers.
#include <tuple>

#include "tests/unit/reduce/known_elements.hpp"

namespace weft::run {
namespace {

template <class T>
bool same_bits(T a, T b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Calls use(T{}) for each C type that is an integer, float or double.
template <class Use>
void for_c_types(Use use) {
    std::apply([&](auto... element) { (use(element), ...); },
               std::tuple<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                          std::uint16_t, std::uint32_t, std::uint64_t, float, double>());
}

TEST(Kernels, EveryTypeAndOperationIsRightForEveryCountAlignmentAndAlias) {
    for_c_types([](auto element) { check_type<decltype(element)>(70); });
}

/// Combines every pair of special values, in buffers of 33 elements (vectors and a rest) and of one
/// element. The result must not depend on position, instruction set or order of the operands.
template <class T>
void check_extremes(const ReduceTable& table, Op op) {
    std::vector<T> values = special_values<T>();
    values.push_back(static_cast<T>(std::nan("0x123")));
    const ReduceFn kernel = table.kernel(type_of<T>(), op);
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
                ASSERT_TRUE(same_bits(forward[i], Known<T>::combine(op, a, b)))
                    << a << " with " << b;
                ASSERT_TRUE(same_bits(backward[i], forward[i])) << a << " with " << b;
            }
            ASSERT_TRUE(same_bits(one, forward[0])) << a << " with " << b;
        }
}

TEST(Kernels, MinAndMaxOfNanAndSignedZeroDoNotDependOnOrder) {
    for (const std::string_view isa : runnable_isas()) {
        SCOPED_TRACE(isa);
        const ReduceTable table = select_isa(isa).value();
        for (const Op op : {Op::min, Op::max}) {
            check_extremes<float>(table, op);
            check_extremes<double>(table, op);
        }
    }
}

/// Compares the bits of all instruction sets on long random buffers.
template <class T>
void check_same_on_all_sets() {
    constexpr Type type = type_of<T>();
    std::mt19937_64 random(7);
    constexpr std::size_t kCount = 1013;
    std::vector<T> a(kCount);
    std::vector<T> b(kCount);
    for (T& x : a) x = Known<T>::draw(random);
    for (T& x : b) x = Known<T>::draw(random);
    if constexpr (std::is_floating_point_v<T>)  // the payload of two NaNs is unspecified
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

TEST(Kernels, AllInstructionSetsGiveEqualBits) {
    for_c_types([](auto element) { check_same_on_all_sets<decltype(element)>(); });
}

TEST(SelectIsa, AutoSelectsTheLastRunnableSetAndNamesAreObeyed) {
    const auto names = runnable_isas();
    ASSERT_FALSE(names.empty());
    EXPECT_EQ(select_isa("").value().name(), names.back());
    EXPECT_EQ(select_isa("auto").value().name(), names.back());
    for (const std::string_view isa : names) EXPECT_EQ(select_isa(isa).value().name(), isa);
    EXPECT_EQ(best_kernels().kernel(Type::float64, Op::sum),
              select_isa("").value().kernel(Type::float64, Op::sum));
}

TEST(SelectIsa, UnknownNamesAreRefusedAndQuoted) {
    const auto refused = select_isa("sse9");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.failure().status, Status::argument);
    EXPECT_NE(refused.failure().text.find("'sse9'"), std::string::npos) << refused.failure().text;
    EXPECT_NE(refused.failure().text.find(runnable_isas().front()), std::string::npos);
}

TEST(SelectIsa, UserTypesAndOperationsHaveNoKernel) {
    EXPECT_EQ(best_kernels().kernel(Type::user, Op::sum), nullptr);
    EXPECT_EQ(best_kernels().kernel(Type::int32, Op::user), nullptr);
    EXPECT_EQ(best_kernels().kernel(Type::float32, Op::bxor), nullptr);
}

}  // namespace
}  // namespace weft::run
