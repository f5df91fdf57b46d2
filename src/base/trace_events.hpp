// SPDX-License-Identifier: BSD-3-Clause
// trace_events.hpp - writer of the trace-event format, which Perfetto and chrome://tracing open.
//
// Idea     A trace is one JSON object with an array of events. Names of processes and threads are
//          metadata (ph M). A slice is one complete event (X), so no slice is left open.
//          Overlapping slices of a thread are pairs of async events (b, e). An arrow is a flow from
//          one slice to another (s, f).
// Holds    Text is passed on in blocks, so a trace of any length needs little memory. Times are
//          nanoseconds here, and microseconds with three digits in the file.
// Next     run/observe/trace.hpp for traces of jobs; tools/lab/simulate/timeline.hpp for simulated
//          ones.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace weft::base {

/// Row of a slice in the picture.
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
    std::string_view arguments;  ///< members of a JSON object, from argument()
};

class TraceEvents {
  public:
    using Sink = std::function<void(std::string_view)>;
    /// `about`: members of the object "otherData" beside the events, from argument().
    TraceEvents(Sink sink, std::string_view about);
    ~TraceEvents();
    TraceEvents(const TraceEvents&) = delete;
    TraceEvents& operator=(const TraceEvents&) = delete;

    /// Sets the name of a process. Processes are shown in order of their numbers.
    void name_process(int process, std::string_view name);
    void name_thread(Track track, std::string_view name);
    void slice(const Slice& slice);
    /// Adds a slice that may overlap others of its thread, with a unique number.
    void async(const Slice& slice, std::uint64_t number);
    /// Adds an arrow from a moment of one slice to a later moment of another.
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

/// Return "key":"value" and "key":value, escaped for JSON.
[[nodiscard]] std::string argument(std::string_view key, std::string_view value);
[[nodiscard]] std::string argument(std::string_view key, std::int64_t value);

}  // namespace weft::base
