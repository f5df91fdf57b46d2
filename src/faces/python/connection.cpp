// SPDX-License-Identifier: BSD-3-Clause
#include "faces/python/connection.hpp"

#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace weft::python {
namespace {

/// Runs Python code under the global interpreter lock. Returns 0, or stores an exception that was
/// raised and returns 1.
template <typename Body>
int run(py::object& exception, Body body) noexcept {
    const py::gil_scoped_acquire held;
    try {
        body();
        return 0;
    } catch (py::error_already_set& error) {
        exception = error.value();
    } catch (const std::exception& error) {
        exception = py::reinterpret_borrow<py::object>(PyExc_ValueError)(error.what());
    }
    return 1;
}

}  // namespace

int RankExchange::call(void* arg, const void* mine, void* all, std::size_t bytes) noexcept {
    auto& exchange = *static_cast<RankExchange*>(arg);
    return run(exchange.exception_, [&] {
        const auto gathered = exchange.function_(py::bytes(static_cast<const char*>(mine), bytes))
                                  .cast<std::string_view>();
        if (gathered.size() != exchange.ranks_ * bytes)
            throw std::invalid_argument("the function allgather returned " +
                                        std::to_string(gathered.size()) + " bytes, expected " +
                                        std::to_string(exchange.ranks_ * bytes) + ": " +
                                        std::to_string(bytes) + " of each of " +
                                        std::to_string(exchange.ranks_) + " ranks");
        std::memcpy(all, gathered.data(), gathered.size());
    });
}

int Connection::start_barrier(void* arg) noexcept {
    auto& connection = *static_cast<Connection*>(arg);
    return run(connection.allgather.exception_, [&] { connection.barrier_start(); });
}

int Connection::test_barrier(void* arg, int* done) noexcept {
    auto& connection = *static_cast<Connection*>(arg);
    return run(connection.allgather.exception_,
               [&] { *done = connection.barrier_test().cast<bool>() ? 1 : 0; });
}

weft_status Connection::join(int rank, int size, weft_runtime** out) {
    constexpr std::string_view kThreads = "WEFT_THREADS=";
    std::vector<const char*> settings;
    for (char** variable = environ; *variable != nullptr; ++variable)
        if (!std::string_view(*variable).starts_with(kThreads)) settings.push_back(*variable);
    settings.push_back("WEFT_THREADS=multiple");
    settings.push_back(nullptr);
    allgather.expect(static_cast<std::size_t>(size));
    weft_bootstrap bootstrap{};
    bootstrap.struct_bytes = sizeof bootstrap;
    bootstrap.rank = rank;
    bootstrap.size = size;
    bootstrap.arg = this;
    bootstrap.allgather = [](void* arg, const void* mine, void* all, std::size_t bytes) {
        return RankExchange::call(&static_cast<Connection*>(arg)->allgather, mine, all, bytes);
    };
    bootstrap.barrier_start = &start_barrier;
    bootstrap.barrier_test = &test_barrier;
    bootstrap.settings = settings.data();
    return weft_init_with(&bootstrap, out);
}

}  // namespace weft::python
