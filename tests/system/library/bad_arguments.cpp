// SPDX-License-Identifier: BSD-3-Clause
// bad_arguments.cpp - invalid calls of the C++ interface must be refused.
//
// Idea     Blocking, started and prepared calls, calls with spans, user operations and named
//          algorithms must throw an error with the right status and message. After each group of
//          calls, the team must work as before. Groups that a rank refuses without other ranks run
//          twice: all ranks make the invalid calls, then only the last rank does.
// Next     refusals.c tests the C interface.
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/weft.hpp"

namespace weft::test {
namespace {

class BadCalls {
  public:
    explicit BadCalls(Runtime& runtime) : runtime_(runtime), world_(runtime.world()) {}

    int run() {
        for (const bool all : {true, false}) {
            const bool makes_bad_calls = all || world_.rank() == world_.size() - 1;
            if (makes_bad_calls) calls();
            check_team("calls");
            if (makes_bad_calls) user_operations();
            check_team("user operations");
            if (makes_bad_calls) started_calls();
            check_team("started calls");
            if (makes_bad_calls) freed_teams();
            check_team("freed teams");
        }
        algorithms();
        heap();
        registered();
        return wrong_ == 0 ? 0 : 1;
    }

  private:
    /// Uses registered memory as spans and elements, with valid and invalid calls of all ranks.
    void registered() {
        std::vector<std::uint64_t> mine(10 + static_cast<std::size_t>(world_.rank()));
        std::uint64_t* const name = world_.register_memory(std::span(mine));
        const Rank next = (world_.rank() + 1) % world_.size();
        const std::size_t words = 10 + static_cast<std::size_t>(next);
        const auto value = static_cast<std::uint64_t>(next);
        world_.p(name + words - 1, value + 1, next);
        world_.fetch_add(name, value, next);
        if (world_.g(name, next) != value) complain("registered: fetch_add() of a word");
        if (world_.registered_bytes(name, next) != words * sizeof value)
            complain("registered: registered_bytes()");
        refused("a put beyond registered memory", {"are not in the"},
                [&] { world_.p(name + words, value, next); });
        world_.quiet();
        world_.barrier();
        if (mine.back() != static_cast<std::uint64_t>(world_.rank()) + 1)
            complain("registered: p() of the last word");
        refused("unregistering by the memory's address", {"not the name"},
                [&] { world_.unregister_memory(mine.data()); });
        world_.unregister_memory(name);
        refused("a put to unregistered memory", {"not registered any more"},
                [&] { world_.p(name, value, next); });
        const bool last = world_.rank() == world_.size() - 1;
        refused("a null pointer of one rank", {"NULL", "rank"}, [&] {
            static_cast<void>(world_.register_memory(last ? nullptr : mine.data(), 8));
        });
    }

    /// Checks that a call throws an error with this status and a message with these words.
    template <class Action>
    void refused(const std::string& what, const std::vector<std::string_view>& words, Action call,
                 Status status = Status::argument) {
        try {
            call();
            complain(what + ": was not refused");
        } catch (const Error& error) {
            const std::string text = error.what();
            if (error.status() != status)
                complain(fmt::format("{}: status {}, expected {} ({})", what,
                                     static_cast<int>(error.status()), static_cast<int>(status),
                                     text));
            for (const std::string_view word : words) {
                if (text.find(word) == std::string::npos)
                    complain(fmt::format("{}: \"{}\" does not contain \"{}\"", what, text, word));
            }
        }
    }

    void complain(const std::string& text) {
        ++wrong_;
        fmt::print(stderr, "rank {}: {}\n", world_.rank(), text);
    }

    /// Checks that the team gives right results in short, long and started calls.
    void check_team(const std::string& group) {
        const auto n = static_cast<double>(world_.size());
        std::vector<double> values(5000, 1.0);
        world_.allreduce(std::span<double>(values), Op::sum);
        Request request = world_.start(Call::barrier());
        const bool right =
            world_.allreduce(1.0, Op::sum) == n && values.front() == n && values.back() == n;
        request.wait();
        if (!right) complain("the team gives wrong results after invalid " + group);
    }

    /// A call, and the words that its refusal must contain.
    struct BadCall {
        Call call;
        std::vector<std::string_view> words;
    };
    /// Checks that run(), start() and prepare() refuse each call.
    void refused_calls(const std::vector<BadCall>& bad) {
        for (const auto& [call, words] : bad) {
            const std::string what = fmt::format("\"{}\"", fmt::join(words, " "));
            refused(what, words, [&] { world_.run(call); });
            refused("started " + what, words, [&] { (void)world_.start(call); });
            refused("prepared " + what, words, [&] { (void)world_.prepare(call); });
        }
    }

