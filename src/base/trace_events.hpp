// SPDX-License-Identifier: BSD-3-Clause
// trace_events.hpp - writes what happened when in the trace-event format, which Perfetto and
// chrome://tracing open.
//
// Idea     One JSON object with an array of events. Names of processes and threads are metadata
//          (ph M); a slice is one complete event (X), so that none is ever left open; what overlaps
//          with others of its thread is a pair of async events (b, e); an arrow is a flow from a
//          slice to another (s, f).
// Holds    Text is handed on in blocks, so a trace of any length needs little memory. Times are
//          nanoseconds here and microseconds with three digits in the file.
// Next     run/runtime/trace.hpp for traces of jobs; lab/simulate/timeline.hpp for simulated ones.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace weft::base {

/// Where a slice lies in the picture.
struct Track {
    int process = 0;
    int thread = 0;
};

struct Slice {
    Track track;
    std::string_view name;
    std::string_view category;
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::string_view arguments;  ///< members of a JSON object, as argument() makes them
};

class TraceEvents {
  public:
    using Sink = std::function<void(std::string_view)>;
    /// `about`: members of the object that stands beside the events, as argument() makes them.
    TraceEvents(Sink sink, std::string_view about);
    ~TraceEvents();
    TraceEvents(const TraceEvents&) = delete;
    TraceEvents& operator=(const TraceEvents&) = delete;

    /// Processes are shown in the order of their numbers.
    void name_process(int process, std::string_view name);
    void name_thread(Track track, std::string_view name);
    void slice(const Slice& slice);
    /// Of calls that may overlap: a slice of its own, with a number that no other has.
    void async(const Slice& slice, std::uint64_t number);
    /// From a moment of one slice to a later one of another; each number once.
    void arrow(std::string_view name, Track from, std::uint64_t from_ns, Track to,
               std::uint64_t to_ns);
    [[nodiscard]] std::uint64_t count() const { return count_; }

  private:
    void begin_event(char phase, std::string_view name, Track track);
    void add_time(std::string_view key, std::uint64_t ns);
    void end_event();

    Sink sink_;
    std::string text_;
    std::string_view separator_ = "\n";
    std::uint64_t count_ = 0;
    std::uint64_t arrows_ = 0;
};

/// "key":"value" and "key":value, with what JSON wants escaped.
[[nodiscard]] std::string argument(std::string_view key, std::string_view value);
[[nodiscard]] std::string argument(std::string_view key, std::int64_t value);

}  // namespace weft::base
