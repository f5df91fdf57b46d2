// SPDX-License-Identifier: BSD-3-Clause
// Bug: writes were lost when remapped memory became private memory again, because pages were copied
// while other threads or processes wrote to them.
//
// Remapped memory becomes private, or loses pages, if the program forks, if it frees pages by
// madvise(), or if a call fails. The test repeats each of these events. Meanwhile three writers
// increase words in other pages of the same range: a thread, a thread that reads from a pipe with
// vmsplice(), and another process with process_vm_writev(). Each writer has a word, which must
// always have the last value that the writer wrote. After a fork the child checks that its memory
// does not change. Writers pause during calls, in which the program must not write to the buffer.
// In commit 9d518da, which lacks the fix, 1 to 3 writes were lost in 20 rounds of mremap(), and
// half of an O_DIRECT read.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "tests/support/shared_object.hpp"
#include "tests/system/regress_ranks/mappings.hpp"
#include "tests/system/regress_ranks/rank_function.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPages = 600;  ///< more than 2 MiB, the unit in which weft copies
constexpr std::size_t kBytes = kPages * kPage;
constexpr std::size_t kFreed = 400;  ///< the page that the program frees by madvise()
constexpr int kWriters = 3;
constexpr int kStatusNeverRemapped = 77;
constexpr int kStatusFailedAsExpected = 78;  ///< the call failed as expected, and no write was lost

using Word = volatile std::uint64_t;

/// State shared by a rank and its children.
struct Control {
    std::atomic<bool> open{false};        ///< writers may write
    std::atomic<bool> over{false};        ///< writers must end
    std::atomic<bool> busy[kWriters];     ///< the writer may be writing
    std::atomic<long> lost{0};            ///< writes that were lost
    std::atomic<long> written[kWriters];  ///< number of writes
};

/// Writes increasing numbers with `write` while `open` is set. Checks with `read` that the last
/// number is still there before it writes the next.
template <class Read, class Write>
void write_numbers(Control& control, int writer, Read read, Write write) {
    std::uint64_t last = 0;
    bool first = true;
    while (!control.over) {
        control.busy[writer] = true;
        if (control.open) {
            const std::uint64_t found = read();
            if (!first && found != last) ++control.lost;
            last = found + 1;
            first = false;
            write(last);
            ++control.written[writer];
            control.busy[writer] = false;
        } else {
            control.busy[writer] = false;
            ::usleep(50);
        }
    }
}

/// The three writers of a buffer; each writes until the destructor.
class Writers {
  public:
    explicit Writers(std::byte* buffer) : buffer_(buffer) {
        ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        outside_ = start_outside_writer();
        thread_ = std::thread([this] {
            Word& mine = word(0);
            write_numbers(
                *control_, 0, [&] { return mine; }, [&](std::uint64_t value) { mine = value; });
        });
        pipe_ = std::thread([this] { read_from_pipe(); });
    }
    Writers(const Writers&) = delete;
    Writers& operator=(const Writers&) = delete;
    ~Writers() {
        control_->over = true;
        thread_.join();
        pipe_.join();
        ::waitpid(outside_, nullptr, 0);
    }

    /// Returns when no writer is writing.
    void pause() {
        control_->open = false;
        for (const auto& busy : control_->busy)
            while (busy) std::this_thread::yield();
    }
    /// Lets the writers write, and returns after each of them has written since.
    void resume() {
        long before[kWriters];
        for (int i = 0; i < kWriters; ++i) before[i] = control_->written[i];
        control_->open = true;
        for (int i = 0; i < kWriters; ++i)
            while (control_->written[i] < before[i] + 2) std::this_thread::yield();
    }
    [[nodiscard]] Word& word(int writer) const {
        return *reinterpret_cast<Word*>(buffer_ +
                                        kPage * static_cast<std::size_t>(7 + writer * 64));
    }
    [[nodiscard]] long lost() const { return control_->lost; }

  private:
    pid_t start_outside_writer() {
        const pid_t owner = ::getpid();
        const pid_t child = ::fork();
        if (child != 0) return child;
        std::uint64_t value = 0;
        const iovec here{&value, sizeof value};
        const iovec there{const_cast<std::uint64_t*>(&word(1)), sizeof value};
        write_numbers(
            *control_, 1,
            [&] {
                if (::process_vm_readv(owner, &here, 1, &there, 1, 0) != sizeof value) ::_exit(1);
                return value;
            },
            [&](std::uint64_t next) {
                value = next;
                if (::process_vm_writev(owner, &here, 1, &there, 1, 0) != sizeof value) ::_exit(1);
            });
        ::_exit(0);
    }

