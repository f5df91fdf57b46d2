// SPDX-License-Identifier: BSD-3-Clause
// Goal: parse_type() and parse_op() read the names that name_of() returns, and reject other names.
// Types have the sizes of the C++ types.
#include "base/element_types.hpp"

#include <gtest/gtest.h>

#include "weft/elements.hpp"

namespace weft::base {
namespace {

TEST(ElementTypes, NamesOfTypesAreParsedBack) {
    for (int i = 0; i < kBuiltinTypes; ++i) {
        const auto type = static_cast<Type>(i);
        const auto parsed = parse_type(name_of(type));
        ASSERT_TRUE(parsed.ok()) << name_of(type);
        EXPECT_EQ(*parsed, type);
    }
    EXPECT_EQ(name_of(Type::float64), "double");
    EXPECT_EQ(name_of(Type::boolean), "bool");
    EXPECT_EQ(name_of(Type::longdouble_int), "longdouble_int");
}

TEST(ElementTypes, SizesAreThoseOfTheCxxTypes) {
    EXPECT_EQ(size_of(Type::int8), sizeof(std::int8_t));
    EXPECT_EQ(size_of(Type::uint16), sizeof(std::uint16_t));
    EXPECT_EQ(size_of(Type::uint64), sizeof(std::uint64_t));
    EXPECT_EQ(size_of(Type::float32), sizeof(float));
    EXPECT_EQ(size_of(Type::float64), sizeof(double));
    EXPECT_EQ(size_of(Type::user), 0U);
    EXPECT_EQ(size_of(Type::longdouble), sizeof(long double));
    EXPECT_EQ(size_of(Type::cdouble), sizeof(std::complex<double>));
    EXPECT_EQ(size_of(Type::boolean), sizeof(bool));
    EXPECT_EQ(size_of(Type::bfloat16), sizeof(BFloat16));
    EXPECT_EQ(size_of(Type::double_int), sizeof(ValueIndex<double>));
    EXPECT_EQ(size_of(Type::longdouble_int), sizeof(ValueIndex<long double>));
    EXPECT_EQ(size_of(Type::int16_int), sizeof(ValueIndex<std::int16_t>));
}

TEST(ElementTypes, NamesOfOperationsAreParsedBack) {
    for (int i = 0; i < kBuiltinOps; ++i) {
        const auto op = static_cast<Op>(i);
        const auto parsed = parse_op(name_of(op));
        ASSERT_TRUE(parsed.ok()) << name_of(op);
        EXPECT_EQ(*parsed, op);
    }
    EXPECT_EQ(name_of(Op::maxloc), "maxloc");
}

TEST(ElementTypes, ErrorsForUnknownNamesListTheKnownNames) {
    const auto type = parse_type("doubel");
    ASSERT_FALSE(type.ok());
    EXPECT_EQ(type.failure().status, Status::argument);
    EXPECT_NE(type.failure().text.find("'doubel'"), std::string::npos);
    EXPECT_NE(type.failure().text.find("double"), std::string::npos);
    EXPECT_FALSE(parse_type("user").ok());
    EXPECT_FALSE(parse_type("").ok());
    EXPECT_FALSE(parse_op("SUM").ok());
    EXPECT_FALSE(parse_op("user").ok());
}

}  // namespace
}  // namespace weft::base
