// SPDX-License-Identifier: BSD-3-Clause
// factory.hpp - the symbols that the module weft_fabric.so exports, and its check of the caller.
//
// Why      C++ types cross the border, so both sides must come from the same build. The contract
//          number depends on the layout of these types. It also depends on the text of the headers
//          that both include, the compiler and its options (WEFT_FABRIC_BUILD, by CMake). The
//          module refuses a caller with another number.
#pragma once

#include "link/fabric/fabric.hpp"
#include "link/fabric/survey.hpp"
#include "link/fabric/triggered.hpp"

namespace weft::link {

[[nodiscard]] constexpr std::uint64_t fabric_contract(std::uint64_t build) {
    std::uint64_t number = build;
    for (const std::size_t bytes :
         {sizeof(FabricMemory), sizeof(FabricOptions), sizeof(base::Put), sizeof(base::Read),
          sizeof(FabricFacts), sizeof(FabricSurvey), sizeof(TriggeredOptions),
          sizeof(TriggeredFacts), sizeof(TriggeredOperation), sizeof(base::Failure)}) {
        number = number * 1009 + bytes;
    }
    return number;
}

/// Returns a port, or nullptr with the reason in `why`. Never throws.
using FabricFactory = FabricPort* (*)(std::uint64_t contract, const FabricMemory& memory,
                                      const FabricOptions& options, base::Failure& why);
inline constexpr const char* kFabricFactory = "weft_fabric_open";

/// Sets the survey and returns true, or returns false with the reason in `why`. Never throws.
using FabricSurveyor = bool (*)(std::uint64_t contract, const FabricOptions& options,
                                FabricSurvey& survey, base::Failure& why);
inline constexpr const char* kFabricSurveyor = "weft_fabric_survey";

/// Returns a port, or nullptr with the reason in `why`. Never throws.
using TriggeredFactory = TriggeredPort* (*)(std::uint64_t contract, const TriggeredOptions& options,
                                            base::Failure& why);
inline constexpr const char* kTriggeredFactory = "weft_fabric_triggered";

}  // namespace weft::link
