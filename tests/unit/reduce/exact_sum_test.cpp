// SPDX-License-Identifier: BSD-3-Clause
// Goal: exact sums equal those of a multi-precision reference, rounded once, on every instruction
// set, for values of any kind and in any order.
// Method: the same values are added by ExactNumber, as columns, in windows, and by ReferenceSum.
#include "run/reduce/exact_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <random>
#include <vector>

#include "run/reduce/reduce.hpp"
#include "tests/support/exact_reference.hpp"

namespace weft::run {
namespace {

using test::Hard;
using test::hard_value;
using test::ReferenceSum;
using test::same_bits;

template <class T>
std::vector<T> hard_values(Hard kind, std::uint64_t seed, std::size_t count) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = hard_value<T>(kind, seed, i);
    return values;
}

template <class T>
double as_double(T value) {
    if constexpr (std::is_floating_point_v<T>)
        return value;
    else
        return static_cast<float>(value);
}

/// An ExactNumber with the words that it needs.
struct OwnedNumber {
    std::int64_t words[ExactNumber::kWords] = {};
    ExactNumber number{words};
};

template <class T>
FloatFormat format() {
    return std::is_same_v<T, double>    ? kDoubleFormat
           : std::is_same_v<T, float>   ? kFloatFormat
           : std::is_same_v<T, Float16> ? kFloat16Format
                                        : kBFloat16Format;
}

/// Calls check(kernels, kind) for each instruction set and each kind of hard values.
template <class Check>
void for_all_kinds(Check check) {
    for (const std::string_view isa : runnable_isas())
        for (int kind = 0; kind < test::kHardKinds; ++kind) {
            SCOPED_TRACE(testing::Message() << isa << " kind " << kind);
            check(select_isa(isa).value().exact(), static_cast<Hard>(kind));
        }
}

template <class T>
void check_arrays() {
    for_all_kinds([](const ExactKernels& kernels, Hard kind) {
        for (const std::size_t count : {0, 1, 2, 31, 64, 257, 1000, 4097, 20000}) {
            std::vector<T> values = hard_values<T>(kind, count, count);
            ReferenceSum reference;
            for (const T value : values) reference.add(as_double(value));
            std::mt19937_64 random(count);
            for (int order = 0; order < 2; ++order) {  // as drawn, then shuffled
                OwnedNumber sum;
                sum.number.add(kernels, type_of<T>(), values.data(), count);
                OwnedNumber parts;
                OwnedNumber part;
                const std::size_t cut = count / 3;
                parts.number.add(kernels, type_of<T>(), values.data(), cut);
                part.number.add(kernels, type_of<T>(), values.data() + cut, count - cut);
                parts.number.merge(part.words);
                const double expected = as_double(reference.rounded_to<T>());
                const double found = sum.number.rounded(format<T>());
                ASSERT_TRUE(same_bits(found, expected))
                    << count << " values: " << found << ", expected " << expected;
                ASSERT_TRUE(same_bits(parts.number.rounded(format<T>()), expected))
                    << count << " values";
                std::shuffle(values.begin(), values.end(), random);
            }
        }
    });
}

TEST(ExactSum, ArraysHaveTheRoundedSumInEveryOrder) {
    check_arrays<double>();
    check_arrays<float>();
    check_arrays<Float16>();
    check_arrays<BFloat16>();
}

TEST(ExactSum, ProductsAndRootsAreRoundedOnce) {
    for_all_kinds([](const ExactKernels& kernels, Hard kind) {
        for (const std::size_t count : {1, 2, 63, 128, 3000}) {
            const auto left = hard_values<double>(kind, 3, count);
            const auto right = hard_values<double>(kind, 4, count);
            ReferenceSum dot;
            ReferenceSum square;
            for (std::size_t i = 0; i < count; ++i) {
                dot.add_product(left[i], right[i]);
                square.add_product(left[i], left[i]);
            }
            OwnedNumber sum;
            sum.number.add_products(kernels, Type::float64, left.data(), right.data(), count);
            const double found = sum.number.rounded(kDoubleFormat);
            const double expected = dot.rounded_to<double>();
            ASSERT_TRUE(same_bits(found, expected))
                << count << " values: " << found << ", expected " << expected;
            OwnedNumber norm;
            norm.number.add_products(kernels, Type::float64, left.data(), left.data(), count);
            const double root = norm.number.root();
            if (!std::isfinite(root) || root < 0x1p-1000) continue;  // so that `half` is a double
            // The root is the nearest double if it is within half a unit in the last place, so that
            // (root - half)^2 <= square <= (root + half)^2.
            int exponent;
            std::frexp(root, &exponent);
            const double half = std::ldexp(1.0, exponent - 54);
            for (const double side : {half, -half}) {
                ReferenceSum difference = square;  // minus (root + side)^2
                difference.add_product(-root, root);
                difference.add_product(-2 * root, side);
                difference.add_product(-side, side);
                const double rest = difference.rounded_to<double>();
                ASSERT_TRUE(side > 0 ? rest <= 0 : rest >= 0) << count << " values, root " << root;
            }
        }
    });
}

TEST(ExactSum, ManyAdditionsAndMergesKeepAllCarries) {
    OwnedNumber sum;
    OwnedNumber merged;  // sum of 12 intermediate sums, which exceeds the largest double
    ReferenceSum reference;
    const double values[] = {0x1.fffffffffffffp1023, -0x1.fffffffffffffp-1,
                             0x0.fffffffffffffp-1022};
    for (int i = 0; i < 600'000; ++i) {
        const double value = values[i % 3];
        sum.number.add(best_kernels().exact(), Type::float64, &value, 1);
        if (i % 50'000 == 0) merged.number.merge(sum.words);
    }
    for (const double value : values)
        for (int i = 0; i < 200'000; ++i) reference.add(value);
    const double largest = values[0];
    for (int i = 0; i < 199'999; ++i) {
        const double minus = -largest;
        sum.number.add(best_kernels().exact(), Type::float64, &minus, 1);
        reference.add(minus);
    }
    EXPECT_TRUE(same_bits(sum.number.rounded(kDoubleFormat), reference.rounded_to<double>()));
    EXPECT_EQ(sum.number.rounded(kDoubleFormat), largest);
    EXPECT_EQ(merged.number.rounded(kDoubleFormat), HUGE_VAL);
}

TEST(ExactSum, BinsOfFewExponentsAreEmptiedBeforeTheyOverflow) {
    const double kinds[] = {0x1.fffffffffffffp500, 0x1.fffffffffffffp-500, -0x1.fffffffffffffp0,
                            -0x0.fffffffffffffp-1022, -0.0};
    std::vector<double> values;
    ReferenceSum reference;
    for (int i = 0; i < 30'000; ++i) values.push_back(kinds[i % std::size(kinds)]);
    for (const double value : values) reference.add(value);
    for (const std::string_view isa : runnable_isas()) {
        OwnedNumber sum;
        sum.number.add(select_isa(isa).value().exact(), Type::float64, values.data(),
                       values.size());
        EXPECT_TRUE(same_bits(sum.number.rounded(kDoubleFormat), reference.rounded_to<double>()))
            << isa;
        // Without the rounded sum, the rounding error is left.
        const double minus[] = {-sum.number.rounded(kDoubleFormat)};
        sum.number.add(select_isa(isa).value().exact(), Type::float64, minus, 1);
        ReferenceSum rest = reference;
        rest.add(minus[0]);
        EXPECT_TRUE(same_bits(sum.number.rounded(kDoubleFormat), rest.rounded_to<double>())) << isa;
    }
}

/// Arrays are added in runs. A bin may become full with the last value of a run. The number of
/// zeros determines the position in a run at which the bin becomes full.
TEST(ExactSum, BinsThatFillAtTheEndOfARunAreEmptied) {
    const double almost_two = 0x1.fffffffffffffp0;
    for (const std::string_view isa : runnable_isas())
        for (std::size_t zeros = 0; zeros < 8; ++zeros) {
            std::vector<double> values(32'768, almost_two);
            std::fill_n(values.begin(), zeros, 0.0);
            values.front() = 1e300;
            values.back() = -1e300;
            ReferenceSum reference;
            for (const double value : values) reference.add(value);
            OwnedNumber sum;
            sum.number.add(select_isa(isa).value().exact(), Type::float64, values.data(),
                           values.size());
            EXPECT_TRUE(
                same_bits(sum.number.rounded(kDoubleFormat), reference.rounded_to<double>()))
                << isa << ", " << zeros << " zeros";
        }
}

TEST(ExactSum, SumsOfPackedWordsOfAllRanksAreExact) {
    constexpr int kRanks = 1000;
    std::vector<std::int64_t> total(ExactNumber::kWords);
    ReferenceSum reference;
    for (int rank = 0; rank < kRanks; ++rank) {
        OwnedNumber sum;
        const auto values = hard_values<double>(Hard::wide, static_cast<std::uint64_t>(rank), 100);
        for (const double value : values) reference.add(value);
        sum.number.add(best_kernels().exact(), Type::float64, values.data(), values.size());
        sum.number.pack();
        for (int i = 0; i < ExactNumber::kWords; ++i) total[i] += sum.words[i];
    }
    EXPECT_TRUE(same_bits(ExactNumber(total.data()).rounded(kDoubleFormat),
                          reference.rounded_to<double>()));
}

/// Checks sums of `ranks` arrays of `count` elements, by columns and by windows.
template <class T>
void check_elements(const ExactKernels& kernels, Hard kind, std::size_t ranks, std::size_t count) {
    std::vector<T> columns;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const auto values = hard_values<T>(kind, rank * 7 + count, count);
        columns.insert(columns.end(), values.begin(), values.end());
    }
    std::vector<T> expected(count);
    for (std::size_t i = 0; i < count; ++i) {
        ReferenceSum reference;
        for (std::size_t rank = 0; rank < ranks; ++rank)
            reference.add(as_double(columns[rank * count + i]));
        expected[i] = reference.rounded_to<T>();
    }
    const auto check = [&](const std::vector<T>& found, const char* form) {
        for (std::size_t i = 0; i < count; ++i)
            ASSERT_TRUE(same_bits(found[i], expected[i]))
                << form << ": element " << i << " of " << count << ", ranks " << ranks << ": "
                << as_double(found[i]) << ", expected " << as_double(expected[i]);
    };
    std::vector<T> found(count);
    sum_columns(kernels, type_of<T>(), columns.data(), count, ranks, count, found.data());
    check(found, "columns");
    const ExactWindow narrow = ExactWindow::within(
        ExactWindow::bounds(range_of(kernels, type_of<T>(), columns.data(), columns.size())));
    for (const ExactWindow& window : {narrow, ExactWindow::all(type_of<T>())}) {
        std::vector<std::int64_t> sum(window.words() * count);
        std::vector<std::int64_t> words(sum.size());
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            to_words(window, type_of<T>(), columns.data() + rank * count, count, words.data());
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += words[i];
        }
        from_words(window, type_of<T>(), sum.data(), count, found.data());
        check(found, "window");
    }
}

template <class T>
void check_all_elements() {
    for_all_kinds([](const ExactKernels& kernels, Hard kind) {
        for (const std::size_t ranks : {1, 2, 3, 9, 64})
            for (const std::size_t count : {0, 1, 7, 300})
                check_elements<T>(kernels, kind, ranks, count);
    });
}

TEST(ExactSum, ColumnsAndWindowsHaveTheRoundedSum) {
    check_all_elements<double>();
    check_all_elements<float>();
    check_all_elements<Float16>();
    check_all_elements<BFloat16>();
}

TEST(ExactSum, IgnoresAndKeepsTheFloatingPointStateOfTheThread) {
    const auto values = hard_values<double>(Hard::subnormal, 1, 1000);
    OwnedNumber expected;
    expected.number.add(best_kernels().exact(), Type::float64, values.data(), values.size());
    std::fesetround(FE_UPWARD);
    std::feclearexcept(FE_ALL_EXCEPT);
    std::feraiseexcept(FE_DIVBYZERO);
    OwnedNumber found;
    found.number.add(best_kernels().exact(), Type::float64, values.data(), values.size());
    EXPECT_EQ(std::fegetround(), FE_UPWARD);
    EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), FE_DIVBYZERO);
    const double rounded = found.number.rounded(kDoubleFormat);
    std::fesetround(FE_TONEAREST);
    std::feclearexcept(FE_ALL_EXCEPT);
    EXPECT_TRUE(same_bits(rounded, expected.number.rounded(kDoubleFormat)));
}

}  // namespace
}  // namespace weft::run
