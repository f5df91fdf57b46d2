// SPDX-License-Identifier: BSD-3-Clause
// routine.hpp - how a routine of shmem.h is defined: under two names.
//
// Idea     The definition is pshmem_x; shmem_x is a weak name of it. A tool, or a program, that has
//          a shmem_x of its own is called instead and reaches ours by pshmem_x.
#pragma once

#pragma GCC visibility push(default)
#include "openshmem/pshmem.h"
#include "openshmem/shmem.h"
#pragma GCC visibility pop

/// SHMEM_ROUTINE(int, my_pe, (void)) { ... } defines shmem_my_pe() and pshmem_my_pe().
#define SHMEM_ROUTINE(result, name, parameters)                                              \
    extern "C" result shmem_##name parameters __attribute__((weak, alias("pshmem_" #name))); \
    extern "C" result pshmem_##name parameters
