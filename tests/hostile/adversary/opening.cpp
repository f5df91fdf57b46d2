// SPDX-License-Identifier: BSD-3-Clause
// opening.cpp - libfabric's functions that open completion queues, counters, address vectors,
// domains and fabrics, and the functions of these objects.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/hostile/adversary/endpoint.hpp"
#include "tests/hostile/adversary/report.hpp"

namespace adversary {

void add_entry(Queue* queue, const Entry& entry) {
    if (queue->entries.size() >= queue->size)
        violation("a completion queue of " + std::to_string(queue->size) +
                  " entries has overflowed");
    queue->entries.push_back(entry);
}

void progress(Domain& domain) {
    for (Endpoint* endpoint : domain.endpoints) endpoint->progress();
}

namespace {

template <class Object>
int close_object(fid* handle) {
    auto* object = reinterpret_cast<Object*>(handle);
    const std::lock_guard hold(object->domain->lock);
    --object->domain->open;
    delete object;
    return 0;
}
/// Binding has no effect.
int no_bind(fid*, fid*, std::uint64_t) {
    return 0;
}
int no_control(fid*, int, void*) {
    return -FI_ENOSYS;
}
template <class Object>
fi_ops plain_ops{
    .size = sizeof(fi_ops), .close = close_object<Object>, .bind = no_bind, .control = no_control};

// --- Completion queues and counters --------------------------------------------------------------

std::size_t bytes_of(fi_cq_format format) {
    switch (format) {
        case FI_CQ_FORMAT_CONTEXT:
            return sizeof(fi_cq_entry);
        case FI_CQ_FORMAT_MSG:
            return sizeof(fi_cq_msg_entry);
        case FI_CQ_FORMAT_TAGGED:
            return sizeof(fi_cq_tagged_entry);
        default:
            return sizeof(fi_cq_data_entry);
    }
}

ssize_t read_queue(fid_cq* handle, void* buffer, std::size_t count) {
    auto& queue = *reinterpret_cast<Queue*>(handle);
    const std::lock_guard hold(queue.domain->lock);
    for (Endpoint* endpoint : queue.domain->endpoints) endpoint->polled();
    progress(*queue.domain);
    if (queue.overrun_after == 0) {
        count_trick(Trick::queue_overrun);
        return -FI_EOVERRUN;
    }
    count = std::min<std::size_t>(count, queue.overrun_after);
    const std::size_t bytes = bytes_of(queue.format);
    std::size_t got = 0;
    for (; got < count && !queue.entries.empty(); ++got) {
        if (queue.entries.front().error != 0) break;
        // Each format is a prefix of fi_cq_tagged_entry.
        std::memcpy(static_cast<std::byte*>(buffer) + got * bytes, &queue.entries.front().entry,
                    bytes);
        queue.entries.pop_front();
    }
    queue.overrun_after -= got;
    if (got != 0) return static_cast<ssize_t>(got);
    return queue.entries.empty() ? -FI_EAGAIN : -FI_EAVAIL;
}
ssize_t read_queue_from(fid_cq* handle, void* buffer, std::size_t count, fi_addr_t* from) {
    const ssize_t got = read_queue(handle, buffer, count);
    for (ssize_t i = 0; i < got; ++i) from[i] = FI_ADDR_NOTAVAIL;
    return got;
}
ssize_t read_error(fid_cq* handle, fi_cq_err_entry* error, std::uint64_t) {
    auto& queue = *reinterpret_cast<Queue*>(handle);
    const std::lock_guard hold(queue.domain->lock);
    if (queue.entries.empty() || queue.entries.front().error == 0) return -FI_EAGAIN;
    const Entry& entry = queue.entries.front();
    error->op_context = entry.entry.op_context;
    error->flags = entry.entry.flags;
    error->err = entry.error;
    error->prov_errno = entry.error;
    queue.entries.pop_front();
    return 1;
}
ssize_t wait_queue(fid_cq* handle, void* buffer, std::size_t count, const void*, int timeout_ms) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
    for (;;) {
        const ssize_t got = read_queue(handle, buffer, count);
        if (got != -FI_EAGAIN || (timeout_ms >= 0 && Clock::now() > end)) return got;
        std::this_thread::yield();
    }
}
const char* error_text(fid_cq*, int code, const void*, char*, std::size_t) {
    return fi_strerror(code);
}
fi_ops_cq queue_ops{.size = sizeof(fi_ops_cq),
                    .read = read_queue,
                    .readfrom = read_queue_from,
                    .readerr = read_error,
                    .sread = wait_queue,
                    .strerror = error_text};

std::uint64_t read_counter(fid_cntr* handle) {
    auto& counter = *reinterpret_cast<Counter*>(handle);
    const std::lock_guard hold(counter.domain->lock);
    progress(*counter.domain);
    return counter.value;
}
std::uint64_t read_counter_errors(fid_cntr* handle) {
    return reinterpret_cast<Counter*>(handle)->errors;
}
int add_to_counter(fid_cntr* handle, std::uint64_t value) {
    reinterpret_cast<Counter*>(handle)->value += value;
    return 0;
}
int set_counter(fid_cntr* handle, std::uint64_t value) {
    reinterpret_cast<Counter*>(handle)->value = value;
    return 0;
}
int wait_counter(fid_cntr* handle, std::uint64_t threshold, int timeout_ms) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
    while (read_counter(handle) < threshold) {
        if (read_counter_errors(handle) != 0) return -FI_EAVAIL;
        if (timeout_ms >= 0 && Clock::now() > end) return -FI_ETIMEDOUT;
        std::this_thread::yield();
    }
    return 0;
}
fi_ops_cntr counter_ops{.size = sizeof(fi_ops_cntr),
                        .read = read_counter,
                        .readerr = read_counter_errors,
                        .add = add_to_counter,
                        .set = set_counter,
                        .wait = wait_counter};

