// SPDX-License-Identifier: BSD-3-Clause
#include "run/team/offload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <set>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/element_types.hpp"
#include "collectives/registry.hpp"
#include "link/fabric/profile.hpp"
#include "run/team/call.hpp"
#include "run/team/team.hpp"

namespace weft::run {

namespace {

/// Number of banks if a barrier precedes each reuse of bank 0. More banks need fewer barriers.
constexpr std::uint64_t kBanksWithBarrier = 8;
/// Size of a record with the length of an endpoint address and the address.
constexpr std::size_t kCardBytes = 640;
constexpr std::align_val_t kMemoryAlignment{4096};  // a page, the unit of registration

}  // namespace

OffloadVerdict judge_offload(std::string_view provider) {
    const link::Promise& promise = link::profile_of(provider).offload;
    return {promise.holds, std::string(promise.why)};
}

base::Result<std::string_view> usual_offload(Collective collective) {
    switch (collective) {
        case Collective::barrier:
            return std::string_view("dissemination");
        case Collective::broadcast:
            return std::string_view("binomial");
        case Collective::allreduce:
            return std::string_view("reduce-broadcast");
        default:
            break;
    }
    return base::fail(
        Status::unsupported,
        "{} is not offloaded; offloaded collectives are barrier, broadcast and allreduce",
        traits_of(collective).name);
}

void OffloadedCall::Free::operator()(std::byte* memory) const {
    ::operator delete(memory, kMemoryAlignment);
}

base::Result<std::unique_ptr<OffloadedCall>> OffloadedCall::create(Team& team, const Call& call,
                                                                   const OffloadOptions& options) {
    std::unique_ptr<OffloadedCall> made(new OffloadedCall(team, call, options));
    // All members pass equal arguments, so this check fails on all or on none.
    if (auto done = made->check_call(); !done) return done.failure();
    for (const auto step : {&OffloadedCall::open_port, &OffloadedCall::make_plan,
                            &OffloadedCall::make_memory, &OffloadedCall::meet_peers}) {
        const auto done = (made.get()->*step)();
        if (auto agreed = made->agree(done); !agreed) return agreed.failure();
    }
    return made;
}

/// Fails if a step failed on a member, with this rank's failure if it has one.
base::Result<void> OffloadedCall::agree(const base::Result<void>& mine) {
    std::int32_t succeeded = mine.ok() ? 1 : 0;
    if (const base::Failure* const why = team_.run(
            Call::allreduce(&succeeded, &succeeded, 1, Type::int32, Op::min), Purpose::observing))
        return *why;
    if (!mine) return mine.failure();
    if (succeeded == 0)
        return base::fail(Status::unsupported, "another rank of the team cannot offload this call");
    return {};
}

base::Result<void> OffloadedCall::check_call() {
    auto usual = usual_offload(call_.collective);
    if (!usual) return usual.failure();
    algorithm_ = options_.algorithm.empty() ? std::string(*usual) : options_.algorithm;
    const bool has_data = traits_of(call_.collective).has_data();
    const bool reduces = traits_of(call_.collective).reduces();
    if (!has_data) call_.count = 0;
    if (has_data && (call_.count == 0 || call_.user != nullptr || base::size_of(call_.type) == 0))
        return base::fail(Status::unsupported,
                          "only calls of at least one element of a built-in type are offloaded");
    element_bytes_ = has_data ? static_cast<std::uint32_t>(base::size_of(call_.type)) : 1;
    elements_ = reduces ? offload_elements(call_.type, call_.op) : OffloadElements{call_.type};
    if (reduces && !elements_.are_combined(call_.op))
        return base::fail(
            Status::unsupported,
            "{} of {} is not offloaded; offloaded are sum, prod, min, max, band, bor and "
            "bxor of integers, float and double",
            base::name_of(call_.op), base::name_of(call_.type));
    const auto spec = collectives::parse_spec(algorithm_);
    if (!spec) return spec.failure();
    const auto algorithm = collectives::find_algorithm(traits_of(call_.collective).name, *spec);
    if (!algorithm) return algorithm.failure();
    if (reduces && !elements_.any_order && !(*algorithm)->properties_of(*spec).bit_identical)
        return base::fail(Status::unsupported,
                          "\"{}\" is not offloaded for {}: its ranks may differ in the last bits",
                          algorithm_, base::name_of(call_.type));
    return {};
}

base::Result<void> OffloadedCall::open_port() {
    const Job& job = team_.services().job;
    const base::Settings& settings = team_.services().settings;
    std::string provider = options_.provider;
    if (provider.empty()) provider = job.nodes_linked() ? job.provider : settings.provider;
    if (provider.empty())
        return base::fail(Status::unsupported,
                          "no network: all ranks share memory, so set WEFT_PROVIDER to a provider");
    const bool reduces = traits_of(call_.collective).reduces();
    auto port = link::load_triggered({.fabric = {.provider = std::move(provider),
                                                 .address = settings.fabric_address,
                                                 .source = job.own_address,
                                                 .module = settings.fabric_module,
                                                 .rank = team_.rank(),
                                                 .size = team_.size(),
                                                 .one_host = job.one_host},
                                      .combines = reduces,
                                      .type = elements_.type,
                                      .op = call_.op});
    if (!port) return port.failure();
    port_ = *std::move(port);
    return {};
}

base::Result<void> OffloadedCall::make_plan() {
    const auto spec = collectives::parse_spec(algorithm_);
    if (!spec) return spec.failure();
    collectives::GenerateRequest request{
        .size = team_.size(),
        .root = traits_of(call_.collective).rooted() ? call_.root : plan::kNoRank,
        .elements = call_.count,
        .element_bytes = element_bytes_};
    const auto program_of = [&](Rank rank) {
        request.rank = rank;
        return collectives::generate(traits_of(call_.collective).name, *spec, request);
    };
    const auto own = program_of(team_.rank());
    if (!own) return own.failure();
    needs_barrier_ = !own->synchronizing && team_.size() > 1;
    if (needs_barrier_) banks_ = kBanksWithBarrier;
    plan::Offloader offloader(program_of, {.elements = call_.count,
                                           .element_bytes = element_bytes_,
                                           .any_order = elements_.any_order,
                                           .write_bytes_max = port_->facts().write_bytes_max,
                                           .combine_bytes_max = port_->facts().combine_bytes_max});
    auto plan = offloader.plan_of(team_.rank());
    if (!plan) return plan.failure();
    plan_ = *std::move(plan);
    return {};
}

base::Result<void> OffloadedCall::make_memory() {
    bank_bytes_ = plan_.memory_bytes;
    if (const base::Failure* const why =
            team_.run(Call::allreduce(&bank_bytes_, &bank_bytes_, 1, Type::uint64, Op::max),
                      Purpose::observing))
        return *why;
    const std::uint64_t bytes = bank_bytes_ * banks_;
    memory_.reset(static_cast<std::byte*>(::operator new(bytes, kMemoryAlignment, std::nothrow)));
    if (memory_ == nullptr)
        return base::fail(Status::memory, "cannot allocate {} bytes for offloaded calls", bytes);
    std::memset(memory_.get(), 0, bytes);
    for (std::uint64_t bank = 0; bank < banks_; ++bank) fill(bank);
    return port_->expose({memory_.get(), bytes},
                         static_cast<std::uint32_t>(1 + plan_.stages() * banks_));
}

base::Result<void> OffloadedCall::meet_peers() {
    const auto card = port_->address();
    if (card.size() > kCardBytes - sizeof(std::uint64_t))
        return base::fail(Status::unsupported, "the endpoint address has {} bytes, at most {}",
                          card.size(), kCardBytes - sizeof(std::uint64_t));
    std::vector<std::byte> mine(kCardBytes);
    const std::uint64_t bytes = card.size();
    std::memcpy(mine.data(), &bytes, sizeof bytes);
    std::memcpy(mine.data() + sizeof bytes, card.data(), card.size());
    std::vector<std::byte> all(kCardBytes * static_cast<std::size_t>(team_.size()));
    if (const base::Failure* const why = team_.run(
            Call::allgather(mine.data(), all.data(), kCardBytes, Type::uint8), Purpose::observing))
        return *why;
    std::set<Rank> peers;
    for (const plan::Descriptor& descriptor : plan_.descriptors) peers.insert(descriptor.peer);
    for (const Rank peer : peers) {
        const std::byte* const from = all.data() + kCardBytes * static_cast<std::size_t>(peer);
        std::uint64_t length = 0;
        std::memcpy(&length, from, sizeof length);
        if (length > kCardBytes - sizeof length)
            return base::fail(Status::peer, "rank {} sent an address of {} bytes, at most {}", peer,
                              length, kCardBytes - sizeof length);
        if (auto done = port_->set_peer(peer, {from + sizeof length, length}); !done) return done;
        if (auto done = port_->connect(peer); !done) return done;
    }
    return {};
}

void OffloadedCall::fill(std::uint64_t bank) {
    for (const plan::OffloadCopy& copy : plan_.fills)
        elements_.fill(in_bank(bank, copy.offset), copy.count, call_.op);
}

base::Result<void> OffloadedCall::start(const void* in, void* out) {
    if (running_)
        return base::fail(Status::argument, "the previous offloaded call is not complete");
    if (needs_barrier_ && calls_ != 0 && calls_ % banks_ == 0) {
        if (const auto* const why = team_.run(Call::barrier(), Purpose::inserted)) return *why;
    }
    ++calls_;
    running_ = true;
    out_ = out;
    first_ = next_ = 0;
    for (const plan::OffloadCopy& copy : plan_.inputs) {
        std::byte* const to = in_bank(bank(), copy.offset);
        const std::byte* const from =
            static_cast<const std::byte*>(in) + copy.first * element_bytes_;
        elements_.store(to, from, copy.count, call_.op);
    }
    std::atomic_thread_fence(std::memory_order_release);
    port_->begin();
    return queue_next();
}

/// Queues the next descriptors of the call, within the budget.
base::Result<void> OffloadedCall::queue_next() {
    first_ = next_;
    const std::size_t budget = options_.budget != 0 ? options_.budget : plan_.descriptors.size();
    const std::size_t end = std::min(first_ + budget, plan_.descriptors.size());
    for (; next_ < end; ++next_) {
        const plan::Descriptor& descriptor = plan_.descriptors[next_];
        const std::uint64_t base = bank() * bank_bytes_;
        ++entries_;
        if (auto done = port_->queue(
                {.peer = descriptor.peer,
                 .combine = descriptor.combine,
                 .source = base + descriptor.source,
                 .target = base + descriptor.target,
                 .bytes = descriptor.bytes,
                 .counted = counter(descriptor.counted),
                 .trigger = descriptor.after == 0 ? 0 : counter(descriptor.after),
                 .threshold = descriptor.after == 0 ? 0 : threshold(descriptor.after),
                 .completes = descriptor.completes == 0 ? 0 : counter(descriptor.completes)});
            !done)
            return done;
        if (descriptor.completes == 0) ++completions_;
        ++queued_;
    }
    return {};
}

bool OffloadedCall::complete(plan::OffloadStage stage) {
    ++entries_;
    return port_->count(counter(stage)) >= threshold(stage);
}

bool OffloadedCall::queued_are_done() {
    ++entries_;
    if (port_->count(0) < completions_) return false;
    for (std::size_t i = first_; i < next_; ++i) {
        const plan::OffloadStage stage = plan_.descriptors[i].completes;
        if (stage != 0 && !complete(stage)) return false;
    }
    return true;
}

base::Result<void> OffloadedCall::check_failures() {
    const std::uint32_t counters = static_cast<std::uint32_t>(1 + plan_.stages() * banks_);
    for (std::uint32_t number = 0; number < counters; ++number)
        if (port_->failures(number) != 0)
            return base::fail(Status::peer, "an offloaded write has failed: a peer may have died");
    return {};
}

base::Result<bool> OffloadedCall::test() {
    if (!running_) return true;
    if (!queued_are_done()) return false;
    if (next_ < plan_.descriptors.size()) {
        if (auto done = queue_next(); !done) return done.failure();
        return false;
    }
    for (plan::OffloadStage stage = 1; stage <= plan_.stages(); ++stage)
        if (!complete(stage)) return false;
    take_result();
    return true;
}

void OffloadedCall::take_result() {
    std::atomic_thread_fence(std::memory_order_acquire);
    for (const plan::OffloadCopy& copy : plan_.outputs) {
        const std::byte* const from = in_bank(bank(), copy.offset);
        std::byte* const to = static_cast<std::byte*>(out_) + copy.first * element_bytes_;
        elements_.load(to, from, copy.count);
    }
    fill(bank());
    running_ = false;
}

/// Returns a text about the first incomplete stage, for the log.
std::string OffloadedCall::describe_wait() {
    const std::string call = fmt::format("rank {}: offloaded {} {} number {}", team_.rank(),
                                         traits_of(call_.collective).name, algorithm_, calls_);
    for (plan::OffloadStage stage = 1; stage <= plan_.stages(); ++stage) {
        if (complete(stage)) continue;
        const std::uint64_t before = threshold(stage) - plan_.events[stage - 1];
        const std::uint64_t count = port_->count(counter(stage));
        return fmt::format(
            "{}: stage {} of {} has {} of {} events, {} of {} descriptors are queued", call, stage,
            plan_.stages(), count - std::min(before, count), plan_.events[stage - 1], next_,
            plan_.descriptors.size());
    }
    return call + ": waiting for completions of its own writes";
}

base::Result<void> OffloadedCall::wait() {
    constexpr unsigned kProgressEvery = 16;
    constexpr unsigned kCheckFailuresEvery = 256;
    constexpr unsigned kYieldsBeforeSleep = 32;
    constexpr auto kSleep = std::chrono::microseconds(20);
    const std::uint64_t patience_ns = team_.services().settings.timeout_ns;
    std::uint64_t report_ns = base::monotonic_ns() + patience_ns;
    for (unsigned turn = 1;; ++turn) {
        const auto done = test();
        if (!done) return done.failure();
        if (*done) return {};
        // Peers may be in calls that are not offloaded and need this rank's progress.
        if (turn % kProgressEvery == 0) team_.services().progress.drive();
        if (turn % kCheckFailuresEvery == 0) {
            if (auto checked = check_failures(); !checked) return checked;
            if (patience_ns != 0 && base::monotonic_ns() >= report_ns) {
                team_.services().log.warn(describe_wait());
                report_ns += patience_ns;
            }
        }
        // The provider's thread that executes descriptors may need this processor.
        if (turn < kYieldsBeforeSleep)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(kSleep);
    }
}

}  // namespace weft::run
