// SPDX-License-Identifier: BSD-3-Clause
// factory.hpp - the symbol that the module weft_fabric.so exports, and its check of the caller.
//
// Why      The library passes C++ types to the module, so both must come from the same build. CMake
//          sets WEFT_FABRIC_BUILD to a digest of the compiler, its options and the headers that
//          both include. The module refuses a caller with another number.
#pragma once

#include "link/fabric/fabric.hpp"
#include "link/fabric/survey.hpp"

namespace weft::link {

/// Functions of the module. They return exceptions as failures.
struct FabricModule {
    base::Result<std::unique_ptr<FabricPort>> (*open_port)(const FabricMemory&,
                                                           const FabricOptions&);
    base::Result<FabricSurvey> (*survey)(const FabricOptions&);
};

/// Type of the exported function. It returns nullptr if the caller is of another build.
using GetFabricModule = const FabricModule* (*)(std::uint64_t build);
inline constexpr const char* kGetFabricModule = "weft_fabric_module";

}  // namespace weft::link
