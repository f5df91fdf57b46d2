// SPDX-License-Identifier: BSD-3-Clause
// symmetric.cpp - typed symmetric arrays, global pointers, futures of puts and gets, buffers of
// elements, strided teams: all work as documented and refuse invalid arguments.
#include "weft/symmetric.hpp"

#include <array>
#include <numeric>

#include "check.hpp"
#include "weft/rpc.hpp"

namespace {

using weft::test::check;
using weft::test::refused;

struct Slot {
    std::uint64_t key;
    double weight;
    std::int32_t small[3];
};

/// The team of all ranks, this rank, and the ranks next to it.
struct Ring {
    weft::Team world;
    weft::Rank rank = world.rank();
    weft::Rank size = world.size();
    weft::Rank next = (rank + 1) % size;
    weft::Rank previous = (rank + size - 1) % size;

    void complete() {
        world.quiet();
        world.barrier();
    }
};

void arrays(Ring& ring) {
    weft::Symmetric<long> numbers(ring.world, 100);
    check(std::accumulate(numbers.begin(), numbers.end(), 0L) == 0, "an array begins with zeros");
    ring.world.barrier();
    numbers.peer(ring.next)[3] = 10 * ring.rank + 3;
    *(numbers.peer(ring.next).data() + 4) = 10 * ring.rank + 4;
    ring.complete();
    check(numbers[3] == 10 * ring.previous + 3 && numbers[4] == 10 * ring.previous + 4, "puts");
    const long seen = numbers.peer(ring.next)[3];
    check(seen == 10 * ring.rank + 3, "a get");
    weft::GlobalPtr<long> at = &numbers.peer(ring.next)[3];
    ++at;
    check(*at == 10 * ring.rank + 4 && at[-1] == seen && at.rank() == ring.next, "a pointer");
    check(at - 1 == &numbers.peer(ring.next)[3] && !(at == at + 1) && !weft::GlobalPtr<long>(),
          "pointers are equal if rank and element are");
    check(at.symmetric() == numbers.data() + 4, "symmetric()");
    if (long* const here = at.local()) check(*here == 10 * ring.rank + 4, "local()");
    numbers.peer(ring.rank)[5] = numbers.peer(ring.next)[3];
    check(numbers[5] == seen, "an element is assigned to another");
    ring.complete();
    numbers.free();
    check(numbers.size() == 0 && numbers.begin() == numbers.end(), "a freed array is empty");
}

void spans(Ring& ring) {
    weft::Symmetric<int> numbers(ring.world, 50);
    std::vector<int> values(20);
    std::iota(values.begin(), values.end(), 100 * ring.rank);
    const auto there = numbers.peer(ring.next);
    there.put(values);
    there.subspan(20, 10).put(std::span(values).first(10));
    const std::array few{1, 2, 3};
    there.last(10).put_nbi(few);
    ring.complete();
    check(numbers[19] == 100 * ring.previous + 19 && numbers[29] == 100 * ring.previous + 9,
          "spans");
    check(numbers[42] == 3 && numbers[43] == 0, "last()");
    check(there.get()[19] == values[19] && there.size() == 50, "get()");
    std::array<int, 5> five{};
    there.subspan(2, 5).get(five);
    check(five[4] == values[6], "get() of an array");
    weft::Symmetric<std::uint64_t> signals(ring.world, 2);
    there.put_signal(values, signals.peer(ring.next)[0], 9);
    there.first(1).put_signal(values = {7}, signals.peer(ring.next)[1], 2, weft::SignalOp::add);
    ring.world.wait_until(&signals[0], weft::Compare::eq, 9);
    ring.world.wait_until(&signals[1], weft::Compare::eq, 2);
    check(numbers[0] == 7 && numbers[1] == 100 * ring.previous + 1, "put_signal()");
    if (const std::span<int> here = there.local(); !here.empty())
        check(here[0] == 7 && here.size() == 50, "local()");
    ring.complete();
}

void words(Ring& ring) {
    weft::Symmetric<Slot> slots(ring.world, 8);
    const auto slot = slots.peer(ring.next)[2];
    check(slot.field(&Slot::key).compare_swap(0, 5) == 0, "compare_swap()");
    check(slot.field(&Slot::key).fetch_add(3) == 5 && slot.field(&Slot::key).fetch() == 8, "add");
    check(slot.field(&Slot::key).fetch_or(16) == 8 && slot.field(&Slot::key).fetch_and(17) == 24 &&
              slot.field(&Slot::key).fetch_xor(1) == 16 && slot.field(&Slot::key).swap(4) == 17,
          "bits and swap()");
    slot.field(&Slot::weight).set(1.5);
    ring.world.quiet();
    check(slot.field(&Slot::weight).fetch_add(0.25) == 1.5, "fetch_add() of a double");
    slot.field(&Slot::weight).add(0.25);
    ring.complete();
    check(slots[2].key == 4 && slots[2].weight == 2.0, "fields");
    check(Slot(slots.peer(ring.next)[2]).key == 4, "a get of a structure");
    weft::Symmetric<float> sums(ring.world, 1);
    for (int i = 0; i < 100; ++i) sums.peer(0)[0].add(0.5F);
    ring.complete();
    check(sums.peer(0)[0] == 50.0F * static_cast<float>(ring.size), "sums of all ranks");
    ring.world.barrier();
    ring.world.fetch_add(&sums[0], 1.0F, ring.rank);
    check(sums[0] >= 1.0F, "fetch_add() of the team");
    ring.complete();
}

int half(int value) {
    return value / 2;
}

void futures(Ring& ring, weft::Runtime& runtime) {
    weft::Symmetric<int> numbers(ring.world, 1 << 16);
    weft::Rpc rpc(runtime);
    std::vector<int> values(1 << 16);
    std::iota(values.begin(), values.end(), ring.rank);
    const auto there = numbers.peer(ring.next);
    int order = 0;
    auto first = there.iput(values).then([&] { return ++order; });
    auto second = first.then([&](int number) { return 10 * number + ++order; });
    check(second.get() == 12 && first.get() == 1 && order == 2, "then() runs once, in order");
    ring.world.barrier();  // without a quiet: the future was ready
    check(numbers[777] == ring.previous + 777 && numbers[65535] == ring.previous + 65535, "iput()");

    // A get, then a call with its result, then a put that depends on both.
    std::vector<int> three{1, 2, 3};
    auto chain = there[4].iget().then([&](int value) { return rpc.call<half>(ring.next, value); });
    auto last = chain.then([&](int value) { return there.first(3).iput(three = {value, 0, 9}); });
    std::vector<int> copies(10);
    const auto got = numbers.peer(ring.rank).last(10).iget(copies);
    std::vector<weft::Future<int>> elements;
    for (std::size_t i = 100; i < 120; ++i) elements.push_back(there[i].iget());
    weft::Future<void> all = weft::when_all(last, got, weft::when_all(elements));
    while (!all.ready()) continue;
    all.get();
    check(chain.get() == (ring.rank + 4) / 2 && elements[19].get() == ring.rank + 119,
          "when_all()");
    check(copies[9] == ring.previous + 65535, "iget() of a buffer");
    ring.world.barrier();
    check(numbers[0] == (ring.previous + 4) / 2 && numbers[2] == 9, "the last put of the chain");

    double total = 1;
    auto reduced = weft::future_of(ring.world.start(
        weft::Call::allreduce(&total, &total, 1, weft::Type::float64, weft::Op::sum)));
    reduced.then([&] { check(total == ring.size, "a future of a collective"); }).get();
    { const auto dropped = there[5].iget(); }
    check(weft::Future<void>().ready(), "an empty future is ready");
    const auto whole = [&]() -> const std::vector<int>& { return three; };
    auto size = weft::Future<void>().then(whole).then(&std::vector<int>::size);
    check(size.get() == 3, "then() copies a reference, and calls a member function");
    ring.complete();
}

void buffers(Ring& ring) {
    std::vector<long> values(3, ring.rank + 1), sums(3);
    const long all = static_cast<long>(ring.size) * (ring.size + 1) / 2;
    ring.world.allreduce(values, sums, weft::Op::sum);
    check(sums[2] == all && values[0] == ring.rank + 1, "allreduce() of vectors");
    ring.world.reduce(values, sums, weft::Op::max, 0);
    if (ring.rank == 0) check(sums[1] == ring.size, "reduce() of vectors");
    ring.world.allreduce(values, weft::Op::sum);
    check(values[1] == all, "allreduce() in place");
    std::array<double, 2> pair{1.0 * ring.rank, 5};
    ring.world.broadcast(pair, ring.size - 1);
    check(pair[0] == ring.size - 1, "broadcast() of an array");
    const std::vector<int> ranks = ring.world.allgather(ring.rank);
    std::vector<int> doubled(2 * ranks.size());
    ring.world.allgather(std::array{ring.rank, -1}, doubled);
    for (weft::Rank rank = 0; rank < ring.size; ++rank)
        check(ranks[rank] == rank && doubled[2 * rank] == rank && doubled[2 * rank + 1] == -1,
              "allgather()");
    auto* const memory = static_cast<long*>(ring.world.allocate_zeroed(24));
    check(memory[0] == 0 && memory[2] == 0, "allocate_zeroed()");
    ring.world.barrier();
    std::vector<long> got(3);
    ring.world.put(memory, values, ring.next);
    ring.complete();
    ring.world.get(got, memory, ring.rank);
    check(got == values, "put() and get() of vectors");
    const std::size_t counts[] = {2, 2};
    const std::ptrdiff_t to[] = {8, 16}, from[] = {16, 8};
    auto* const square = static_cast<long*>(ring.world.allocate(32));
    const long source[4] = {1, 2, 3, 4};
    long back[4] = {};
    ring.world.put_grid(square, source, {8, counts, to, from}, ring.next);
    ring.complete();
    check(square[1] == 3 && square[2] == 2, "put_grid()");
    ring.world.get_grid(back, square, {8, counts, from, to}, ring.next);
    check(back[1] == 2 && back[2] == 3, "get_grid()");
    ring.world.release(square);
    ring.world.release(memory);
    ring.world.release(nullptr);
}

void teams(Ring& ring) {
    auto reversed = ring.world.split_strided(ring.size - 1, -1, ring.size);
    check(reversed && reversed->rank() == ring.size - 1 - ring.rank, "a stride of -1");
    check(ring.world.translate(0, *reversed) == ring.size - 1, "translate()");
    auto even = ring.world.split_strided(0, 2, (ring.size + 1) / 2);
    check(even.has_value() == (ring.rank % 2 == 0), "a stride of 2");
    check(!even || (even->translate(0, ring.world) == 0 && ring.world.translate(0, *even) == 0),
          "a member of both teams");
    if (even && ring.size > 1) check(ring.world.translate(1, *even) == -1, "not a member");
    auto [row, column] = ring.world.split_2d(2);
    check(row.rank() == ring.rank % 2 && column.rank() == ring.rank / 2, "rows and columns");
    weft::Symmetric<int> mine(row, 1);
    mine.peer(0)[0].add(1);
    row.quiet();
    row.barrier();
    if (row.rank() == 0) check(mine[0] == row.size(), "an array of a team");
}

void refusals(Ring& ring) {
    using weft::Status;
    weft::Symmetric<int> numbers(ring.world, 4);
    refused("peer", Status::argument, "expected 0..", [&] { (void)numbers.peer(ring.size); });
    refused("peer", Status::argument, "peer: -1", [&] { (void)numbers.peer(-1); });
    refused("subspan", Status::argument, "2 elements from 3, but the span has 4",
            [&] { (void)numbers.peer(0).subspan(3, 2); });
    refused("put", Status::argument, "put: 5 elements, but the span has 4",
            [&] { numbers.peer(0).put(std::vector<int>(5)); });
    refused("allreduce", Status::argument, "out is shorter than in: 1 elements, expected 2", [&] {
        std::vector<int> in(2), out(1);
        ring.world.allreduce(in, out, weft::Op::sum);
    });
    refused("an array", Status::memory, "exceed the address space",
            [&] { weft::Symmetric<long> huge(ring.world, ~std::size_t{0} / 4); });
    refused("split_2d", Status::argument, "columns is 0", [&] { (void)ring.world.split_2d(0); });
    refused("split_strided", Status::argument, "stride is 0",
            [&] { (void)ring.world.split_strided(0, 0, 2); });
    refused("put_grid", Status::argument, "0 counts",
            [&] { ring.world.put_grid(numbers.data(), numbers.data(), {}, 0); });
    weft::Symmetric<std::uint64_t> signal(ring.world, 1);
    if (ring.size > 1)
        refused("put_signal", Status::argument, "the signal is on rank 1, expected rank 0",
                [&] { numbers.peer(0).put_signal(std::vector{1}, signal.peer(1)[0], 1); });
}

}  // namespace

int main() {
    weft::Runtime runtime;
    Ring ring{runtime.world()};
    arrays(ring);
    spans(ring);
    words(ring);
    futures(ring, runtime);
    buffers(ring);
    teams(ring);
    refusals(ring);
    const int wrong = ring.world.allreduce(weft::test::wrong, weft::Op::sum);
    if (ring.rank == 0 && wrong == 0) std::printf("%d ranks: all arrays are right\n", ring.size);
    runtime.finalize();
    return wrong == 0 ? 0 : 1;
}
