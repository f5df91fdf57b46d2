// SPDX-License-Identifier: BSD-3-Clause
// Bug: the network module accepted any caller whose types have the same sizes, from any build. If
// members were in another order, it read the wrong ones. Method: this build and a build whose types
// have the same sizes call the module. Without the fix the second caller is served.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "link/fabric/factory.hpp"

namespace weft::link {
namespace {

template <class Function>
Function exported(const char* name) {
    void* const module = ::dlopen(WEFT_FABRIC_FILE, RTLD_NOW | RTLD_LOCAL);
    return module == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(module, name));
}

TEST(ForeignModule, OfTypesWithTheSameSizesIsRefused) {
    const auto open = exported<FabricFactory>(kFabricFactory);
    const auto survey = exported<FabricSurveyor>(kFabricSurveyor);
    ASSERT_TRUE(open != nullptr && survey != nullptr) << ::dlerror();
    for (const std::uint64_t other : {std::uint64_t{0}, std::uint64_t{WEFT_FABRIC_BUILD} + 1}) {
        base::Failure why;
        FabricSurvey found;
        EXPECT_FALSE(survey(fabric_contract(other), {}, found, why));
        EXPECT_EQ(open(fabric_contract(other), {}, {}, why), nullptr);
        EXPECT_EQ(why.text, "") << "its layout may be another one";
    }
}

TEST(ForeignModule, OfThisBuildIsServed) {
    const auto survey = exported<FabricSurveyor>(kFabricSurveyor);
    ASSERT_NE(survey, nullptr) << ::dlerror();
    base::Failure why;
    FabricSurvey found;
    EXPECT_TRUE(survey(fabric_contract(WEFT_FABRIC_BUILD), {}, found, why)) << why.text;
}

}  // namespace
}  // namespace weft::link
