// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/run_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

namespace weft::test {
namespace {

/// Returns the seconds of the steady clock.
double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// Appends the output that a pipe has now. At its end, closes `file` and sets it to -1.
void append_available(int& file, std::string& text) {
    char buffer[4096];
    while (file >= 0) {
        const ssize_t count = ::read(file, buffer, sizeof buffer);
        if (count < 0) return;
        if (count == 0) {
            ::close(file);
            file = -1;
        } else {
            text.append(buffer, static_cast<std::size_t>(count));
        }
    }
}

}  // namespace

RunningProgram::RunningProgram(std::vector<std::string> command, std::vector<std::string> settings,
                               double deadline_s)
    : deadline_s_(deadline_s) {
    std::string folder = "/tmp/weft-test.XXXXXX";
    folder_ = ::mkdtemp(folder.data());
    mark_ = fmt::format("MARK_OF_A_TEST_{}", folder_.substr(folder_.size() - 6));
    settings.push_back(mark_ + "=1");
    settings.push_back("TMPDIR=" + folder_);
    for (char** variable = environ; *variable != nullptr; ++variable) {
        if (!std::string_view(*variable).starts_with("WEFT_TESTS_"))
            settings.emplace_back(*variable);
    }
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::vector<char*> environment;
    for (std::string& setting : settings) environment.push_back(setting.data());
    environment.push_back(nullptr);

    int output[2];
    int errors[2];
    if (::pipe2(output, O_CLOEXEC) != 0 || ::pipe2(errors, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, output[1], 1);
    ::posix_spawn_file_actions_adddup2(&actions, errors[1], 2);
    started_ = now();
    if (::posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(),
                       environment.data()) != 0) {
        pid_ = -1;
    }
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(output[1]);
    ::close(errors[1]);
    output_ = output[0];
    errors_ = errors[0];
    ::fcntl(output_, F_SETFL, O_NONBLOCK);
    ::fcntl(errors_, F_SETFL, O_NONBLOCK);
}

RunningProgram::~RunningProgram() {
    for (const pid_t pid : processes()) ::kill(pid, SIGKILL);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    if (output_ >= 0) ::close(output_);
    if (errors_ >= 0) ::close(errors_);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

bool RunningProgram::read_some(double seconds_max) {
    pollfd files[2] = {{output_, POLLIN, 0}, {errors_, POLLIN, 0}};
    ::poll(files, 2, static_cast<int>(seconds_max * 1000) + 1);
    append_available(output_, outcome_.output);
    append_available(errors_, outcome_.errors);
    return output_ >= 0 || errors_ >= 0;
}

bool RunningProgram::wait_for_output(const std::string& text) {
    const double deadline = now() + deadline_s_;
    while (outcome_.output.find(text) == std::string::npos) {
        if (now() > deadline || !read_some(0.1)) return false;
    }
    return true;
}

void RunningProgram::send(int signal) const {
    ::kill(pid_, signal);
}

Outcome RunningProgram::wait() {
    const double deadline = now() + deadline_s_;
    int status = 0;
    while (pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == 0) {
        if (now() > deadline) return outcome_;
        if (output_ >= 0 || errors_ >= 0) {
            read_some(0.05);
        } else {
            ::poll(nullptr, 0, 1);
        }
    }
    if (pid_ < 0) return outcome_;
    outcome_.seconds = now() - started_;
    pid_ = -1;
    append_available(output_, outcome_.output);
    append_available(errors_, outcome_.errors);
    outcome_.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return outcome_;
}

std::vector<pid_t> RunningProgram::processes() const {
    std::vector<pid_t> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
        const std::string name = entry.path().filename();
        if (std::isdigit(static_cast<unsigned char>(name[0])) == 0) continue;
        std::ifstream file(entry.path() / "environ", std::ios::binary);
        const std::string environment((std::istreambuf_iterator<char>(file)), {});
        if (environment.find(mark_ + "=1") != std::string::npos) found.push_back(std::stoi(name));
    }
    return found;
}

std::vector<std::string> RunningProgram::files() const {
    std::vector<std::string> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_, error)) {
        found.push_back(entry.path());
    }
    return found;
}

bool RunningProgram::nothing_left() const {
    const double deadline = now() + deadline_s_;
    while (!processes().empty() || !files().empty()) {
        if (now() > deadline) return false;
        ::poll(nullptr, 0, 5);
    }
    return true;
}

}  // namespace weft::test
