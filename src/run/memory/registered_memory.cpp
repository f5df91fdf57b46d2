// SPDX-License-Identifier: BSD-3-Clause
#include "run/memory/registered_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "run/job/real_engine.hpp"
#include "run/memory/active_messages.hpp"
#include "run/team/teams.hpp"

namespace weft::run {

namespace {

constexpr std::uint64_t kGuardBytes = 4096;  // a shorter overrun of a name reaches no other name

std::uintptr_t address_of(const void* memory) {
    return reinterpret_cast<std::uintptr_t>(memory);
}

/// Returns true if pages are mapped at these addresses, with any access rights.
bool is_mapped(std::byte* memory, std::uint64_t bytes) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const std::uintptr_t into_page = address_of(memory) % page;
    return ::msync(memory - into_page, bytes + into_page, MS_ASYNC) == 0;
}

bool is_valid(const MemoryCard& card, const SegmentLayout& layout) {
    if (card.bytes >= MemoryCard::kBytesMax || card.address + card.bytes < card.address)
        return false;
    if (card.number > RemoteAddress::kNumberMax) return false;
    if (card.segment_end != 0 &&
        (card.segment_end > layout.bytes || card.segment_end < layout.heap + card.bytes))
        return false;
    const base::RemoteRegion& region = card.region;
    return region.bytes == 0 ||
           (region.bytes >= card.bytes && region.base + region.bytes >= region.base);
}

/// Texts of the faults, by MemoryFault.
constexpr const char* kFaults[] = {
    "",
    "memory is NULL, but bytes is not 0",
    "expected less than 2^48 bytes",
    "not all of the memory is mapped",
    "the memory belongs to the library, but is not in the symmetric heap",
    "the limit is 65535 registrations"};
static_assert(MemoryCard::kBytesMax == 1ULL << 48 && RemoteAddress::kNumberMax == 65535 &&
              std::size(kFaults) == static_cast<std::size_t>(MemoryFault::no_number) + 1);

}  // namespace

base::Result<void> check(const MemoryCard& card, Rank member, const SegmentLayout& layout) {
    if (card.fault > MemoryFault::no_number ||
        (card.fault == MemoryFault::none && !is_valid(card, layout)))
        return base::fail(
            Status::peer,
            "rank {} sent an invalid memory card: {} bytes at {:#x}, end in its segment "
            "{}, region of {} bytes",
            member, card.bytes, card.address, card.segment_end, card.region.bytes);
    if (card.fault == MemoryFault::none) return {};
    const Status status = card.fault == MemoryFault::no_number ? Status::memory : Status::argument;
    return base::fail(status, "rank {}, {} bytes at {:#x}: {}", member, card.bytes, card.address,
                      kFaults[static_cast<std::size_t>(card.fault)]);
}

/// Prepares this rank's memory for access by all members, and returns its card.
MemoryCard RegisteredMemory::make_card(const Team& team, std::byte* memory, std::uint64_t bytes) {
    MemoryCard mine{.bytes = bytes, .address = address_of(memory)};
    const auto refuse = [&](MemoryFault fault) {
        mine.fault = fault;
        return mine;
    };
    if (bytes == 0) return mine;
    if (memory == nullptr) return refuse(MemoryFault::null);
    if (bytes >= MemoryCard::kBytesMax || mine.address + bytes < mine.address)
        return refuse(MemoryFault::too_long);
    const SegmentLayout& layout = services_.layout;
    const std::uint64_t offset = services_.offset_of(memory);
    if (offset < layout.bytes) {
        if (offset < layout.heap || bytes > layout.bytes - offset)
            return refuse(MemoryFault::outside_heap);
        mine.segment_end = offset + bytes;
        return mine;
    }
    if (!is_mapped(memory, bytes)) return refuse(MemoryFault::unmapped);
    const Turn::Hold hold = services_.engine.take_turn();
    mine.number = services_.onesided.service().registered().add({memory, bytes});
    if (mine.number == 0) return refuse(MemoryFault::no_number);
    bool has_remote = false;
    for (Rank member = 0; member < team.size(); ++member)
        has_remote = has_remote || services_.job.wire->near(team.job_rank(member)) == nullptr;
    if (!has_remote) return mine;
    const auto region = services_.job.wire->memory().register_memory({memory, bytes});
    if (region)
        mine.region = *region;
    else
        services_.log.info(fmt::format(
            "register: the network cannot access {} bytes, so remote ranks send requests: {}",
            bytes, region.failure().text));
    return mine;
}

