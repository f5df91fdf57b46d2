// SPDX-License-Identifier: BSD-3-Clause
// module.cpp - the exported factory of weft_fabric.so. Nothing else leaves the module.
#include <exception>

#include "link/fabric/factory.hpp"

extern "C" __attribute__((visibility("default"))) weft::link::FabricPort* weft_fabric_open(
    std::uint64_t contract, const weft::link::FabricMemory& memory,
    const weft::link::FabricOptions& options, weft::base::Failure& why) {
    using weft::Status;
    if (contract != weft::link::fabric_contract()) return nullptr;  // `why` may differ in layout
    try {
        auto port = weft::link::open_port(memory, options);
        if (port) return std::move(port).value().release();
        why = port.failure();
    } catch (const std::exception& problem) {
        why = {Status::environment, problem.what()};
    }
    return nullptr;
}
