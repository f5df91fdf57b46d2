// SPDX-License-Identifier: BSD-3-Clause
// two_threads.cpp - a process whose first thread has ended while another one runs. /proc shows the
// process as a zombie, although it still runs.
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

int main() {
    std::thread([] {
        std::puts("running on");
        std::fflush(stdout);
        while (true) ::pause();
    }).detach();
    ::pthread_exit(nullptr);
}
