// SPDX-License-Identifier: BSD-3-Clause
#include "faces/shmem/job.hpp"

#include <sched.h>

#include <cstdio>
#include <cstdlib>

namespace weft::shmem {

JobState job;

namespace {

void print(const char* routine, const std::string& problem) {
    std::fprintf(stderr, "shmem_%s: PE %d: %s\n", routine, job.rank, problem.c_str());
}

}  // namespace

void refuse(const char* routine, const std::string& problem) {
    print(routine, problem);
    // A forked child does not flush: the parent has the same buffered text, and writes it.
    if (!job.forked) std::fflush(nullptr);
    _Exit(EXIT_FAILURE);  // the launcher ends the other PEs
}

std::string missing_job() {
    if (job.runtime != nullptr) return {};
    return job.forked ? "called in a forked child; only the process that called shmem_init is a PE"
                      : "called before shmem_init or after shmem_finalize";
}

void refuse_without_job(const char* routine) {
    refuse(routine, missing_job());
}

void refuse_pe(const char* routine, int pe, int size, const char* name) {
    require_job(routine);  // without a job there are no PEs, and this message is the useful one
    refuse(routine, std::string(name) + ": " + std::to_string(pe) +
                        " is not a PE here, expected 0.." + std::to_string(size - 1));
}

void refuse_count(const char* routine, std::size_t count, std::size_t size) {
    refuse(routine, "nelems: " + std::to_string(count) + " elements of " + std::to_string(size) +
                        " bytes exceed the address space");
}

std::string range_problem(const char* argument, const volatile void* address, std::size_t bytes) {
    if (auto missing = missing_job(); !missing.empty()) return missing;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const char* region = nullptr;
    std::uintptr_t end = 0;
    for (std::size_t i = 0; i < job.range_count && region == nullptr; ++i) {
        if (at - job.ranges[i].begin >= job.ranges[i].bytes) continue;
        region = "the program's variables end";
        end = job.ranges[i].begin + job.ranges[i].bytes;
    }
    if (region == nullptr && at >= job.heap_begin && at < job.heap_end) {
        region = "the memory of shmem_malloc ends";
        end = job.heap_end;
    }
    char text[256];
    if (region != nullptr)
        std::snprintf(
            text, sizeof text,
            "%s: %zu bytes from %p are not all in symmetric memory: %s %zu bytes after it",
            argument, bytes, reinterpret_cast<void*>(at), region,
            static_cast<std::size_t>(end - at));
    else
        std::snprintf(
            text, sizeof text,
            "%s: %zu bytes from %p are not in symmetric memory, expected variables of the "
            "program or memory of shmem_malloc",
            argument, bytes, reinterpret_cast<void*>(at));
    return text;
}

void refuse_range(const char* routine, const char* argument, const volatile void* address,
                  std::size_t bytes) {
    refuse(routine, range_problem(argument, address, bytes));
}

void check(const char* routine, weft_status status) {
    if (status != WEFT_OK) [[unlikely]]
        refuse(routine, weft_last_error());
}

int report(const char* routine, const std::string& problem) {
    if (problem.empty()) [[likely]]
        return 0;
    print(routine, problem);
    return -1;
}

int report(const char* routine, weft_status status) {
    return status == WEFT_OK ? 0 : report(routine, std::string(weft_last_error()));
}

void drive() {
    weft_progress(job.runtime);
}

void drive_periodically() {
    constexpr std::uint32_t kDriveEvery = 64;
    const std::uint32_t calls = job.local_calls.load(std::memory_order_relaxed) + 1;
    job.local_calls.store(calls, std::memory_order_relaxed);
    if (calls % kDriveEvery == 0) drive();
}

void drive_and_yield() {
    drive();
    sched_yield();
}

}  // namespace weft::shmem
