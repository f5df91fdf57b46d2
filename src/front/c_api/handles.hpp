// SPDX-License-Identifier: BSD-3-Clause
// handles.hpp - what the pointers of the C interface stand for.
//
// Idea     Each runtime reserves an aligned range of addresses, a gibibyte that costs no memory but its
//          first page. A handle is an address in it: the upper bits find the first page, the middle
//          ones an entry of the runtime's table, the low ones say how often the entry has been used.
// Why      A handle that has been freed, or outlived its runtime, must be refused, not followed. With
//          pointers to objects that takes a list of all runtimes of the process, or luck.
// Holds    A handle is never read through. The first page stays when the runtime is finalized, to say
//          so: 4 KiB for each runtime that a process has finalized. Entries are used again oldest
//          first, so a stale handle is mistaken only after its entry was used 16,384 times.
// Next     errors.hpp for what a refusal looks like; the entries are in runtime.cpp, teams.cpp,
//          calls.cpp, requests.cpp and operations.cpp.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "base/result.hpp"
#include "front/c_api/operations.hpp"
#include "run/runtime/runtime.hpp"
#include "weft/weft.h"

namespace weft::c_api {

/// A started call, or one that can be started.
struct Request {
    const weft_team* team = nullptr;
    run::CallShape shape;
    run::Buffers buffers;
    HeldOperations user;                                      ///< what the shape refers to
    std::shared_ptr<const run::HeldBlocks> blocks = nullptr;  ///< likewise, of a persistent call
    run::Operation* operation = nullptr;                      ///< while it is in flight
    bool persistent = false;
};

struct Entry {
    enum class Kind : std::uint8_t { free, team, request };
    Kind kind = Kind::free;
    std::uint32_t uses = 0;
    run::Team* team = nullptr;
    Request request;
};

/// Everything behind one weft_runtime.
class Context {
  public:
    static constexpr unsigned kUseBits = 14;
    static constexpr unsigned kEntryBits = 16;
    static constexpr std::uintptr_t kRange = std::uintptr_t{1} << (kUseBits + kEntryBits);

    /// What lies in the first page of a range.
    struct Head {
        static constexpr std::uint64_t kMark = 0x7765'6674'2d72'756eULL;
        std::uint64_t mark = 0;
        Context* context = nullptr;  ///< nullptr once finalized
    };

    /// The head that a handle belongs to. handle: not NULL.
    [[nodiscard]] static Head& head_of(const void* handle) {
        return *reinterpret_cast<Head*>(reinterpret_cast<std::uintptr_t>(handle) & ~(kRange - 1));
    }
    /// A new context in a new range; its Head is the runtime's handle.
    [[nodiscard]] static base::Result<Head*> create(std::unique_ptr<run::Runtime> runtime);
    /// Leaves the head only, so that it can say so.
    static void destroy(Head& head);

    [[nodiscard]] run::Runtime& runtime() const { return *runtime_; }
    [[nodiscard]] weft_team* world() const { return world_; }

    /// A handle for a team, or for a request that is to be filled in.
    [[nodiscard]] base::Result<weft_team*> add_team(run::Team& team);
    [[nodiscard]] base::Result<weft_request*> add_request(Request request);
    /// The entry of a handle of this context; nullptr if it stands for nothing of that kind any more.
    [[nodiscard]] Entry* find(const void* handle, Entry::Kind kind) {
        const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(handle) & (kRange - 1);
        const std::size_t index = offset >> kUseBits;
        if (index >= entries_.size()) [[unlikely]]
            return nullptr;
        Entry& entry = entries_[index];
        return entry.kind == kind && entry.uses == (offset & kUsesMask) ? &entry : nullptr;
    }
    /// The handle stands for nothing from now on.
    void remove(const void* handle);

  private:
    static constexpr std::uint32_t kUsesMask = (1U << kUseBits) - 1;

    Context(Head& head, std::unique_ptr<run::Runtime> runtime);
    [[nodiscard]] base::Result<std::uintptr_t> add(Entry::Kind kind, Entry*& entry);

    Head& head_;
    std::unique_ptr<run::Runtime> runtime_;
    std::deque<Entry> entries_;  ///< the first one is never used: its addresses are the head's
    std::deque<std::uint32_t> unused_;
    weft_team* world_ = nullptr;
};

/// What a team's handle stands for, or why it cannot be used.
struct TeamHandle {
    Context* context = nullptr;
    run::Team* team = nullptr;
};
[[nodiscard]] base::Result<Context*> context_of(const weft_runtime* runtime);
[[nodiscard]] base::Result<TeamHandle> find_team(const weft_team* team);
struct RequestHandle {
    Context* context = nullptr;
    Request* request = nullptr;
};
[[nodiscard]] base::Result<RequestHandle> find_request(const weft_request* request);

}  // namespace weft::c_api
