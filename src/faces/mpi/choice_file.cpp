// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/choice_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <sstream>

namespace weft::mpi {

namespace {

constexpr std::string_view kHead = "# weft: faster library: MPI, ranks, collective, from bytes\n";

struct Line {
    std::string mpi;
    int ranks = 0;
    Choices::Place place = 0;
    Choices::Way way = Choices::Way::untried;
};

std::optional<Line> read_line(const std::string& text) {
    std::istringstream words(text);
    Line line;
    std::string collective;
    std::string quicker;
    std::size_t bytes = 0;
    if (!(words >> line.mpi >> line.ranks >> collective >> bytes >> quicker) || line.ranks < 2)
        return std::nullopt;
    const auto* const kind = std::ranges::find(kKindNames, collective);
    if (kind == kKindNames.end() || (quicker != "weft" && quicker != "host")) return std::nullopt;
    line.place = Choices::place_of(static_cast<Kind>(kind - kKindNames.begin()), bytes);
    line.way = quicker == "weft" ? Choices::Way::ours : Choices::Way::hosts;
    return line;
}

/// Calls act(text of the line, Line or nothing) for each line that is neither empty nor a comment.
template <class Act>
void for_each_line(std::string_view text, Act act) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);)
        if (!line.empty() && line.front() != '#') act(line, read_line(line));
}

std::string text_of(std::string_view mpi, int ranks, Choices::Place place, Choices::Way way) {
    const std::size_t bits = place % Choices::kSizes;
    const std::size_t bytes = bits == 0 ? 0 : std::size_t{1} << (bits - 1);
    std::ostringstream line;
    line << mpi << ' ' << ranks << ' ' << kKindNames[place / Choices::kSizes] << ' ' << bytes << ' '
         << (way == Choices::Way::ours ? "weft" : "host") << '\n';
    return line.str();
}

}  // namespace

KnownWays read_ways(std::string_view text, std::string_view mpi, std::string& complaint) {
    KnownWays known;
    for_each_line(text, [&](const std::string& words, const std::optional<Line>& line) {
        if (!line && complaint.empty()) complaint = words;
        if (line && line->mpi == mpi) known[line->ranks][line->place] = line->way;
    });
    return known;
}

std::string write_ways(std::string_view text, std::string_view mpi, const KnownWays& known) {
    std::string written(kHead);
    KnownWays all;
    for_each_line(text, [&](const std::string& words, const std::optional<Line>& line) {
        if (line && line->mpi != mpi) written += words + '\n';
        if (line && line->mpi == mpi) all[line->ranks][line->place] = line->way;
    });
    for (const auto& [ranks, ways] : known)
        for (std::size_t place = 0; place < ways.size(); ++place)
            if (ways[place] >= Choices::Way::ours) all[ranks][place] = ways[place];
    for (const auto& [ranks, ways] : all)
        for (std::size_t place = 0; place < ways.size(); ++place)
            if (ways[place] >= Choices::Way::ours)
                written += text_of(mpi, ranks, place, ways[place]);
    return written;
}

// --- the file itself -----------------------------------------------------------------------------

namespace {

class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    [[nodiscard]] int number() const { return number_; }

  private:
    int number_;
};

bool write_all(int file, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(file, text.data(), text.size());
        if (written < 0 && errno != EINTR) return false;
        if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    }
    return ::fsync(file) == 0;
}

}  // namespace

std::optional<std::string> content_of(const std::string& file) {
    constexpr std::size_t kBytesMax = std::size_t{4} << 20;
    // O_NONBLOCK: opening a FIFO would wait for a writer.
    const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat facts {};
    if (opened.number() < 0 || ::fstat(opened.number(), &facts) != 0) return "";
    if (!S_ISREG(facts.st_mode)) {
        std::fprintf(stderr, "weft: %s is not a regular file\n", file.c_str());
        return std::nullopt;
    }
    std::string text(kBytesMax + 1, '\0');
    std::size_t bytes = 0;
    while (bytes < text.size()) {
        const ssize_t read = ::read(opened.number(), text.data() + bytes, text.size() - bytes);
        if (read < 0 && errno == EINTR) continue;
        if (read <= 0) break;
        bytes += static_cast<std::size_t>(read);
    }
    text.resize(bytes);
    if (bytes <= kBytesMax) return text;
    std::fprintf(stderr, "weft: %s has more than %zu bytes\n", file.c_str(), kBytesMax);
    return std::nullopt;
}

bool replace_content(const std::string& file, std::string_view content) {
    constexpr int kNamesMax = 100;  // processes that ended early may have left files
    for (int attempt = 0; attempt < kNamesMax; ++attempt) {
        const std::string fresh =
            file + '.' + std::to_string(::getpid()) + '.' + std::to_string(attempt);
        const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
        const Descriptor opened(::open(fresh.c_str(), flags, 0666));
        if (opened.number() < 0 && errno == EEXIST) continue;
        if (opened.number() < 0) return false;
        if (write_all(opened.number(), content) && std::rename(fresh.c_str(), file.c_str()) == 0)
            return true;
        ::unlink(fresh.c_str());
        return false;
    }
    return false;
}

}  // namespace weft::mpi
