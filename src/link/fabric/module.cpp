// SPDX-License-Identifier: BSD-3-Clause
// module.cpp - the exported functions of weft_fabric.so, its only public symbols.
#include <exception>
#include <type_traits>

#include "link/fabric/factory.hpp"

// The declarations ensure that the definitions have the loader's types.
extern "C" std::remove_pointer_t<weft::link::FabricFactory> weft_fabric_open;
extern "C" std::remove_pointer_t<weft::link::FabricSurveyor> weft_fabric_survey;
extern "C" std::remove_pointer_t<weft::link::TriggeredFactory> weft_fabric_triggered;

extern "C" __attribute__((visibility("default"))) weft::link::FabricPort* weft_fabric_open(
    std::uint64_t contract, const weft::link::FabricMemory& memory,
    const weft::link::FabricOptions& options, weft::base::Failure& why) {
    using weft::Status;
    if (contract != weft::link::fabric_contract(WEFT_FABRIC_BUILD))
        return nullptr;  // `why` may differ in layout
    try {
        auto port = weft::link::open_port(memory, options);
        if (port) return std::move(port).value().release();
        why = port.failure();
    } catch (const std::exception& problem) {
        why = {Status::environment, problem.what()};
    }
    return nullptr;
}

extern "C" __attribute__((visibility("default"))) bool weft_fabric_survey(
    std::uint64_t contract, const weft::link::FabricOptions& options,
    weft::link::FabricSurvey& survey, weft::base::Failure& why) {
    if (contract != weft::link::fabric_contract(WEFT_FABRIC_BUILD)) return false;
    try {
        survey = weft::link::survey_fabric(options);
        return true;
    } catch (const std::exception& problem) {
        why = {weft::Status::environment, problem.what()};
    }
    return false;
}

extern "C" __attribute__((visibility("default"))) weft::link::TriggeredPort* weft_fabric_triggered(
    std::uint64_t contract, const weft::link::TriggeredOptions& options, weft::base::Failure& why) {
    if (contract != weft::link::fabric_contract(WEFT_FABRIC_BUILD)) return nullptr;
    try {
        auto port = weft::link::open_triggered(options);
        if (port) return std::move(port).value().release();
        why = port.failure();
    } catch (const std::exception& problem) {
        why = {weft::Status::environment, problem.what()};
    }
    return nullptr;
}
