// SPDX-License-Identifier: BSD-3-Clause
// Goal: local peers read the owner's bytes and the owner reads the bytes that peers wrote. The
// program may free, move and clear its memory between calls, and fork during calls.
// Method: in one of two processes, the owner picks a buffer, a part of the buffer and an action on
// its memory at random from a fixed seed. The peer, in the other, compares every byte.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <vector>

#include "base/random.hpp"
#include "tests/support/full_mode.hpp"
#include "tests/unit/direct/own_peer.hpp"
#include "tests/unit/shared/forked_ranks.hpp"

namespace weft::link::testing {
namespace {

constexpr std::uint64_t kSeed = 20'261'122;

/// The owner's request that its peer read the exposed bytes, and replace them if `access` is write.
/// It is in memory that both processes share.
struct Request {
    std::atomic<int> asked;     ///< round of the latest request
    std::atomic<int> answered;  ///< round of the latest answer
    pid_t pids[2];              ///< owner, peer
    base::Reach reach;
    std::uint64_t bytes;
    Access access;
    int salt;   ///< selects the pattern of contents; the peer writes salt + 1
    bool last;  ///< the peer ends instead of reading
    std::atomic<std::uint64_t> wrong;  ///< number of the peer's failed or wrong reads and writes
};

class LocalPeer {
  public:
    LocalPeer(Request& request, DirectMemory& direct) : request_(request), direct_(direct) {}

    void serve(ForkedRank& rank) {
        base::Random random(kSeed + 1);
        for (int round = 1;; ++round) {
            rank.wait_until([&] { return request_.asked.load() == round; });
            if (request_.last) return;
            answer(random);
            request_.answered.store(round);
        }
    }

  private:
    void answer(base::Random& random) {
        std::byte* seen = direct_.map(0, request_.reach);
        std::vector<std::byte> copy;
        const bool by_kernel = seen == nullptr || random.chance(1, 4);
        if (by_kernel) {
            copy.resize(request_.bytes);
            if (!direct_.read(0, request_.reach.address, copy.data(), copy.size()))
                request_.wrong.fetch_add(1);
            seen = copy.data();
        }
        if (matching(seen, request_.bytes, request_.salt) != request_.bytes)
            request_.wrong.fetch_add(1);
        if (request_.access == Access::read) return;
        fill(seen, request_.bytes, request_.salt + 1);
        if (by_kernel && !direct_.write(0, request_.reach.address, copy.data(), copy.size()))
            request_.wrong.fetch_add(1);
    }

    Request& request_;
    DirectMemory& direct_;
};

/// Allocates, frees and remaps buffers as a program might, and checks their contents.
class Owner {
  public:
    Owner(ForkedRank& rank, Request& request, DirectMemory& direct)
        : rank_(rank), request_(request), direct_(direct), random_(kSeed) {
        for (int i = 0; i < 10; ++i) buffers_.push_back(allocate());
    }
    ~Owner() {
        for (const Buffer& buffer : buffers_) release(buffer);
    }

    /// Exposes a part of a random buffer to the peer, and checks all bytes of the buffer.
    void call(int round) {
        Buffer& buffer = buffers_[random_.below(buffers_.size())];
        abuse(buffer);
        const bool whole = random_.chance(3, 4);
        const std::size_t start = whole ? 0 : random_.below(kPage * 2);
        const std::size_t bytes = buffer.bytes - start - (whole ? 0 : random_.below(kPage * 2));
        std::byte* const data = buffer.data + start;
        const int salt = round * 3;
        fill(buffer.data, buffer.bytes, salt + 7);
        fill(data, bytes, salt);
        const Access access = random_.chance(1, 2) ? Access::read : Access::write;
        const auto exposure = direct_.expose(data, bytes, access);
        send_request(exposure, salt, round);
        const int expected = access == Access::write ? salt + 1 : salt;
        if (matching(exposure.alias, bytes, expected) != bytes) complain("the owner's view", round);
        direct_.unexpose(exposure);
        if (matching(data, bytes, expected) != bytes) complain("the buffer", round);
        if (start > 0 && matching(buffer.data, start, salt + 7) != start)
            complain("memory before the buffer", round);
        for (std::size_t i = start + bytes; i < buffer.bytes; ++i)
            if (buffer.data[i] != pattern(i, salt + 7)) complain("memory after the buffer", round);
    }

  private:
    struct Buffer {
        std::byte* data;
        std::size_t bytes;
        bool mapped;  ///< true: from mmap(); false: from malloc()
    };

    Buffer allocate() {
        const std::size_t bytes =
            8 * kPage + random_.below(random_.chance(1, 4) ? 1 << 20 : 1 << 17);
        if (random_.chance(1, 2))
            return {static_cast<std::byte*>(std::malloc(bytes)), bytes, false};
        return {map_private(bytes), bytes, true};
    }
    static void release(const Buffer& buffer) {
        if (buffer.mapped)
            ::munmap(buffer.data, buffer.bytes);
        else
            std::free(buffer.data);
    }

