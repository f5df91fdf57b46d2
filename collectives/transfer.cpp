// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/transfer.hpp"

#include <algorithm>

#include "collectives/notation/cursor.hpp"
#include "collectives/registry.hpp"

namespace weft::collectives {

base::Result<Delivery> delivery(const AlgorithmSpec& spec) {
    const SpecParameter* const given = spec.find(kIntoParameter.name);
    if (given == nullptr || given->value == "slot") return Delivery::slot;
    if (given->value != "vector")
        return fail_at(given->position, "into is '{}', expected slot or vector", given->value);
    const SpecParameter* const segments = spec.find("segments");
    if (segments == nullptr || segments->value == "1") return Delivery::direct;
    return fail_at(segments->position, "segments is '{}', expected 1 with into=vector",
                   segments->value);
}

bool delivers_directly(const AlgorithmSpec& spec) {
    const base::Result<Delivery> into = delivery(spec);
    return into.ok() && *into == Delivery::direct;
}

AlgorithmSpec into_slots(AlgorithmSpec spec) {
    std::erase_if(spec.parameters,
                  [](const SpecParameter& given) { return given.key == kIntoParameter.name; });
    return spec;
}

base::Result<LocalTransfer> local_transfer(const AlgorithmSpec& spec, std::uint64_t bytes) {
    const SpecParameter* const given = spec.find(kNearParameter.name);
    if (given == nullptr || given->value == "auto")
        return bytes >= kLocalInPlaceBytes ? LocalTransfer::in_place : LocalTransfer::put;
    if (given->value == "put") return LocalTransfer::put;
    if (given->value == "mapped") return LocalTransfer::in_place;
    return fail_at(given->position, "near is '{}', expected auto, put or mapped", given->value);
}

AlgorithmSpec with_local_puts(std::string_view collective, AlgorithmSpec spec) {
    const auto algorithm = find_algorithm(collective, spec);
    if (!algorithm.ok() || (*algorithm)->parameter(kNearParameter.name) == nullptr) return spec;
    const auto given = std::ranges::find(spec.parameters, kNearParameter.name, &SpecParameter::key);
    if (given == spec.parameters.end())
        spec.parameters.push_back({.key = std::string(kNearParameter.name), .value = "put"});
    else if (given->value == "auto")
        given->value = "put";
    return spec;
}

Properties Algorithm::properties_of(const AlgorithmSpec& spec) const {
    if (refine != nullptr) return refine(spec);
    Properties refined = properties;
    // No algorithm has both parameters. near=auto may choose puts, so only near=mapped counts.
    if (parameter(kIntoParameter.name) != nullptr) refined.direct = delivers_directly(spec);
    const SpecParameter* const near = spec.find(kNearParameter.name);
    if (parameter(kNearParameter.name) != nullptr)
        refined.direct = near != nullptr && near->value == "mapped";
    return refined;
}

}  // namespace weft::collectives
