// SPDX-License-Identifier: BSD-3-Clause
// direct_abuse.cpp - local peers access the buffers of calls in place, while the program treats
// these buffers as private memory.
//
// Idea     Between or during calls, the cases fork, read from threads, unmap and map again, resize,
//          use MADV_DONTNEED, the stack and read-only memory. Results of calls and contents of
//          memory must be right.
// Why      weft may have replaced the pages of a buffer by shared pages (docs/direct-memory.md).
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "check.hpp"

namespace weft::test {
namespace {

using Words = std::span<std::uint64_t>;

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPageWords = kPage / sizeof(std::uint64_t);
constexpr std::size_t kBlockWords = 24 * kPageWords;  ///< words of most buffers: 96 KiB

/// Calls of one team, with values that make each result predictable.
class Caller {
  public:
    explicit Caller(Team team) : team_(team) {}

    [[nodiscard]] Team& team() { return team_; }
    [[nodiscard]] Rank rank() const { return team_.rank(); }
    [[nodiscard]] Rank size() const { return team_.size(); }

    /// Returns word `at` of a rank's buffer in this round.
    [[nodiscard]] std::uint64_t value(Rank rank, std::size_t at) const {
        return (static_cast<std::uint64_t>(rank) + 1) * 1'000'003 + at * 7 + round_;
    }
    void fill(Words words) {
        for (std::size_t i = 0; i < words.size(); ++i) words[i] = value(rank(), i);
    }
    /// Sums the data that fill() wrote on all ranks. `what` names the case in messages.
    void allreduce(Words in, Words out, std::string_view what) {
        team_.allreduce<std::uint64_t>(in, out, Op::sum);
        bool right = true;
        for (std::size_t i = 0; i < out.size() && right; ++i) {
            std::uint64_t expected = 0;
            for (Rank r = 0; r < size(); ++r) expected += value(r, i);
            right = out[i] == expected;
        }
        check(right, fmt::format("rank {}: {}: sums", rank(), what));
        ++round_;
    }
    /// Broadcasts from a root that changes with each call, and checks the data.
    void broadcast(Words words, std::string_view what) {
        const Rank root = static_cast<Rank>(round_ % static_cast<std::uint64_t>(size()));
        if (rank() == root) fill(words);
        team_.broadcast<std::uint64_t>(words, root);
        bool right = true;
        for (std::size_t i = 0; i < words.size() && right; ++i) right = words[i] == value(root, i);
        check(right, fmt::format("rank {}: {}: broadcast", rank(), what));
        ++round_;
    }
    /// Repeats a call, so that its buffers are remapped and peers access them in place.
    void repeat(Words in, Words out, std::string_view what, int times = 12) {
        for (int i = 0; i < times; ++i) {
            fill(in);
            allreduce(in, out, what);
        }
    }