    /// In 6 of 20 cases, frees, replaces, clears or extends the buffer, or forks.
    void abuse(Buffer& buffer) {
        switch (random_.below(20)) {
            case 0:
            case 1:
                release(buffer);
                buffer = allocate();
                break;
            case 2:
                if (buffer.mapped) {
                    // Maps other memory at the same address.
                    ::munmap(buffer.data, buffer.bytes);
                    ::mmap(buffer.data, buffer.bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
                } else {
                    buffer.bytes = 8 * kPage + random_.below(1 << 20);
                    buffer.data = static_cast<std::byte*>(std::realloc(buffer.data, buffer.bytes));
                }
                break;
            case 3:
                if (buffer.mapped) clear(buffer);
                break;
            case 4:
                if (buffer.mapped) extend(buffer);
                break;
            case 5:
                fork_and_scribble();
                break;
            default:
                break;
        }
    }

    void clear(const Buffer& buffer) {
        ::madvise(buffer.data + kPage, 3 * kPage, MADV_DONTNEED);
        for (std::size_t i = kPage; i < 4 * kPage; ++i)
            if (buffer.data[i] != std::byte{0}) complain("memory that was cleared", 0);
    }
    void extend(Buffer& buffer) {
        const std::size_t bytes = buffer.bytes + random_.below(40 * kPage);
        fill(buffer.data, buffer.bytes, 77);
        void* const moved = ::mremap(buffer.data, buffer.bytes, bytes, MREMAP_MAYMOVE);
        if (moved == MAP_FAILED) return complain("the result of mremap()", 0);
        buffer.data = static_cast<std::byte*>(moved);
        if (matching(buffer.data, buffer.bytes, 77) != buffer.bytes) complain("moved memory", 0);
        buffer.bytes = bytes;
    }
    /// Forks a child that overwrites its copies of all buffers.
    void fork_and_scribble() {
        const pid_t child = ::fork();
        if (child == 0) {
            for (const Buffer& buffer : buffers_) std::memset(buffer.data, 0xee, buffer.bytes);
            ::_exit(0);
        }
        static_cast<void>(status_of(child));
    }

    /// Sends a request and waits for the answer.
    void send_request(const base::Exposure& exposure, int salt, int round) {
        request_.reach = exposure.reach;
        request_.bytes = exposure.bytes;
        request_.access = exposure.access;
        request_.salt = salt;
        if (random_.chance(1, 30)) fork_and_scribble();  // before the peer begins
        request_.asked.store(round);
        if (random_.chance(1, 30)) fork_and_scribble();  // while the peer works
        rank_.wait_until([&] { return request_.answered.load() == round; });
    }

    /// Ends this rank with a report. `round`: 0 if not known.
    void complain(const char* what, int round) {
        rank_.require(false, std::string(what) + " is wrong in round " + std::to_string(round));
    }

    ForkedRank& rank_;
    Request& request_;
    DirectMemory& direct_;
    base::Random random_;
    std::vector<Buffer> buffers_;
};

class Abuse : public ::testing::TestWithParam<DirectMode> {};

TEST_P(Abuse, EveryByteIsRightWhileTheProgramChangesItsMemory) {
    const test::SharedObject<Request> shared;
    Request& request = *shared;
    expect_ranks(2, [&](ForkedRank& rank) {
        const int rounds = test::full_mode() ? 100'000 : 1000;
        request.pids[rank.rank()] = ::getpid();
        rank.fence();
        DirectMemory direct({.processes = {request.pids[0], request.pids[1]},
                             .mode = GetParam(),
                             .limits = {.ranges_max = 6}});  // fewer than the 10 buffers
        if (rank.rank() == 1) {
            LocalPeer(request, direct).serve(rank);
            rank.require(request.wrong.load() == 0, "the peer read wrong bytes");
            return;
        }
        {
            Owner owner(rank, request, direct);
            for (int round = 1; round <= rounds; ++round) owner.call(round);
        }
        request.last = true;
        request.asked.store(rounds + 1);
        rank.require(request.wrong.load() == 0, "the peer read wrong bytes");
        rank.require(GetParam() == DirectMode::copy || !direct.adoption_off().empty() ||
                         direct.adoption_counters().adoptions > 5,
                     "at most 5 buffers were adopted");
    });
}

INSTANTIATE_TEST_SUITE_P(Modes, Abuse,
                         ::testing::Values(DirectMode::automatic, DirectMode::adopt,
                                           DirectMode::copy));

}  // namespace
}  // namespace weft::link::testing
