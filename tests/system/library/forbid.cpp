// SPDX-License-Identifier: BSD-3-Clause
// forbid.cpp - runs a program to which the kernel refuses a system call (forbid.hpp).
//
// usage: weft_forbid process_vm|procmap_query PROGRAM [ARGUMENT...]
#include "forbid.hpp"

#include <unistd.h>

#include <cstdio>

int main(int count, char** arguments) {
    if (count < 3) {
        std::fputs("usage: weft_forbid process_vm|procmap_query PROGRAM [ARGUMENT...]\n", stderr);
        return 2;
    }
    if (!weft::test::forbid(arguments[1])) {
        std::fprintf(stderr, "cannot install a filter that refuses %s\n", arguments[1]);
        return 2;
    }
    execvp(arguments[2], arguments + 2);
    std::perror(arguments[2]);
    return 3;
}
