// SPDX-License-Identifier: BSD-3-Clause
// bad_arguments.cpp - a program of real ranks that makes calls which must be refused.
//
// Idea     Every refusal must have the right status and say what is wrong; after it the team must work
//          as before. Each group runs twice: all ranks make the bad calls, then only the last one does.
// Holds    Status 1 and lines on stderr if something was not as it should be.
#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/weft.hpp"

namespace weft::test {
namespace {

class Offender {
  public:
    explicit Offender(Runtime& runtime) : runtime_(runtime), world_(runtime.world()) {}

    int run() {
        for (const bool all : {true, false}) {
            const bool offends = all || world_.rank() == world_.size() - 1;
            if (offends) buffers();
            check_team("buffers");
            if (offends) shapes();
            check_team("shapes");
            if (offends) user_operations();
            check_team("user operations");
            if (offends) started_calls();
            check_team("started calls");
            if (offends) freed_teams();
            check_team("freed teams");
        }
        algorithms();
        heap();
        too_many_teams();
        return wrong_ == 0 ? 0 : 1;
    }

  private:
    template <class Call>
    void refused(const std::string& what, Status status,
                 std::initializer_list<std::string_view> words, Call call) {
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
                    complain(fmt::format("{}: \"{}\" does not say \"{}\"", what, text, word));
            }
        }
    }

    void complain(const std::string& text) {
        ++wrong_;
        fmt::print(stderr, "rank {}: {}\n", world_.rank(), text);
    }

    /// The team does what it should, in short, long and started calls.
    void check_team(const std::string& after) {
        const auto n = static_cast<double>(world_.size());
        std::vector<double> values(5000, 1.0);
        world_.allreduce(std::span<double>(values), Op::sum);
        Request request = world_.start(Call::barrier());
        const bool right =
            world_.allreduce(1.0, Op::sum) == n && values.front() == n && values.back() == n;
        request.wait();
        if (!right) complain("the team gives wrong results after refused " + after);
    }

    void buffers() {
        const Status argument = Status::argument;
        std::vector<double> a(16, 1.0);
        std::vector<double> b(16);
        refused("null input", argument, {"allreduce", "input", "null", "16"},
                [&] { world_.allreduce(nullptr, b.data(), 16, Type::float64, Op::sum); });
        refused("null output", argument, {"allreduce", "output", "null", "16"},
                [&] { world_.allreduce(a.data(), nullptr, 16, Type::float64, Op::sum); });
        refused("both null", argument, {"allreduce", "null"},
                [&] { world_.allreduce(nullptr, nullptr, 16, Type::float64, Op::sum); });
        refused("null buffer", argument, {"broadcast", "null"},
                [&] { world_.broadcast(nullptr, 3, Type::int8, 0); });
        refused("overlap above", argument, {"allreduce", "overlap"},
                [&] { world_.allreduce(a.data(), a.data() + 4, 8, Type::float64, Op::sum); });
        refused("overlap below", argument, {"allreduce", "overlap"},
                [&] { world_.allreduce(a.data() + 7, a.data(), 8, Type::float64, Op::sum); });
        refused("short output", argument, {"allreduce", "out"}, [&] {
            world_.allreduce<double>(std::span<const double>(a), std::span<double>(b).first(15),
                                     Op::sum);
        });
    }

    void shapes() {
        const Status argument = Status::argument;
        std::vector<double> a(16, 1.0);
        std::vector<double> b(16);
        const Rank n = world_.size();
        const std::string range = fmt::format("0..{}", n - 1);
        for (const Rank root : {n, -1, -7, std::numeric_limits<Rank>::max()})
            refused(fmt::format("root {}", root), argument,
                    {"broadcast", "root", std::to_string(root), range},
                    [&] { world_.broadcast(a.data(), 4, Type::float64, root); });
        refused("root without elements", argument, {"root", range},
                [&] { world_.broadcast(nullptr, 0, Type::float64, n); });
        for (const Op op : {Op::band, Op::bor, Op::bxor})
            refused("bitwise operation on double", argument, {"allreduce", "op", "double"},
                    [&] { world_.allreduce(a.data(), b.data(), 4, Type::float64, op); });
        refused("bitwise operation on float", argument, {"bxor", "float"},
                [&] { world_.allreduce(a.data(), b.data(), 4, Type::float32, Op::bxor); });
        refused("user operation without function", argument, {"allreduce", "op", "user"},
                [&] { world_.allreduce(a.data(), b.data(), 4, Type::float64, Op::user); });
        refused("user type without operation", argument, {"allreduce", "type", "user"},
                [&] { world_.allreduce(a.data(), b.data(), 4, Type::user, Op::sum); });
        refused("user type in a broadcast", argument, {"broadcast", "type", "user"},
                [&] { world_.broadcast(a.data(), 4, Type::user, 0); });
        refused("no such type", argument, {"allreduce", "type", "77"},
                [&] { world_.allreduce(a.data(), b.data(), 4, static_cast<Type>(77), Op::sum); });
        refused("no such operation", argument, {"allreduce", "op", "77"}, [&] {
            world_.allreduce(a.data(), b.data(), 4, Type::float64, static_cast<Op>(77));
        });
        for (const std::size_t count :
             {std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max() / 8,
              std::numeric_limits<std::size_t>::max() / 8 + 2}) {
            refused("count that overflows", argument, {"allreduce", "count"},
                    [&] { world_.allreduce(a.data(), b.data(), count, Type::float64, Op::sum); });
            refused("count that overflows in place", argument, {"allreduce", "count"},
                    [&] { world_.allreduce(a.data(), a.data(), count, Type::float64, Op::sum); });
        }
    }

