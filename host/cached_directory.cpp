// SPDX-License-Identifier: BSD-2-Clause
#include "host/cached_directory.hpp"

#include "host/directory_lock.hpp"
#include "host/file.hpp"
#include "host/tree.hpp"

#include <filesystem>

namespace previrt {

namespace {

namespace fs = std::filesystem;

constexpr const char* made_from = "/made-from"; // written last

std::string directory_in_cache(const std::string& name) {
    return fs::absolute(cache_directory()).string() + "/" + name;
}

bool is_made_from(const std::string& directory, const std::string& key) {
    return fs::exists(directory + made_from) && read_text(directory + made_from) == key;
}

} // namespace

std::string cached_directory(const std::string& name, const std::string& key,
                             const std::function<void(const std::string& directory)>& fill) {
    const std::string directory = directory_in_cache(name);
    make_directories(fs::path(directory).parent_path());
    const DirectoryLock lock(directory);
    if (is_made_from(directory, key)) {
        return directory;
    }
    const std::string partial = directory + ".partial";
    fs::remove_all(partial);
    make_directories(partial);
    fill(partial);
    write_text(partial + made_from, key);
    fs::remove_all(directory);
    fs::rename(partial, directory);
    return directory;
}

std::string find_cached_directory(const std::string& name, const std::string& key) {
    const std::string directory = directory_in_cache(name);
    return is_made_from(directory, key) ? directory : "";
}

} // namespace previrt
