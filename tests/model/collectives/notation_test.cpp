// SPDX-License-Identifier: BSD-3-Clause
// Goal: printing a parsed text reproduces it, and errors name the position and the broken rule.
// Method: schedules of Ruefenacht et al. (docs/papers/ruefenacht.md) and nested ones, tables of
// malformed and invalid schedules, and random texts.
#include <gtest/gtest.h>

#include <random>

#include "collectives/notation/cursor.hpp"
#include "collectives/notation/schedule.hpp"
#include "collectives/notation/spec.hpp"

namespace weft::collectives {
namespace {

base::Result<Schedule> parse_schedule(std::string_view text) {
    Cursor cursor(text);
    base::Result<Schedule> schedule = parse_schedule(cursor);
    if (schedule && !cursor.at_end())
        return fail_at(cursor.position(), "expected ',' or the end after a stage, found {}",
                       cursor.found());
    return schedule;
}

TEST(Notation, SchedulesOfThePaperAndNestedOnesAreValidAndRoundTrip) {
    const std::pair<const char*, Rank> cases[] = {
        {"a8,a4", 32},
        {"a3,a2", 6},
        {"c4m2,a2,a2,e4m2", 6},
        {"m1g2a3,n1g3a2", 7},
        {"m3g2a2,n3g2a2", 7},
        {"c6m2,a2,a2,e6m2", 7},
        {"m2g3a3,n2g3a3", 11},
        {"m1g2a5,n1g5a2", 11},
        {"c10m2,a2,a2,a2,e10m2", 13},
        {"m1g4a3,n1g3a4", 13},
        {"c4m2,c2m2,a3,e2m2,e4m2", 6},
        {"c4m2,m1g2a2,n1g2a2,e4m2", 7},
        {"c4m4,e4m4", 4},
    };
    for (const auto& [text, size] : cases) {
        const auto schedule = parse_schedule(text);
        ASSERT_TRUE(schedule.ok()) << text << ": " << schedule.failure().text;
        EXPECT_EQ(print(*schedule), text);
        const auto shape = validate(*schedule, size);
        EXPECT_TRUE(shape.ok()) << text << ": " << shape.failure().text;
    }
}

TEST(Notation, ShapeHasActiveRanksAndStrideOfEachStage) {
    const auto shape = validate(*parse_schedule("c4m2,m1g2a2,n1g2a2,e4m2"), 7);
    ASSERT_TRUE(shape.ok()) << shape.failure().text;
    ASSERT_EQ(shape->stages.size(), 4U);
    const std::pair<Rank, Rank> expected[] = {{7, 1}, {5, 1}, {4, 2}, {5, 5}};
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(shape->stages[i].active, expected[i].first) << i;
        EXPECT_EQ(shape->stages[i].stride, expected[i].second) << i;
    }
}

TEST(Notation, SyntaxErrorsNameTheCharacter) {
    const std::pair<const char*, const char*> cases[] = {
        {"", "character 1: expected a stage"},
        {"b8", "character 1: expected a stage"},
        {"a", "character 2: expected a number (B), found the end"},
        {"a8,", "character 4: expected a stage"},
        {"a8 ,a4", "character 3: expected ',' or the end"},
        {"a08", "character 2: B=08 has a leading zero"},
        {"a3000000000", "character 2: B=3000000000 is more than"},
        {"c4,a2", "character 3: expected 'm' and then B, found ','"},
        {"m1a2g3", "character 3: expected 'g' and then G, found 'a'"},
        {"m1g2", "character 5: expected 'a' and then B, found the end"},
        {"a-2", "character 2: expected a number (B), found '-'"},
    };
    for (const auto& [text, message] : cases) {
        const auto schedule = parse_schedule(text);
        ASSERT_FALSE(schedule.ok()) << text;
        EXPECT_EQ(schedule.failure().status, Status::argument);
        EXPECT_EQ(schedule.failure().text.rfind(message, 0), 0U)
            << text << " gave: " << schedule.failure().text;
    }
}

TEST(Notation, BrokenRulesNameTheCharacterAndTheRule) {
    struct Invalid {
        const char* text;
        Rank size;
        const char* message;
    };
    const Invalid cases[] = {
        {"a1,a6", 6, "character 2: B=1 is less than 2"},
        {"a0", 6, "character 2: B=0 is less than 2"},
        {"c5m2,a2,a2,e5m2", 7, "character 4: T=5 is not divisible by B=2"},
        {"c8m2,a2,a2,e8m2", 6, "character 2: T=8 is more than n=6"},
        {"c0m2,a6,e0m2", 6, "character 2: T=0 is less than B=2"},
        {"c4m1,a6,e4m1", 6, "character 4: B=1 is less than 2"},
        {"a2,a4", 6, "character 5: n=6 is not divisible by S*B=2*4"},
        {"a4", 6, "character 2: n=6 is not divisible by S*B=1*4"},
        {"a2", 6, "character 3: the level has n=6 ranks, but the product of its factors is 2"},
        {"a2,c2m2,a2,e2m2", 6,
         "character 4: c must be the first stage of its level; earlier stages have the product "
         "S=2"},
        {"a2,m2g1a2,n2g2a1", 6,
         "character 4: m must be the first stage of its level; earlier stages have the product "
         "S=2"},
        {"m0g2a3,n0g3a2", 6, "character 2: R=0 is less than 1"},
        {"m1g2a4,n1g3a2", 7, "character 4: G*B=2*4 must be n-R=7-1=6"},
        {"m1g2a3,n1g2a3", 7, "character 11: G=2 must be S=3"},
        {"m1g2a3,n1g3a3", 7, "character 13: G*B=3*3 must be n-R=6"},
        {"m1g2a3,n2g3a2", 7,
         "character 8: n2g3a2 matches no open m stage; innermost open stage: m1g2a3"},
        {"m1g2a3,a2", 7, "character 10: the level that m1g2a3 opened is not closed"},
        {"c4m2,a2,a2", 6, "character 11: the level that c4m2 opened is not closed"},
        {"c4m2,a2,e4m2", 6,
         "character 9: the level has n=4 ranks, but the product of its factors is 2"},
        {"a6,e4m2", 6, "character 4: e4m2 matches no open c stage; innermost open stage: none"},
        {"c4m2,a4,e2m2", 6,
         "character 9: e2m2 matches no open c stage; innermost open stage: c4m2"},
        {"c4m2,a4,n1g2a2", 6,
         "character 9: n1g2a2 matches no open m stage; innermost open stage: c4m2"},
        {"n1g3a2", 7, "character 1: n1g3a2 matches no open m stage; innermost open stage: none"},
        {"a6,a2", 6, "character 5: n=6 is not divisible by S*B=6*2"},
        {"a2", 1, "character 2: n=1 is not divisible by S*B=1*2"},
        {"a65536,a65536", 65536, "character 9: n=65536 is not divisible by S*B=65536*65536"},
    };
    for (const auto& [text, size, message] : cases) {
        const auto schedule = parse_schedule(text);
        ASSERT_TRUE(schedule.ok()) << text << ": " << schedule.failure().text;
        const auto shape = validate(*schedule, size);
        ASSERT_FALSE(shape.ok()) << text;
        EXPECT_EQ(shape.failure().status, Status::argument);
        EXPECT_EQ(shape.failure().text, message) << text;
    }
    EXPECT_FALSE(validate({}, 2).ok());
    EXPECT_TRUE(validate({}, 1).ok());
}

TEST(Notation, PositionsAreRelativeToTheWholeSpec) {
    const auto spec = parse_spec("multiplying:schedule=(a2,a5)");
    ASSERT_TRUE(spec.ok());
    const AlgorithmSpec& nested = spec->find("schedule")->nested.front();
    const auto shape = validate(nested.schedule, 8, nested.position);
    ASSERT_FALSE(shape.ok());
    EXPECT_EQ(shape.failure().text, "character 27: n=8 is not divisible by S*B=2*5");
}

TEST(Spec, NamesParametersAndNestedSpecsRoundTrip) {
    for (const char* text :
         {"binomial", "dissemination:k=3", "binomial:segments=4,k=2", "a8,a4",
          "hierarchical:node=(a4),net=(m1g2a3,n1g3a2)", "reduce-broadcast:tree=(kary:k=2)",
          "outer:x=(inner:y=(a2,a2),z=1.5),w=on_off", "a", "census:radices=(a3)"}) {
        const auto spec = parse_spec(text);
        ASSERT_TRUE(spec.ok()) << text << ": " << spec.failure().text;
        EXPECT_EQ(print(*spec), text);
    }
}

TEST(Spec, ErrorsNameTheCharacter) {
    const std::pair<const char*, const char*> cases[] = {
        {"", "character 1: expected an algorithm or a stage"},
        {"8a", "character 1: expected an algorithm or a stage"},
        {"binomial:", "character 10: expected the name of a parameter"},
        {"binomial:k", "character 11: expected '=' after the parameter k, found the end"},
        {"binomial:k=", "character 12: expected a value for k, found the end"},
        {"binomial:k=2,", "character 14: expected the name of a parameter"},
        {"binomial:k=2,k=3", "character 14: the parameter k is given twice"},
        {"binomial:k=(a2", "character 15: expected ')' after the nested spec, found the end"},
        {"binomial:k=(a2,x)", "character 16: expected a stage"},
        {"binomial:k=()", "character 13: expected an algorithm or a stage"},
        {"binomial k", "character 9: expected ':' or the end after the algorithm, found ' '"},
        {"a2;a4", "character 3: expected ',' or the end after a stage, found ';'"},
        {"binomial:k=2;", "character 13: expected ',' or the end after a value, found ';'"},
    };
    for (const auto& [text, message] : cases) {
        const auto spec = parse_spec(text);
        ASSERT_FALSE(spec.ok()) << text;
        EXPECT_EQ(spec.failure().text.rfind(message, 0), 0U)
            << text << " gave: " << spec.failure().text;
    }
    std::string deep;
    for (int i = 0; i < 1000; ++i) deep += "x:y=(";
    EXPECT_FALSE(parse_spec(deep).ok());
}

TEST(Spec, NumbersAreCheckedAgainstTheirBounds) {
    const auto spec = parse_spec("x:k=3,bad=3x,big=99999999999999999999,nested=(a2)");
    ASSERT_TRUE(spec.ok());
    const NumberRange range{.fallback = 7, .least = 1, .most = 5};
    EXPECT_EQ(*number_parameter(*spec, "k", range), 3);
    EXPECT_EQ(*number_parameter(*spec, "absent", range), 7);
    EXPECT_FALSE(number_parameter(*spec, "bad", range).ok());
    EXPECT_FALSE(number_parameter(*spec, "big", range).ok());
    EXPECT_FALSE(number_parameter(*spec, "nested", range).ok());
    const auto over = number_parameter(*spec, "k", {.fallback = 1, .least = 1, .most = 2});
    ASSERT_FALSE(over.ok());
    EXPECT_EQ(over.failure().text, "character 5: k=3 is not in 1..2");
}

/// Returns a random spec that is well formed by construction.
std::string random_spec(std::mt19937& random, int depth) {
    const auto below = [&random](unsigned n) { return static_cast<unsigned>(random()) % n; };
    const auto number = [&] { return std::to_string(below(3) == 0 ? random() >> 2 : below(50)); };
    std::string text;
    if (below(2) == 0 || depth > 3) {
        const unsigned stages = 1 + below(5);
        for (unsigned i = 0; i < stages; ++i) {
            if (i > 0) text += ',';
            switch (below(5)) {
                case 0:
                    text += "a" + number();
                    break;
                case 1:
                    text += "c" + number() + "m" + number();
                    break;
                case 2:
                    text += "e" + number() + "m" + number();
                    break;
                case 3:
                    text += "m" + number() + "g" + number() + "a" + number();
                    break;
                default:
                    text += "n" + number() + "g" + number() + "a" + number();
                    break;
            }
        }
        return text;
    }
    const char* const names[] = {"binomial", "a", "c-x", "kary", "e_", "Two-Tree9"};
    text = names[below(6)];
    const unsigned parameters = below(4);
    for (unsigned i = 0; i < parameters; ++i) {
        text += (i == 0 ? ":k" : ",k") + std::to_string(i) + "=";
        text += below(3) == 0 ? "(" + random_spec(random, depth + 1) + ")" : "v" + number();
    }
    return text;
}

TEST(Spec, RandomValidTextsRoundTrip) {
    std::mt19937 random(20240611);
    for (int i = 0; i < 20000; ++i) {
        const std::string text = random_spec(random, 0);
        const auto spec = parse_spec(text);
        ASSERT_TRUE(spec.ok()) << text << ": " << spec.failure().text;
        ASSERT_EQ(print(*spec), text);
    }
}

TEST(Spec, DamagedTextsAreRefusedOrRoundTrip) {
    std::mt19937 random(77);
    const std::string alphabet = "acemng0123456789,:=()xk.-+_ ;";
    int refused = 0;
    for (int i = 0; i < 50000; ++i) {
        std::string text = random_spec(random, 0);
        for (auto edits = 1 + random() % 3; edits > 0 && !text.empty(); --edits) {
            const std::size_t at = random() % text.size();
            if (random() % 3 == 0) {
                text.erase(at, 1);
            } else {
                text[at] = alphabet[random() % alphabet.size()];
            }
        }
        const auto spec = parse_spec(text);
        if (spec.ok()) {
            ASSERT_EQ(print(*spec), text);
        } else {
            ++refused;
            ASSERT_EQ(spec.failure().text.rfind("character ", 0), 0U) << spec.failure().text;
        }
    }
    EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace weft::collectives
