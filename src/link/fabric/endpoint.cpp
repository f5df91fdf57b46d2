// SPDX-License-Identifier: BSD-3-Clause
#include "link/fabric/endpoint.hpp"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <sys/resource.h>

#include <array>

namespace weft::link {
namespace {

/// Returns the limit on pinned memory as text. It is a frequent reason for failed registrations.
std::string pinned_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return "RLIMIT_MEMLOCK is unknown";
    if (limit.rlim_cur == RLIM_INFINITY)
        return "RLIMIT_MEMLOCK, the limit on pinned memory, is unlimited";
    return fmt::format("RLIMIT_MEMLOCK is {} bytes of pinned memory; ulimit -l sets KiB",
                       limit.rlim_cur);
}

}  // namespace

std::string libfabric_version() {
    return fmt::format("{}.{}", FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
}

base::Failure Endpoint::failure(std::string_view call, ssize_t code) const {
    return base::fail(Status::environment, "libfabric {}, {}: {}: {}", libfabric_version(),
                      provider_and_domain, call, fi_strerror(static_cast<int>(-code)));
}

base::Result<void> Endpoint::open(const fi_info& offer, std::size_t ranks,
                                  std::size_t completions_max) {
    fi_info& info = const_cast<fi_info&>(offer);  // libfabric takes non-const, but only reads
    fi_av_attr table{.type = FI_AV_TABLE, .count = ranks};
    fi_cq_attr queue{
        .size = completions_max, .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_NONE};

    // Calls `open_call`, and stores the new object in `owner`.
    const auto make = [this](auto& owner, std::string_view call, auto open_call) {
        typename std::remove_reference_t<decltype(owner)>::pointer opened = nullptr;
        const int code = open_call(&opened);
        if (code == 0) owner.reset(opened);
        return check(call, code);
    };
    WEFT_TRY(make(fabric, "fi_fabric",
                  [&](auto** to) { return fi_fabric(info.fabric_attr, to, nullptr); }));
    WEFT_TRY(make(domain, "fi_domain",
                  [&](auto** to) { return fi_domain(fabric.get(), &info, to, nullptr); }));
    WEFT_TRY(make(addresses, fmt::format("fi_av_open for {} ranks", ranks),
                  [&](auto** to) { return fi_av_open(domain.get(), &table, to, nullptr); }));
    WEFT_TRY(make(completions, fmt::format("fi_cq_open with {} entries", completions_max),
                  [&](auto** to) { return fi_cq_open(domain.get(), &queue, to, nullptr); }));
    WEFT_TRY(make(handle, "fi_endpoint",
                  [&](auto** to) { return fi_endpoint(domain.get(), &info, to, nullptr); }));
    WEFT_TRY(
        check("fi_ep_bind of the address vector", fi_ep_bind(handle.get(), &addresses->fid, 0)));
    return check("fi_ep_bind of the completion queue",
                 fi_ep_bind(handle.get(), &completions->fid, FI_TRANSMIT | FI_RECV));
}

base::Result<void> Endpoint::enable() {
    return check("fi_enable", fi_enable(handle.get()));
}

base::Result<std::vector<std::byte>> Endpoint::name() const {
    std::vector<std::byte> bytes(512);  // longer than the addresses of all providers
    std::size_t count = bytes.size();
    WEFT_TRY(check("fi_getname", fi_getname(&handle->fid, bytes.data(), &count)));
    bytes.resize(count);
    return bytes;
}

base::Result<FailedOperation> Endpoint::read_error() const {
    fi_cq_err_entry entry{};
    const ssize_t got = fi_cq_readerr(completions.get(), &entry, 0);
    if (got == -FI_EAGAIN) return FailedOperation{};
    if (got < 0) return failure("fi_cq_readerr", got);
    std::array<char, 256> buffer{};
    const char* detail = fi_cq_strerror(completions.get(), entry.prov_errno, entry.err_data,
                                        buffer.data(), buffer.size());
    return FailedOperation{entry.op_context, entry.flags,
                           fmt::format("{} ({}: {})", fi_strerror(entry.err), provider_and_domain,
                                       detail != nullptr ? detail : "no detail")};
}

base::Result<Fid<fid_mr>> Endpoint::register_memory(std::span<std::byte> memory,
                                                    std::uint64_t access, std::uint64_t key,
                                                    fid_cntr* counter) {
    fid_mr* opened = nullptr;
    const int code = fi_mr_reg(domain.get(), memory.data(), memory.size(), access, 0, key,
                               counter != nullptr ? FI_RMA_EVENT : 0, &opened, nullptr);
    if (code != 0)
        return failure(fmt::format("fi_mr_reg of {} bytes ({})", memory.size(), pinned_limit()),
                       code);
    Fid<fid_mr> region(opened);
    if (counter != nullptr)
        WEFT_TRY(
            check("fi_mr_bind of a counter", fi_mr_bind(opened, &counter->fid, FI_REMOTE_WRITE)));
    if (binds_memory) {
        WEFT_TRY(check("fi_mr_bind to the endpoint", fi_mr_bind(opened, &handle->fid, 0)));
        WEFT_TRY(check("fi_mr_enable", fi_mr_enable(opened)));
    }
    if (fi_mr_key(opened) == FI_KEY_NOTAVAIL)
        return base::fail(Status::environment,
                          "libfabric {}, {}: memory keys exceed 8 bytes; set another WEFT_PROVIDER",
                          libfabric_version(), provider_and_domain);
    return region;
}

base::Result<WriteCounter> Endpoint::open_counter(std::span<std::byte> memory, std::uint64_t key) {
    fi_cntr_attr attributes{.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_NONE};
    fid_cntr* count = nullptr;
    WEFT_TRY(check("fi_cntr_open", fi_cntr_open(domain.get(), &attributes, &count, nullptr)));
    Fid<fid_cntr> owner(count);
    return WriteCounter{std::move(owner),
                        WEFT_TRY(register_memory(memory, FI_REMOTE_WRITE, key, count))};
}

}  // namespace weft::link
