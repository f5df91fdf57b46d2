// SPDX-License-Identifier: BSD-3-Clause
// strict_calls.cpp - the calls of libfabric on the strict provider's objects.
#include <fmt/format.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>

#include "tests/virtual/strict/strict_objects.hpp"

namespace weft::test {

namespace {

template <class Object>
int close_object(fid* handle) {
    auto* object = reinterpret_cast<Object*>(handle);
    --object->strict->open;
    delete object;
    return 0;
}
template <class Object>
fi_ops plain_ops{.size = sizeof(fi_ops), .close = close_object<Object>};

/// Returns a new object of the domain's fabric.
template <class Object>
Object* open_object(fid* domain) {
    auto* object = new Object{};
    object->strict = reinterpret_cast<StrictDomain*>(domain)->strict;
    ++object->strict->open;
    return object;
}

// --- Registered memory ---------------------------------------------------------------------------

int close_region(fid* handle) {
    auto* region = reinterpret_cast<StrictRegion*>(handle);
    StrictFabric& strict = *region->strict;
    if (region->users != 0)
        strict.violation(
            fmt::format("a region was closed with {} writes in flight", region->users));
    std::erase(strict.regions, region);
    for (const auto& operation : strict.in_flight) {
        std::erase(operation->source_regions, region);
    }
    return close_object<StrictRegion>(handle);
}
int bind_region(fid* handle, fid* other, std::uint64_t) {
    auto* region = reinterpret_cast<StrictRegion*>(handle);
    region->bound = reinterpret_cast<StrictEndpoint*>(other);
    return 0;
}
int control_region(fid* handle, int command, void*) {
    auto* region = reinterpret_cast<StrictRegion*>(handle);
    if (command != FI_ENABLE) return -FI_ENOSYS;
    if (region->bound == nullptr || !region->bound->enabled)
        region->strict->violation("a region was enabled before its endpoint");
    region->enabled = true;
    return 0;
}
fi_ops region_ops{
    .size = sizeof(fi_ops), .close = close_region, .bind = bind_region, .control = control_region};

int register_memory(fid* handle, const void* buffer, std::size_t bytes, std::uint64_t access,
                    std::uint64_t, std::uint64_t key, std::uint64_t, fid_mr** out, void*) {
    StrictFabric& strict = *reinterpret_cast<StrictDomain*>(handle)->strict;
    const bool provider_chooses = (strict.demands.mr_mode & FI_MR_PROV_KEY) != 0;
    if (!provider_chooses) {
        if (strict.demands.key_bytes < 8 && (key >> (8 * strict.demands.key_bytes)) != 0)
            return -FI_EKEYREJECTED;
        // The limit of cxi's fast path (providers/cxi.cpp).
        if (key >= 100) strict.violation(fmt::format("key {} is too large for the fast path", key));
        for (const StrictRegion* other : strict.regions) {
            if (other->region.key == key && (other->strict == &strict) &&
                reinterpret_cast<StrictDomain*>(handle) == other->region.fid.context)
                return -FI_ENOKEY;
        }
    }
    if (bytes + strict.registered_bytes() > strict.demands.registered_bytes_max) return -FI_ENOMEM;
    auto* region = open_object<StrictRegion>(handle);
    region->region.fid = {FI_CLASS_MR, handle, &region_ops};
    region->region.mem_desc = region;
    region->region.key = provider_chooses ? strict.next_key++ : key;
    region->base = static_cast<const std::byte*>(buffer);
    region->bytes = bytes;
    region->access = access;
    region->enabled = (strict.demands.mr_mode & FI_MR_ENDPOINT) == 0;
    strict.regions.push_back(region);
    *out = &region->region;
    return 0;
}
fi_ops_mr memory_ops{.size = sizeof(fi_ops_mr), .reg = register_memory};

// --- Endpoints -----------------------------------------------------------------------------------

int close_endpoint(fid* handle) {
    auto* endpoint = reinterpret_cast<StrictEndpoint*>(handle);
    StrictFabric& strict = *endpoint->strict;
    for (const StrictRegion* region : strict.regions) {
        if (region->bound == endpoint)
            strict.violation("an endpoint was closed before its regions");
    }
    std::erase_if(strict.in_flight, [&](const auto& operation) {
        if (operation->from != endpoint && operation->to != endpoint) return false;
        for (StrictRegion* region : operation->source_regions) --region->users;
        return true;
    });
    strict.endpoints[endpoint->index] = nullptr;
    return close_object<StrictEndpoint>(handle);
}
int bind_endpoint(fid* handle, fid* other, std::uint64_t) {
    auto* endpoint = reinterpret_cast<StrictEndpoint*>(handle);
    if (other->fclass == FI_CLASS_AV) endpoint->addressed = true;
    if (other->fclass == FI_CLASS_CQ) endpoint->queue = reinterpret_cast<StrictQueue*>(other);
    return 0;
}
int control_endpoint(fid* handle, int command, void*) {
    auto* endpoint = reinterpret_cast<StrictEndpoint*>(handle);
    if (command != FI_ENABLE || !endpoint->addressed || endpoint->queue == nullptr)
        return -FI_EINVAL;
    endpoint->enabled = true;
    return 0;
}
fi_ops endpoint_ops{.size = sizeof(fi_ops),
                    .close = close_endpoint,
                    .bind = bind_endpoint,
                    .control = control_endpoint};

int name_of_endpoint(fid* handle, void* address, std::size_t* bytes) {
    if (*bytes < sizeof(std::uint64_t)) return -FI_ETOOSMALL;
    std::memcpy(address, &reinterpret_cast<StrictEndpoint*>(handle)->index, sizeof(std::uint64_t));
    *bytes = sizeof(std::uint64_t);
    return 0;
}
fi_ops_cm name_ops{.size = sizeof(fi_ops_cm), .getname = name_of_endpoint};

/// Returns the remote memory of a write or read; `access` is the permission that it needs. Returns
/// nullptr after a violation.
std::byte* target_of(StrictFabric& strict, StrictEndpoint& to, std::uint64_t address,
                     std::size_t bytes, std::uint64_t key, std::uint64_t access = FI_REMOTE_WRITE) {
    const StrictRegion* region = strict.region_at(to, key);
    if (region == nullptr || (region->access & access) == 0 || !region->enabled) {
        strict.violation(fmt::format("a transfer with key {}, which does not permit it", key));
        return nullptr;
    }
    const bool absolute = (strict.demands.mr_mode & FI_MR_VIRT_ADDR) != 0;
    auto* base = const_cast<std::byte*>(region->base);
    auto* at = absolute ? reinterpret_cast<std::byte*>(address) : base + address;
    if (!region->covers(at, bytes)) {
        strict.violation(fmt::format("a transfer of {} bytes outside its region", bytes));
        return nullptr;
    }
    return at;
}

/// Checks that the sources are registered with these descriptors, if the provider demands it.
void check_sources(StrictFabric& strict, StrictOperation& operation, void** descs) {
    if ((strict.demands.mr_mode & FI_MR_LOCAL) == 0) return;
    for (std::size_t i = 0; i < operation.sources.size(); ++i) {
        const iovec& source = operation.sources[i];
        void* const desc = descs == nullptr ? nullptr : descs[i];
        const auto known = std::find(strict.regions.begin(), strict.regions.end(), desc);
        if (known == strict.regions.end() || !(*known)->enabled ||
            !(*known)->covers(source.iov_base, source.iov_len)) {
            strict.violation(
                fmt::format("a source of {} bytes is not in its region", source.iov_len));
            continue;
        }
        operation.source_regions.push_back(*known);
        ++(*known)->users;
    }
}

/// Copies the message's sources and targets to the operation. Returns false if a target is invalid.
bool set_buffers(StrictFabric& strict, StrictOperation& operation, const fi_msg_rma& message) {
    if (message.iov_count > strict.demands.iov_limit ||
        message.rma_iov_count > strict.demands.iov_limit)
        strict.violation("a write with more sources or targets than were granted");
    operation.sources.assign(message.msg_iov, message.msg_iov + message.iov_count);
    for (const iovec& source : operation.sources) operation.bytes += source.iov_len;
    std::size_t target_bytes = 0;
    for (std::size_t i = 0; i < message.rma_iov_count; ++i) {
        const fi_rma_iov& place = message.rma_iov[i];
        std::byte* at = target_of(strict, *operation.to, place.addr, place.len, place.key);
        if (at == nullptr) return false;
        operation.targets.push_back({at, place.len});
        target_bytes += place.len;
    }
    if (target_bytes != operation.bytes)
        strict.violation("a write whose sources and targets differ in length");
    return true;
}

/// Fills the operation's context with kScribble, and checks that no other operation uses it.
void claim_context(StrictFabric& strict, StrictOperation& operation) {
    const std::uint64_t mode = strict.demands.mode;
    if ((mode & (FI_CONTEXT | FI_CONTEXT2)) == 0) return;
    if (operation.context == nullptr) return strict.violation("a write has no context");
    if (!operation.from->contexts.insert(operation.context).second)
        strict.violation("a context was used for two writes at once");
    std::memset(operation.context, kScribble,
                (mode & FI_CONTEXT2) != 0 ? sizeof(fi_context2) : sizeof(fi_context));
}

ssize_t post(fid_ep* handle, const fi_msg_rma& message, std::uint64_t flags,
             bool wants_completion) {
    auto& from = *reinterpret_cast<StrictEndpoint*>(handle);
    StrictFabric& strict = *from.strict;
    if (!from.enabled) strict.violation("a write on an endpoint that is not enabled");
    if (strict.in_flight.size() >= 4096) return -FI_EAGAIN;
    if (message.addr >= strict.endpoints.size() || strict.endpoints[message.addr] == nullptr)
        return -FI_EINVAL;
    auto operation = std::make_unique<StrictOperation>();
    operation->from = &from;
    operation->to = strict.endpoints[message.addr];
    operation->with_immediate = (flags & FI_REMOTE_CQ_DATA) != 0;
    operation->wants_completion = wants_completion;
    operation->delivery = (flags & FI_DELIVERY_COMPLETE) != 0;
    operation->fenced = (flags & FI_FENCE) != 0;
    if (operation->fenced && (strict.demands.caps & FI_FENCE) == 0)
        strict.violation("a fence that was not granted");
    operation->number = static_cast<std::uint64_t>(strict.writes);
    operation->data = message.data;
    operation->context = message.context;
    if (!set_buffers(strict, *operation, message)) return -FI_EINVAL;
    if (operation->bytes > strict.demands.message_bytes_max) return -FI_EMSGSIZE;
    if (operation->with_immediate && strict.demands.immediate_bytes < 8 &&
        (message.data >> (8 * strict.demands.immediate_bytes)) != 0)
        strict.violation("an immediate is longer than was granted");
    if ((flags & FI_INJECT) != 0) {
        if (operation->bytes > strict.demands.inject_bytes) return -FI_EMSGSIZE;
        read_sources(*operation);
    } else {
        check_sources(strict, *operation, message.desc);
    }
    if (wants_completion) claim_context(strict, *operation);
    operation->delay = static_cast<int>(operation->bytes % 7);
    ++strict.writes;
    ++from.writes;
    strict.in_flight.push_back(std::move(operation));
    return 0;
}

ssize_t write_message(fid_ep* endpoint, const fi_msg_rma* message, std::uint64_t flags) {
    return post(endpoint, *message, flags, /*wants_completion=*/true);
}
/// Posts a read, which completes only after its data has arrived.
ssize_t read(fid_ep* handle, void* into, std::size_t bytes, void* desc, fi_addr_t peer,
             std::uint64_t address, std::uint64_t key, void* context) {
    auto& from = *reinterpret_cast<StrictEndpoint*>(handle);
    StrictFabric& strict = *from.strict;
    if (!from.enabled) strict.violation("a read on an endpoint that is not enabled");
    auto operation = std::make_unique<StrictOperation>();
    operation->from = &from;
    operation->to = strict.endpoints[peer];
    operation->reading = operation->wants_completion = operation->delivery = true;
    operation->number = static_cast<std::uint64_t>(strict.writes);
    operation->context = context;
    operation->bytes = bytes;
    operation->sources = {{into, bytes}};
    check_sources(strict, *operation, &desc);  // local targets must be registered, like sources
    operation->targets = std::move(operation->sources);
    std::byte* const at = target_of(strict, *operation->to, address, bytes, key, FI_REMOTE_READ);
    if (at == nullptr) return -FI_EINVAL;
    operation->sources = {{at, bytes}};
    claim_context(strict, *operation);
    ++from.reads;
    strict.in_flight.push_back(std::move(operation));
    return 0;
}
ssize_t inject_with(fid_ep* endpoint, const void* buffer, std::size_t bytes, std::uint64_t data,
                    fi_addr_t to, std::uint64_t address, std::uint64_t key, std::uint64_t flags) {
    const iovec source{const_cast<void*>(buffer), bytes};
    const fi_rma_iov target{address, bytes, key};
    const fi_msg_rma message{&source, nullptr, 1, to, &target, 1, nullptr, data};
    return post(endpoint, message, FI_INJECT | flags, /*wants_completion=*/false);
}
ssize_t inject(fid_ep* endpoint, const void* buffer, std::size_t bytes, fi_addr_t to,
               std::uint64_t address, std::uint64_t key) {
    return inject_with(endpoint, buffer, bytes, 0, to, address, key, 0);
}
ssize_t inject_data(fid_ep* endpoint, const void* buffer, std::size_t bytes, std::uint64_t data,
                    fi_addr_t to, std::uint64_t address, std::uint64_t key) {
    return inject_with(endpoint, buffer, bytes, data, to, address, key, FI_REMOTE_CQ_DATA);
}
fi_ops_rma rma_ops{.size = sizeof(fi_ops_rma),
                   .read = read,
                   .writemsg = write_message,
                   .inject = inject,
                   .injectdata = inject_data};

ssize_t receive(fid_ep* handle, void*, std::size_t, void*, fi_addr_t, void* context) {
    auto& endpoint = *reinterpret_cast<StrictEndpoint*>(handle);
    StrictFabric& strict = *endpoint.strict;
    if ((strict.demands.caps & FI_MSG) == 0) return -FI_EOPNOTSUPP;
    if (std::count(endpoint.receives.begin(), endpoint.receives.end(), context) != 0)
        strict.violation("a context was used for two receives at once");
    if ((strict.demands.mode & FI_CONTEXT2) != 0)
        std::memset(context, kScribble, sizeof(fi_context2));
    endpoint.receives.push_back(context);
    return 0;
}
fi_ops_msg receive_ops{.size = sizeof(fi_ops_msg), .recv = receive};

// --- Queues, addresses, domain, fabric -----------------------------------------------------------

ssize_t read_queue(fid_cq* handle, void* buffer, std::size_t count) {
    auto& queue = *reinterpret_cast<StrictQueue*>(handle);
    queue.strict->progress();
    std::size_t got = 0;
    auto* entries = static_cast<fi_cq_data_entry*>(buffer);
    for (; got < count && !queue.entries.empty(); ++got) {
        entries[got] = queue.entries.front();
        queue.entries.pop_front();
    }
    return got == 0 ? -FI_EAGAIN : static_cast<ssize_t>(got);
}
ssize_t read_error(fid_cq*, fi_cq_err_entry*, std::uint64_t) {
    return -FI_EAGAIN;
}
fi_ops_cq queue_ops{.size = sizeof(fi_ops_cq), .read = read_queue, .readerr = read_error};

int insert_addresses(fid_av*, const void* address, std::size_t count, fi_addr_t* out, std::uint64_t,
                     void*) {
    std::memcpy(out, address, sizeof(std::uint64_t));
    return static_cast<int>(count);
}
fi_ops_av address_ops{.size = sizeof(fi_ops_av), .insert = insert_addresses};

int open_addresses(fid_domain* domain, fi_av_attr*, fid_av** out, void*) {
    auto* addresses = open_object<StrictAddresses>(&domain->fid);
    addresses->av.fid = {FI_CLASS_AV, nullptr, &plain_ops<StrictAddresses>};
    addresses->av.ops = &address_ops;
    *out = &addresses->av;
    return 0;
}
int open_queue(fid_domain* domain, fi_cq_attr* attributes, fid_cq** out, void*) {
    auto* queue = open_object<StrictQueue>(&domain->fid);
    queue->cq.fid = {FI_CLASS_CQ, nullptr, &plain_ops<StrictQueue>};
    queue->cq.ops = &queue_ops;
    queue->size = attributes->size;
    *out = &queue->cq;
    return 0;
}
int open_endpoint(fid_domain* domain, fi_info*, fid_ep** out, void*) {
    auto* endpoint = open_object<StrictEndpoint>(&domain->fid);
    endpoint->endpoint.fid = {FI_CLASS_EP, domain, &endpoint_ops};
    endpoint->endpoint.cm = &name_ops;
    endpoint->endpoint.msg = &receive_ops;
    endpoint->endpoint.rma = &rma_ops;
    endpoint->index = endpoint->strict->endpoints.size();
    endpoint->strict->endpoints.push_back(endpoint);
    *out = &endpoint->endpoint;
    return 0;
}
fi_ops_domain domain_ops{.size = sizeof(fi_ops_domain),
                         .av_open = open_addresses,
                         .cq_open = open_queue,
                         .endpoint = open_endpoint};

int open_domain(fid_fabric* fabric, fi_info*, fid_domain** out, void*) {
    StrictFabric& strict = *reinterpret_cast<StrictFabric::Fid*>(fabric)->strict;
    auto* domain = new StrictDomain{};
    domain->domain.fid = {FI_CLASS_DOMAIN, nullptr, &plain_ops<StrictDomain>};
    domain->domain.ops = &domain_ops;
    domain->domain.mr = &memory_ops;
    domain->strict = &strict;
    ++strict.open;
    *out = &domain->domain;
    return 0;
}
fi_ops_fabric fabric_ops{.size = sizeof(fi_ops_fabric), .domain = open_domain};
int close_fabric(fid*) {
    return 0;  // all ports of a test share the fabric, which StrictFabric owns
}
fi_ops fabric_fid_ops{.size = sizeof(fi_ops), .close = close_fabric};

}  // namespace

void set_calls(fid_fabric& fabric) {
    fabric.fid = {FI_CLASS_FABRIC, nullptr, &fabric_fid_ops};
    fabric.ops = &fabric_ops;
}

}  // namespace weft::test
