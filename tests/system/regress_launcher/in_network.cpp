// SPDX-License-Identifier: BSD-3-Clause
// in_network.cpp - a library for LD_PRELOAD that replaces PMIx_Init(). After a rank has connected
// to its launcher, the rank enters a network namespace. Its name is the value of IN_NETWORK
// followed by the rank.
//
// Next     rank_in_network.cpp is a rank that enters a namespace without this library.
//          perf/papers/delayed uses the library.
#include <dlfcn.h>
#include <fcntl.h>
#include <pmix.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" __attribute__((visibility("default"))) pmix_status_t PMIx_Init(pmix_proc_t* self,
                                                                          pmix_info_t* info,
                                                                          std::size_t infos) {
    using Init = pmix_status_t (*)(pmix_proc_t*, pmix_info_t*, std::size_t);
    static const auto init = reinterpret_cast<Init>(::dlsym(RTLD_NEXT, "PMIx_Init"));
    const pmix_status_t status = init(self, info, infos);
    const char* const prefix = std::getenv("IN_NETWORK");
    if (status != PMIX_SUCCESS || prefix == nullptr) return status;
    const std::string path = "/run/netns/" + (prefix + std::to_string(self->rank));
    const int network = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (network < 0 || ::setns(network, CLONE_NEWNET) != 0) {
        std::perror(path.c_str());
        std::exit(3);
    }
    ::close(network);
    return status;
}