void RegisteredMemory::revoke(const MemoryCard& mine) {
    if (mine.number == 0 || services_.job.wire == nullptr) return;
    const Turn::Hold hold = services_.engine.take_turn();
    services_.onesided.service().registered().remove(mine.number);
    services_.job.wire->memory().unregister_memory(mine.region);
}

static base::Result<std::vector<MemoryCard>> exchange(Team& team, const MemoryCard& mine,
                                                      const SegmentLayout& layout) {
    std::vector<MemoryCard> cards(static_cast<std::size_t>(team.size()));
    static_assert(sizeof(MemoryCard) % sizeof(std::uint64_t) == 0);
    const Call call = Call::allgather(&mine, cards.data(),
                                      sizeof(MemoryCard) / sizeof(std::uint64_t), Type::uint64);
    if (const base::Failure* const why = team.run(call, Purpose::register_memory))
        return why->within("register");
    for (Rank member = 0; member < team.size(); ++member) {
        const MemoryCard& card = cards[member];
        if (auto checked = check(card, member, layout); !checked)
            return checked.failure().within("register");
    }
    return cards;
}

base::Result<std::byte*> RegisteredMemory::add(Team& team, void* memory, std::uint64_t bytes) {
    const SetupLock::Hold setup = services_.setup.take();
    if (services_.closed()) return team.state().failure;
    services_.messages.serve_members(team);
    const MemoryCard mine = make_card(team, static_cast<std::byte*>(memory), bytes);
    const auto cards = exchange(team, mine, services_.layout);
    auto name = cards ? add_name(team, mine, *cards) : base::Result<std::byte*>(cards.failure());
    if (!name) revoke(mine);
    return name;
}

static PeerMemory peer_memory(const Job& job, Rank job_rank, const MemoryCard& card) {
    const link::Wire& wire = *job.wire;
    PeerMemory memory{.number = card.number, .bytes = card.bytes, .address = card.address};
    if (job_rank == job.bootstrap->rank())
        memory.mapped = reinterpret_cast<std::byte*>(card.address);
    else if (wire.near(job_rank) != nullptr)
        memory.copied = wire.memory().direct() != nullptr;
    else
        memory.region = card.region;
    return memory;
}

/// Reserves addresses for the name, and adds the registration. `cards`: by team rank.
base::Result<std::byte*> RegisteredMemory::add_name(Team& team, const MemoryCard& mine,
                                                    const std::vector<MemoryCard>& cards) {
    std::uint64_t name_bytes = kGuardBytes;
    for (const MemoryCard& card : cards)
        name_bytes = std::max(name_bytes, kGuardBytes + card.bytes);
    Registration added{.team = team.serial(),
                       .order = team.next_allocation(),
                       .name = link::reserve_addresses(name_bytes, 0),
                       .members = {},
                       .segment_offsets = {},
                       .mine = mine};
    const std::uint64_t is_reserved = added.name.start() != nullptr ? 1 : 0;
    const auto reserved = min_max<1>(team, {is_reserved}, Purpose::register_memory);
    if (!reserved) return reserved.failure().within("register");
    if (reserved->front().min == 0)
        return base::fail(Status::memory,
                          "register: a member cannot reserve {} bytes of addresses for a name",
                          name_bytes);
    for (Rank member = 0; member < team.size(); ++member) {
        const MemoryCard& card = cards[member];
        added.members.push_back(peer_memory(services_.job, team.job_rank(member), card));
        added.segment_offsets.push_back(card.segment_end == 0 ? 0 : card.segment_end - card.bytes);
    }
    std::byte* const name = added.name.start();
    const std::scoped_lock lock(mutex_);
    registrations_.emplace(address_of(name) + name_bytes, std::move(added));
    return name;
}

