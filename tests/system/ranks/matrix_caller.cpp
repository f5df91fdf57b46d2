// SPDX-License-Identifier: BSD-3-Clause
#include "tests/system/ranks/matrix_caller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/element_types.hpp"

namespace weft::test {

namespace {

std::string name_of(const oracle::Samples& samples) {
    if (&samples == &oracle::affine_samples()) return "user";
    if (&samples == &oracle::triple_samples()) return "commutative user";
    return std::string(base::name_of(samples.type));
}

/// Returns true for types that may have padding, which may differ between ranks with equal values.
bool may_have_padding(Type type) {
    return type >= Type::longdouble && type != Type::user;
}

}  // namespace

MatrixCaller::MatrixCaller(Team world)
    : world_(std::move(world)),
      affine_(oracle::affine_samples().combine, nullptr, oracle::affine_samples().bytes, false),
      triple_(oracle::triple_samples().combine, nullptr, oracle::triple_samples().bytes, true) {}

oracle::CallFacts MatrixCaller::facts_of(const MatrixCall& matrix_call) const {
    const collectives::CollectiveTraits& traits = collectives::traits_of(matrix_call.collective);
    return {.collective = matrix_call.collective,
            .samples = matrix_call.samples,
            .op = matrix_call.op,
            .size = world_.size(),
            .root = matrix_call.root,
            .count = unit_counts(traits, matrix_call.count, matrix_call.pattern)};
}

void MatrixCaller::add_operation(Call& call, const oracle::Samples& samples) const {
    if (samples.type != Type::user) return;
    const UserOp& op = &samples == &oracle::affine_samples() ? affine_ : triple_;
    call.user = Call::allreduce(nullptr, nullptr, 0, op).user;
}

void MatrixCaller::run(Trial& trial, const MatrixCall& matrix_call) {
    Call call = trial.call();
    add_operation(call, *matrix_call.samples);
    switch (batch_ % 4) {
        case 0: {
            Request request = world_.start(call);
            trial.invalidate_arrays();
            request.wait();
            break;
        }
        case 1: {
            PersistentRequest request = world_.prepare(call);
            trial.invalidate_arrays();
            request.start();
            request.wait();
            break;
        }
        default:
            world_.run(call);
    }
}

void MatrixCaller::count_shape(const MatrixCall& matrix_call) {
    auto& calls = covered["calls"];
    ++calls[name_of(*matrix_call.samples)];
    ++calls[matrix_call.arrangement.in_place ? "in_place" : "separate"];
    if (matrix_call.arrangement.shift % matrix_call.samples->bytes != 0) ++calls["unaligned"];
    if (collectives::traits_of(matrix_call.collective).has_counts()) return;
    const std::uint64_t bytes = matrix_call.count * matrix_call.samples->bytes;
    bytes_min = std::min(bytes_min, bytes);
    bytes_max = std::max(bytes_max, bytes);
}

void MatrixCaller::run_and_check(const MatrixCall& matrix_call, std::string_view spec) {
    count_shape(matrix_call);
    Trial trial(facts_of(matrix_call), world_.rank(), matrix_call.arrangement);
    trial.prepare(advance_batch());
    run(trial, matrix_call);
    const std::string complaint = trial.check();
    const collectives::CollectiveTraits& traits = collectives::traits_of(matrix_call.collective);
    const std::string counts = traits.has_counts() ? fmt::format("pattern {}", matrix_call.pattern)
                                                   : std::to_string(matrix_call.count);
    check(complaint.empty(),
          fmt::format("{} {} of {} {}, operation {}, root {}: {}", traits.name, spec, counts,
                      name_of(*matrix_call.samples), base::name_of(matrix_call.op),
                      matrix_call.root, complaint));
    if (matrix_call.collective == Collective::allreduce &&
        may_have_padding(matrix_call.samples->type) && world_.size() > 1)
        check(same_on_all_ranks(trial.output()),
              fmt::format("bytes of {} differ between ranks", name_of(*matrix_call.samples)));
}

void MatrixCaller::expect_refusal(Collective collective, std::string_view spec) {
    Trial trial(facts_of({.collective = collective,
                          .samples = &oracle::affine_samples(),
                          .op = Op::user,
                          .count = 1,
                          .root = 0}),
                world_.rank(), {});
    Call call = trial.call();
    add_operation(call, oracle::affine_samples());
    bool refused = false;
    try {
        world_.run(call);
    } catch (const Error& error) {
        refused = error.status() == Status::argument;
    }
    const std::string name(collectives::traits_of(collective).name);
    ++covered["refusals"][name];
    check(refused, fmt::format("{} {} accepts an operation that does not commute", name, spec));
}

bool MatrixCaller::same_on_all_ranks(std::span<const std::byte> bytes) {
    const std::uint64_t hash = hash_of(bytes);
    return world_.allreduce(hash, Op::min) == world_.allreduce(hash, Op::max);
}

void MatrixCaller::check(bool right, const std::string& what) {
    ++checked;
    if (right) return;
    if (++wrong <= 5) fmt::print(stderr, "rank {} of {}: {}\n", world_.rank(), world_.size(), what);
}

}  // namespace weft::test
