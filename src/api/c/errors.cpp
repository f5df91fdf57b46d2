// SPDX-License-Identifier: BSD-3-Clause
#include "api/c/errors.hpp"

#include <algorithm>
#include <cstring>

namespace weft::c_api {

namespace {

struct Sentence {
    char text[2048] = "No call of this thread has failed.";
};

/// Returns the sentence of the calling thread, because weft_last_error() has no argument.
Sentence& last_sentence() noexcept {
    static thread_local Sentence sentence;
    return sentence;
}

/// Writes a sentence, and cuts it off at the end of its memory.
class Writer {
  public:
    explicit Writer(Sentence& sentence)
        : at_(sentence.text), end_(at_ + sizeof sentence.text - 2) {}

    void add(std::string_view text) noexcept {
        const std::size_t bytes = std::min(text.size(), static_cast<std::size_t>(end_ - at_));
        std::memcpy(at_, text.data(), bytes);
        at_ += bytes;
    }
    void end_sentence() noexcept {
        while (at_[-1] == '\n' || at_[-1] == ' ') --at_;
        if (std::strchr(".!?", at_[-1]) == nullptr) *at_++ = '.';
        *at_ = '\0';
    }

  private:
    char* at_;
    char* end_;  ///< limit of add(): leaves two bytes for '.' and '\0'
};

}  // namespace

weft_status refuse(const char* function, Status status, std::string_view text) noexcept {
    constexpr std::string_view kPrefix = "weft_";
    const std::string_view name = std::string_view(function).substr(kPrefix.size());
    Writer writer(last_sentence());
    if (text.starts_with(name) && text.substr(name.size()).starts_with(": ")) {
        writer.add(kPrefix);
    } else {
        writer.add(function);
        writer.add(": ");
    }
    writer.add(text);
    writer.end_sentence();
    return static_cast<weft_status>(status);
}

weft_status refuse_exception(const char* function) noexcept {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        return refuse(function, Status::memory, "the process is out of memory");
    } catch (const std::exception& problem) {
        return refuse(function, Status::environment, problem.what());
    } catch (...) {
        return refuse(function, Status::environment, "an exception of an unknown type was thrown");
    }
}

}  // namespace weft::c_api

static_assert(static_cast<int>(weft::Status::ok) == WEFT_OK);
static_assert(static_cast<int>(weft::Status::argument) == WEFT_ERR_ARGUMENT);
static_assert(static_cast<int>(weft::Status::memory) == WEFT_ERR_MEMORY);
static_assert(static_cast<int>(weft::Status::environment) == WEFT_ERR_ENVIRONMENT);
static_assert(static_cast<int>(weft::Status::peer) == WEFT_ERR_PEER);
static_assert(static_cast<int>(weft::Status::timeout) == WEFT_ERR_TIMEOUT);
static_assert(static_cast<int>(weft::Status::unsupported) == WEFT_ERR_UNSUPPORTED);

extern "C" const char* weft_last_error(void) {
    return weft::c_api::last_sentence().text;
}

extern "C" const char* weft_version(void) {
    return WEFT_LIBRARY_VERSION;
}
