// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/mpi_jobs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "tools/cli/job_command.hpp"

namespace weft::tools {

Words default_launcher(const std::string& mpi) {
    if (mpi == "mpich") return {"mpiexec.mpich"};
    Words words{"mpirun.openmpi", "--oversubscribe"};
    if (::geteuid() == 0) words.emplace_back("--allow-run-as-root");
    return words;
}

Words words_of(const MpiJob& job) {
    Words words = job.launcher.empty() ? default_launcher(job.mpi) : job.launcher;
    words.insert(words.end(), {"-np", std::to_string(job.ranks), "env"});
    words.insert(words.end(), job.settings.begin(), job.settings.end());
    words.insert(words.end(), job.program.begin(), job.program.end());
    return words;
}

base::Result<std::string> layer_for(const std::string& mpi) {
    namespace fs = std::filesystem;
    const auto self = own_program();
    if (!self) return self.failure();
    const std::string name = fmt::format("libweft-mpi-{}.so", mpi);
    const fs::path here = fs::path(*self).parent_path();
    for (const fs::path& folder : {here, here.parent_path() / WEFT_LIBRARY_FOLDER})
        if (fs::exists(folder / name)) return (folder / name).string();
    return base::fail(Status::environment, "{} is not here: it is built where {} has headers", name,
                      mpi);
}

std::string output_of(const char* program, const std::string& argument) {
    std::string text;
    if (argument.find('\'') != std::string::npos) return text;
    const std::string command = fmt::format("{} '{}' 2>/dev/null </dev/null", program, argument);
    std::FILE* const pipe = ::popen(command.c_str(), "re");
    char buffer[4096];
    while (pipe != nullptr && std::fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
    if (pipe != nullptr) ::pclose(pipe);
    return text;
}

}  // namespace weft::tools
