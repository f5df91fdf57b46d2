// SPDX-License-Identifier: BSD-3-Clause
// Bugs: only the first get() of a future reported the failure of its call. Later calls, copies and
// functions of then() used a result that had not arrived, and a function that threw ran again at
// each get(). Method: the last rank dies before its part of an allreduce. Without the fix, the
// second get() returns.
#include <csignal>
#include <stdexcept>

#include "weft/weft.hpp"

namespace weft::test {
namespace {

/// Returns true if the call throws, because of the rank that died.
template <class Action>
bool fails(Action action) {
    try {
        action();
    } catch (const Error& error) {
        return error.status() == Status::peer &&
               std::string_view(error.what()).find("has died") != std::string_view::npos;
    }
    return false;
}

/// Returns the number of the check that fails, or 0.
int check_functions_that_throw() {
    int runs = 0;
    auto thrown = Future<void>().then([&]() -> int {
        ++runs;
        throw std::runtime_error("planted failure");
    });
    auto later = when_all(thrown, Future<void>());
    for (int i = 0; i < 3; ++i) {
        try {
            if (i == 1)
                later.get();
            else
                static_cast<void>(thrown.get());
            return 1;
        } catch (const std::runtime_error&) {
            if (runs != 1) return 2;
        }
    }
    return 0;
}

int run() {
    if (const int wrong = check_functions_that_throw(); wrong != 0) return wrong;
    Runtime runtime;
    Team world = runtime.world();
    const Rank last = world.size() - 1;
    auto* const started = static_cast<std::uint64_t*>(world.allocate_zeroed(sizeof(std::uint64_t)));
    world.barrier();
    if (world.rank() == last) {
        world.wait_until(started, Compare::eq, static_cast<std::uint64_t>(last));
        return ::raise(SIGKILL);
    }
    long value = 1;
    long sum = -7;
    const Call call = Call::allreduce(&value, &sum, 1, Type::int64, Op::sum);
    Future<void> first = future_of(world.start(call));
    Request other = world.start(call);
    world.add(started, std::uint64_t{1}, last);
    Future<void> copy = first;
    int runs = 0;
    auto next = first.then([&] { return ++runs; });
    auto all = when_all(next, copy);
    for (int i = 0; i < 2; ++i) {
        if (!fails([&] { first.get(); })) return 3;
        if (!fails([&] { copy.get(); }) || !fails([&] { (void)copy.ready(); })) return 4;
        if (!fails([&] { (void)next.get(); }) || !fails([&] { (void)next.ready(); })) return 5;
        if (!fails([&] { all.get(); }) || !fails([&] { (void)all.ready(); })) return 6;
    }
    if (runs != 0 || sum != -7) return 7;
    if (!fails([&] { (void)other.test(); }) || !other.test()) return 8;  // then it is empty
    static_cast<void>(world.agree(1));
    runtime.finalize();
    return 0;
}

}  // namespace
}  // namespace weft::test

int main() {
    return weft::test::run();
}