    void read_from_pipe() {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) return;
        Word& mine = word(2);
        const iovec there{const_cast<std::uint64_t*>(&mine), sizeof(std::uint64_t)};
        write_numbers(
            *control_, 2, [&] { return mine; },
            [&](std::uint64_t value) {
                if (::write(ends[1], &value, sizeof value) != sizeof value ||
                    ::vmsplice(ends[0], &there, 1, 0) != sizeof value)
                    ++control_->lost;
            });
        ::close(ends[0]);
        ::close(ends[1]);
    }

    std::byte* buffer_;
    SharedObject<Control> control_;
    pid_t outside_ = -1;
    std::thread thread_;
    std::thread pipe_;
};

/// Checks that the child's memory does not change after the fork, then writes to it.
void check_in_child(const Writers& writers) {
    std::uint64_t before[kWriters];
    for (int i = 0; i < kWriters; ++i) before[i] = writers.word(i);
    ::usleep(200);
    for (int i = 0; i < kWriters; ++i) {
        if (writers.word(i) != before[i]) ::_exit(1);
        writers.word(i) = 0;
    }
    ::_exit(0);
}

/// In each round, calls `event(writers, buffer)` while the writers write. The event makes memory
/// private, all of the buffer if `all_becomes_private`, and returns false after an error. Returns
/// the exit status of the rank.
template <class Event>
int repeat_while_others_write(int rounds, bool all_becomes_private, Event event) {
    std::byte* const buffer = map_private(kBytes);
    std::byte* const unused = map_private(kBytes);
    Runtime runtime;
    Team world = runtime.world();
    // Only rank 0 has writers: writers of other ranks would slow these down.
    if (world.rank() != 0) {
        for (int round = 0; round < rounds; ++round) {
            world.broadcast(unused, kBytes, Type::uint8, 0);
            world.barrier();
        }
        runtime.finalize();
        return 0;
    }
    Writers writers(buffer);
    for (int round = 0; round < rounds; ++round) {
        writers.pause();
        world.broadcast(buffer, kBytes, Type::uint8, 0);
        if (!is_shared(buffer)) return round == 0 ? kStatusNeverRemapped : 7;
        writers.resume();
        if (!event(writers, buffer)) return 5;
        if (all_becomes_private && is_shared(buffer)) return 6;
        writers.pause();
        world.barrier();
    }
    const long lost = writers.lost();
    runtime.finalize();
    return lost == 0 ? 0 : 4;
}

int at_fork(const Words& /*none*/) {
    return repeat_while_others_write(60, true, [](const Writers& writers, std::byte*) {
        const pid_t child = ::fork();
        if (child == 0) check_in_child(writers);
        int status = -1;
        ::waitpid(child, &status, 0);
        return status == 0;
    });
}

int by_madvise(const Words& /*none*/) {
    return repeat_while_others_write(200, false, [](const Writers&, std::byte* buffer) {
        std::byte* const freed = buffer + kFreed * kPage;
        *freed = std::byte{9};
        return ::madvise(freed, kPage, MADV_DONTNEED) == 0 && *freed == std::byte{0};
    });
}

/// A call on a part of the buffer fails: the pages of this part become private, the writers' pages
/// stay shared.
int at_failure(const Words& /*none*/) {
    std::byte* const buffer = map_private(kBytes);
    Runtime runtime;
    Team world = runtime.world();
    Writers writers(buffer);
    world.broadcast(buffer, kBytes, Type::uint8, 0);
    world.barrier();
    if (!is_shared(buffer)) return kStatusNeverRemapped;
    writers.resume();
    std::byte* const part = buffer + kFreed * kPage;
    constexpr std::size_t kPartBytes = 64 * kPage;
    bool failed = false;
    try {  // the ranks disagree about the count, so the call fails
        world.broadcast(part, world.rank() == 0 ? kPartBytes : kPartBytes / 2, Type::uint8, 0);
    } catch (const Error&) {
        failed = true;
    }
    const bool is_private = !is_shared(part);
    ::usleep(20'000);
    writers.pause();
    if (!failed) return 5;
    if (!is_private || !is_shared(buffer)) return 6;
    return writers.lost() == 0 ? kStatusFailedAsExpected : 4;
}

const RankFunction kAtFork("remapped_memory_at_fork", at_fork);
const RankFunction kByMadvise("remapped_memory_by_advice", by_madvise);
const RankFunction kAtFailure("remapped_memory_at_failure", at_failure);

TEST(RemappedMemory, NoWriteIsLostWhenMemoryBecomesPrivate) {
    for (const char* function :
         {"remapped_memory_at_fork", "remapped_memory_by_advice", "remapped_memory_at_failure"}) {
        const Outcome outcome =
            run_function({"-n", "2", "--timeout", "60"}, function, {}, {"WEFT_DIRECT=adopt"});
        if (outcome.status == kStatusNeverRemapped)
            GTEST_SKIP() << "no memory is remapped on this machine";
        const bool fails = std::string_view(function) == "remapped_memory_at_failure";
        EXPECT_EQ(outcome.status, fails ? kStatusFailedAsExpected : 0) << function << '\n'
                                                                       << outcome.errors;
    }
}

}  // namespace
}  // namespace weft::test