base::Result<void> RegisteredMemory::remove(Team& team, const void* name) {
    const SetupLock::Hold setup = services_.setup.take();
    if (services_.closed()) return team.state().failure;
    Registrations::iterator at;
    {
        const std::scoped_lock lock(mutex_);
        at = find_name(name);
        if (at == registrations_.end() || at->second.team != team.serial() ||
            at->second.name.start() != name)
            return base::fail(Status::argument,
                              "unregister: {} is not the name of memory that is registered on this "
                              "team",
                              name);
    }
    WEFT_TRY(settle(services_.engine, services_.onesided));
    const auto orders = min_max<1>(team, {at->second.order}, Purpose::unregister_memory);
    if (!orders) return orders.failure().within("unregister");
    if (!orders->front().agreed())
        return base::fail(Status::argument,
                          "unregister: members of the team pass different names, expected the same "
                          "registration on all");
    drop(at);
    return {};
}

void RegisteredMemory::end_team(const Team& team) {
    for (auto at = registrations_.begin(); at != registrations_.end();) {
        const auto here = at++;
        if (here->second.team == team.serial()) drop(here);
    }
}

void RegisteredMemory::drop(Registrations::iterator at) {
    revoke(at->second.mine);
    const std::scoped_lock lock(mutex_);
    retired_.push_back(std::move(at->second.name));
    if (retired_.size() > kRetired) retired_.pop_front();
    registrations_.erase(at);
}

/// Returns the registration whose name contains the address, or end(). The caller holds mutex_.
RegisteredMemory::Registrations::iterator RegisteredMemory::find_name(const void* address) {
    const auto at = registrations_.upper_bound(address_of(address));
    const bool contains =
        at != registrations_.end() && address_of(at->second.name.start()) <= address_of(address);
    return contains ? at : registrations_.end();
}

std::optional<base::Result<RemoteAddress>> RegisteredMemory::find(const Team& team,
                                                                  const void* address,
                                                                  std::uint64_t bytes,
                                                                  Rank member) {
    const std::scoped_lock lock(mutex_);
    const auto at = find_name(address);
    if (at == registrations_.end()) {
        const bool ended = std::ranges::any_of(retired_, [&](const link::AddressRange& name) {
            return address_of(address) - address_of(name.start()) < name.bytes();
        });
        if (!ended) return std::nullopt;
        return base::fail(Status::argument, "{} names memory that is not registered any more",
                          address);
    }
    const Registration& registration = at->second;
    if (registration.team != team.serial())
        return base::fail(Status::argument, "{} names memory that is registered on another team",
                          address);
    const auto index = static_cast<std::size_t>(member);
    const PeerMemory& memory = registration.members[index];
    const std::uint64_t offset = address_of(address) - address_of(registration.name.start());
    if (offset > memory.bytes || bytes > memory.bytes - offset)
        return base::fail(
            Status::argument,
            "{} bytes at offset {} are not in the {} bytes that rank {} has registered", bytes,
            offset, memory.bytes, member);
    const std::uint64_t start = registration.segment_offsets[index];
    return start != 0 ? RemoteAddress(start + offset) : RemoteAddress(offset, &memory);
}

std::uint64_t RegisteredMemory::bytes_of(const Team& team, const void* address, Rank member) {
    const std::scoped_lock lock(mutex_);
    const auto at = find_name(address);
    if (at == registrations_.end() || at->second.team != team.serial() || member < 0 ||
        member >= team.size())
        return 0;
    return at->second.members[member].bytes;
}

}  // namespace weft::run