    void calls() {
        std::vector<double> values(16, 1.0);
        std::vector<double> results(16);
        double* const a = values.data();
        double* const b = results.data();
        const auto reduce = [&](Type type, Op op) { return Call::allreduce(a, b, 4, type, op); };
        const Rank n = world_.size();
        refused_calls(
            {{Call::allreduce(nullptr, b, 16, Type::float64, Op::sum),
              {"allreduce", "input", "null", "16"}},
             {Call::allreduce(a, a + 4, 8, Type::float64, Op::sum), {"allreduce", "overlap"}},
             {Call::broadcast(nullptr, 0, Type::float64, n), {"root", fmt::format("0..{}", n - 1)}},
             {reduce(Type::float64, Op::band), {"allreduce", "op", "double", "band"}},
             {reduce(Type::float64, Op::user), {"allreduce", "op", "user"}},
             {reduce(Type::user, Op::sum), {"allreduce", "type", "user"}},
             {Call::broadcast(a, 4, Type::user, 0), {"broadcast", "type", "user"}}});
        refused("allreduce without memory", {"allreduce", "null"},
                [&] { world_.allreduce(nullptr, b, 16, Type::float64, Op::sum); });
        refused("broadcast without memory", {"broadcast", "null"},
                [&] { world_.broadcast(nullptr, 3, Type::int8, 0); });
        refused("short output", {"allreduce", "out"}, [&] {
            world_.allreduce<double>(std::span<const double>(values),
                                     std::span<double>(results).first(15), Op::sum);
        });
    }

    void user_operations() {
        const auto nothing = [](const void*, void*, std::size_t, void*) {};
        refused("null function", {"UserOp", "function", "null"},
                [] { const UserOp op(nullptr, nullptr, 8, true); });
        refused("elements of no bytes", {"UserOp", "element_bytes"},
                [&] { const UserOp op(nothing, nullptr, 0, true); });
        const UserOp op(nothing, nullptr, 8, true);
        std::vector<double> a(4, 1.0);
        refused("null output of a user operation", {"allreduce", "output"},
                [&] { world_.allreduce(a.data(), nullptr, 4, op); });
    }

    void started_calls() {
        Request empty;
        if (!empty.test()) complain("a request without a call is not complete");
        empty.wait();
    }

    void freed_teams() {
        refused("freeing the world", {"free", "world"}, [&] {
            Team world = runtime_.world();
            world.free();
        });
    }

    /// All ranks set algorithms; invalid ones are refused at once or by the next call.
    void algorithms() {
        refused("broken spec", {"character 4"}, [&] { world_.set_algorithm("allreduce", "a2,"); });
        refused("unknown collective", {"no collective", "altogether"},
                [&] { world_.set_algorithm("altogether", "a2"); });
        refused("unknown algorithm", {"allreduce", "teleport", "it has"},
                [&] { world_.set_algorithm("allreduce", "teleport"); });
        refused("mistyped algorithm", {"did you mean 'ring'"},
                [&] { world_.set_algorithm("allreduce", "rign"); });
        refused("unknown parameter", {"recursive-doubling", "no parameter 'k'"},
                [&] { world_.set_algorithm("allreduce", "recursive-doubling:k=3"); });
        refused("algorithm of equal blocks", {"gatherv", "only 'direct'"},
                [&] { world_.set_algorithm("gatherv", "binomial"); });
        world_.set_algorithm("gatherv", "direct");
        world_.set_algorithm("gatherv", "");
        check_team("specs");
        const std::string other = fmt::format("a{}", world_.size() + 1);
        // Algorithms for another number of ranks.
        for (const std::string& spec : {other, std::string("a2,c2m2,a2,e2m2")}) {
            world_.set_algorithm("allreduce", spec);
            refused("allreduce by " + spec, {"allreduce", spec, "character"},
                    [&] { (void)world_.allreduce(1.0, Op::sum); });
            refused("started allreduce by " + spec, {spec}, [&] {
                Request request =
                    world_.start(Call::allreduce(&spare_, &spare_, 1, Type::float64, Op::sum));
                request.wait();
            });
            world_.set_algorithm("allreduce", "");
            check_team("algorithms");
        }
        world_.set_algorithm("barrier", "dissemination:k=0");
        refused("barrier with k=0", {"barrier", "k"}, [&] { world_.barrier(); });
        world_.set_algorithm("barrier", "");
        check_team("barriers");
    }

    void heap() {
        refused("alignment that is no power of two", {"alignment", "3"},
                [&] { (void)runtime_.allocate(64, 3); });
        refused(
            "more than the heap", {"WEFT_HEAP_SIZE"},
            [&] { (void)runtime_.allocate(std::size_t{1} << 40); }, Status::memory);
        refused("memory outside of the heap", {"heap"}, [&] { runtime_.release(&spare_); });
        check_team("allocations");
    }

    Runtime& runtime_;
    Team world_;
    double spare_ = 1;  ///< buffer outside the heap
    int wrong_ = 0;
};

}  // namespace
}  // namespace weft::test

int main() {
    try {
        weft::Runtime runtime;
        const int status = weft::test::BadCalls(runtime).run();
        runtime.finalize();
        return status;
    } catch (const weft::Error& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 3;
    }
}
