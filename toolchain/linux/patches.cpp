// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/linux/patches.hpp"

#include "host/file.hpp"
#include "host/input_error.hpp"
#include "host/program.hpp"
#include "host/tree.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <utility>

namespace previrt {

namespace {

namespace fs = std::filesystem;

constexpr const char* own_headers = "include/previrt"; // not a patch: annotate.h

LinuxPatch read_patch(const std::string& path) {
    std::istringstream lines(read_text(path));
    LinuxPatch patch{
        .path = path, .purpose = fs::path(path).stem().string(), .lines = 0, .files = {}, .optional = false};
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("+++ b/")) {
            patch.files.push_back(line.substr(6));
        } else if (line.starts_with("+")) {
            ++patch.lines;
        }
    }
    return patch;
}

// Sorted by path.
std::vector<LinuxPatch> patches_in(const std::string& directory) {
    std::vector<LinuxPatch> patches;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
        if (entry.path().extension() == ".patch") {
            patches.push_back(read_patch(entry.path().string()));
        }
    }
    std::ranges::sort(patches, {}, &LinuxPatch::path);
    return patches;
}

std::vector<LinuxPatch> optional_patches(const std::vector<std::string>& without) {
    std::vector<LinuxPatch> patches = patches_in(in_source_tree("linux-patches/optional"));
    std::string known;
    for (LinuxPatch& patch : patches) {
        patch.optional = true;
        known += " " + patch.purpose;
    }
    for (const std::string& name : without) {
        if (std::ranges::find(patches, name, &LinuxPatch::purpose) == patches.end()) {
            throw InputError("--without " + name + ": there is no such patch; there are:" + known);
        }
    }
    std::erase_if(patches, [&](const LinuxPatch& patch) {
        return std::ranges::find(without, patch.purpose) != without.end();
    });
    return patches;
}

void copy_if_different(const fs::path& from, const fs::path& to) {
    if (!fs::exists(to) || read_file(to.string()) != read_file(from.string())) {
        make_directories(to.parent_path().string());
        fs::remove(to); // it may be a hard link to the source
        fs::copy_file(from, to);
    }
}

void apply(const LinuxPatch& patch, const std::string& directory, const std::string& source) {
    std::string output;
    const int status =
        run_program({.arguments = {"patch", "-p1", "--batch", "--forward", "--no-backup-if-mismatch",
                                   "--reject-file=-", "-i", patch.path},
                     .directory = directory,
                     .environment = {}},
                    [&](std::string_view line) { output += "\n  " + std::string(line); });
    if (status != 0) {
        throw InputError(
            patch.path + " does not apply to " + source + ":" + output +
            "\nadapt the patch to this source; linux-patches/README.md gives the purpose of each "
            "patch" +
            (patch.optional ? ", or leave it out: --without " + patch.purpose : ""));
    }
}

} // namespace

std::vector<LinuxPatch> linux_patches(const std::string& version, const std::vector<std::string>& without) {
    const std::string directory = in_source_tree("linux-patches/" + version);
    if (!fs::is_directory(directory)) {
        throw InputError(directory + ": there are no patches for Linux " + version +
                         " (begin with a copy of the nearest version's, or build with --plain)");
    }
    std::vector<LinuxPatch> patches = patches_in(directory);
    std::ranges::move(optional_patches(without), std::back_inserter(patches));
    return patches;
}

void make_patched_copy(const LinuxSource& source, const std::vector<LinuxPatch>& patches,
                       const std::string& directory) {
    const std::string scratch = directory + ".patching";
    fs::remove_all(scratch);
    std::vector<std::string> files;
    for (const LinuxPatch& patch : patches) {
        for (const std::string& file : patch.files) {
            const fs::path copy = fs::path(scratch) / file;
            make_directories(copy.parent_path().string());
            std::error_code error;
            fs::copy_file(source.directory + "/" + file, copy, fs::copy_options::skip_existing, error);
            if (error) {
                throw InputError(patch.path + " changes " + file + ", which " + source.name +
                                 " does not have");
            }
            files.push_back(file);
        }
    }
    for (const LinuxPatch& patch : patches) {
        apply(patch, scratch, source.name);
    }

    std::vector<std::string> copy = {"rsync",
                                     "-a",
                                     "--delete",
                                     "--exclude=/.git",
                                     "--exclude=/.config",
                                     "--exclude=/include/config",
                                     "--exclude=/include/generated",
                                     "--exclude=/arch/x86/include/generated",
                                     "--exclude=*.o",
                                     "--exclude=*.cmd",
                                     std::string("--exclude=/") + own_headers};
    for (const std::string& file : files) {
        copy.push_back("--exclude=/" + file);
    }
    if (source.ours) {
        copy.push_back("--link-dest=" + source.directory);
    }
    copy.push_back(source.directory + "/");
    copy.push_back(directory + "/");
    make_directories(directory);
    if (const int status = run_program({.arguments = copy, .directory = {}, .environment = {}});
        status != 0) {
        throw InputError("copying " + source.directory + ": rsync ended with status " +
                         std::to_string(status));
    }
    for (const std::string& file : files) {
        copy_if_different(fs::path(scratch) / file, fs::path(directory) / file);
    }
    copy_if_different(definitions_directory() + "/previrt/annotate.h",
                      fs::path(directory) / own_headers / "annotate.h");
    fs::remove_all(scratch);
}

} // namespace previrt