// --- Addresses -----------------------------------------------------------------------------------

int insert(fid_av* handle, const void* names, std::size_t count, fi_addr_t* out, std::uint64_t,
           void*) {
    auto& addresses = *reinterpret_cast<Addresses*>(handle);
    const std::lock_guard hold(addresses.domain->lock);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t ranks = addresses.domain->profile.ranks;
        if (ranks != 0 && addresses.known.size() >= ranks) return static_cast<int>(i);
        if (addresses.domain->profile.universe != 0 && addresses.known.size() >= universe_size())
            violation("more addresses than FI_UNIVERSE_SIZE, which is " +
                      std::to_string(universe_size()));
        if (out != nullptr) out[i] = addresses.known.size();
        addresses.known.push_back(static_cast<const Address*>(names)[i]);
    }
    return static_cast<int>(count);
}
int remove(fid_av*, fi_addr_t*, std::size_t, std::uint64_t) {
    return 0;
}
const char* address_text(fid_av*, const void* name, char* buffer, std::size_t* bytes) {
    const auto& address = *static_cast<const Address*>(name);
    const std::string text = "adversary://" + std::to_string(address.process);
    std::snprintf(buffer, *bytes, "%s", text.c_str());
    *bytes = text.size() + 1;
    return buffer;
}
fi_ops_av address_ops{
    .size = sizeof(fi_ops_av), .insert = insert, .remove = remove, .straddr = address_text};

int open_addresses(fid_domain* domain, fi_av_attr*, fid_av** out, void* context) {
    auto* addresses = open_object<Addresses>(*reinterpret_cast<Domain*>(domain));
    addresses->addresses.fid = {FI_CLASS_AV, context, &plain_ops<Addresses>};
    addresses->addresses.ops = &address_ops;
    *out = &addresses->addresses;
    return 0;
}
int open_queue(fid_domain* domain, fi_cq_attr* attributes, fid_cq** out, void* context) {
    auto* queue = open_object<Queue>(*reinterpret_cast<Domain*>(domain));
    queue->queue.fid = {FI_CLASS_CQ, context, &plain_ops<Queue>};
    queue->queue.ops = &queue_ops;
    const bool unspecified = attributes->format == FI_CQ_FORMAT_UNSPEC;
    queue->format = unspecified ? FI_CQ_FORMAT_CONTEXT : attributes->format;
    attributes->format = queue->format;
    queue->size = attributes->size == 0 ? 1024 : attributes->size;
    queue->overrun_after = limit_for_this_rank("ADVERSARY_OVERRUN");
    *out = &queue->queue;
    return 0;
}
int open_counter(fid_domain* domain, fi_cntr_attr*, fid_cntr** out, void* context) {
    auto* counter = open_object<Counter>(*reinterpret_cast<Domain*>(domain));
    counter->counter.fid = {FI_CLASS_CNTR, context, &plain_ops<Counter>};
    counter->counter.ops = &counter_ops;
    *out = &counter->counter;
    return 0;
}
fi_ops_domain domain_ops{.size = sizeof(fi_ops_domain),
                         .av_open = open_addresses,
                         .cq_open = open_queue,
                         .endpoint = open_endpoint,
                         .cntr_open = open_counter};
fi_ops_mr memory_ops{.size = sizeof(fi_ops_mr), .reg = open_region, .regattr = open_region_of};

int close_domain(fid* handle) {
    auto* domain = reinterpret_cast<Domain*>(handle);
    if (domain->open != 0)
        violation(std::to_string(domain->open) + " objects were left open on a domain");
    delete domain;
    return 0;
}
fi_ops domain_fid_ops{
    .size = sizeof(fi_ops), .close = close_domain, .bind = no_bind, .control = no_control};

int close_fabric(fid* handle) {
    delete reinterpret_cast<Fabric*>(handle);
    return 0;
}
fi_ops fabric_fid_ops{
    .size = sizeof(fi_ops), .close = close_fabric, .bind = no_bind, .control = no_control};
fi_ops_fabric fabric_ops{.size = sizeof(fi_ops_fabric), .domain = open_domain};

}  // namespace

int open_domain(fid_fabric*, fi_info* info, fid_domain** out, void* context) {
    const Profile* profile = chosen_profile();
    if (profile == nullptr) return -FI_ENODATA;
    const char* broken = std::getenv("ADVERSARY_BREAK");
    if (broken != nullptr && std::strcmp(broken, info->domain_attr->name) == 0) return -FI_ENODEV;
    static std::uint64_t opened = 0;
    auto* domain = new Domain{};
    domain->domain.fid = {FI_CLASS_DOMAIN, context, &domain_fid_ops};
    domain->domain.ops = &domain_ops;
    domain->domain.mr = &memory_ops;
    domain->profile = *profile;
    const char* seed = std::getenv("ADVERSARY_SEED");
    domain->seed = seed != nullptr ? std::strtoull(seed, nullptr, 10) : 1;
    // Domains choose different keys, so that a key is of no use on another NIC.
    domain->next_key = 0x1F00 + domain->seed % 251 + 7919 * opened++;
    domain->name = info->domain_attr->name;
    *out = &domain->domain;
    return 0;
}

int open_fabric(fi_fabric_attr*, fid_fabric** out, void* context) {
    auto* fabric = new Fabric{};
    fabric->fabric.fid = {FI_CLASS_FABRIC, context, &fabric_fid_ops};
    fabric->fabric.ops = &fabric_ops;
    *out = &fabric->fabric;
    return 0;
}

}  // namespace adversary
