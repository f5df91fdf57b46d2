// SPDX-License-Identifier: BSD-3-Clause
// survivor_rank.cpp - a rank that goes on with the survivors when survivors.py kills other ranks.
//
// Usage: survivor_rank SEED SECONDS. Prints its process, computes in rounds for SECONDS, and prints
// the team's members and the number of deaths at the end. All ranks draw the same calls. After each
// round the survivors agree whether all of them have right results. Otherwise they shrink the team
// and repeat the round. Exits with status 9 if a result is wrong.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "weft/weft.hpp"

namespace {

using weft::Op;
using weft::Rank;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kCountMax = 40'000;  ///< elements of a call
constexpr int kCalls = 12;                 ///< of a round
constexpr std::uint64_t kRight = 1;        ///< bit of a vote: all results were right
constexpr std::uint64_t kContinue = 2;     ///< bit of a vote: the time is not over

[[noreturn]] void end_wrong(const std::string& problem) {
    fmt::print(stderr, "survivor_rank: {}\n", problem);
    std::fflush(stderr);
    ::_exit(9);
}

class Survivor {
  public:
    Survivor(weft::Team world, unsigned seed)
        : team_(world),
          me_(world.rank()),
          seed_(seed),
          in_(kCountMax),
          out_(kCountMax),
          mail_(static_cast<std::uint64_t*>(world.allocate(2 * sizeof(std::uint64_t)))),
          counter_(static_cast<std::uint64_t*>(world.allocate(sizeof(std::uint64_t)))) {
        mail_[0] = mail_[1] = *counter_ = 0;
        list_members();
    }

    void run(double seconds) {
        const auto end = Clock::now() + std::chrono::duration<double>(seconds);
        while (true) {
            const bool right = try_round();
            if (!right) team_.revoke();
            const std::uint64_t vote = (right ? kRight : 0) | (Clock::now() < end ? kContinue : 0);
            const weft::AgreedWord agreed = team_.agree(vote);
            if (agreed.dead > static_cast<Rank>(team_.dead().size()))
                end_wrong("agree counts more dead members than dead() lists");
            if ((agreed.word & kRight) != 0) ++round_;
            if ((agreed.word & kRight) != 0 && (agreed.word & kContinue) == 0) return;
            if ((agreed.word & kRight) == 0 || agreed.dead != 0) shrink();
        }
    }

    [[nodiscard]] std::string report() const {
        return fmt::format("members {} after {} shrinks", fmt::join(members_, ","), shrinks_);
    }
    [[nodiscard]] int rounds() const { return static_cast<int>(round_); }

  private:
    /// Makes the calls of a round. Returns false if a rank has died or revoked the team.
    bool try_round() {
        try {
            // Survivors may have failed in different calls of the last round.
            tag_ = team_.allreduce(tag_, Op::max) + 1;
            std::mt19937_64 random(seed_ + 1000 * round_);
            for (int i = 0; i < kCalls; ++i) make_call(random);
            return true;
        } catch (const weft::Error& error) {
            if (error.status() != weft::Status::peer)
                end_wrong(fmt::format("rank {}: status {}: {}", me_,
                                      static_cast<int>(error.status()), error.what()));
            return false;
        }
    }

    void shrink() {
        const Rank before = team_.size();
        weft::Team next = team_.shrink();
        if (shrinks_ != 0) team_.drop();
        team_ = next;
        ++shrinks_;
        list_members();
        if (team_.size() > before) end_wrong("the team has grown");
    }

    /// Collects the world ranks of the members. If a member has died, the former list stays.
    void list_members() {
        try {
            std::vector<std::int64_t> ranks(static_cast<std::size_t>(team_.size()));
            const std::int64_t mine = me_;
            team_.allgather(&mine, ranks.data(), 1, weft::Type::int64);
            members_.assign(ranks.begin(), ranks.end());
        } catch (const weft::Error& error) {
            if (error.status() != weft::Status::peer) throw;  // the next round fails, too
        }
    }

