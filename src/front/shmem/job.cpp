// SPDX-License-Identifier: BSD-3-Clause
#include "front/shmem/job.hpp"

#include <sched.h>

#include <cstdio>
#include <cstdlib>

namespace weft::shmem {

Job job;

void refuse(const char* routine, const char* problem) {
    std::fprintf(stderr, "shmem_%s: PE %d: %s\n", routine, job.rank, problem);
    std::fflush(nullptr);
    _Exit(EXIT_FAILURE);  // the launcher ends the others
}

void refuse_pe(const char* routine, int pe, int size) {
    if (job.runtime == nullptr) refuse(routine, "called before shmem_init or after shmem_finalize");
    char text[96];
    std::snprintf(text, sizeof text, "pe: %d is not a PE here, expected 0..%d", pe, size - 1);
    refuse(routine, text);
}

void check(const char* routine, weft_status status) {
    if (status != WEFT_OK) [[unlikely]]
        refuse(routine, weft_last_error());
}

int report(const char* routine, weft_status status) {
    if (status == WEFT_OK) [[likely]]
        return 0;
    std::fprintf(stderr, "shmem_%s: PE %d: %s\n", routine, job.rank, weft_last_error());
    return -1;
}

void drive() {
    weft_progress(job.runtime);
}

void drive_now_and_then() {
    constexpr std::uint32_t kDriveEvery = 64;
    const std::uint32_t calls = job.near_calls.load(std::memory_order_relaxed) + 1;
    job.near_calls.store(calls, std::memory_order_relaxed);
    if (calls % kDriveEvery == 0) drive();
}

void drive_and_yield() {
    drive();
    sched_yield();
}

}  // namespace weft::shmem
