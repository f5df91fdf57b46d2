// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/measured_costs.hpp"

#include "base/units.hpp"

namespace weft::plan {

namespace {

using base::parse_nanoseconds, base::parse_nanoseconds_per_byte;

constexpr std::uint64_t kProcessorsMax = 1'000'000;

template <class Value, class Field>
base::Result<bool> keep(const base::Result<Value>& parsed, Field& field) {
    if (!parsed) return parsed.failure();
    field = *parsed;
    return true;
}

base::Result<bool> set_put(std::optional<PutCost>& stored, std::string_view key,
                           std::string_view value) {
    PutCost put = stored.value_or(PutCost{});
    base::Result<bool> done = false;
    if (key == "latency_ns") done = keep(parse_nanoseconds(value), put.latency);
    if (key == "issue_ns") done = keep(parse_nanoseconds(value), put.issue);
    if (key == "receive_ns") done = keep(parse_nanoseconds(value), put.receive);
    if (key == "ns_per_byte") done = keep(parse_nanoseconds_per_byte(value), put.byte_fs);
    if (key == "receive_ns_per_byte")
        done = keep(parse_nanoseconds_per_byte(value), put.receive_byte_fs);
    if (key == "slot_ns") done = keep(parse_nanoseconds(value), put.slot);
    if (key == "turn_ns") done = keep(parse_nanoseconds(value), put.turn);
    if (done && *done) stored = put;
    return done;
}

base::Result<bool> set_card(std::optional<Card>& stored, std::string_view key,
                            std::string_view value) {
    Card card = stored.value_or(Card{});
    base::Result<bool> done = false;
    if (key == "message_ns") done = keep(parse_nanoseconds(value), card.message);
    if (key == "ns_per_byte") done = keep(parse_nanoseconds_per_byte(value), card.byte_fs);
    if (done && *done) stored = card;
    return done;
}

}  // namespace

base::Result<bool> MeasuredCosts::set(std::string_view key, std::string_view value) {
    // These keys alone do not describe near and far messages, so they do not set any_.
    if (key == "reduce_ns") return keep(parse_nanoseconds(value), reduce_);
    if (key == "reduce_ns_per_byte")
        return keep(parse_nanoseconds_per_byte(value), reduce_byte_fs_);
    if (key == "processors") {
        processors_ =
            static_cast<int>(WEFT_TRY(base::parse_count(value, {.min = 1, .max = kProcessorsMax})));
        return true;
    }
    if (key == "call_ns") return keep(parse_nanoseconds(value), call_);
    if (key == "cell_bytes") return keep(base::parse_bytes(value), cell_bytes_);
    if (key == "unpack_ns_per_byte") return keep(parse_nanoseconds_per_byte(value), slot_byte_fs_);
    if (key == "copy_ns_per_byte") return keep(parse_nanoseconds_per_byte(value), copy_byte_fs_);
    if (key == "cold_ns_per_byte") return keep(parse_nanoseconds_per_byte(value), cold_byte_fs_);
    if (key == "cache_bytes") return keep(base::parse_bytes(value), cache_bytes_);
    if (key == "expose_ns") return keep(parse_nanoseconds(value), expose_);
    const base::Result<bool> done = set_path_cost(key, value);
    if (done && *done) any_ = true;
    return done;
}

base::Result<bool> MeasuredCosts::set_path_cost(std::string_view key, std::string_view value) {
    constexpr std::string_view kNear = "near_";
    constexpr std::string_view kFar = "far_";
    constexpr std::string_view kCard = "card_";
    if (key.starts_with(kNear)) return set_put(near_, key.substr(kNear.size()), value);
    if (key.starts_with(kFar)) return set_put(far_, key.substr(kFar.size()), value);
    if (key.starts_with(kCard)) return set_card(card_, key.substr(kCard.size()), value);
    if (key == "mapped_ns") return keep(parse_nanoseconds(value), mapped_);
    if (key == "mapped_ns_per_byte")
        return keep(parse_nanoseconds_per_byte(value), mapped_byte_fs_);
    if (key == "mapped_reduce_ns_per_byte")
        return keep(parse_nanoseconds_per_byte(value), mapped_reduce_byte_fs_);
    if (key == "kernel_ns") return keep(parse_nanoseconds(value), kernel_copy_);
    if (key == "kernel_ns_per_byte")
        return keep(parse_nanoseconds_per_byte(value), kernel_copy_byte_fs_);
    if (key == "adopt_ns") return keep(parse_nanoseconds(value), adoption_.adopt);
    if (key == "adopt_ns_per_page") return keep(parse_nanoseconds(value), adoption_.adopt_page);
    if (key == "window_ns") return keep(parse_nanoseconds(value), adoption_.window);
    if (key == "window_ns_per_page") return keep(parse_nanoseconds(value), adoption_.window_page);
    return false;
}

Machine MeasuredCosts::over(Machine machine) const {
    machine.near = near_.value_or(machine.near);
    machine.far = far_.value_or(machine.far);
    machine.call = call_.value_or(machine.call);
    machine.cell_bytes = cell_bytes_.value_or(machine.cell_bytes);
    machine.slot_byte_fs = slot_byte_fs_.value_or(machine.slot_byte_fs);
    machine.copy_byte_fs = copy_byte_fs_.value_or(machine.copy_byte_fs);
    // Missing costs of a path that the file mentions are zero.
    machine.unpack_byte_fs = copy_byte_fs_.value_or(far_ ? 0 : machine.unpack_byte_fs);
    machine.cold_byte_fs = cold_byte_fs_.value_or(near_ ? 0 : machine.cold_byte_fs);
    machine.cache_bytes = cache_bytes_.value_or(machine.cache_bytes);
    machine.expose = expose_.value_or(near_ ? 0 : machine.expose);
    machine.card = card_.value_or(machine.card);
    machine.reduce = reduce_.value_or(machine.reduce);
    machine.reduce_byte_fs = reduce_byte_fs_.value_or(machine.reduce_byte_fs);
    machine.mapped = mapped_.value_or(machine.mapped);
    machine.mapped_byte_fs = mapped_byte_fs_.value_or(machine.mapped_byte_fs);
    machine.mapped_reduce_byte_fs =
        mapped_reduce_byte_fs_.value_or(near_ ? 0 : machine.mapped_reduce_byte_fs);
    machine.kernel_copy = kernel_copy_.value_or(machine.kernel_copy);
    machine.kernel_copy_byte_fs = kernel_copy_byte_fs_.value_or(machine.kernel_copy_byte_fs);
    return machine;
}

}  // namespace weft::plan