    void make_call(std::mt19937_64& random) {
        const std::uint64_t kind = random() % 7;
        const std::size_t count = random() % 4 == 0 ? 1 + random() % kCountMax : 1 + random() % 16;
        const auto root = static_cast<Rank>(random() % static_cast<std::uint64_t>(team_.size()));
        const auto size = static_cast<std::uint64_t>(team_.size());
        switch (kind) {
            case 0:
                return team_.barrier();
            case 1:
                return reduce_all(count);
            case 2:
                return broadcast(count, root);
            case 3:
                return exchange_all(1 + count / size / 2);
            case 4:
                return put_around();
            case 5:
                return count_at(root);
            default:
                return gather_all(1 + count / size / 2);
        }
    }
    void expect(std::uint64_t have, std::uint64_t want, const char* call) const {
        if (have != want)
            end_wrong(fmt::format("rank {}: {}: has {}, expected {}", me_, call, have, want));
    }
    [[nodiscard]] std::uint64_t value(Rank member, std::size_t i) const {
        return tag_ * 1000 + static_cast<std::uint64_t>(member) * 7 + i % 5;
    }

    void reduce_all(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) in_[i] = value(team_.rank(), i);
        team_.allreduce(std::span<const std::uint64_t>(in_).first(count),
                        std::span(out_).first(count), Op::sum);
        for (std::size_t i = 0; i < count; ++i) {
            std::uint64_t sum = 0;
            for (Rank member = 0; member < team_.size(); ++member) sum += value(member, i);
            expect(out_[i], sum, "allreduce");
        }
    }
    void broadcast(std::size_t count, Rank root) {
        for (std::size_t i = 0; i < count; ++i) out_[i] = team_.rank() == root ? value(root, i) : 0;
        team_.broadcast(std::span(out_).first(count), root);
        for (std::size_t i = 0; i < count; ++i) expect(out_[i], value(root, i), "broadcast");
    }
    void exchange_all(std::size_t each) {
        const auto size = static_cast<std::size_t>(team_.size());
        for (std::size_t i = 0; i < each * size; ++i) in_[i] = value(team_.rank(), i / each);
        team_.alltoall(in_.data(), out_.data(), each, weft::Type::uint64);
        for (std::size_t i = 0; i < each * size; ++i)
            expect(out_[i], value(static_cast<Rank>(i / each), team_.rank()), "alltoall");
    }
    void gather_all(std::size_t each) {
        const auto size = static_cast<std::size_t>(team_.size());
        for (std::size_t i = 0; i < each; ++i) in_[i] = value(team_.rank(), i);
        team_.allgather(in_.data(), out_.data(), each, weft::Type::uint64);
        for (std::size_t i = 0; i < each * size; ++i)
            expect(out_[i], value(static_cast<Rank>(i / each), i % each), "allgather");
    }
    /// Puts a tagged value with a signal to the next member, and waits for the previous member's.
    void put_around() {
        ++tag_;
        const Rank size = team_.size();
        const Rank next = (team_.rank() + 1) % size;
        const Rank before = (team_.rank() + size - 1) % size;
        const std::uint64_t mine = value(team_.rank(), 0);
        team_.put_signal(mail_, &mine, sizeof mine, mail_ + 1, tag_, weft::SignalOp::set, next);
        team_.wait_until(mail_ + 1, weft::Compare::ge, tag_);
        expect(mail_[0], value(before, 0), "put");
        team_.barrier();
    }
    /// Counts in the root's memory of the world, which stays valid after shrinks.
    void count_at(Rank root) {
        if (team_.rank() == root) *counter_ = 0;
        team_.barrier();
        team_.fetch_add(counter_, 1, root);
        team_.barrier();
        std::uint64_t counted = 0;
        team_.get(&counted, counter_, sizeof counted, root);
        expect(counted, static_cast<std::uint64_t>(team_.size()), "fetch_add");
        team_.barrier();
    }

    weft::Team team_;
    Rank me_;  ///< rank in the world
    std::uint64_t seed_;
    std::vector<std::uint64_t> in_;
    std::vector<std::uint64_t> out_;
    std::uint64_t* mail_;     ///< symmetric: a value and a signal
    std::uint64_t* counter_;  ///< symmetric
    std::vector<Rank> members_;
    std::uint64_t tag_ = 0;
    std::uint64_t round_ = 0;
    int shrinks_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    weft::Runtime runtime;
    const Rank rank = runtime.world().rank();
    {
        Survivor survivor(runtime.world(), static_cast<unsigned>(std::atoi(argv[1])));
        fmt::print("rank {} process {}\n", rank, ::getpid());
        std::fflush(stdout);
        survivor.run(std::atof(argv[2]));
        fmt::print("rank {} done: {}, {} rounds\n", rank, survivor.report(), survivor.rounds());
        std::fflush(stdout);
    }
    runtime.finalize();
    return 0;
}
