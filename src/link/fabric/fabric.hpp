// SPDX-License-Identifier: BSD-3-Clause
// fabric.hpp - the factory header of the network: puts over libfabric, with an immediate or
// without.
//
// Idea     Everything with rdma/* in it builds into the module weft_fabric.so, which only jobs of
//          more than one node load (loading and opening libfabric costs a third of a second). This
//          header is all that the rest of the code sees of it.
// Holds    One thread drives a port. Nothing blocks after open_port(); -FI_EAGAIN is `again`. Local
//          completion says that a source may be reused, not that the data has arrived: close a port
//          only after the peers are known, by other means, to have all that was sent to them.
// Next     notify.hpp for how the target learns of puts; link/wire for how that becomes
//          flags; providers/ for what a provider can promise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/put.hpp"
#include "base/result.hpp"
#include "base/transfer.hpp"
#include "link/fabric/notify.hpp"

namespace weft::link {

/// The memory that peers may write: this rank's segment. It is registered in sections, since a
/// network may pin what is registered.
struct FabricMemory {
    std::byte* base = nullptr;
    std::size_t bytes = 0;
    /// Where each section begins, ascending from 0, the same on all ranks. The first one is
    /// registered at once, others by use_memory(). Empty: one section.
    std::vector<std::uint64_t> sections = {};
    /// Where in the first section the port keeps 8 bytes for each one, for peers to read.
    std::uint64_t section_keys = 0;
};
inline constexpr std::size_t kSectionsMax = 94;

struct FabricOptions {
    std::string provider;  ///< libfabric provider name; empty: the best that fits
    std::string address;   ///< local address or host name to bind to; empty: see open_port()
    std::string source;    ///< the local address to prefer if none is named; may be refused
    std::string module;    ///< file of the module; empty: see load_port()
    Rank rank = 0;         ///< of this process in the job
    Rank size = 1;         ///< ranks in the job
    std::size_t puts_in_flight = 256;  ///< bound over all peers
    std::size_t puts_in_flight_per_peer = 64;
    /// Of other ranks, as far as they are the same processes here: without one no job can start.
    std::vector<std::int32_t> processes;
    /// Called once by each rank before it makes an endpoint that is a file: waits for the others,
    /// so that no file lies there while they load their libraries. May be empty.
    std::function<base::Result<void>()> meet;
    bool one_host = false;         ///< all ranks run on this host: a loopback address reaches them
    std::optional<Notify> notify;  ///< if the user forces one; the same on all ranks
    /// libfabric was loaded before the module; filled in by load_port().
    bool libfabric_was_here = false;
};

/// What the port was granted, to be reported and to choose how to notify by.
struct FabricFacts {
    std::string provider;
    std::string version;
    std::string domain;
    std::size_t inject_bytes = 0;       ///< puts up to this size never read their source later
    std::size_t message_bytes_max = 0;  ///< larger puts are posted in pieces
    std::size_t get_bytes_max = 0;      ///< larger gets likewise
    NotifyPlan notify;                  ///< how far ranks learn of puts
    /// How one-sided calls learn that what they wrote has landed.
    base::RemoteCompletion completion = base::RemoteCompletion::counted;
    bool whole_words = false;  ///< a put of an aligned word is never seen in part
    /// Immediates have 64 bits, and poll() hands one over before anything that was put later to
    /// this rank, by the same peer, can be seen here.
    bool signals = false;
    bool reads = true;  ///< try_get() works
    /// The endpoint is a file in shared memory: call forget_file() once all peers have set_peer().
    bool endpoint_file = false;
    /// Counters of landed writes that a peer has here, one after the other; 0: none.
    std::uint32_t counters = 0;
    /// Sources that a put with a flag may have; 0: puts carry no flags.
    std::size_t flagged_parts_max = 0;
    /// Puts with a flag may have any number of sources up to this size together, which are copied
    /// at once; 0: none are.
    std::size_t copied_bytes = 0;
    std::size_t paced_bytes = 0;  ///< of a put, after which others have their turn; 0: no limit
    bool stages_sources = false;  ///< sources outside the registered memory are copied first
    /// Variables of the provider, with values, that libfabric may have read before they were set.
    std::string late_settings;
    std::uint64_t registered_bytes = 0;  ///< by now, of sections and of what puts are staged in
};

/// What a put promises beyond landing some day.
enum class PutKind : std::uint8_t {
    plain,
    with_immediate,  ///< the peer's poll() returns `immediate` once, after all data has landed
    delivered,       ///< its local completion says that the data has landed
    fenced,          ///< starts when all earlier ones to that peer are complete; itself delivered
};

/// One write.
struct FabricPut {
    static constexpr std::uint64_t kNoFlag = ~std::uint64_t{0};
    static constexpr std::uint32_t kNoCounter = ~std::uint32_t{0};

