// SPDX-License-Identifier: BSD-3-Clause
// calls_in_children.cpp - each rank forks a child, which calls each entry point of an interface.
//
// The child checks that each call is refused with a message that names the fork. Then the rank
// checks that its symmetric memory is unchanged and that its next calls have right results.
//
// usage: weft_calls_in_children fork|_Fork|clone|old_kernel c|cpp   (under a launcher)
//
// The first argument is the method to make the child; old_kernel is fork() on a kernel without
// MADV_WIPEONFORK. The second argument is the interface.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "weft/exact_sum.h"
#include "weft/near.h"
#include "weft/neighbors.h"
#include "weft/rpc.hpp"
#include "weft/stencil.hpp"
#include "weft/weft.h"
#include "weft/weft.hpp"

namespace {

using namespace weft;

constexpr std::size_t kBytes = 4096;
constexpr unsigned char kPattern = 0x5a;
constexpr std::string_view kRefusal = "this process is a fork of rank ";
constexpr unsigned kChildSeconds = 40;  ///< after which a child that hangs is killed

/// Functions that a child may call: they change nothing that it shares with its parent.
const std::set<std::string_view> kPure{"weft_version",
                                       "weft_last_error",
                                       "weft_type_size",
                                       "weft_am_peer",
                                       "weft_near_at",
                                       "weft_neighbors_sources",
                                       "weft_neighbors_destinations",
                                       "weft_stencil_blocks",
                                       "weft_stencil_neighbor"};
/// Function that ends its process, so it has a child of its own.
constexpr std::string_view kEndsProcess = "weft_abort";

/// Objects that are used as arguments of the C interface.
struct Handles {
    weft_runtime* runtime = nullptr;
    weft_team* world = nullptr;
    weft_request* request = nullptr;
    weft_neighbors* neighbors = nullptr;
    weft_stencil* stencil = nullptr;
    weft_near* near = nullptr;
    unsigned char* memory = nullptr;  ///< symmetric, kBytes long, full of kPattern
};
Handles handles;

/// Returns the handle of type T, nullptr for a function, symmetric memory for other pointers, or 0.
template <class T>
T argument() {
    using Bare = std::remove_const_t<std::remove_pointer_t<T>>;
    if constexpr (!std::is_pointer_v<T>)
        return T{};
    else if constexpr (std::is_function_v<Bare>)
        return nullptr;
    else if constexpr (std::is_same_v<Bare, weft_runtime>)
        return handles.runtime;
    else if constexpr (std::is_same_v<Bare, weft_team>)
        return handles.world;
    else if constexpr (std::is_same_v<Bare, weft_request>)
        return handles.request;
    else if constexpr (std::is_same_v<Bare, weft_request*>)
        return &handles.request;
    else if constexpr (std::is_same_v<Bare, weft_neighbors>)
        return handles.neighbors;
    else if constexpr (std::is_same_v<Bare, weft_stencil>)
        return handles.stencil;
    else if constexpr (std::is_same_v<Bare, weft_near>)
        return handles.near;
    else
        return reinterpret_cast<T>(handles.memory);
}

int failures = 0;

/// Counts and prints a failure of the function `name`.
void report(std::string_view name, std::string_view what) {
    std::fprintf(stderr, "%.*s: %.*s\n", static_cast<int>(name.size()), name.data(),
                 static_cast<int>(what.size()), what.data());
    ++failures;
}

/// Returns true if the message names the fork and this function. For inline functions of near.h it
/// may name the function that they call.
bool is_named(std::string_view name) {
    const std::string_view text = weft_last_error();
    const bool names_function =
        text.starts_with(std::string(name) + ": ") || name.starts_with("weft_near_");
    return names_function && text.find(kRefusal) != std::string_view::npos;
}

/// Calls a function of the C interface in the child, and checks that it is refused.
template <class Returned, class... Parameters>
void call(std::string_view name, Returned (*function)(Parameters...)) {
    if (kPure.contains(name) || name.starts_with("weft_exact_") || name == kEndsProcess) return;
    if constexpr (std::is_void_v<Returned>) {
        function(argument<Parameters>()...);
    } else {
        const Returned got = function(argument<Parameters>()...);
        if constexpr (std::is_same_v<Returned, weft_status>) {
            if (got != WEFT_ERR_ENVIRONMENT) report(name, "is not refused");
        } else if constexpr (std::is_same_v<Returned, int>) {
            if (got != -1) report(name, "does not return -1");
        } else if (got != Returned{}) {
            report(name, "does not return 0");
        }
    }
    if (!is_named(name)) report(name, std::string("does not name the fork: ") + weft_last_error());
}

/// entries.inc has a C_ENTRY or CPP_ENTRY for each exported function (entries.py, at build time).
void call_c_entries() {
#define C_ENTRY(name) call(#name, &name);
#define CPP_ENTRY(name)
#include <entries.inc>
#undef C_ENTRY
#undef CPP_ENTRY
}

// --- the C++ interface ---------------------------------------------------------------------------

int add_one(int value) {
    return value + 1;
}

/// Objects of the C++ interface that the rank made before it forked.
struct Objects {
    Runtime runtime;
    Team world = runtime.world();
    OwnedTeam half{*world.split(world.rank() % 2, 0)};
    Memory memory{world, kBytes};
    Stencil stencil{world, std::array<Rank, 1>{world.size()}, {true}};
    Rpc rpc{runtime};
    std::uint64_t sum = 1;
    Request started = world.start(Call::allreduce(&sum, &sum, 1, Type::uint64, Op::sum));
    PersistentRequest prepared = world.prepare(Call::barrier());
};

/// Member functions that need no refusal, or that call a member function which is refused.
const std::set<std::string_view> kNoCalls{"weft::Memory::Memory",
                                          "weft::Memory::abandon",
                                          "weft::Memory::operator=",
                                          "weft::Memory::~Memory",
                                          "weft::OwnedTeam::OwnedTeam",
                                          "weft::OwnedTeam::operator=",
                                          "weft::OwnedTeam::~OwnedTeam",
                                          "weft::PersistentRequest::PersistentRequest",
                                          "weft::PersistentRequest::operator=",
                                          "weft::PersistentRequest::~PersistentRequest",
                                          "weft::PersistentRequest::test",
                                          "weft::PersistentRequest::wait",
                                          "weft::Request::Request",
                                          "weft::Request::operator=",
                                          "weft::Request::~Request",
                                          "weft::Runtime::network_writes",
                                          "weft::Runtime::nodes",
                                          "weft::Runtime::notify",
                                          "weft::Runtime::operator=",
                                          "weft::Runtime::provider",
                                          "weft::Runtime::world",
                                          "weft::Runtime::~Runtime",
                                          "weft::Stencil::neighbors",
                                          "weft::Stencil::operator=",
                                          "weft::Stencil::set_way",
                                          "weft::Stencil::~Stencil",
                                          "weft::Team::abandon",
                                          "weft::UserOp::UserOp"};

using Calls = std::map<std::string_view, std::function<void()>>;
using Entry = Calls::value_type;

/// Returns a call of each member function of Team: of private ones, through public ones.
Calls calls_of_teams(Objects& objects) {
    Team& world = objects.world;
    void* const memory = objects.memory.data();
    return Calls{
        Entry{"weft::Team::agree", [&] { static_cast<void>(world.agree(1)); }},
        Entry{"weft::Team::dead", [&] { static_cast<void>(world.dead()); }},
        Entry{"weft::Team::revoke", [&] { world.revoke(); }},
        Entry{"weft::Team::shrink", [&] { static_cast<void>(world.shrink()); }},
        Entry{"weft::Team::split_2d", [&] { static_cast<void>(world.split_2d(1)); }},
        Entry{"weft::Team::split_strided",
              [&] { static_cast<void>(world.split_strided(0, 1, 1)); }},
        Entry{"weft::Team::translate", [&] { static_cast<void>(world.translate(0, world)); }},
        Entry{"weft::Team::allocate_zeroed", [&] { static_cast<void>(world.allocate_zeroed(64)); }},
        Entry{"weft::Team::algorithm_of",
              [&] { static_cast<void>(world.algorithm_of("allreduce", 1, Type::int32)); }},
        Entry{"weft::Team::allocate", [&] { static_cast<void>(world.allocate(64)); }},
        Entry{"weft::Team::candidates_of",
              [&] { static_cast<void>(world.candidates_of("allreduce", 1, Type::int32)); }},
        Entry{"weft::Team::drop", [&] { objects.half.drop(); }},
        Entry{"weft::Team::free", [&] { objects.half.free(); }},
        Entry{"weft::Team::make_context", [&] { static_cast<void>(world.make_context()); }},
        Entry{"weft::Team::prepare", [&] { static_cast<void>(world.prepare(Call::barrier())); }},
        Entry{"weft::Team::ptr", [&, memory] { static_cast<void>(world.ptr(memory, 0)); }},
        Entry{"weft::Team::rank", [&] { static_cast<void>(world.rank()); }},
        Entry{"weft::Team::register_memory",
              [&] { static_cast<void>(world.register_memory(&objects.sum, sizeof objects.sum)); }},
        Entry{"weft::Team::registered_bytes",
              [&, memory] { static_cast<void>(world.registered_bytes(memory, 0)); }},
        Entry{"weft::Team::release", [&, memory] { world.release(memory); }},
        Entry{"weft::Team::run", [&] { world.barrier(); }},
        Entry{"weft::Team::set_algorithm", [&] { world.set_algorithm("barrier", ""); }},
        Entry{"weft::Team::size", [&] { static_cast<void>(world.size()); }},
        Entry{"weft::Team::split", [&] { static_cast<void>(world.split(0, 0)); }},
        Entry{"weft::Team::split_by_node", [&] { static_cast<void>(world.split_by_node()); }},
        Entry{"weft::Team::start", [&] { static_cast<void>(world.start(Call::barrier())); }},
        Entry{"weft::Team::unregister_memory", [&, memory] { world.unregister_memory(memory); }}};
}

Calls calls_of_puts_and_atomics(Objects& objects) {
    Team& world = objects.world;
    void* const memory = objects.memory.data();
    auto* const word = static_cast<std::uint64_t*>(memory);
    return Calls{
        Entry{"weft::OneSidedCalls::apply", [&, word] { world.set(word, 1, 0); }},
        Entry{"weft::OneSidedCalls::change",
              [&, word] { static_cast<void>(world.fetch_add(word, 1, 0)); }},
        Entry{"weft::OneSidedCalls::fence", [&] { world.fence(); }},
        Entry{"weft::OneSidedCalls::get", [&, memory] { world.get(&objects.sum, memory, 8, 0); }},
        Entry{"weft::OneSidedCalls::get_nbi",
              [&, memory] { world.get_nbi(&objects.sum, memory, 8, 0); }},
        Entry{"weft::OneSidedCalls::get_strided",
              [&, memory] { world.get_strided(&objects.sum, 8, memory, 8, 8, 1, 0); }},
        Entry{"weft::OneSidedCalls::lock", [&, word] { world.lock(word); }},
        Entry{"weft::OneSidedCalls::put", [&, memory] { world.put(memory, &objects.sum, 8, 0); }},
        Entry{"weft::OneSidedCalls::put_nbi",
              [&, memory] { world.put_nbi(memory, &objects.sum, 8, 0); }},
        Entry{"weft::OneSidedCalls::put_signal",
              [&, memory, word] {
                  world.put_signal(memory, &objects.sum, 8, word, 1, SignalOp::set, 0);
              }},
        Entry{"weft::OneSidedCalls::put_signal_nbi",
              [&, memory, word] {
                  world.put_signal_nbi(memory, &objects.sum, 8, word, 1, SignalOp::set, 0);
              }},
        Entry{"weft::OneSidedCalls::put_strided",
              [&, memory] { world.put_strided(memory, 8, &objects.sum, 8, 8, 1, 0); }},
        Entry{"weft::OneSidedCalls::quiet", [&] { world.quiet(); }},
        Entry{"weft::OneSidedCalls::send", [&] { world.send(0, 1, &objects.sum, 8); }},
        Entry{"weft::OneSidedCalls::start_change",
              [&, word] { world.atomic_nbi(AtomicKind::add, word, 1, word, 0); }},
        Entry{"weft::OneSidedCalls::test",
              [&, word] {
                  static_cast<void>(world.test_until(word, Compare::eq, std::uint64_t{1}));
              }},
        Entry{"weft::OneSidedCalls::try_lock",
              [&, word] { static_cast<void>(world.try_lock(word)); }},
        Entry{"weft::OneSidedCalls::unlock", [&, word] { world.unlock(word); }},
        Entry{"weft::OneSidedCalls::wait",
              [&, word] { world.wait_until(word, Compare::eq, std::uint64_t{1}); }}};
}

Calls calls_of_waits_and_grids(Objects& objects) {
    Calls calls;
    std::uint64_t* const word = static_cast<std::uint64_t*>(objects.memory.data());
    calls["wait_until_all"] = [&, word] {
        objects.world.wait_until_all(std::span<const std::uint64_t>(word, 1), Compare::eq, 1);
    };
    calls["weft::OneSidedCalls::wait_any"] = [&, word] {
        static_cast<void>(
            objects.world.wait_until_any(std::span<const std::uint64_t>(word, 1), Compare::eq, 1));
    };
    calls["weft::OneSidedCalls::wait_for"] = [&, word] {
        static_cast<void>(objects.world.wait_until(word, Compare::eq, std::uint64_t{1},
                                                   std::chrono::seconds(60)));
    };
    calls["weft::OneSidedCalls::progress"] = [&] { objects.world.progress(); };
    calls["weft::OneSidedCalls::start_put"] = [&, word] {
        static_cast<void>(objects.world.iput(word, &objects.sum, 8, 0));
    };
    calls["weft::OneSidedCalls::start_get"] = [&, word] {
        static_cast<void>(objects.world.iget(&objects.sum, word, 8, 0));
    };
    calls["weft::OneSidedCalls::put_strided_signal"] = [&, word] {
        objects.world.put_strided_signal(word, 8, &objects.sum, 8, 8, 1, word, 1, SignalOp::set, 0);
    };
    const BlockGrid block{.bytes = 8};
    calls["weft::OneSidedCalls::put_grid"] = [&, word] {
        objects.world.put_grid(word, &objects.sum, block, 0);
    };
    calls["weft::OneSidedCalls::put_grid_signal"] = [&, word] {
        objects.world.put_grid_signal(word, &objects.sum, block, word, 1, SignalOp::set, 0);
    };
    calls["weft::OneSidedCalls::get_grid"] = [&, word] {
        objects.world.get_grid(&objects.sum, word, block, 0);
    };
    auto* const number = reinterpret_cast<double*>(word);
    calls["add of a double"] = [&, number] { objects.world.add(number, 1.0, 0); };
    calls["fetch_add of a double"] = [&, number] {
        static_cast<void>(objects.world.fetch_add(number, 1.0, 0));
    };
    return calls;
}

/// Makes all calls, and checks that each is refused. Reports exported member functions that are
/// neither called nor in kNoCalls.
void call_cpp_entries(Objects& objects) {
    Calls calls = calls_of_teams(objects);
    calls.merge(calls_of_puts_and_atomics(objects));
    calls.merge(calls_of_waits_and_grids(objects));
    calls["weft::Memory::free"] = [&] { objects.memory.free(); };
    calls["weft::PersistentRequest::start"] = [&] { objects.prepared.start(); };
    calls["weft::Request::test"] = [&] { static_cast<void>(objects.started.test()); };
    calls["weft::Request::wait"] = [&] { objects.started.wait(); };
    calls["weft::Runtime::Runtime"] = [] { Runtime another; };
    calls["weft::Runtime::allocate"] = [&] { static_cast<void>(objects.runtime.allocate(64)); };
    calls["weft::Runtime::finalize"] = [&] { objects.runtime.finalize(); };
    calls["weft::Runtime::on_message"] = [&] { objects.runtime.on_message(1, nullptr, nullptr); };
    calls["weft::Runtime::on_progress"] = [&] { objects.runtime.on_progress(nullptr, nullptr); };
    calls["weft::Runtime::progress"] = [&] { objects.runtime.progress(); };
    calls["weft::Runtime::release"] = [&] { objects.runtime.release(objects.memory.data()); };
    calls["weft::Stencil::Stencil"] = [&] {
        const Stencil another(objects.world, std::array<Rank, 1>{1}, {true});
    };
    calls["weft::Stencil::allgather"] = [&] {
        objects.stencil.allgather(&objects.sum, objects.memory.data(), 1, Type::uint64);
    };
    calls["weft::Stencil::allgather_way"] = [&] {
        static_cast<void>(objects.stencil.allgather_way(1, Type::uint64));
    };
    calls["weft::Stencil::alltoall"] = [&] {
        objects.stencil.alltoall(&objects.sum, objects.memory.data(), 1, Type::uint64);
    };
    calls["weft::Stencil::alltoall_way"] = [&] {
        static_cast<void>(objects.stencil.alltoall_way(1, Type::uint64));
    };
    calls["rpc"] = [&] { static_cast<void>(objects.rpc.call<add_one>(0, 1)); };

    for (const auto& [name, entry] : calls) {
        try {
            entry();
            report(name, "is not refused");
        } catch (const Error& error) {
            if (std::string_view(error.what()).find(kRefusal) == std::string_view::npos)
                report(name, std::string("does not name the fork: ") + error.what());
        }
    }
#define C_ENTRY(name)
#define CPP_ENTRY(name) \
    if (!calls.contains(name) && !kNoCalls.contains(name)) report(name, "is not called here");
#include <entries.inc>
#undef C_ENTRY
#undef CPP_ENTRY
}

// --- the ranks -----------------------------------------------------------------------------------

/// Makes madvise(MADV_WIPEONFORK) fail from now on, as before Linux 4.14.
bool hide_wipe_on_fork() {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_WIPEONFORK, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog program = {.len = std::size(filter), .filter = filter};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

pid_t fork_by(std::string_view method) {
    if (method == "_Fork") return ::_Fork();
    if (method == "clone") return static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    return ::fork();
}

/// Returns the exit status of a child that runs `body`; 128 + the signal if one ends it; or -1.
template <class Body>
int in_child(std::string_view method, Body body) {
    const pid_t child = fork_by(method);
    if (child < 0) return -1;
    if (child == 0) {
        ::alarm(kChildSeconds);
        body();
        std::exit(failures == 0 ? 0 : 1);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Reports a condition of the rank that is false; without a text, with the last error.
void expect(bool holds, const char* what = nullptr) {
    if (!holds) report("rank", what != nullptr ? what : weft_last_error());
}

void make_handles() {
    const int ring[] = {(weft_rank(handles.world) + 1) % weft_size(handles.world)};
    const int extents[] = {weft_size(handles.world)};
    const int periodic[] = {1};
    static double sum = 1;
    void* memory = nullptr;
    expect(weft_alloc(handles.world, kBytes, &memory) == WEFT_OK &&
           weft_allreduce_init(handles.world, &sum, &sum, 1, WEFT_DOUBLE, WEFT_MAX,
                               &handles.request) == WEFT_OK &&
           weft_neighbors_create(handles.world, ring, 0, ring, 0, &handles.neighbors) == WEFT_OK &&
           weft_stencil_create(handles.world, 1, extents, periodic, 0, 1, &handles.stencil) ==
               WEFT_OK &&
           weft_near_open(handles.world, sizeof(weft_near), &handles.near) == WEFT_OK);
    handles.memory = static_cast<unsigned char*>(memory);
    std::memset(memory, kPattern, kBytes);
}

void check_c(std::string_view method) {
    expect(weft_init(&handles.runtime) == WEFT_OK);
    handles.world = weft_world(handles.runtime);
    make_handles();
    weft_barrier(handles.world);
    expect(in_child(method, [] { call_c_entries(); }) == 0, "the child's calls are not refused");
    const int aborted = in_child(method, [] {
        ::close(STDERR_FILENO);  // the test expects no output, and weft_abort() prints its refusal
        weft_abort(handles.runtime, 7);
    });
    expect(aborted == 7, "weft_abort() in the child does not end it with its status");
    std::set<unsigned char> bytes(handles.memory, handles.memory + kBytes);
    expect(bytes.size() == 1 && bytes.contains(kPattern), "symmetric memory has changed");
    std::uint64_t sum = 1;
    expect(weft_allreduce(handles.world, &sum, &sum, 1, WEFT_UINT64, WEFT_SUM) == WEFT_OK &&
               sum == static_cast<std::uint64_t>(weft_size(handles.world)),
           "allreduce after the child's end fails or has a wrong sum");
    expect(std::system("true") == 0, "a child by posix_spawn() does not run");
    expect(weft_barrier(handles.world) == WEFT_OK);
    expect(weft_stencil_free(&handles.stencil) == WEFT_OK &&
           weft_neighbors_free(&handles.neighbors) == WEFT_OK &&
           weft_request_free(&handles.request) == WEFT_OK);
    expect(weft_finalize(handles.runtime) == WEFT_OK);
}

void check_cpp(std::string_view method) {
    auto* const objects = new Objects;
    std::memset(objects->memory.data(), kPattern, kBytes);
    objects->started.wait();
    objects->started = objects->world.start(
        Call::allreduce(&objects->sum, &objects->sum, 1, Type::uint64, Op::max));
    objects->world.barrier();
    // The child also runs the destructors, which must not change the parent's objects.
    const int status = in_child(method, [&] {
        call_cpp_entries(*objects);
        delete objects;
    });
    expect(status == 0, "the child's calls are not refused");
    const auto bytes = objects->memory.as<unsigned char>();
    expect(std::set<unsigned char>(bytes.begin(), bytes.end()).size() == 1,
           "symmetric memory has changed");
    objects->started.wait();
    expect(objects->world.allreduce(std::uint64_t{1}, Op::sum) ==
               static_cast<std::uint64_t>(objects->world.size()),
           "allreduce after the child's end fails or has a wrong sum");
    objects->half.free();
    objects->memory.free();
    objects->runtime.finalize();
    delete objects;
}

}  // namespace

int main(int, char** arguments) {
    const std::string_view method = arguments[1];
    if (method == "old_kernel" && !hide_wipe_on_fork()) report("seccomp", std::strerror(errno));
    if (std::string_view(arguments[2]) == "c")
        check_c(method);
    else
        check_cpp(method);
    return failures == 0 ? 0 : 1;
}
