// SPDX-License-Identifier: BSD-3-Clause
// Bug: the network module accepted any caller whose types have the same sizes, from any build. If
// members were in another order, it read the wrong ones. Method: this build and a build whose types
// have the same sizes call the module. Without the fix the second caller is served.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "link/fabric/factory.hpp"

namespace weft::link {
namespace {

FabricModuleOf module_function() {
    void* const module = ::dlopen(WEFT_FABRIC_FILE, RTLD_NOW | RTLD_LOCAL);
    return module == nullptr ? nullptr
                             : reinterpret_cast<FabricModuleOf>(::dlsym(module, kFabricModuleOf));
}

TEST(ForeignModule, AnotherBuildIsRefusedEvenIfTypeSizesMatch) {
    const FabricModuleOf functions = module_function();
    ASSERT_NE(functions, nullptr) << ::dlerror();
    for (const std::uint64_t other : {std::uint64_t{0}, std::uint64_t{WEFT_FABRIC_BUILD} + 1})
        EXPECT_EQ(functions(fabric_contract(other)), nullptr);
}

TEST(ForeignModule, ModuleOfThisBuildIsAccepted) {
    const FabricModuleOf functions = module_function();
    ASSERT_NE(functions, nullptr) << ::dlerror();
    const FabricModule* const module = functions(fabric_contract(WEFT_FABRIC_BUILD));
    ASSERT_NE(module, nullptr);
    const auto found = module->survey({});
    EXPECT_TRUE(found.ok()) << found.failure().text;
}

}  // namespace
}  // namespace weft::link
