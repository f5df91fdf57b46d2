// SPDX-License-Identifier: BSD-3-Clause
// calls.cpp - libfabric's functions for registered memory and endpoints, which the program calls.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>

#include "tests/hostile/adversary/endpoint.hpp"
#include "tests/hostile/adversary/report.hpp"

namespace adversary {
namespace {

// --- Registered memory ---------------------------------------------------------------------------

int close_region(fid* handle) {
    auto* region = reinterpret_cast<Region*>(handle);
    Domain& domain = *region->domain;
    const std::lock_guard hold(domain.lock);
    if (region->readers != 0)
        violation("a region was closed while " + std::to_string(region->readers) +
                  " operations read from it");
    for (Endpoint* endpoint : domain.endpoints) endpoint->forget(*region);
    domain.regions.erase(region->region.key);
    domain.registered_bytes -= region->bytes;
    --domain.open;
    delete region;
    return 0;
}
int bind_region(fid* handle, fid* other, std::uint64_t) {
    if (other->fclass != FI_CLASS_EP) return 0;
    auto* region = reinterpret_cast<Region*>(handle);
    region->bound = reinterpret_cast<Endpoint*>(other);
    if (&region->bound->domain() != region->domain)
        violation("a region of domain " + region->domain->name +
                  " was bound to an endpoint of another domain");
    return 0;
}
int control_region(fid* handle, int command, void*) {
    auto* region = reinterpret_cast<Region*>(handle);
    if (command != FI_ENABLE) return -FI_ENOSYS;
    if (region->bound == nullptr || !region->bound->enabled())
        violation("a region was enabled before the endpoint that it is bound to");
    region->enabled = true;
    return 0;
}
fi_ops region_ops{
    .size = sizeof(fi_ops), .close = close_region, .bind = bind_region, .control = control_region};

}  // namespace

int open_region(fid* handle, const void* buffer, std::size_t bytes, std::uint64_t access,
                std::uint64_t, std::uint64_t key, std::uint64_t, fid_mr** out, void* context) {
    Domain& domain = *reinterpret_cast<Domain*>(handle);
    const Profile& profile = domain.profile;
    const std::lock_guard hold(domain.lock);
    if ((profile.mr_mode & FI_MR_PROV_KEY) != 0) {
        const std::uint64_t key_limit = profile.key_bytes < 8 ? 1ULL << (8 * profile.key_bytes) : 0;
        key = domain.next_key;
        domain.next_key += 0x10001;
        if (key_limit != 0) key %= key_limit;
    } else {
        if (profile.key_bytes < 8 && (key >> (8 * profile.key_bytes)) != 0) return -FI_EKEYREJECTED;
        if (profile.fast_keys_below != 0 && key >= profile.fast_keys_below)
            violation("key " + std::to_string(key) +
                      " is off the fast path; expected a key below " +
                      std::to_string(profile.fast_keys_below));
        if (domain.regions.contains(key)) return -FI_ENOKEY;
    }
    if (domain.registered_bytes + bytes > profile.registered_bytes) return -FI_ENOMEM;
    if (domain.regions.size() >= profile.registrations) return -FI_ENOSPC;
    auto* region = open_object<Region>(domain);
    region->region.fid = {FI_CLASS_MR, context, &region_ops};
    region->region.mem_desc = region;
    region->region.key = key;
    region->base = static_cast<std::byte*>(const_cast<void*>(buffer));
    region->bytes = bytes;
    region->access = access;
    region->enabled = (profile.mr_mode & FI_MR_ENDPOINT) == 0;
    domain.regions[key] = region;
    domain.registered_bytes += bytes;
    *out = &region->region;
    return 0;
}

int open_region_of(fid* domain, const fi_mr_attr* attributes, std::uint64_t flags, fid_mr** out) {
    if (attributes->iov_count != 1) return -FI_EINVAL;
    return open_region(domain, attributes->mr_iov->iov_base, attributes->mr_iov->iov_len,
                       attributes->access, attributes->offset, attributes->requested_key, flags,
                       out, attributes->context);
}

namespace {

// --- Endpoints -----------------------------------------------------------------------------------

Endpoint& endpoint_of(fid* handle) {
    return *reinterpret_cast<Endpoint*>(handle);
}
int close_endpoint(fid* handle) {
    delete &endpoint_of(handle);
    return 0;
}
int bind_endpoint(fid* handle, fid* other, std::uint64_t flags) {
    const std::lock_guard hold(endpoint_of(handle).domain().lock);
    return endpoint_of(handle).bind(other, flags);
}
int control_endpoint(fid* handle, int command, void*) {
    const std::lock_guard hold(endpoint_of(handle).domain().lock);
    return command == FI_ENABLE ? endpoint_of(handle).enable() : -FI_ENOSYS;
}
fi_ops endpoint_ops{.size = sizeof(fi_ops),
                    .close = close_endpoint,
                    .bind = bind_endpoint,
                    .control = control_endpoint};

ssize_t cancel(fid*, void*) {
    return -FI_ENOENT;
}
int no_option(fid*, int, int, void*, std::size_t*) {
    return -FI_ENOPROTOOPT;
}
int no_setting(fid*, int, int, const void*, std::size_t) {
    return -FI_ENOPROTOOPT;
}
fi_ops_ep option_ops{
    .size = sizeof(fi_ops_ep), .cancel = cancel, .getopt = no_option, .setopt = no_setting};

int name_of(fid* handle, void* name, std::size_t* bytes) {
    const Address address = endpoint_of(handle).address();
    const std::size_t capacity = *bytes;
    *bytes = sizeof address;
    std::memcpy(name, &address, std::min(capacity, sizeof address));
    return capacity < sizeof address ? -FI_ETOOSMALL : 0;
}
fi_ops_cm name_ops{.size = sizeof(fi_ops_cm), .getname = name_of};

/// Arguments of the functions that transfer data; each uses some.
struct Transfer {
    fid_ep* endpoint;
    MessageKind kind;
    const iovec* sources;
    std::size_t source_count;
    void** descs;
    fi_addr_t to;
    const fi_rma_iov* targets;
    std::size_t target_count;
    std::uint64_t data;
    void* context;
};

/// Posts an operation. `reports`: its completion adds an entry to the queue.
ssize_t transfer(const Transfer& call, std::uint64_t flags, bool reports) {
    Endpoint& endpoint = endpoint_of(&call.endpoint->fid);
    const std::lock_guard hold(endpoint.domain().lock);
    Operation operation;
    operation.kind = call.kind;
    operation.sources.assign(call.sources, call.sources + call.source_count);
    operation.targets.assign(call.targets, call.targets + call.target_count);
    operation.data = call.data;
    operation.context = call.context;
    operation.reports = reports;
    return endpoint.post(std::move(operation), call.to, call.descs, flags);
}
ssize_t transfer_with_flags(const Transfer& call, std::uint64_t flags) {
    const Endpoint& endpoint = endpoint_of(&call.endpoint->fid);
    return transfer(call, flags, !endpoint.selective() || (flags & FI_COMPLETION) != 0);
}
/// Transfers with the default flags of the endpoint and the flags `more`.
ssize_t transfer_by_default(const Transfer& call, std::uint64_t more) {
    return transfer_with_flags(call, endpoint_of(&call.endpoint->fid).default_flags() | more);
}

std::size_t total_bytes(const iovec* buffers, std::size_t count) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) bytes += buffers[i].iov_len;
    return bytes;
}

