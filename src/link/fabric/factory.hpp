// SPDX-License-Identifier: BSD-3-Clause
// factory.hpp - the symbol that the module weft_fabric.so exports, and its check of the caller.
//
// Why      The library passes C++ types to the module, so both must come from the same build. The
//          contract number depends on the sizes of these types. It also depends on the text of the
//          headers that both include, the compiler and its options (WEFT_FABRIC_BUILD, by CMake).
//          The module refuses a caller with another number.
#pragma once

#include "link/fabric/fabric.hpp"
#include "link/fabric/survey.hpp"

namespace weft::link {

[[nodiscard]] constexpr std::uint64_t fabric_contract(std::uint64_t build) {
    std::uint64_t number = build;
    for (const std::size_t bytes :
         {sizeof(FabricMemory), sizeof(FabricOptions), sizeof(base::Put), sizeof(base::Read),
          sizeof(FabricFacts), sizeof(FabricSurvey), sizeof(base::Failure)}) {
        number = number * 1009 + bytes;
    }
    return number;
}

/// Functions of the module. They return exceptions as failures.
struct FabricModule {
    base::Result<std::unique_ptr<FabricPort>> (*open_port)(const FabricMemory&,
                                                           const FabricOptions&);
    base::Result<FabricSurvey> (*survey)(const FabricOptions&);
};

/// Type of the exported function. It returns nullptr if the caller has another contract number.
using GetFabricModule = const FabricModule* (*)(std::uint64_t contract);
inline constexpr const char* kGetFabricModule = "weft_fabric_module";

}  // namespace weft::link
