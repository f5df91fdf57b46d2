/* SPDX-License-Identifier: BSD-3-Clause */
// shmemx.h - extensions of OpenSHMEM: none. Many programs include this header without using any.
#include "shmem.h"