    void user_operations() {
        const auto nothing = [](const void*, void*, std::size_t, void*) {};
        refused("null function", Status::argument, {"UserOp", "function", "null"},
                [] { const UserOp op(nullptr, nullptr, 8, true); });
        refused("elements of no bytes", Status::argument, {"UserOp", "element_bytes"},
                [&] { const UserOp op(nothing, nullptr, 0, true); });
        const UserOp op(nothing, nullptr, 8, true);
        std::vector<double> a(4, 1.0);
        refused("null output of a user operation", Status::argument, {"allreduce", "output"},
                [&] { world_.allreduce(a.data(), nullptr, 4, op); });
    }

    void started_calls() {
        std::vector<double> a(4, 1.0);
        refused("started with null", Status::argument, {"allreduce", "null"}, [&] {
            (void)world_.start(Call::allreduce(nullptr, a.data(), 4, Type::float64, Op::sum));
        });
        refused("started with a wrong root", Status::argument, {"broadcast", "root"}, [&] {
            (void)world_.start(Call::broadcast(a.data(), 4, Type::float64, world_.size()));
        });
        refused("started with a wrong operation", Status::argument, {"allreduce", "band"}, [&] {
            (void)world_.start(Call::allreduce(a.data(), a.data(), 4, Type::float64, Op::band));
        });
        Request empty;
        if (!empty.test()) complain("a request without a call is not complete");
        empty.wait();
    }

    void freed_teams() {
        refused("freeing the world", Status::argument, {"free", "world"}, [&] {
            Team world = runtime_.world();
            world.free();
        });
    }

    void algorithms() {
        refused("broken spec", Status::argument, {"character 4"},
                [&] { world_.set_algorithm("allreduce", "a2,"); });
        refused("unknown collective", Status::argument, {"no collective", "altogether"},
                [&] { world_.set_algorithm("altogether", "a2"); });
        check_team("specs");
        const std::string other = fmt::format("a{}", world_.size() + 1);
        for (const std::string& spec :
             {std::string("teleport"), other, std::string("a2,c2m2,a2,e2m2"),
              std::string("recursive-doubling:k=3")}) {
            world_.set_algorithm("allreduce", spec);
            refused("allreduce by " + spec, Status::argument, {"allreduce", spec, "character"},
                    [&] { (void)world_.allreduce(1.0, Op::sum); });
            refused("name of " + spec, Status::argument, {spec}, [&] {
                Request request =
                    world_.start(Call::allreduce(&spare_, &spare_, 1, Type::float64, Op::sum));
                request.wait();
            });
            world_.set_algorithm("allreduce", "");
            check_team("algorithms");
        }
        world_.set_algorithm("barrier", "dissemination:k=0");
        refused("barrier with k=0", Status::argument, {"barrier", "k"}, [&] { world_.barrier(); });
        world_.set_algorithm("barrier", "");
        check_team("barriers");
    }

    void heap() {
        refused("alignment that is no power of two", Status::argument, {"alignment", "3"},
                [&] { (void)runtime_.allocate(64, 3); });
        refused("more than the heap", Status::memory, {"WEFT_HEAP_SIZE"},
                [&] { (void)runtime_.allocate(std::size_t{1} << 40); });
        refused("memory of others", Status::argument, {"heap"}, [&] { runtime_.release(&spare_); });
        void* const memory = runtime_.allocate(64);
        runtime_.release(memory);
        refused("released twice", Status::argument, {"free"}, [&] { runtime_.release(memory); });
        check_team("allocations");
    }

    /// The world and 31 more fit; the next is refused on all ranks, and the others live on.
    void too_many_teams() {
        std::vector<Team> teams;
        for (int i = 0; i < 31; ++i) {
            std::optional<Team> team = world_.split(0, world_.rank());
            if (!team) return complain("split gave no team");
            teams.push_back(*team);
        }
        refused("one team too many", Status::memory, {"split", "32"},
                [&] { (void)world_.split(0, 0); });
        check_team("splits");
        for (Team& team : teams) {
            if (team.allreduce(1, Op::sum) != team.size()) complain("wrong result on a split team");
        }
        while (!teams.empty()) {
            teams.back().free();
            refused("a team that is gone", Status::argument, {"freed"},
                    [&] { teams.back().barrier(); });
            refused("a team freed twice", Status::argument, {"freed"},
                    [&] { teams.back().free(); });
            teams.pop_back();
        }
        std::optional<Team> again = world_.split(0, -world_.rank());
        if (again->rank() != world_.size() - 1 - world_.rank())
            complain("split after all are free");
        again->free();
        check_team("teams");
    }

    Runtime& runtime_;
    Team world_;
    double spare_ = 1;
    int wrong_ = 0;
};

}  // namespace
}  // namespace weft::test

int main() {
    try {
        weft::Runtime runtime;
        const int status = weft::test::Offender(runtime).run();
        runtime.finalize();
        return status;
    } catch (const weft::Error& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 3;
    }
}