using Word = std::uint64_t;  // address or key at the target

ssize_t write_vector(fid_ep* ep, const iovec* sources, void** descs, std::size_t count,
                     fi_addr_t to, Word address, Word key, void* context) {
    const fi_rma_iov target{address, total_bytes(sources, count), key};
    return transfer_by_default(
        {ep, MessageKind::write, sources, count, descs, to, &target, 1, 0, context}, 0);
}
ssize_t write(fid_ep* ep, const void* buffer, std::size_t bytes, void* desc, fi_addr_t to,
              Word address, Word key, void* context) {
    const iovec source{const_cast<void*>(buffer), bytes};
    return write_vector(ep, &source, &desc, 1, to, address, key, context);
}
ssize_t write_message(fid_ep* ep, const fi_msg_rma* m, std::uint64_t flags) {
    return transfer_with_flags({ep, MessageKind::write, m->msg_iov, m->iov_count, m->desc, m->addr,
                                m->rma_iov, m->rma_iov_count, m->data, m->context},
                               flags);
}
ssize_t write_data(fid_ep* ep, const void* buffer, std::size_t bytes, void* desc,
                   std::uint64_t data, fi_addr_t to, Word address, Word key, void* context) {
    const iovec source{const_cast<void*>(buffer), bytes};
    const fi_rma_iov target{address, bytes, key};
    return transfer_by_default(
        {ep, MessageKind::write, &source, 1, &desc, to, &target, 1, data, context},
        FI_REMOTE_CQ_DATA);
}
ssize_t inject_write(fid_ep* ep, const void* buffer, std::size_t bytes, fi_addr_t to, Word address,
                     Word key) {
    const iovec source{const_cast<void*>(buffer), bytes};
    const fi_rma_iov target{address, bytes, key};
    return transfer({ep, MessageKind::write, &source, 1, nullptr, to, &target, 1, 0, nullptr},
                    FI_INJECT, /*reports=*/false);
}
ssize_t inject_write_data(fid_ep* ep, const void* buffer, std::size_t bytes, std::uint64_t data,
                          fi_addr_t to, Word address, Word key) {
    const iovec source{const_cast<void*>(buffer), bytes};
    const fi_rma_iov target{address, bytes, key};
    return transfer({ep, MessageKind::write, &source, 1, nullptr, to, &target, 1, data, nullptr},
                    FI_INJECT | FI_REMOTE_CQ_DATA, /*reports=*/false);
}
ssize_t read_vector(fid_ep* ep, const iovec* into, void** descs, std::size_t count, fi_addr_t from,
                    Word address, Word key, void* context) {
    const fi_rma_iov target{address, total_bytes(into, count), key};
    return transfer_by_default(
        {ep, MessageKind::read, into, count, descs, from, &target, 1, 0, context}, 0);
}
ssize_t read(fid_ep* ep, void* buffer, std::size_t bytes, void* desc, fi_addr_t from, Word address,
             Word key, void* context) {
    const iovec into{buffer, bytes};
    return read_vector(ep, &into, &desc, 1, from, address, key, context);
}
ssize_t read_message(fid_ep* ep, const fi_msg_rma* m, std::uint64_t flags) {
    return transfer_with_flags({ep, MessageKind::read, m->msg_iov, m->iov_count, m->desc, m->addr,
                                m->rma_iov, m->rma_iov_count, 0, m->context},
                               flags);
}
fi_ops_rma rma_ops{.size = sizeof(fi_ops_rma),
                   .read = read,
                   .readv = read_vector,
                   .readmsg = read_message,
                   .write = write,
                   .writev = write_vector,
                   .writemsg = write_message,
                   .inject = inject_write,
                   .writedata = write_data,
                   .injectdata = inject_write_data};