    Rank peer = 0;
    const std::byte* data = nullptr;
    std::size_t bytes = 0;     ///< up to message_bytes_max; 0 only with an immediate
    std::uint64_t target = 0;  ///< offset in the peer's memory, or in `region`
    const base::RemoteRegion* region = nullptr;  ///< memory that the peer has exposed
    PutKind kind = PutKind::with_immediate;
    std::uint64_t immediate = 0;  ///< over 32 bits only as seal.hpp has it
    /// See base::Put. Not touched by puts of up to inject_bytes that are plain or with immediate,
    /// nor by those whose source was copied.
    std::uint32_t* pending = nullptr;
    /// A word for another place that travels in the same write: with an immediate, which arrives
    /// after it, too. Where facts().flagged_parts_max is not 0; then `parts`, if there are any, are
    /// the source in place of `data`.
    std::uint64_t flag_target = kNoFlag;
    std::uint64_t flag = 0;
    std::span<const base::PutPart> parts = {};
    /// Which of this rank's counters at the peer counts it; kNoCounter: none.
    std::uint32_t counter = kNoCounter;
};

/// One read.
struct FabricGet {
    Rank peer = 0;
    std::byte* into = nullptr;
    std::size_t bytes = 0;             ///< 1 to message_bytes_max
    std::uint64_t source = 0;          ///< offset in the peer's memory, or in `region`
    std::uint32_t* pending = nullptr;  ///< incremented, and decremented when the bytes have arrived
    const base::RemoteRegion* region = nullptr;  ///< memory that the peer has exposed
};

class FabricPort {
  public:
    virtual ~FabricPort() = default;

    [[nodiscard]] virtual const FabricFacts& facts() const = 0;
    /// What peers need to reach this port: endpoint address, memory key, base address. Opaque.
    [[nodiscard]] virtual std::span<const std::byte> address() const = 0;
    /// How to reach a rank; `address` is that rank's address(), copied. The endpoint
    /// is resolved at the first put to it.
    virtual void set_peer(Rank rank, std::span<const std::byte> address) = 0;

    /// Removes the file that the endpoint is, if it is one: peers have mapped it. Until then a
    /// process that is killed leaves it to the next one that opens such a port.
    virtual void forget_file() noexcept {}

    /// Registers the sections of this memory that are not yet: peers may then read and write it. A
    /// peer whose put or get comes before that gets `again`.
    [[nodiscard]] virtual base::Result<void> use_memory(std::uint64_t offset, std::uint64_t bytes) {
        static_cast<void>(offset), static_cast<void>(bytes);
        return {};
    }
    /// Bytes from an offset to the end of its section, which no transfer may cross.
    [[nodiscard]] virtual std::uint64_t room_at(std::uint64_t offset) const noexcept {
        static_cast<void>(offset);
        return ~std::uint64_t{0};
    }

    /// Starts to connect to a peer and returns immediately; true when puts to it are accepted. Both
    /// sides must poll() meanwhile. Optional: the first try_put() does the same and says `again`
    /// until then.
    [[nodiscard]] virtual bool warm(Rank peer) noexcept = 0;

    /// Registers memory of this rank, so that peers may put into it and get from it until
    /// conceal(). Fails where the provider does: pinned memory is limited.
    [[nodiscard]] virtual base::Result<base::RemoteRegion> expose(std::span<std::byte> memory) = 0;
    /// Of what expose() returned: nothing to or from it is under way.
    virtual void conceal(const base::RemoteRegion& region) noexcept = 0;

    /// Posts one write. Writes, and immediates of different ones, may arrive in any order.
    [[nodiscard]] virtual base::Post try_put(const FabricPut& put) noexcept = 0;

    /// Writes of a peer that have landed here and that named this counter of it; all of their data
    /// is seen. Only where facts().counters.
    [[nodiscard]] virtual std::uint64_t landed(Rank peer, std::uint32_t counter) noexcept {
        static_cast<void>(peer), static_cast<void>(counter);
        return 0;
    }

    /// Posts one read. Not ordered with writes. Only where facts().reads.
    [[nodiscard]] virtual base::Post try_get(const FabricGet& get) noexcept = 0;

    /// Makes progress; stores immediates of puts that have landed here; returns how many. Fewer
    /// than fit: there are no more.
    [[nodiscard]] virtual std::size_t poll(std::span<std::uint64_t> immediates) noexcept = 0;

    /// Writes posted so far, for reports.
    [[nodiscard]] virtual std::uint64_t writes() const noexcept { return 0; }

    /// Ends all puts and gets: none touches memory of this rank or a `pending` again. The port is
    /// of no more use.
    virtual void cancel() noexcept = 0;

    /// Puts and gets posted whose local completion is outstanding.
    [[nodiscard]] virtual std::size_t in_flight() const noexcept = 0;

    /// The first failure of the endpoint, as text (peer, operation, provider's text); else
    /// nullptr.
    [[nodiscard]] virtual const base::Failure* failure() const noexcept = 0;
};

/// Opens an endpoint and registers the memory. Environment failures name the provider, what it
/// lacks, and what to set. Where endpoints have internet addresses and options.address is empty,
/// the local address is a loopback one if options.one_host, else options.source, else the best of
/// host_addresses().
[[nodiscard]] base::Result<std::unique_ptr<FabricPort>> open_port(const FabricMemory& memory,
                                                                  const FabricOptions& options);

/// Loads weft_fabric.so and calls its open_port. For processes that do not link the module. If
/// options.module is empty it looks in the folder of the library or executable that holds this
/// code, in that of the running executable, then along the loader's search path. The module stays
/// loaded.
[[nodiscard]] base::Result<std::unique_ptr<FabricPort>> load_port(const FabricMemory& memory,
                                                                  const FabricOptions& options);

}  // namespace weft::link
