// SPDX-License-Identifier: BSD-3-Clause
#include "tests/virtual/strict/strict_fabric.hpp"

#include <fmt/format.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>

#include "tests/virtual/strict/strict_objects.hpp"

namespace weft::test {

void add_entry(StrictQueue& queue, const fi_cq_data_entry& entry) {
    if (queue.entries.size() >= queue.size)
        queue.strict->violation(fmt::format("a queue of {} entries overflowed", queue.size));
    queue.entries.push_back(entry);
}

void read_sources(StrictOperation& operation) {
    if (!operation.copy.empty()) return;
    for (const iovec& source : operation.sources) {
        const auto* bytes = static_cast<const std::byte*>(source.iov_base);
        operation.copy.insert(operation.copy.end(), bytes, bytes + source.iov_len);
    }
}

StrictFabric::StrictFabric(const Demands& chosen) : demands(chosen), fid_(new Fid{}) {
    set_calls(fid_->fabric);
    fid_->strict = this;
}

StrictFabric::~StrictFabric() = default;

link::Info StrictFabric::offer() {
    link::Info info(fi_allocinfo());
    info->caps = demands.caps;
    info->mode = demands.mode;
    info->addr_format = FI_FORMAT_UNSPEC;
    info->ep_attr->type = FI_EP_RDM;
    info->ep_attr->max_msg_size = demands.message_bytes_max;
    info->tx_attr->inject_size = demands.inject_bytes;
    info->tx_attr->iov_limit = demands.iov_limit;
    info->tx_attr->rma_iov_limit = demands.iov_limit;
    info->rx_attr->size = 4096;
    info->domain_attr->name = ::strdup("strict0");
    info->domain_attr->mr_mode = demands.mr_mode;
    info->domain_attr->mr_key_size = demands.key_bytes;
    info->domain_attr->cq_data_size = demands.immediate_bytes;
    info->fabric_attr->prov_name = ::strdup("strict");
    info->fabric_attr->fabric = &fid_->fabric;
    return info;
}

std::string StrictFabric::violations() const {
    std::string text;
    for (const std::string& line : violations_) text += line + "\n";
    return text;
}

void StrictFabric::violation(const std::string& text) {
    if (violations_.size() < 10) violations_.push_back(text);
}

StrictRegion* StrictFabric::region_at(StrictEndpoint& endpoint, std::uint64_t key) {
    // Each port has its own domain, so the region belongs to the endpoint of its domain.
    for (StrictRegion* region : regions) {
        if (region->region.key != key) continue;
        if ((demands.mr_mode & FI_MR_PROV_KEY) != 0 || region->bound == &endpoint) return region;
        if (region->bound == nullptr && region->region.fid.context == endpoint.endpoint.fid.context)
            return region;
    }
    return nullptr;
}

/// Returns true if a fence still delays the operation: its own fence, until all earlier operations
/// between the two endpoints are delivered, or an earlier operation with a fence.
bool StrictFabric::held_back(const StrictOperation& operation) const {
    std::uint64_t earliest = operation.number;  // in flight between the same endpoints
    std::uint64_t last_fence = 0;
    bool after_fence = operation.fenced;
    for (const auto& other : in_flight) {
        if (other->from != operation.from || other->to != operation.to) continue;
        earliest = std::min(earliest, other->number);
        if (other->fenced && other->number < operation.number) {
            after_fence = true;
            last_fence = std::max(last_fence, other->number);
        }
    }
    return after_fence && (operation.fenced ? earliest < operation.number : last_fence != 0);
}

void StrictFabric::progress() {
    const std::size_t tries = 1 + random_() % 4;
    for (std::size_t i = 0; i < tries && !in_flight.empty(); ++i) {
        const std::size_t index = random_() % in_flight.size();
        StrictOperation& chosen = *in_flight[index];
        if (chosen.delay-- > 0 || held_back(chosen)) continue;
        if (chosen.wants_completion && !chosen.delivery && random_() % 2 == 0) {
            complete_at_origin(chosen);  // the source is read; the target gets the data later
            chosen.delay = static_cast<int>(random_() % 20);
            continue;
        }
        const std::unique_ptr<StrictOperation> operation = std::move(in_flight[index]);
        in_flight.erase(in_flight.begin() + static_cast<std::ptrdiff_t>(index));
        deliver(*operation);
    }
}

std::size_t StrictFabric::writes_of(std::size_t endpoint) const {
    return endpoints[endpoint]->writes;
}

std::size_t StrictFabric::reads_of(std::size_t endpoint) const {
    return endpoints[endpoint]->reads;
}

std::size_t StrictFabric::registered_bytes() const {
    std::size_t bytes = 0;
    for (const StrictRegion* region : regions) bytes += region->bytes;
    return bytes;
}

/// Reads the source for the last time, and adds the completion to the origin's queue.
void StrictFabric::complete_at_origin(StrictOperation& operation) {
    read_sources(operation);
    for (StrictRegion* region : operation.source_regions) --region->users;
    operation.source_regions.clear();
    if (!operation.wants_completion) return;
    operation.wants_completion = false;
    if (operation.from->contexts.erase(operation.context) != 0) {
        const auto* bytes = static_cast<const unsigned char*>(operation.context);
        const std::size_t size =
            (demands.mode & FI_CONTEXT2) != 0 ? sizeof(fi_context2) : sizeof(fi_context);
        if (std::any_of(bytes, bytes + size, [](unsigned char b) { return b != kScribble; }))
            violation("a context was written before its completion");
    }
    fi_cq_data_entry entry{};
    entry.op_context = operation.context;
    entry.flags = FI_RMA | (operation.reading ? FI_READ : FI_WRITE);
    add_entry(*operation.from->queue, entry);
}

void StrictFabric::deliver(StrictOperation& operation) {
    read_sources(operation);
    const std::byte* next = operation.copy.data();
    for (const iovec& target : operation.targets) {
        if (target.iov_len != 0) std::memcpy(target.iov_base, next, target.iov_len);
        next += target.iov_len;
    }
    if (operation.with_immediate) {
        void* context = nullptr;
        if ((demands.mode & FI_RX_CQ_DATA) != 0) {
            if (operation.to->receives.empty()) {
                violation("a write with an immediate arrived without a posted receive");
            } else {
                context = operation.to->receives.front();
                operation.to->receives.pop_front();
            }
        }
        fi_cq_data_entry entry{};
        entry.op_context = context;
        entry.flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
        entry.data = operation.data;
        add_entry(*operation.to->queue, entry);
    }
    complete_at_origin(operation);
}

}  // namespace weft::test

/// Replaces libfabric's function: opens the fabric that the attributes contain.
extern "C" int fi_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void*) {
    if (attributes->fabric == nullptr) return -FI_ENODATA;
    *fabric = attributes->fabric;
    return 0;
}
