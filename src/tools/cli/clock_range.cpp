// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/clock_range.hpp"

#include <variant>

namespace weft::tools {

base::Result<void> check_range(const plan::MessageModel& model, const plan::VectorSize& size,
                               double chain) {
    const double bytes = static_cast<double>(size.elements) * size.element_bytes;
    const double bytes_fs =
        bytes *
        static_cast<double>(model.byte_fs + model.receive_byte_fs + model.reduce_byte_fs +
                            model.copy_byte_fs + model.unpack_byte_fs + model.mapped_byte_fs +
                            model.mapped_reduce_byte_fs + 4 * model.cold_byte_fs);
    const double each =
        static_cast<double>(model.busy_base + model.slot + model.latency + model.receive +
                            model.gap + model.reduce + model.expose + model.mapped) +
        bytes_fs * 1e-3;
    if (each * chain < 4e18 && bytes_fs < plan::kFemtosecondsMax) return base::Done{};
    return base::fail(Status::argument,
                      "{:.3g} messages of up to {:.3g} ns in sequence exceed the range of the "
                      "simulator's clock (100 days)",
                      chain, each * 1e-3);
}

double chain_of(const plan::Stages& stages) {
    double chain = 0;
    for (const plan::Stage& stage : stages.stages) {
        if (const auto* exchange = std::get_if<plan::ExchangeStage>(&stage))
            chain += 2.0 * (exchange->base + stages.remainders_of(*exchange).most());
        else
            chain += 2.0 * static_cast<double>(std::get<plan::ShiftStage>(stage).radix);
    }
    return chain * stages.header.segments;
}

}  // namespace weft::tools
