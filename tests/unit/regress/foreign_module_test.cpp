// SPDX-License-Identifier: BSD-3-Clause
// Bug: the network module accepted a caller from any build whose types have equal sizes. If the
// order of members differed, the module read wrong members.
// Method: the module must accept this build's number, and refuse numbers of other builds.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "link/fabric/factory.hpp"

namespace weft::link {
namespace {

GetFabricModule module_function() {
    void* const module = ::dlopen(WEFT_FABRIC_FILE, RTLD_NOW | RTLD_LOCAL);
    return module == nullptr ? nullptr
                             : reinterpret_cast<GetFabricModule>(::dlsym(module, kGetFabricModule));
}

TEST(ForeignModule, AnotherBuildIsRefusedEvenIfTypeSizesMatch) {
    const GetFabricModule module_of = module_function();
    ASSERT_NE(module_of, nullptr) << ::dlerror();
    for (const std::uint64_t other : {std::uint64_t{0}, std::uint64_t{WEFT_FABRIC_BUILD} + 1})
        EXPECT_EQ(module_of(other), nullptr);
}

TEST(ForeignModule, ThisBuildIsAccepted) {
    const GetFabricModule module_of = module_function();
    ASSERT_NE(module_of, nullptr) << ::dlerror();
    const FabricModule* const module = module_of(WEFT_FABRIC_BUILD);
    ASSERT_NE(module, nullptr);
    const auto found = module->survey({});
    EXPECT_TRUE(found.ok()) << found.failure().text;
}

}  // namespace
}  // namespace weft::link
