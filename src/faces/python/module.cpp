// SPDX-License-Identifier: BSD-3-Clause
// module.cpp - the extension module weft._native.
//
// Next     weft/_native.pyi for types; weft/__init__.py for functions written in Python.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "faces/python/calls.hpp"
#include "faces/python/memory.hpp"
#include "faces/python/operations.hpp"

namespace weft::python {
namespace {

using py::arg;

/// Returns a new team as a Python object; None if this rank is not in it.
py::object team_of(std::shared_ptr<TeamHandle> team) {
    if (team == nullptr) return py::none();
    return py::cast(std::make_shared<TeamObject>(std::move(team)));
}

void define_runtime(py::module_& module) {
    py::class_<JobObject, std::shared_ptr<JobObject>>(
        module, "Runtime",
        "This process's membership in its job. The constructor joins the job.\n\nAs a context "
        "manager, it calls finalize() at the end, except after an exception.\nthreads: 'single', "
        "or 'multiple' if several threads make calls at the same time.")
        .def(py::init<const std::string&>(), arg("threads") = "single")
        .def_property_readonly(
            "world",
            [](const std::shared_ptr<JobObject>& job) {
                const RuntimeCall entry(*job);
                return team_of(std::make_shared<TeamHandle>(job, weft_world(job->runtime()),
                                                            /*owned=*/false));
            },
            "The team of all ranks.")
        .def_static(
            "connect",
            [](int rank, int size, py::function allgather, py::function barrier_start,
               py::function barrier_test) {
                return std::make_shared<JobObject>(
                    rank, size,
                    Connection{RankExchange(std::move(allgather)), std::move(barrier_start),
                               std::move(barrier_test)});
            },
            arg("rank"), arg("size"), arg("allgather"), arg("barrier_start"), arg("barrier_test"),
            "Joins a job without a launcher: ranks connect through the functions passed here. "
            "Implies threads='multiple'.\n\nallgather(mine) returns the bytes of all ranks, in "
            "rank order. barrier_start() starts a barrier; barrier_test() returns True if all "
            "ranks have started it. weft may call them from any thread until finalize() returns.")
        .def(
            "team",
            [](const std::shared_ptr<JobObject>& job, const std::vector<int>& ranks,
               py::function allgather) {
                return team_of(
                    TeamHandle::of_ranks(job, ranks, RankExchange(std::move(allgather))));
            },
            arg("ranks"), arg("allgather"),
            "Makes a team of these ranks of the world. Only these ranks call "
            "it.\n\nallgather(mine) returns the bytes of these ranks, in their order.")
        .def("drive_in_background", &JobObject::drive_in_background,
             "Starts a thread that advances started calls while the program computes. Requires "
             "threads='multiple'.")
        .def(
            "progress",
            [](JobObject& job) {
                const RuntimeCall entry(job);
                call_long([&] { weft_progress(job.runtime()); });
            },
            "Advances calls in flight and transfers of other ranks. Does not wait.")
        .def("finalize", &JobObject::finalize,
             "Leaves the job; waits until all ranks have called it. Symmetric arrays become "
             "invalid.")
        .def(
            "abort",
            [](JobObject& job, int status) {
                const RuntimeCall entry(job);
                weft_abort(job.runtime(), status);
            },
            arg("status") = 1, "Ends the job now, on all ranks, with this exit status.");
}

void define_requests(py::module_& module) {
    py::class_<RequestObject>(module, "Request",
                              "A started or persistent call. Keeps its buffers alive.")
        .def("test", &RequestObject::test,
             "Advances all calls. Returns True if this call is complete. Does not wait.")
        .def("wait", &RequestObject::wait, arg("timeout") = py::none(),
             "Waits until the call is complete and returns its result.\n\ntimeout: limit in "
             "seconds; weft.Error with Status.TIMEOUT if it has passed. The wait can be repeated.")
        .def("start", &RequestObject::start, "Starts a persistent call that is not in flight.")
        .def_property_readonly("result", &RequestObject::result,
                               "The call's result; valid when the call is complete.");
    py::class_<OperationObject>(
        module, "Op",
        "User-defined operation for reductions.\n\nfunction(lower, upper) gets two "
        "one-dimensional arrays, lower from lower ranks, and returns their combination; it must "
        "not keep them or call weft.\ncommutative: False if contributions must be combined in "
        "rank order.")
        .def(py::init<py::function, bool>(), arg("function"), arg("commutative") = true);
}

template <typename Class>
void define_reductions(Class& calls) {
    const py::object none = py::none();
    calls
        .def("allreduce", &TeamCalls::allreduce, arg("send"), arg("recv") = none, arg("op") = 0,
             "Combines the send buffers of all ranks, element by element. Returns recv.\n\nrecv: "
             "result buffer with send's type and size; None allocates one; pass send itself for an "
             "in-place call. op: weft.SUM (0), another weft.BuiltinOp or a weft.Op.")
        .def("reduce", &TeamCalls::reduce, arg("send"), arg("recv") = none, arg("op") = 0,
             arg("root") = 0,
             "Does an allreduce with the result on the root only; returns None on other ranks.")
        .def("scan", &TeamCalls::scan, arg("send"), arg("recv") = none, arg("op") = 0,
             "Combines the send buffers of ranks 0 to this rank.")
        .def("exscan", &TeamCalls::exscan, arg("send"), arg("recv") = none, arg("op") = 0,
             "Combines the send buffers of the ranks before this rank. On rank 0, recv is not "
             "written; a new recv has zeros.")
        .def("reduce_scatter", &TeamCalls::reduce_scatter, arg("send"), arg("recv") = none,
             arg("op") = 0,
             "Combines the send buffers, which have a block for each rank, and returns this rank's "
             "block.\n\nsend: shape (size, ...); recv: shape (...).")
        .def("reduce_scatterv", &TeamCalls::reduce_scatterv, arg("send"), arg("recv") = none,
             arg("counts") = none, arg("op") = 0,
             "Does a reduce_scatter; rank r receives counts[r] elements. All ranks pass equal "
             "counts.");
}

template <typename Class>
void define_data_movement(Class& calls) {
    const py::object none = py::none();
    calls.def("barrier", &TeamCalls::barrier, "Waits until all ranks have entered.")
        .def("broadcast", &TeamCalls::broadcast, arg("buffer"), arg("root") = 0,
             "Copies the root's buffer to the buffer of every rank. Returns buffer.")
        .def("gather", &TeamCalls::gather, arg("send"), arg("recv") = none, arg("root") = 0,
             "Returns the send buffers of all ranks, stacked in rank order, on the root; None "
             "elsewhere.\n\nrecv: shape (size, *send.shape), ignored on other ranks.")
        .def("scatter", &TeamCalls::scatter, arg("send"), arg("recv") = none, arg("root") = 0,
             "Returns this rank's block of the root's send.\n\nsend: shape (size, ...), ignored on "
             "other ranks. recv: shape (...), required on other ranks; weft.IN_PLACE on the root "
             "leaves its block in send.")
        .def("allgather", &TeamCalls::allgather, arg("send"), arg("recv") = none,
             "Returns the send buffers of all ranks, stacked in rank order.\n\nrecv: shape (size, "
             "*send.shape). If send is weft.IN_PLACE, recv[rank] already has this rank's block.")
        .def("alltoall", &TeamCalls::alltoall, arg("send"), arg("recv") = none,
             "Sends block r of send to rank r; returns the blocks of all ranks for this "
             "rank.\n\nsend, recv: shape (size, ...).")
        .def("gatherv", &TeamCalls::gatherv, arg("send"), arg("recv") = none, arg("counts") = none,
             arg("displacements") = none, arg("root") = 0,
             "Does a gather of counts[r] elements from rank r to displacements[r] of the root's "
             "recv. Only the root needs recv, counts and displacements.\n\nIn "
             "gatherv, scatterv, allgatherv and alltoallv, a list of buffers, one for each rank, "
             "may replace a buffer with counts and displacements.")
        .def("scatterv", &TeamCalls::scatterv, arg("send"), arg("recv") = none,
             arg("counts") = none, arg("displacements") = none, arg("root") = 0,
             "Does a scatter of counts[r] elements at displacements[r] of the root's send to rank "
             "r. Only the root needs send, counts and displacements.")
        .def("allgatherv", &TeamCalls::allgatherv, arg("send"), arg("recv") = none,
             arg("counts") = none, arg("displacements") = none,
             "Does an allgather of counts[r] elements from rank r; counts are equal on all ranks.")
        .def("alltoallv", &TeamCalls::alltoallv, arg("send"), arg("recv") = none,
             arg("send_counts") = none, arg("recv_counts") = none, arg("send_displacements") = none,
             arg("recv_displacements") = none,
             "Does an alltoall of send_counts[r] elements to rank r and recv_counts[r] from it.");
}

void define_neighbors(py::module_& module) {
    const py::object none = py::none();
    py::class_<NeighborCalls>(module, "NeighborCalls",
                              "Neighbor collectives, all blocking, all started or all persistent.")
        .def("alltoall", &NeighborCalls::alltoall, arg("send"), arg("recv") = none,
             "Sends a block of send to each destination; recv gets a block from each source.")
        .def("allgather", &NeighborCalls::allgather, arg("send"), arg("recv") = none,
             "Sends all of send to each destination; recv gets a block from each source.")
        .def("alltoallv", &NeighborCalls::alltoallv, arg("send"), arg("recv") = none,
             arg("send_counts") = none, arg("recv_counts") = none,
             "Does an alltoall with counts for each destination and each source.")
        .def("allgatherv", &NeighborCalls::allgatherv, arg("send"), arg("recv") = none,
             arg("counts") = none, "Does an allgather with counts for each source.");
    const auto in_form = [](CallForm form) {
        return [form](const std::shared_ptr<NeighborsObject>& neighbors) {
            return std::make_unique<NeighborCalls>(neighbors, form);
        };
    };
    py::class_<NeighborsObject, std::shared_ptr<NeighborsObject>>(
        module, "Neighbors", "The ranks with which this rank exchanges blocks.")
        .def_property_readonly("sources", &NeighborsObject::sources, "Number of sources.")
        .def_property_readonly("destinations", &NeighborsObject::destinations,
                               "Number of destinations.")
        .def_property_readonly("call", in_form(CallForm::blocking),
                               "Blocking calls: each returns its result.")
        .def_property_readonly("start", in_form(CallForm::started),
                               "Started calls: each returns a Request in flight.")
        .def_property_readonly("prepare", in_form(CallForm::persistent),
                               "Persistent calls: each returns a Request to be started.");
    py::class_<StencilObject>(module, "Stencil",
                              "Exchange of blocks with the nearby ranks of a grid.")
        .def_property_readonly("neighbors", &StencilObject::neighbors,
                               "The rank of each block; -1 outside the grid.")
        .def("alltoall", &StencilObject::alltoall, arg("send"), arg("recv") = none,
             "Sends a block to each neighbor and receives one from each, in the order of "
             "neighbors. Blocks of missing neighbors are not used.")
        .def("allgather", &StencilObject::allgather, arg("send"), arg("recv") = none,
             "Sends all of send to each neighbor and receives a block from each.");
}

template <typename Class>
void define_memory(Class& team) {
    const py::object none = py::none();
    team.def("_allocate", &allocate)
        .def("_peer_memory", &peer_memory)
        .def("free_array", &free_memory, arg("array"),
             "Frees an array that zeros() or empty() returned. Collective.")
        .def("put", &put, arg("target"), arg("data"), arg("peer"),
             "Copies data to the peer's copy of target, a symmetric array or a part of one. "
             "Returns when data may be changed; quiet() completes the delivery.\n\nIn put(), "
             "put_signal() and get(), arrays of equal shape may be strided, such as columns.")
        .def("put_signal", &put_signal, arg("target"), arg("data"), arg("signal"), arg("value"),
             arg("peer"), arg("add") = false,
             "Does a put, then sets the peer's signal (one uint64) to value; add=True adds it.")
        .def("get", &get, arg("source"), arg("peer"), arg("recv") = none,
             "Returns a copy of the peer's copy of source, a symmetric array or a part of one.")
        .def("put_nbi", &put_nbi, arg("target"), arg("data"), arg("peer"),
             "Starts a put. data must not change until quiet(); weft keeps a reference until then.")
        .def("get_nbi", &get_nbi, arg("source"), arg("peer"), arg("recv") = none,
             "Starts a get and returns its recv, which has the data after quiet().")
        .def("fence", &fence,
             "Orders earlier puts and atomics of this rank before later ones, at each peer.")
        .def("quiet", &quiet, arg("timeout") = none,
             "Waits until all puts, gets and atomics of this rank are complete; on a context, only "
             "its own. timeout: limit in seconds; weft.Error if it has passed.")
        .def("wait_until", &wait_until, arg("word"), arg("compare"), arg("value"),
             arg("timeout") = none,
             "Waits until `word compare value` holds for this rank's word (one element), for "
             "example with weft.GE. Returns the word's value.\n\ntimeout: limit in seconds; "
             "weft.Error if it has passed.")
        .def(
            "test_until", &test_until, arg("word"), arg("compare"), arg("value"),
            "Returns True if wait_until() would return. If not, advances transfers. Does not wait.")
        .def("lock", &lock_set, arg("word"),
             "Acquires a lock. word: one uint64 of symmetric memory, initially 0.")
        .def("try_lock", &lock_test, arg("word"),
             "Tries to acquire a lock without waiting. Returns True on success.")
        .def("unlock", &lock_clear, arg("word"), "Does a quiet() and releases the lock.");
}

template <typename Class>
void define_atomics(Class& team) {
    team.def(
            "fetch",
            [](TeamObject& object, const py::object& word, int peer) {
                return change_word(object, WEFT_ATOMIC_FETCH, word, py::none(), py::none(), peer);
            },
            arg("word"), arg("peer"), "Returns the peer's word, read atomically.")
        .def(
            "compare_swap",
            [](TeamObject& object, const py::object& word, const py::object& expected,
               const py::object& value, int peer) {
                return change_word(object, WEFT_ATOMIC_COMPARE_SWAP, word, value, expected, peer);
            },
            arg("word"), arg("expected"), arg("value"), arg("peer"),
            "Sets the peer's word to value if it equals expected. Returns the former value.");
    struct Named {
        const char* fetching;
        const char* nonfetching;
        weft_atomic_kind kind;
        const char* doc;
    };
    for (const Named& named : {Named{"swap", "set", WEFT_ATOMIC_SET, "Stores value in"},
                               Named{"fetch_add", "add", WEFT_ATOMIC_ADD, "Adds value to"},
                               Named{"fetch_and", "and_", WEFT_ATOMIC_AND, "ANDs value into"},
                               Named{"fetch_or", "or_", WEFT_ATOMIC_OR, "ORs value into"},
                               Named{"fetch_xor", "xor_", WEFT_ATOMIC_XOR, "XORs value into"}}) {
        const std::string doc = std::string(named.doc) + " the peer's word atomically.";
        team.def(
            named.fetching,
            [kind = named.kind](TeamObject& object, const py::object& word, const py::object& value,
                                int peer) {
                return change_word(object, kind, word, value, py::none(), peer);
            },
            arg("word"), arg("value"), arg("peer"), (doc + " Returns the former value.").c_str());
        team.def(
            named.nonfetching,
            [kind = named.kind](TeamObject& object, const py::object& word, const py::object& value,
                                int peer) { change_word_nbi(object, kind, word, value, peer); },
            arg("word"), arg("value"), arg("peer"), (doc + " quiet() completes it.").c_str());
    }
}

void define_survival(py::class_<TeamObject, TeamCalls, std::shared_ptr<TeamObject>>& team) {
    team.def(
            "revoke", [](const TeamObject& object) { object.handle()->revoke(); },
            "Makes the collectives and waits of all members fail. Not collective.")
        .def(
            "agree",
            [](const TeamObject& object, std::uint64_t word) {
                return object.handle()->agree(word);
            },
            arg("word"),
            "Returns the bitwise AND of the survivors' words, and the number of dead members. "
            "Collective over the survivors.")
        .def(
            "shrink", [](const TeamObject& object) { return team_of(object.handle()->shrink()); },
            "Makes a team of the survivors. Collective over the survivors.")
        .def(
            "dead", [](const TeamObject& object) { return object.handle()->dead(); },
            "Returns the members that this rank knows to be dead.");
}

template <typename Class>
void define_grids(Class& team) {
    team.def(
            "neighbors",
            [](const TeamObject& object, const std::vector<int>& sources,
               const std::vector<int>& destinations) {
                return NeighborsObject::of_ranks(object.handle(), sources, destinations);
            },
            arg("sources"), arg("destinations"),
            "Returns the Neighbors of this rank: the ranks that send to it and receive from it.")
        .def(
            "grid_neighbors",
            [](const TeamObject& object, const std::vector<int>& extents,
               const std::vector<bool>& periodic) {
                return NeighborsObject::on_grid(object.handle(), extents, periodic);
            },
            arg("extents"), arg("periodic"),
            "Returns the Neighbors of this rank in a grid of all ranks, in row-major order.")
        .def(
            "stencil",
            [](const TeamObject& object, const std::vector<int>& extents,
               const std::vector<bool>& periodic, bool star, int reach) {
                return std::make_unique<StencilObject>(object.handle(), extents, periodic, star,
                                                       reach);
            },
            arg("extents"), arg("periodic"), arg("star") = false, arg("reach") = 1,
            "Returns the Stencil of a grid. Neighbors are ranks whose coordinates differ by at "
            "most reach; with star=True, in one coordinate only.");
}

void define_teams(py::module_& module) {
    py::class_<TeamCalls, std::shared_ptr<TeamCalls>> calls(
        module, "Calls", "Collectives of a team, all blocking, all started or all persistent.");
    define_reductions(calls);
    define_data_movement(calls);
    py::class_<TeamObject, TeamCalls, std::shared_ptr<TeamObject>> team(
        module, "Team", "Ranks that make collective calls together.");
    const auto in_form = [](CallForm form) {
        return [form](const TeamObject& object) {
            return std::make_shared<TeamCalls>(object.handle(), form);
        };
    };
    team.def_property_readonly(
            "rank", [](const TeamObject& object) { return object.handle()->rank(); },
            "This rank's index in the team.")
        .def_property_readonly(
            "size", [](const TeamObject& object) { return object.handle()->size(); },
            "Number of members.")
        .def_property_readonly("start", in_form(CallForm::started),
                               "The collectives as started calls: each returns a Request.")
        .def_property_readonly(
            "_eager", in_form(CallForm::eager),
            "The collectives as calls that return None if they are complete, else a Request.")
        .def_property_readonly(
            "prepare", in_form(CallForm::persistent),
            "The collectives as persistent calls: each returns a Request to be started.")
        .def(
            "split",
            [](const TeamObject& object, int color, int key) {
                return team_of(object.handle()->split(color, key));
            },
            arg("color"), arg("key") = 0,
            "Makes a team of each color's ranks, ordered by key, then by rank. Returns None if "
            "color is negative. Collective.")
        .def(
            "split_node",
            [](const TeamObject& object) { return team_of(object.handle()->split_node()); },
            "Makes a team of the ranks that share memory. Collective.")
        .def(
            "context", [](const TeamObject& object) { return team_of(object.handle()->context()); },
            "Returns a context: the same team, whose fence() and quiet() apply only to puts and "
            "gets through it. free() ends it. Not collective.")
        .def(
            "free", [](const TeamObject& object) { object.handle()->free(); },
            "Frees a team other than world, with its symmetric memory; collective. Frees a context "
            "after a quiet(); not collective.");
    define_grids(team);
    define_memory(team);
    define_atomics(team);
    define_survival(team);
}

}  // namespace
}  // namespace weft::python

PYBIND11_MODULE(_native, module) {
    namespace python = weft::python;
    pybind11::options options;
    options.disable_function_signatures();
    module.doc() = "Native part of the package weft; use the names that weft exports.";
    module.attr("version") = weft_version();
    pybind11::enum_<weft_compare>(module, "Compare", "How wait_until() compares.")
        .value("EQ", WEFT_EQ)
        .value("NE", WEFT_NE)
        .value("GT", WEFT_GT)
        .value("GE", WEFT_GE)
        .value("LT", WEFT_LT)
        .value("LE", WEFT_LE)
        .export_values();
    python::define_runtime(module);
    python::define_requests(module);
    python::define_teams(module);
    python::define_neighbors(module);
}
