// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/cached_directory.hpp"

#include "toolchain/host/directory_lock.hpp"
#include "toolchain/host/tree.hpp"
#include "toolchain/image/file.hpp"

#include <filesystem>

namespace previrt {

namespace fs = std::filesystem;

std::string cached_directory(const std::string& name, const std::string& key,
                             const std::function<void(const std::string& directory)>& fill) {
    const std::string cache = fs::absolute(cache_directory()).string();
    make_directories(cache);
    const std::string directory = cache + "/" + name;
    const DirectoryLock lock(directory);
    const std::string made_from = "/made-from"; // written last
    if (fs::exists(directory + made_from) && read_text(directory + made_from) == key) {
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

} // namespace previrt
