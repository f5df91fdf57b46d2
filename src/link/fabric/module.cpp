// SPDX-License-Identifier: BSD-3-Clause
// module.cpp - the exported function of weft_fabric.so, its only public symbol.
#include <exception>

#include "link/fabric/factory.hpp"

namespace weft::link {
namespace {

/// Calls a function. Returns an exception as a failure.
template <class Made, auto kFunction, class... Arguments>
base::Result<Made> guarded(const Arguments&... arguments) {
    try {
        return kFunction(arguments...);
    } catch (const std::exception& problem) {
        return base::Failure{Status::environment, problem.what()};
    }
}

constexpr base::Result<std::unique_ptr<FabricPort>> (*kOpenPort)(const FabricMemory&,
                                                                 const FabricOptions&) = &open_port;
constexpr FabricModule kModule{
    &guarded<std::unique_ptr<FabricPort>, kOpenPort, FabricMemory, FabricOptions>,
    &guarded<FabricSurvey, &survey_fabric, FabricOptions>};

}  // namespace
}  // namespace weft::link

extern "C" __attribute__((visibility("default"))) const weft::link::FabricModule*
weft_fabric_module(std::uint64_t build) {
    return build == WEFT_FABRIC_BUILD ? &weft::link::kModule : nullptr;
}