ssize_t receive_vector(fid_ep* ep, const iovec* into, void**, std::size_t count, fi_addr_t,
                       void* context) {
    Endpoint& endpoint = endpoint_of(&ep->fid);
    const std::lock_guard hold(endpoint.domain().lock);
    return endpoint.post_receive(into, count, context);
}
ssize_t receive(fid_ep* ep, void* buffer, std::size_t bytes, void* desc, fi_addr_t from,
                void* context) {
    const iovec into{buffer, bytes};
    return receive_vector(ep, &into, &desc, 1, from, context);
}
ssize_t receive_message(fid_ep* ep, const fi_msg* m, std::uint64_t) {
    return receive_vector(ep, m->msg_iov, m->desc, m->iov_count, m->addr, m->context);
}
ssize_t send_vector(fid_ep* ep, const iovec* sources, void** descs, std::size_t count, fi_addr_t to,
                    void* context) {
    return transfer_by_default(
        {ep, MessageKind::send, sources, count, descs, to, nullptr, 0, 0, context}, 0);
}
ssize_t send(fid_ep* ep, const void* buffer, std::size_t bytes, void* desc, fi_addr_t to,
             void* context) {
    const iovec source{const_cast<void*>(buffer), bytes};
    return send_vector(ep, &source, &desc, 1, to, context);
}
ssize_t send_message(fid_ep* ep, const fi_msg* m, std::uint64_t flags) {
    return transfer_with_flags({ep, MessageKind::send, m->msg_iov, m->iov_count, m->desc, m->addr,
                                nullptr, 0, m->data, m->context},
                               flags);
}
ssize_t send_data(fid_ep* ep, const void* buffer, std::size_t bytes, void* desc, std::uint64_t data,
                  fi_addr_t to, void* context) {
    const iovec source{const_cast<void*>(buffer), bytes};
    return transfer_by_default(
        {ep, MessageKind::send, &source, 1, &desc, to, nullptr, 0, data, context},
        FI_REMOTE_CQ_DATA);
}
ssize_t inject_send(fid_ep* ep, const void* buffer, std::size_t bytes, fi_addr_t to) {
    const iovec source{const_cast<void*>(buffer), bytes};
    return transfer({ep, MessageKind::send, &source, 1, nullptr, to, nullptr, 0, 0, nullptr},
                    FI_INJECT, /*reports=*/false);
}
ssize_t inject_send_data(fid_ep* ep, const void* buffer, std::size_t bytes, std::uint64_t data,
                         fi_addr_t to) {
    const iovec source{const_cast<void*>(buffer), bytes};
    return transfer({ep, MessageKind::send, &source, 1, nullptr, to, nullptr, 0, data, nullptr},
                    FI_INJECT | FI_REMOTE_CQ_DATA, /*reports=*/false);
}
fi_ops_msg message_ops{.size = sizeof(fi_ops_msg),
                       .recv = receive,
                       .recvv = receive_vector,
                       .recvmsg = receive_message,
                       .send = send,
                       .sendv = send_vector,
                       .sendmsg = send_message,
                       .inject = inject_send,
                       .senddata = send_data,
                       .injectdata = inject_send_data};

}  // namespace

int open_endpoint(fid_domain* handle, fi_info* info, fid_ep** out, void* context) {
    auto& domain = *reinterpret_cast<Domain*>(handle);
    const std::lock_guard hold(domain.lock);
    auto* endpoint = new Endpoint(domain, *info);
    endpoint->endpoint.fid = {FI_CLASS_EP, context, &endpoint_ops};
    endpoint->endpoint.ops = &option_ops;
    endpoint->endpoint.cm = &name_ops;
    endpoint->endpoint.msg = &message_ops;
    endpoint->endpoint.rma = &rma_ops;
    *out = &endpoint->endpoint;
    return 0;
}

}  // namespace adversary