  private:
    Team team_;
    std::uint64_t round_ = 0;  ///< number of calls; changes all values
};

/// Maps new private memory.
Words map_words(std::size_t words) {
    void* at = mmap(nullptr, words * sizeof(std::uint64_t), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) std::abort();
    return {static_cast<std::uint64_t*>(at), words};
}
void unmap(Words words) {
    munmap(words.data(), words.size_bytes());
}

/// Forks between calls with a buffer of `pages` pages. After each fork, parent and child write the
/// same buffer, and must not see each other's data.
void fork_between_calls(Caller& caller, std::size_t pages, int rounds) {
    std::vector<std::uint64_t> in(pages * kPageWords), out(in.size());
    caller.repeat(in, out, "before a fork", rounds > 1 ? 12 : 2);
    for (int round = 0; round < rounds; ++round) {
        caller.fill(in);
        const std::vector<std::uint64_t> before = in;
        const pid_t child = fork();
        const std::uint64_t mark = child == 0 ? 111 : 222;
        for (std::size_t page = 0; page < in.size() / kPageWords; ++page)
            in[page * kPageWords + 17] = mark;
        bool right = true;
        for (std::size_t i = 0; i < in.size(); ++i)
            right = right && in[i] == (i % kPageWords == 17 ? mark : before[i]);
        if (child == 0) _exit(right ? 0 : 1);
        int status = 0;
        check(waitpid(child, &status, 0) == child && status == 0, "the child's memory is its own");
        for (std::size_t i = 17; i < in.size(); i += kPageWords) right = right && in[i] == mark;
        check(right, "the parent's memory is its own");
        if (round + 1 < rounds) caller.repeat(in, out, "after a fork");
    }
}

/// Another thread forks during calls, and the child overwrites the buffers of these calls.
void fork_during_calls(Caller& caller) {
    std::vector<std::uint64_t> in(kBlockWords), out(in.size());
    std::atomic<bool> stop = false;
    int forks = 0;
    std::thread other([&] {
        std::minstd_rand random(static_cast<unsigned>(caller.rank()) + 1);
        for (; !stop && forks < 40; ++forks) {
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
            const pid_t child = fork();
            if (child == 0) {
                for (std::uint64_t& word : in) word = 0xbad;
                for (std::uint64_t& word : out) word = 0xbad;
                _exit(0);
            }
            int status = 0;
            check(waitpid(child, &status, 0) == child && status == 0,
                  "a child forked by another thread ends with status 0");
        }
    });
    for (int i = 0; i < 20; ++i) {
        caller.repeat(in, out, "while a thread forks");
        caller.broadcast(out, "while a thread forks");
    }
    stop = true;
    other.join();
    check(forks > 0, "the other thread has forked");
}

/// Other threads may read a buffer that a call only reads.
void read_from_threads(Caller& caller) {
    std::vector<std::uint64_t> in(kBlockWords), out(kBlockWords);
    caller.fill(in);
    const std::vector<std::uint64_t> before = in;
    std::atomic<bool> stop = false;
    std::atomic<bool> input_changed = false;
    std::thread reader([&] {
        while (!stop) {
            for (std::size_t i = 0; i < in.size(); i += 61)
                if (in[i] != before[i]) input_changed = true;
            std::this_thread::yield();
        }
    });
    for (int i = 0; i < 40; ++i) {
        Caller same = caller;  // a copy: the values in `in` stay those of the round
        same.allreduce(in, out, "while a thread reads");
    }
    stop = true;
    reader.join();
    check(!input_changed, "a thread that reads the input sees no other data");
}

/// Unmaps a buffer and maps new memory at its address.
void map_again(Caller& caller) {
    for (int round = 0; round < 6; ++round) {
        Words in = map_words(kBlockWords);
        std::vector<std::uint64_t> out(in.size());
        caller.repeat(in, out, "before unmapping");
        std::uint64_t* const at = in.data();
        unmap(in);
        void* again = mmap(at, in.size_bytes(), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        check(again == at, "the same address can be mapped again");
        check(in[5] == 0 && in[in.size() - 1] == 0, "new memory is zero");
        caller.fill(in);
        caller.allreduce(in, out, "mapped again");
        unmap(in);
    }
}

/// Enlarges a buffer by realloc(), which may move it.
void resize(Caller& caller) {
    std::size_t words = kBlockWords * 2;
    auto* memory = static_cast<std::uint64_t*>(std::malloc(words * sizeof(std::uint64_t)));
    std::vector<std::uint64_t> out(words * 8);
    for (int round = 0; round < 4; ++round) {
        caller.repeat({memory, words}, Words(out).first(words), "before realloc");
        caller.fill({memory, words});
        const std::vector<std::uint64_t> before(memory, memory + words);
        const std::size_t larger = words + words / 2;
        memory = static_cast<std::uint64_t*>(std::realloc(memory, larger * sizeof(std::uint64_t)));
        check(std::equal(before.begin(), before.end(), memory), "realloc keeps the data");
        words = larger;
        caller.fill({memory, words});
        caller.allreduce({memory, words}, Words(out).first(words), "after realloc");
    }
    std::free(memory);
}

/// Checks that a buffer reads as zeros after MADV_DONTNEED.
void discard_pages(Caller& caller) {
    Words in = map_words(kBlockWords);
    std::vector<std::uint64_t> out(in.size());
    for (int round = 0; round < 3; ++round) {
        caller.repeat(in, out, "before MADV_DONTNEED");
        check(madvise(in.data(), in.size_bytes(), MADV_DONTNEED) == 0, "madvise");
        check(std::ranges::all_of(in, [](std::uint64_t word) { return word == 0; }),
              "discarded pages are zero");
        caller.fill(in);
        caller.allreduce(in, out, "after MADV_DONTNEED");
    }
    unmap(in);
}

/// Uses buffers on the stack and static buffers, also in place.
void stack_and_statics(Caller& caller) {
    static std::uint64_t fixed[kBlockWords];
    std::uint64_t local[kBlockWords];
    for (int round = 0; round < 3; ++round) {
        caller.repeat(fixed, local, "static in, stack out");
        caller.repeat(local, fixed, "stack in, static out");
        caller.repeat(local, local, "in place on the stack");
    }
}

/// Makes a buffer read-only, and writable again.
void read_only(Caller& caller) {
    Words in = map_words(kBlockWords);
    std::vector<std::uint64_t> out(in.size());
    for (int round = 0; round < 2; ++round) {
        check(mprotect(in.data(), in.size_bytes(), PROT_READ | PROT_WRITE) == 0, "mprotect");
        caller.fill(in);
        check(mprotect(in.data(), in.size_bytes(), PROT_READ) == 0, "mprotect");
        for (int i = 0; i < 12; ++i) {
            Caller same = caller;  // a copy: the values in `in` stay those of the round
            same.allreduce(in, out, "of a read-only buffer");
        }
        if (round == 0) {
            check(mprotect(in.data(), in.size_bytes(), PROT_READ | PROT_WRITE) == 0, "mprotect");
            caller.repeat(in, out, "of a buffer that is writable again");
        }
    }
    unmap(in);
}

/// Uses buffers that start and end within pages; bytes before and after a buffer must not change.
void edges(Caller& caller) {
    constexpr std::size_t kMargin = kPageWords;
    std::vector<std::uint64_t> in(kBlockWords + 3 * kPageWords), out(in.size());
    for (std::size_t offset = 0; offset < kPageWords; offset += 37) {
        std::ranges::fill(in, 0xabcd);
        std::ranges::fill(out, 0xef01);
        const std::size_t words = kBlockWords - offset * 3;
        const Words from = Words(in).subspan(kMargin + offset, words);
        const Words to = Words(out).subspan(kMargin + (offset * 5) % kPageWords, words);
        for (int i = 0; i < 3; ++i) {
            caller.fill(from);
            caller.allreduce(from, to, "at any offset");
            caller.broadcast(to, "at any offset");
        }
        const auto untouched = [](Words all, Words inner, std::uint64_t mark) {
            const auto before = static_cast<std::size_t>(inner.data() - all.data());
            const auto is_mark = [&](std::uint64_t word) { return word == mark; };
            return std::ranges::all_of(all.first(before), is_mark) &&
                   std::ranges::all_of(all.subspan(before + inner.size()), is_mark);
        };
        check(untouched(in, from, 0xabcd) && untouched(out, to, 0xef01),
              "bytes around a buffer are unchanged");
    }
}

/// Broadcasts from each offset within the first page of one buffer.
void every_offset(Caller& caller) {
    constexpr std::size_t kBytes = 7 * kPage;
    std::vector<std::uint8_t> buffer(kBytes);
    const auto value = [](std::size_t at, std::size_t offset) {
        return static_cast<std::uint8_t>(at * 3 + offset + at / 256);
    };
    for (std::size_t offset = 0; offset < kPage; ++offset) {
        const std::span part = std::span(buffer).subspan(offset, kBytes - kPage - offset % 5);
        const Rank root = static_cast<Rank>(offset) % caller.size();
        std::ranges::fill(buffer, std::uint8_t{0xee});
        if (caller.rank() == root)
            for (std::size_t i = 0; i < part.size(); ++i) part[i] = value(i, offset);
        caller.team().broadcast<std::uint8_t>(part, root);
        bool right = true;
        for (std::size_t i = 0; i < part.size() && right; ++i) right = part[i] == value(i, offset);
        for (std::size_t i = 0; i < offset && right; ++i) right = buffer[i] == 0xee;
        for (std::size_t i = offset + part.size(); i < kBytes && right; ++i)
            right = buffer[i] == 0xee;
        check(right, fmt::format("bytes from offset {} on", offset));
    }
}

/// Uses many remapped buffers at once.
void many_buffers(Caller& caller) {
    std::vector<std::vector<std::uint64_t>> buffers(300, std::vector<std::uint64_t>(kBlockWords));
    std::vector<std::uint64_t> out(kBlockWords);
    for (int round = 0; round < 3; ++round) {
        for (auto& buffer : buffers) {
            caller.fill(buffer);
            caller.allreduce(buffer, out, "one buffer of 300");
        }
    }
}

int run() {
    Runtime runtime;
    Caller caller(runtime.world());
    stack_and_statics(caller);
    edges(caller);
    every_offset(caller);
    fork_between_calls(caller, 960, 4);     // 3.75 MiB
    fork_between_calls(caller, 10'000, 1);  // 39 MiB
    fork_during_calls(caller);
    read_from_threads(caller);
    map_again(caller);
    resize(caller);
    discard_pages(caller);
    read_only(caller);
    many_buffers(caller);
    std::vector<std::uint64_t> kept(kBlockWords), out(kBlockWords);
    caller.repeat(kept, out, "before the end");
    runtime.finalize();
    const std::vector<std::uint64_t> copy = kept;
    for (std::uint64_t& word : kept) ++word;
    for (std::size_t i = 0; i < kept.size(); ++i)
        check(kept[i] == copy[i] + 1, "buffers are usable after finalize()");
    if (caller.rank() == 0 && wrong == 0)
        fmt::print("{} ranks: buffers behave as private memory\n", caller.size());
    return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace weft::test

int main() {
    return weft::test::run();
}
