// SPDX-License-Identifier: BSD-3-Clause
#include "plan/offload/offload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plan/offload/walk.hpp"

namespace weft::plan {

Offloader::Offloader(ProgramOf program_of, const OffloadRequest& request)
    : program_of_(std::move(program_of)), request_(request) {}
Offloader::~Offloader() = default;

base::Result<const Program*> Offloader::program(Rank rank) {
    const auto known = programs_.find(rank);
    if (known != programs_.end()) return &known->second;
    auto made = program_of_(rank);
    if (!made) return made.failure();
    return &programs_.emplace(rank, *std::move(made)).first->second;
}

base::Result<const Offloader::Sent*> Offloader::sent_by(Rank rank) {
    std::unique_ptr<Sent>& sent = sent_[rank];
    if (sent != nullptr) return sent.get();
    const auto program_of_rank = program(rank);
    if (!program_of_rank) return program_of_rank.failure();
    sent = std::make_unique<Sent>();
    for (const Step& step : (*program_of_rank)->steps) {
        if (step.kind == StepKind::put)
            sent->units[{step.peer, step.signal}] = Walk::units_of(**program_of_rank, step.source);
        // trace_of() refuses a program that exposes, with its own reason.
        if (step.kind == StepKind::signal || step.kind == StepKind::expose)
            sent->units[{step.peer, step.signal}] = {};
    }
    return sent.get();
}

base::Result<const Offloader::Trace*> Offloader::trace_of(Rank rank) {
    const auto known = traces_.find(rank);
    if (known != traces_.end()) return known->second.get();
    const auto program_of_rank = program(rank);
    if (!program_of_rank) return program_of_rank.failure();
    auto trace = Walk(*this, **program_of_rank).run();
    if (!trace) return trace.failure();
    return traces_.emplace(rank, *std::move(trace)).first->second.get();
}

/// Returns the largest number of bytes that one descriptor moves, a multiple of an element.
std::uint64_t Offloader::piece_bytes(bool combine) const {
    const std::uint64_t most = combine ? request_.combine_bytes_max : request_.write_bytes_max;
    return std::max<std::uint64_t>(most / request_.element_bytes, 1) * request_.element_bytes;
}

/// Returns the number of descriptors for `bytes` bytes. A signal is one descriptor without bytes.
std::uint64_t Offloader::pieces(std::uint64_t bytes, bool combine) const {
    return bytes == 0 ? 1 : (bytes - 1) / piece_bytes(combine) + 1;
}

/// Returns a transfer as one descriptor, regardless of its size. The peer's trace supplies the
/// target. 0 bytes: a signal, or a transfer without elements.
base::Result<Descriptor> Offloader::whole_descriptor(Rank rank, const Transfer& transfer) {
    Descriptor descriptor{.peer = transfer.peer,
                          .combine = transfer.own,
                          .after = transfer.after,
                          .counted = transfer.counted,
                          .source = transfer.source,
                          .target = transfer.target,
                          .bytes = transfer.bytes};
    if (transfer.own) return descriptor;
    const auto other = trace_of(transfer.peer);
    if (!other) return other.failure();
    const auto found = (*other)->arrivals.find(transfer.slot);
    if (found == (*other)->arrivals.end() || found->second.from != rank)
        return cannot_offload(rank, fmt::format("rank {} does not await slot {} of it",
                                                transfer.peer, transfer.slot));
    const Arrival& arrival = found->second;
    descriptor.combine = arrival.combine;
    descriptor.counted = arrival.stage;
    descriptor.bytes = arrival.bytes;
    if (arrival.bytes != 0) descriptor.target = arrival.offset;
    return descriptor;
}

/// Adds a transfer to the plan, in pieces of at most piece_bytes().
void Offloader::add(OffloadPlan& plan, Descriptor whole) const {
    if (whole.bytes == 0) {
        whole.source = whole.target = 0;
        whole.bytes = kSignalBytes;
        plan.descriptors.push_back(whole);
        return;
    }
    for (std::uint64_t left = whole.bytes; left != 0; left -= whole.bytes) {
        whole.bytes = std::min(left, piece_bytes(whole.combine));
        plan.descriptors.push_back(whole);
        whole.source += whole.bytes;
        whole.target += whole.bytes;
    }
}

/// Adds to each stage an event that shows that the previous stage is complete, if the previous
/// stage starts descriptors. An operand of the previous stage that counts in this stage is such an
/// event; otherwise the completion of the previous stage's last descriptor is counted.
void Offloader::link(OffloadPlan& plan, Rank rank) {
    for (OffloadStage stage = 2; stage <= plan.events.size(); ++stage) {
        const bool linked =
            std::ranges::any_of(plan.descriptors, [&](const Descriptor& descriptor) {
                return descriptor.peer == rank && descriptor.after == stage - 1 &&
                       descriptor.counted == stage;
            });
        if (linked) continue;
        const auto last = std::find_if(
            plan.descriptors.rbegin(), plan.descriptors.rend(),
            [&](const Descriptor& descriptor) { return descriptor.after == stage - 1; });
        if (last == plan.descriptors.rend()) continue;
        last->completes = stage;
        ++plan.events[stage - 1];
    }
}

base::Result<OffloadPlan> Offloader::plan_of(Rank rank) {
    const auto trace = trace_of(rank);
    if (!trace) return trace.failure();
    OffloadPlan plan = (*trace)->plan;
    plan.events.assign((*trace)->stages, 0);
    for (const auto& [slot, arrival] : (*trace)->arrivals)
        plan.events[arrival.stage - 1] += pieces(arrival.bytes, arrival.combine);
    for (const Transfer& transfer : (*trace)->transfers) {
        const auto whole = whole_descriptor(rank, transfer);
        if (!whole) return whole.failure();
        if (transfer.own) plan.events[transfer.counted - 1] += pieces(transfer.bytes, true);
        // An operand without elements still signals that its stage is complete.
        add(plan, *whole);
    }
    link(plan, rank);
    return plan;
}

}  // namespace weft::plan
