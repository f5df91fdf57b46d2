// SPDX-License-Identifier: BSD-3-Clause
// setup.cpp - start, end and queries of a PE.
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "faces/shmem/data_segment.hpp"
#include "faces/shmem/job.hpp"

namespace weft::shmem {

namespace {

constexpr std::size_t kDefaultHeapBytes = std::size_t{2} << 30;
/// Heap bytes for active sets and alignment, in addition to the user's size.
constexpr std::size_t kOverheadBytes = std::size_t{4} << 20;

/// Environment variables for the size of the heap; the first one takes precedence.
constexpr const char* kSymmetricSize = "SHMEM_SYMMETRIC_SIZE";
constexpr const char* kHeapSize = "WEFT_HEAP_SIZE";

std::size_t page_bytes() {
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// Returns SHMEM_SYMMETRIC_SIZE in bytes. The value is a number, possibly with a fraction, and an
/// optional suffix K, M, G or T.
std::size_t symmetric_size() {
    const char* const text = std::getenv(kSymmetricSize);
    if (text == nullptr || *text == '\0') return kDefaultHeapBytes;
    char* end = nullptr;
    double value = std::strtod(text, &end);
    const char* const units = "KMGT";
    const char* const unit = *end == '\0' ? nullptr : std::strchr(units, std::toupper(*end));
    for (const char* power = units; unit != nullptr && power <= unit; ++power) value *= 1024;
    const bool is_complete = *end == '\0' || (unit != nullptr && end[1] == '\0');
    if (end == text || !is_complete || !(value >= 0 && value < 1e15))
        refuse("init", std::string(kSymmetricSize) + " is " + text +
                           ", expected a size such as 512M or 1.5G");
    return static_cast<std::size_t>(value);
}

/// Sets an environment variable while the object exists, because weft_init_threads() reads its
/// settings only from the environment.
class TemporaryVariable {
  public:
    TemporaryVariable(const char* name, const std::string& value) : name_(name) {
        if (const char* const text = std::getenv(name)) before_ = text;
        setenv(name, value.c_str(), 1);
    }
    ~TemporaryVariable() {
        if (before_)
            setenv(name_, before_->c_str(), 1);
        else
            unsetenv(name_);
    }
    TemporaryVariable(const TemporaryVariable&) = delete;
    TemporaryVariable& operator=(const TemporaryVariable&) = delete;

  private:
    const char* name_;
    std::optional<std::string> before_;
};

/// Initializes weft. Unless only WEFT_HEAP_SIZE is set, the heap has symmetric_size() bytes and the
/// program's variables. Unless WEFT_PROGRESS is set, transfers between nodes progress while a PE
/// makes no call.
weft_status join(int thread_level, std::size_t data_bytes) {
    static constexpr const char* kProgress = "WEFT_PROGRESS";
    std::optional<TemporaryVariable> heap;
    std::optional<TemporaryVariable> progress;
    if (std::getenv(kHeapSize) == nullptr || std::getenv(kSymmetricSize) != nullptr) {
        const std::size_t page = page_bytes();
        const std::size_t pages =
            (symmetric_size() + data_bytes + kOverheadBytes + page - 1) / page;
        heap.emplace(kHeapSize, std::to_string(pages * page));
    }
    if (std::getenv(kProgress) == nullptr) progress.emplace(kProgress, "remote");
    return weft_init_threads(
        thread_level == SHMEM_THREAD_MULTIPLE ? WEFT_THREADS_MULTIPLE : WEFT_THREADS_SINGLE,
        &job.runtime);
}

/// Moves the program's variables to the heap, and sets job.ranges, job.to_peer and job.all_local.
/// bytes: size of all pages.
void share_variables(const std::vector<DataPages>& pages, std::size_t bytes) {
    void* heap = nullptr;
    const std::size_t page = page_bytes();
    check("init", weft_alloc_aligned(job.world, page, bytes == 0 ? page : bytes, &heap));
    auto* at = static_cast<std::byte*>(heap);
    job.to_peer.clear();
    for (int pe = 0; pe < job.size; ++pe) {
        auto* const copy = static_cast<std::byte*>(weft_ptr(job.world, heap, pe));
        job.to_peer.push_back(copy == nullptr ? JobState::kRemote : copy - at);
        job.all_local = (pe == 0 || job.all_local) && copy != nullptr;
    }
    if (pages.size() > JobState::kRangesMax)
        refuse("init", "the program has " + std::to_string(pages.size()) +
                           " segments of variables, expected at most " +
                           std::to_string(JobState::kRangesMax));
    for (std::size_t i = 0; i < pages.size(); ++i) {
        if (const int error = share_pages(pages[i], at); error != 0)
            refuse("init", std::string("the program's variables cannot be shared: ") +
                               std::strerror(error));
        job.ranges[i] = {pages[i].begin, pages[i].used,
                         at - reinterpret_cast<std::byte*>(pages[i].begin)};
        job.range_count = i + 1;
        at += pages[i].bytes;
    }
}

void finalize_at_exit(int status, void*) {
    // The children of clone() and _Fork() run no fork handler, so they still have job.runtime.
    if (job.runtime == nullptr || getpid() != job.process) return;
    // After a failure of this PE the others may never finalize; the launcher ends them.
    if (status != 0) return;
    job.starts = 1;  // this finalize ends the job, regardless of the number of shmem_init calls
    pshmem_finalize();
}

/// Fork handler of the child, which is not a PE. Only stores to variables: a function that takes a
/// lock could deadlock, because another thread of the parent may have held the lock.
void leave_job_to_parent() {
    if (job.runtime == nullptr) return;
    job.forked = true;
    job.runtime = nullptr;
    job.world = nullptr;
    job.range_count = 0;
    job.heap_begin = JobState::kNoHeap;
    job.heap_end = 0;
}

void print_information() {
    if (job.rank != 0) return;
    if (std::getenv("SHMEM_VERSION") != nullptr)
        std::printf("OpenSHMEM %d.%d by weft %s\n", SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION,
                    weft_version());
    if (std::getenv("SHMEM_INFO") != nullptr)
        std::printf(
            "SHMEM_SYMMETRIC_SIZE  bytes of each PE's heap, with K, M, G or T (%zu)\n"
            "SHMEM_VERSION         prints the version at the start\n"
            "SHMEM_INFO            prints this table at the start\n"
            "SHMEM_DEBUG           no effect; WEFT_LOG=info logs the decisions of weft\n",
            symmetric_size());
    std::fflush(stdout);
}

}  // namespace

std::string heap_setting() {
    for (const char* const name : {kSymmetricSize, kHeapSize})
        if (const char* const value = std::getenv(name)) return std::string(name) + " is " + value;
    return std::string(kSymmetricSize) + " is not set, so the heap has " +
           std::to_string(kDefaultHeapBytes >> 20) + "M";
}

}  // namespace weft::shmem

namespace shmem = weft::shmem;
using shmem::job;

SHMEM_ROUTINE(int, init_thread, (int requested, int* provided)) {
    if (requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE)
        shmem::refuse(
            "init_thread",
            "requested: " + std::to_string(requested) +
                " is not a thread level; expected SHMEM_THREAD_SINGLE to SHMEM_THREAD_MULTIPLE");
    if (job.forked) shmem::refuse_without_job("init_thread");
    if (job.runtime == nullptr) {
        const auto pages = shmem::find_data_pages();
        std::size_t bytes = 0;
        for (const auto& range : pages) bytes += range.bytes;
        shmem::check("init", shmem::join(requested, bytes));
        job.world = weft_world(job.runtime);
        job.rank = weft_rank(job.world);
        job.size = weft_size(job.world);
        job.thread_level = requested;
        shmem::share_variables(pages, bytes);
        shmem::make_predefined_teams();
        constexpr int kPolls = 128;
        const int peers = shmem::find_team(SHMEM_TEAM_SHARED)->size;
        job.polls = job.all_local && peers <= sysconf(_SC_NPROCESSORS_ONLN) ? kPolls : 0;
        shmem::start_active_sets();
        shmem::check("init", weft_barrier(job.world));  // peers may now access variables
        job.process = getpid();
        static const int handler_error =
            pthread_atfork(nullptr, nullptr, shmem::leave_job_to_parent);
        if (handler_error != 0) shmem::refuse("init", std::strerror(handler_error));
        on_exit(shmem::finalize_at_exit, nullptr);
        shmem::print_information();
    }
    ++job.starts;
    if (provided != nullptr) *provided = job.thread_level;
    return 0;
}

SHMEM_ROUTINE(void, init, (void)) {
    pshmem_init_thread(SHMEM_THREAD_SINGLE, nullptr);
}

SHMEM_ROUTINE(void, query_thread, (int* provided)) {
    *provided = job.thread_level;
}

SHMEM_ROUTINE(void, query_initialized, (int* initialized)) {
    *initialized = job.runtime != nullptr ? 1 : 0;
}

SHMEM_ROUTINE(void, finalize, (void)) {
    if (job.runtime == nullptr) return;
    if (--job.starts > 0) return pshmem_barrier_all();
    shmem::check("finalize", weft_quiet(job.world));
    shmem::end_active_sets();
    shmem::end_teams();
    weft_runtime* const runtime = job.runtime;
    job.runtime = nullptr;
    job.size = 0;  // from now on every PE number is refused
    job.range_count = 0;
    job.heap_begin = shmem::JobState::kNoHeap;
    job.heap_end = 0;
    shmem::check("finalize", weft_finalize(runtime));
}

SHMEM_ROUTINE(void, global_exit, (int status)) {
    if (job.forked) _Exit(status);  // ends only the child
    std::fflush(nullptr);
    if (job.runtime != nullptr) weft_abort(job.runtime, status);
    _Exit(status);
}

SHMEM_ROUTINE(int, my_pe, (void)) {
    return job.rank;
}
SHMEM_ROUTINE(int, n_pes, (void)) {
    return job.size;
}

SHMEM_ROUTINE(int, pe_accessible, (int pe)) {
    return job.runtime != nullptr && pe >= 0 && pe < job.size ? 1 : 0;
}

SHMEM_ROUTINE(int, addr_accessible, (const void* addr, int pe)) {
    return pshmem_pe_accessible(pe) == 1 && shmem::symmetric(addr, 1) != nullptr ? 1 : 0;
}

SHMEM_ROUTINE(void*, ptr, (const void* dest, int pe)) {
    if (pshmem_addr_accessible(dest, pe) == 0) return nullptr;
    if (pe == job.rank) return const_cast<void*>(dest);
    return shmem::local_copy(shmem::symmetric(dest, 1), pe);
}

SHMEM_ROUTINE(void, info_get_version, (int* major, int* minor)) {
    *major = SHMEM_MAJOR_VERSION;
    *minor = SHMEM_MINOR_VERSION;
}
SHMEM_ROUTINE(void, info_get_name, (char* name)) {
    std::strcpy(name, SHMEM_VENDOR_STRING);
}

// Does nothing: the routine exists for profiling tools that intercept it.
SHMEM_ROUTINE(void, pcontrol, (int, ...)) {}

extern "C" void start_pes(int) {
    if (job.runtime == nullptr) pshmem_init();  // finalize_at_exit() finalizes
}
extern "C" int _my_pe(void) {
    return job.rank;
}
extern "C" int _num_pes(void) {
    return job.size;
}

SHMEM_ROUTINE(void, set_cache_inv, (void)) {}
SHMEM_ROUTINE(void, set_cache_line_inv, (void*)) {}
SHMEM_ROUTINE(void, clear_cache_inv, (void)) {}
SHMEM_ROUTINE(void, clear_cache_line_inv, (void*)) {}
SHMEM_ROUTINE(void, udcflush, (void)) {}
SHMEM_ROUTINE(void, udcflush_line, (void*)) {}
