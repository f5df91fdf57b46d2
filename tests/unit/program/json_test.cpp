// SPDX-License-Identifier: BSD-3-Clause
// Goal: JSON is printed with members in the order of insertion and read back equal, and invalid
// text is reported.
#include "tools/lab/program/json.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace weft::lab {
namespace {

TEST(Json, MembersArePrintedInInsertionOrder) {
    Json object{{"z", -1}, {"a", 0.5}, {"none", nullptr}};
    object["m"]["inner"] = true;
    object["list"].push_back("say \"x\"");
    EXPECT_EQ(json_text(object), R"({"z":-1,"a":0.5,"none":null,"m":{"inner":true},)"
                                 R"("list":["say \"x\""]})");
    EXPECT_EQ(json_text("say \"x\""), "say \"x\"") << "a string alone has no quotes";
}

TEST(Json, PrintedValuesAreReadBack) {
    const std::string text =
        R"({"z":[1,-2,18446744073709551615,1.5e300],"a":{"b":[true,null,"\u00e9"]}})";
    const Json value = read_json(text);
    EXPECT_EQ(read_json(value.dump()), value);
    EXPECT_EQ(value["z"][2].get<std::uint64_t>(), ~std::uint64_t{0});
    std::string members;
    for (const auto& [name, part] : value.items())
        members += name + (part.is_array() ? "[]" : "{}");
    EXPECT_EQ(members, "z[]a{}") << "names and kinds of the members, in order";
}

TEST(Json, InvalidTextIsDiscarded) {
    for (const char* wrong : {"", "{", "[1,]", "{\"a\" 1}", "nul"})
        EXPECT_TRUE(read_json(wrong).is_discarded()) << wrong;
}

}  // namespace
}  // namespace weft::lab
