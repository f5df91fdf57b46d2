// SPDX-License-Identifier: BSD-3-Clause
// load_port.cpp - finds and loads the module weft_fabric.so. Does not link libfabric.
#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/blocked_signals.hpp"
#include "link/fabric/factory.hpp"
#include "link/fabric/scoped_environment.hpp"

namespace weft::link {
namespace {

constexpr const char* kModule = "weft_fabric.so";

/// Returns the folder of a file, after resolving links, or an empty path.
std::filesystem::path folder_of(const char* file) {
    std::error_code ignored;
    const auto real = std::filesystem::canonical(file, ignored);
    return ignored ? std::filesystem::path{} : real.parent_path();
}

/// Returns the files to try, in order. For a name without a folder, dlopen() searches its path.
std::vector<std::string> files_to_try(const std::string& named) {
    if (!named.empty()) return {named};
    std::vector<std::string> files;
    Dl_info own{};  // of the library or executable that contains this function
    const bool found = ::dladdr(reinterpret_cast<const void*>(&files_to_try), &own) != 0;
    for (const auto& folder :
         {found ? folder_of(own.dli_fname) : "", folder_of("/proc/self/exe")}) {
        if (folder.empty()) continue;
        // The module of a build is beside this code. An installed module is in lib/weft, which is
        // below the library's folder and beside the command's folder.
        for (const auto& place :
             {folder, folder / std::filesystem::path(WEFT_MODULE_FOLDER).filename(),
              folder.parent_path() / WEFT_MODULE_FOLDER}) {
            const std::string file = place / kModule;
            std::error_code ignored;
            if (std::filesystem::exists(file, ignored) &&
                std::ranges::find(files, file) == files.end())
                files.push_back(file);
        }
    }
    files.emplace_back(kModule);
    return files;
}

/// Returns true if libfabric was loaded before the module, so that it may have read its variables
/// already. The first call must precede the loading of the module.
bool libfabric_was_loaded() {
    static const bool was_loaded = [] {
        void* handle = ::dlopen("libfabric.so.1", RTLD_NOW | RTLD_NOLOAD);
        if (handle != nullptr) ::dlclose(handle);
        return handle != nullptr;
    }();
    return was_loaded;
}

/// Returns the module's handle. It is never closed, because libfabric does not support unloading.
base::Result<void*> load_module(const std::string& named) {
    std::string problems;
    for (const std::string& file : files_to_try(named)) {
        if (void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
        const char* problem = ::dlerror();
        problems += fmt::format("{}{}", problems.empty() ? "" : "; ",
                                problem != nullptr ? problem : "unknown problem");
    }
    return base::fail(
        Status::environment,
        "cannot load the network module {} ({}); WEFT_FABRIC_MODULE can name the file", kModule,
        problems);
}

/// Loads the module. Returns its functions.
base::Result<const FabricModule*> functions_of(const std::string& named) {
    static_cast<void>(libfabric_was_loaded());  // remembers the answer
    void* const module = WEFT_TRY(load_module(named));
    const auto get = reinterpret_cast<GetFabricModule>(::dlsym(module, kGetFabricModule));
    const FabricModule* const functions = get != nullptr ? get(WEFT_FABRIC_BUILD) : nullptr;
    if (functions == nullptr)
        return base::fail(Status::environment,
                          "the network module {} and its caller are from different builds of weft",
                          kModule);
    return functions;
}

}  // namespace

base::Result<std::unique_ptr<FabricPort>> load_port(const FabricMemory& memory,
                                                    const FabricOptions& options) {
    const SavedHandlers handlers;
    const base::BlockedSignals blocked;  // providers start threads
    const FabricModule* const module = WEFT_TRY(functions_of(options.module));
    FabricOptions completed = options;
    completed.libfabric_was_loaded = libfabric_was_loaded();
    return module->open_port(memory, completed);
}

base::Result<FabricSurvey> load_survey(const FabricOptions& options) {
    const SavedHandlers handlers;
    const base::BlockedSignals blocked;
    return WEFT_TRY(functions_of(options.module))->survey(options);
}

}  // namespace weft::link
