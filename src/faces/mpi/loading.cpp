// SPDX-License-Identifier: BSD-3-Clause
// loading.cpp - detects a program of the other MPI, and a library preloaded before the layer.
//
// Why      Handles of Open MPI are invalid in MPICH, and the reverse. A program of the other MPI
//          would fail with the layer, so it starts again without it. A tool that is preloaded
//          before the layer may call PMPI_Init itself. The layer then gets no calls, and reports
//          this when the process ends.
// Holds    check_program() runs before main(), check_caller() in MPI_Init, check_use() at exit.
// Next     layer.hpp.
#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "faces/mpi/layer.hpp"

namespace weft::mpi {

namespace {

/// A symbol of Open MPI that MPICH does not have.
constexpr const char* kSymbolOfOpenMpi = "ompi_mpi_comm_world";
/// A symbol of MPICH that Open MPI does not have.
constexpr const char* kSymbolOfMpich = "MPII_Comm_get_attr";
constexpr const char* kOtherMpi = kIsOpenMpi ? "MPICH" : "Open MPI";
constexpr const char* kOtherLayer = kIsOpenMpi ? "libweft-mpi-mpich.so" : "libweft-mpi-openmpi.so";

/// Returns the file of the program or library that contains an address, or an empty string.
std::string file_of(const void* address) {
    Dl_info found{};
    return ::dladdr(address, &found) != 0 && found.dli_fname != nullptr ? found.dli_fname : "";
}

/// Returns true if a loaded object, or a library that it was linked with, has the symbol.
bool has_symbol(const std::string& file, const char* symbol) {
    void* const object = ::dlopen(file.c_str(), RTLD_NOLOAD | RTLD_LAZY);
    if (object == nullptr) return false;
    const bool found = ::dlsym(object, symbol) != nullptr;
    ::dlclose(object);
    return found;
}

/// Returns true on rank 0, which prints for all ranks. Reads the launcher's variables, because MPI
/// is not initialized; without them, each process is a rank 0.
bool is_first_rank() {
    for (const char* const name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})
        if (const char* const rank = std::getenv(name)) return std::strcmp(rank, "0") == 0;
    return true;
}

/// Returns LD_PRELOAD without entries that have the file name of `layer`, in any folder.
std::string preloads_without(std::string_view layer) {
    const char* const value = std::getenv("LD_PRELOAD");
    std::string_view left(value == nullptr ? "" : value);
    layer = layer.substr(layer.rfind('/') + 1);
    std::string kept;
    while (!left.empty()) {
        const std::string_view one = left.substr(0, left.find_first_of(": "));
        left.remove_prefix(std::min(one.size() + 1, left.size()));
        if (one.empty() || one.substr(one.rfind('/') + 1) == layer) continue;
        kept.append(kept.empty() ? "" : ":").append(one);
    }
    return kept;
}

/// Runs before main(). If the program was linked with the other MPI, starts it again
/// without the layer.
__attribute__((constructor)) void check_program(int, char** arguments, char**) {
    const std::string host = file_of(reinterpret_cast<const void*>(&PMPI_Init));
    if (host.empty() || has_symbol(host, kSymbolOfOpenMpi) == kIsOpenMpi) return;
    const std::string layer = file_of(reinterpret_cast<const void*>(&check_caller));
    const char* const given = std::getenv("LD_PRELOAD");
    const std::string kept = preloads_without(layer);
    const bool can_start_again = given != nullptr && kept != given;
    if (is_first_rank())
        std::fprintf(stderr, "weft: %s is not for this program, which uses %s: preload %s; %s\n",
                     layer.c_str(), kOtherMpi, kOtherLayer,
                     can_start_again ? "the program runs without the layer"
                                     : "it cannot run with this layer");
    if (can_start_again) {
        ::setenv("LD_PRELOAD", kept.c_str(), 1);  // may be empty
        ::execv("/proc/self/exe", arguments);
        std::perror("weft: the program cannot be started again");
    }
    ::_exit(1);
}

/// Runs after main(). Reports a program that used MPI but did not call the layer's MPI_Init.
__attribute__((destructor)) void check_use() {
    int over = 0;
    if (Layer::get().begun() || !is_first_rank() || PMPI_Finalized(&over) != MPI_SUCCESS ||
        over == 0)
        return;
    const std::string layer = file_of(reinterpret_cast<const void*>(&check_caller));
    const std::string first = file_of(::dlsym(RTLD_DEFAULT, "MPI_Init"));
    std::fprintf(stderr,
                 "weft: no collective was served: %s takes the program's calls of MPI before %s; "
                 "preload the layer first\n",
                 first == layer ? "another library" : first.c_str(), layer.c_str());
}

}  // namespace

void check_caller(const void* caller) {
    const std::string program = file_of(caller);
    const bool uses_other = has_symbol(program, kIsOpenMpi ? kSymbolOfMpich : kSymbolOfOpenMpi);
    if (!uses_other) return;
    const std::string layer = file_of(reinterpret_cast<const void*>(&check_caller));
    std::fprintf(stderr, "weft: %s is not for %s, which uses %s: preload %s\n", layer.c_str(),
                 program.c_str(), kOtherMpi, kOtherLayer);
    ::_exit(1);
}

}  // namespace weft::mpi
