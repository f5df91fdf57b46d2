// SPDX-License-Identifier: BSD-3-Clause
// routine.hpp - the macro that defines a routine of shmem.h under its two names.
//
// Idea     The definition is pshmem_x; shmem_x is a weak alias. If a profiling tool defines its own
//          shmem_x, programs call the tool's routine, which can call pshmem_x.
#pragma once

#pragma GCC visibility push(default)
#include "openshmem/pshmem.h"
#include "openshmem/shmem.h"
#include "openshmem/shmemx.h"
#pragma GCC visibility pop

/// Example: SHMEM_ROUTINE(int, my_pe, (void)) { ... } defines shmem_my_pe() and pshmem_my_pe().
#define SHMEM_ROUTINE(result, name, parameters)                                              \
    extern "C" result shmem_##name parameters __attribute__((weak, alias("pshmem_" #name))); \
    extern "C" result pshmem_##name parameters
