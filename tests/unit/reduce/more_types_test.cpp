// SPDX-License-Identifier: BSD-3-Clause
// Goal: kernels of types other than C's integers, float and double give the right bits on every
// instruction set, for any count, alignment and aliasing. Each type has the operations that the
// guide lists. Method: tests compare with one-element references (known_elements.hpp); 16-bit
// floats have all 65,536 left operands.
#include <tuple>

#include "tests/unit/reduce/known_elements.hpp"

namespace weft::run {
namespace {

TEST(MoreTypes, KernelsAreRightForEveryCountAlignmentAndAlias) {
    const auto check = []<class... T>(std::tuple<T...>*) { (check_type<T>(40), ...); };
    check(static_cast<
          std::tuple<long double, std::complex<float>, std::complex<double>, bool, Float16,
                     BFloat16, ValueIndex<float>, ValueIndex<double>, ValueIndex<std::int16_t>,
                     ValueIndex<std::int32_t>, ValueIndex<std::int64_t>, ValueIndex<long double>,
                     ValueIndex<double, std::int64_t>, ValueIndex<std::int64_t, std::int64_t>>*>(
        nullptr));
}

/// Combines all 65,536 elements with zeros, ones, extremes, subnormals, infinities, NaNs and random
/// elements.
template <class T>
void check_all_elements() {
    constexpr std::size_t kAll = 65536;
    std::vector<T> left(kAll);
    for (std::size_t i = 0; i < kAll; ++i) left[i].bits = static_cast<std::uint16_t>(i);
    std::vector<std::uint16_t> rights = {0x0000, 0x8000, 0x0001, 0x8001, 0x3c00, 0xbc00,
                                         0x3f80, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7c01,
                                         0x7e00, 0xfe55, 0x7f7f, 0x7f80, 0xff80, 0x7f81,
                                         0x7fc0, 0x03ff, 0x0400, 0x007f, 0x0080, 0x3555};
    std::mt19937_64 random(5);
    for (int i = 0; i < 8; ++i) rights.push_back(static_cast<std::uint16_t>(random()));
    for (const std::uint16_t bits : rights) {
        T one;
        one.bits = bits;
        const std::vector<T> right(kAll, one);
        for (const Op op : {Op::sum, Op::prod, Op::min, Op::max, Op::land, Op::lxor}) {
            std::vector<T> expected(kAll);
            for (std::size_t i = 0; i < kAll; ++i)
                expected[i] = Known<T>::combine(op, left[i], one);
            for (const std::string_view isa : runnable_isas()) {
                std::vector<T> found(kAll);
                select_isa(isa).value().kernel(type_of<T>(), op)(found.data(), left.data(),
                                                                 right.data(), kAll);
                for (std::size_t i = 0; i < kAll; ++i)
                    ASSERT_EQ(found[i].bits, expected[i].bits)
                        << isa << ": " << base::name_of(op) << " of bits " << i << " and " << bits;
            }
        }
    }
}

TEST(MoreTypes, SixteenBitFloatsAreRightForAllElements) {
    check_all_elements<Float16>();
    check_all_elements<BFloat16>();
}

/// Converts floats between neighboring elements of the 16-bit type, also halfway between them.
template <class T>
void check_conversions() {
    for (int i = 0; i < 65536; ++i) {
        T element;
        element.bits = static_cast<std::uint16_t>(i);
        const auto value = static_cast<float>(element);
        const double expected = value_of(element);
        if (std::isnan(expected)) {
            ASSERT_TRUE(std::isnan(value)) << "bits " << i;
            ASSERT_TRUE(std::isnan(static_cast<float>(T(value)))) << "bits " << i;
            continue;
        }
        ASSERT_EQ(value, expected) << "bits " << i;
        ASSERT_EQ(std::signbit(value), std::signbit(expected)) << "bits " << i;
        const auto word = std::bit_cast<std::uint32_t>(value);
        for (const std::uint32_t offset :
             {0U, 1U, 0xfffU, 0x1000U, 0x1001U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU, 0x1fffU}) {
            const auto near = std::bit_cast<float>(word + offset);
            if (std::isnan(near)) continue;
            ASSERT_EQ(T(near).bits, nearest<T>(near).bits) << near;
        }
    }
}

TEST(MoreTypes, SixteenBitFloatsConvertToTheNearestElement) {
    check_conversions<Float16>();
    check_conversions<BFloat16>();
}

TEST(MoreTypes, TheLowerIndexOfEqualValuesWinsInEitherOrder) {
    using P = ValueIndex<double>;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    struct Row {
        P a, b, least, greatest;
    };
    const Row rows[] = {{{2, 9}, {2, 4}, {2, 4}, {2, 4}},
                        {{1, 9}, {2, 4}, {1, 9}, {2, 4}},
                        {{-0.0, 9}, {0.0, 4}, {-0.0, 9}, {0.0, 4}},
                        {{nan, 9}, {-1e300, 4}, {nan, 9}, {nan, 9}},
                        {{-nan, 9}, {nan, -4}, {nan, -4}, {nan, -4}}};
    for (const Row& row : rows)
        for (const bool swapped : {false, true})
            for (const bool least : {true, false}) {
                const P& left = swapped ? row.b : row.a;
                const P& right = swapped ? row.a : row.b;
                P found;
                best_kernels().kernel(Type::double_int, least ? Op::minloc : Op::maxloc)(
                    &found, &left, &right, 1);
                EXPECT_TRUE(as_specified<P>(Op::minloc, reinterpret_cast<std::byte*>(&found),
                                            least ? row.least : row.greatest))
                    << found.value << " at " << found.index;
            }
}

/// Combines the elements in random orders and with random parentheses.
template <class T>
void check_any_order(const std::vector<T>& elements, std::initializer_list<Op> ops) {
    std::mt19937_64 random(3);
    for (const Op op : ops) {
        const ReduceFn combine = best_kernels().kernel(type_of<T>(), op);
        std::vector<std::byte> first;
        for (int trial = 0; trial < 300; ++trial) {
            std::vector<T> rest = elements;
            while (rest.size() > 1) {
                const std::size_t a = random() % rest.size();
                std::swap(rest[a], rest.back());
                const std::size_t b = random() % (rest.size() - 1);
                combine(&rest[b], &rest[b], &rest.back(), 1);
                rest.pop_back();
            }
            std::vector<std::byte> bytes(sizeof(T));
            std::memcpy(bytes.data(), rest.data(), sizeof(T));
            if (first.empty()) first = bytes;
            ASSERT_EQ(bytes, first) << base::name_of(op) << ' ' << base::name_of(type_of<T>());
        }
    }
}

template <class F>
void check_extremes() {
    // All special values; without NaNs; and zeros and NaNs only.
    std::vector<std::vector<F>> sets(3);
    for (const F value : special_values<F>()) {
        sets[0].push_back(value);
        if (!std::isnan(value)) sets[1].push_back(value);
        if (std::isnan(value) || value == 0) sets[2].push_back(value);
    }
    sets.push_back({F{0}, -F{0}, F{0}, -F{0}});
    sets.push_back({static_cast<F>(std::nan("0x11")), static_cast<F>(-std::nan("0x22"))});
    for (const std::vector<F>& values : sets) {
        check_any_order<F>(values, {Op::min, Op::max});
        std::vector<ValueIndex<F>> pairs;
        for (std::size_t i = 0; i < values.size(); ++i) {
            std::memset(static_cast<void*>(&pairs.emplace_back()), 0, sizeof pairs[0]);
            pairs.back().value = values[i];
            pairs.back().index = static_cast<int>(i * 5 % values.size());
        }
        check_any_order<ValueIndex<F>>(pairs, {Op::minloc, Op::maxloc});
    }
}

TEST(MoreTypes, ExtremesHaveTheSameBitsInEveryOrder) {
    check_extremes<float>();
    check_extremes<double>();
    check_extremes<long double>();
    std::vector<Float16> halves;
    std::vector<BFloat16> brains;
    for (const int bits : {0, 0x8000, 1, 0x3c00, 0x7c00, 0xfc00, 0x7c01, 0xfe55, 0x7fc1}) {
        halves.emplace_back().bits = static_cast<std::uint16_t>(bits);
        brains.emplace_back().bits = static_cast<std::uint16_t>(bits);
    }
    check_any_order<Float16>(halves, {Op::min, Op::max});
    check_any_order<BFloat16>(brains, {Op::min, Op::max});
    check_any_order<std::int64_t>({3, -7, 3, 100, -100}, {Op::min, Op::max});
}

TEST(MoreTypes, EachTypeHasTheOperationsOfTheGuide) {
    const std::string logical = "land lor lxor";
    const std::string whole = "sum prod min max " + logical + " band bor bxor";
    const std::string floating = "sum prod min max " + logical;
    for (int i = 0; i < kBuiltinTypes; ++i) {
        const auto type = static_cast<Type>(i);
        const std::string name(base::name_of(type));
        std::string expected = whole;
        if (name.starts_with("float") || name == "bfloat16" || name == "double" ||
            name == "longdouble")
            expected = floating + (name == "longdouble" ? "" : " exact_sum");
        if (name == "cfloat" || name == "cdouble") expected = "sum prod exact_sum";
        if (name == "bool") expected = logical + " band bor bxor";
        if (name.find('_') != std::string::npos) expected = "minloc maxloc";
        EXPECT_EQ(operations_of(type), expected) << name;
    }
}

}  // namespace
}  // namespace weft::run
