// SPDX-License-Identifier: BSD-3-Clause
// Goal: a JSON value keeps the order of its members, follows the standard when printed and read,
// and reports missing members.
#include "tools/lab/program/json.hpp"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft::lab {
namespace {

TEST(Json, ListsOfNamesAndValuesAreObjectsOthersArrays) {
    EXPECT_TRUE((Json{{"a", 1}, {"b", "x"}}.is_object()));
    EXPECT_TRUE((Json{{"a", 1}, {2, "x"}}.is_array()));
    EXPECT_TRUE((Json{1, 2}.is_array()));
    EXPECT_TRUE(Json(std::vector<std::string>{"a", "b"}).is_array());
    EXPECT_EQ(Json(std::map<std::string, int>{{"a", 1}}), (Json{{"a", 1}}));
    EXPECT_TRUE(Json().is_null());
}

TEST(Json, PrintsMembersInTheOrderInWhichTheyWereWritten) {
    Json object{{"z", -1}, {"a", 0.5}, {"none", nullptr}};
    object["m"]["inner"] = true;
    object["list"].push_back("say \"x\"");
    EXPECT_EQ(object.dump(), R"({"z":-1,"a":0.5,"none":null,"m":{"inner":true},)"
                             R"("list":["say \"x\""]})");
    object.erase("a");
    object.update(Json{{"z", 3U}, {"new", Json::array()}});
    EXPECT_EQ(object.dump(), R"({"z":3,"none":null,"m":{"inner":true},)"
                             R"("list":["say \"x\""],"new":[]})");
    EXPECT_EQ((Json{{"a", Json{1}}}.dump(1)), "{\n \"a\": [\n  1\n ]\n}");
}

TEST(Json, ReadsWhatItPrints) {
    const std::string text =
        R"({"z":[1,-2,18446744073709551615,1.5e300],"a":{"b":[true,null,"\u00e9"]}})";
    const Json value = read_json(text);
    EXPECT_EQ(read_json(value.dump()), value);
    EXPECT_EQ(value["z"][2].get<std::uint64_t>(), ~std::uint64_t{0});
    EXPECT_EQ(value["z"][1].get<int>(), -2);
    EXPECT_TRUE(value["z"][0].is_number_unsigned());
    EXPECT_TRUE(value["z"][3].is_number_float());
    EXPECT_EQ(value["a"]["b"][2], "\u00e9");
    std::string names;
    for (const auto& [name, part] : value.items()) names += name + (part.is_array() ? "[]" : "{}");
    EXPECT_EQ(names, "z[]a{}");
    for (const char* wrong : {"", "{", "[1,]", "{\"a\" 1}", "nul"})
        EXPECT_TRUE(read_json(wrong).is_discarded()) << wrong;
}

TEST(Json, NumbersAreEqualAndOrderedByValue) {
    EXPECT_EQ(Json(2), Json(2U));
    EXPECT_EQ(Json(2), Json(2.0));
    EXPECT_NE(Json(2), Json("2"));
    EXPECT_NE(Json(1), Json(true));
    EXPECT_LT(Json(-1), Json(0U));
    EXPECT_GT(Json(1.5), 1);
    EXPECT_FALSE(Json("a") < Json("b"));
    EXPECT_NE((Json{{"a", 1}, {"b", 2}}), (Json{{"b", 2}, {"a", 1}}));
}

TEST(Json, WhatIsNotThereIsNullAndAnotherKindIsRefused) {
    const Json object{{"a", 1}};
    EXPECT_TRUE(object["b"].is_null());
    EXPECT_FALSE(object.contains("b"));
    EXPECT_EQ(object.value("b", 7), 7);
    EXPECT_EQ(object.value("b", "none"), "none");
    EXPECT_THROW(static_cast<void>(object.at("b")), std::out_of_range);
    EXPECT_THROW(static_cast<void>(object["a"].get<std::string>()), std::runtime_error);
    EXPECT_THROW(static_cast<void>(object["a"].get<bool>()), std::runtime_error);
    EXPECT_THROW(Json("text").push_back(1), std::runtime_error);
}

}  // namespace
}  // namespace weft::lab
