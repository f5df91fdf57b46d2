// SPDX-License-Identifier: BSD-3-Clause
// Bug: when a call had failed, the caller could reuse its buffers, but the network still read them
// and sent the caller's new data. Method: a virtual network reads sources as late as permitted. The
// operation of one rank throws, or its wire breaks, with puts in flight. The test then overwrites
// the input, and searches the peer's segment for the new data.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "tests/support/call.hpp"

namespace weft::test {
namespace {

constexpr std::uint64_t kElements = 700;
constexpr std::byte kLater{0xee};  ///< data that the caller writes to its buffer after the failure

void throw_always(const void*, void*, std::size_t, void*) {
    throw std::runtime_error("no");
}

/// A job of two ranks, and a call that fails on rank 0.
class FailingJob {
  public:
    explicit FailingJob(std::uint64_t seed)
        : job_({.segment_bytes = 1 << 20,
                .node_of_rank = {0, 1},
                .seed = seed,
                .profile = {.copy_percent = 0, .fetch_percent = 0, .delivers_at_target = false}}),
          team_(job_.add_team(
              {.shape = {.cells = 32, .banks = 8, .bulk_banks = 4, .bulk_bytes = 16384}})),
          call_(bind_call(job_, team_,
                          {.collective = "allreduce", .algorithm = "a2", .elements = kElements})) {
        for (auto& side : {&input_, &output_})
            side->assign(2, std::vector<std::byte>(call_.bytes(), std::byte{1}));
    }

    run::Operation& issue(Rank rank, const run::Reducer& reducer) {
        const auto at = static_cast<std::size_t>(rank);
        return job_.engine(rank).start(*team_.states[at], call_.programs[at],
                                       {input_[at].data(), output_[at].data()}, reducer);
    }
    /// Steps until the operation has ended.
    void drive(const run::Operation& op) {
        for (int step = 0; step < 200'000 && !op.ended(); ++step)
            job_.step([](Rank) { return false; });
        EXPECT_EQ(op.state, run::Operation::State::failed);
        EXPECT_FALSE(op.has_transfers());
    }
    /// Overwrites the input. Returns true if the new data reaches the peer.
    bool is_read_later() {
        std::ranges::fill(input_[0], kLater);
        for (int step = 0; step < 20'000; ++step) job_.step([](Rank) { return false; });
        const std::span<const std::byte> segment(job_.network().segment(1),
                                                 job_.network().segment_bytes());
        const std::byte four[] = {kLater, kLater, kLater, kLater};
        return !std::ranges::search(segment, four).empty();
    }
    VirtualNetwork& network() { return job_.network(); }
    const run::Reducer& sum() const { return call_.reducer; }
    VirtualEngine& engine(Rank rank) { return job_.engine(rank); }

  private:
    VirtualJob job_;
    const VirtualTeam& team_;
    TeamCall call_;
    std::vector<std::vector<std::byte>> input_;
    std::vector<std::vector<std::byte>> output_;
};

TEST(FailedBuffers, BuffersAreNotReadAfterAThrowingOperation) {
    const run::UserOperation user{.function = throw_always, .element_bytes = 8};
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        FailingJob job(seed);
        run::Operation& op = job.issue(0, {.user = &user, .element_bytes = 8});
        job.engine(1).release(job.issue(1, job.sum()));
        job.drive(op);
        EXPECT_NE(op.failure.text.find("threw: no"), std::string::npos) << op.failure.text;
        EXPECT_FALSE(job.is_read_later()) << "seed " << seed;
    }
}

TEST(FailedBuffers, BuffersAreNotReadAfterAWireFailure) {
    int with_puts = 0;  // seeds for which puts were in flight when the wire broke
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        FailingJob job(seed);
        run::Operation& op = job.issue(0, job.sum());
        for (std::uint64_t step = 0; step < seed; ++step) job.engine(0).poll();
        with_puts += op.has_transfers() ? 1 : 0;
        job.network().break_wire(0, {Status::environment, "broken"});
        job.drive(op);
        EXPECT_FALSE(job.is_read_later()) << "seed " << seed;
    }
    EXPECT_GT(with_puts, 5) << "too few wires broke with puts in flight";
}

}  // namespace
}  // namespace weft::test
