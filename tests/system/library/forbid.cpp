// SPDX-License-Identifier: BSD-3-Clause
// forbid.cpp - weft_forbid WHAT PROGRAM ARGUMENTS...: runs a program for which the kernel refuses
// the system call WHAT (forbid.hpp).
#include "forbid.hpp"

#include <unistd.h>

#include <cstdio>

int main(int count, char** arguments) {
    if (count < 3 || !weft::test::forbid(arguments[1])) {
        std::fprintf(stderr, "cannot forbid %s\n", count < 2 ? "nothing" : arguments[1]);
        return 2;
    }
    execvp(arguments[2], arguments + 2);
    std::perror(arguments[2]);
    return 3;
}
