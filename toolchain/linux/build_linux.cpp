// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/linux/build_linux.hpp"

#include "host/digest.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "host/program.hpp"
#include "host/tree.hpp"
#include "toolchain/audit/audit.hpp"
#include "toolchain/linux/compiler.hpp"
#include "toolchain/linux/configuration.hpp"
#include "toolchain/linux/make_progress.hpp"
#include "toolchain/linux/object_cache.hpp"
#include "toolchain/linux/patches.hpp"
#include "toolchain/linux/source.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

namespace previrt {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t lines_shown_of_a_failure = 20;

class LinuxBuild {
public:
    explicit LinuxBuild(const BuildLinuxOptions& options)
        : options_(options), compiler_(find_compiler(options.compiler)),
          source_(options.source.empty() ? fetch_linux_source(options.version)
                                         : open_linux_source(options.source)),
          configuration_(find_configuration(options.configuration, source_.version)) {
        if (!options.plain) {
            patches_ = linux_patches(source_.version, options.without);
        }
        make_directories(options.output);
        output_ = fs::canonical(options.output).string();
        build_ = output_ + "/build";
    }

    bool run() {
        const std::string key = this->key();
        if (is_up_to_date(key)) {
            std::cerr << "previrt: " << output_ << " is up to date\n";
            return true;
        }
        fs::remove(output_ + "/previrt.json");
        write_text(output_ + "/build.log", "");
        cache_ = find_object_cache(compiler_, output_);
        if (!options_.plain) {
            // The cache gives the compiler relative paths, and Linux's own option names the absolute one.
            recording_flags_ = recording_flags(compiler_, shared_definitions(definitions_directory())) +
                               " -fmacro-prefix-map=../source/=";
        }
        const std::string tree = prepare_tree();
        prepare_build_directory();
        configure(tree);
        make(tree,
             "building Linux from " + source_.name + ", " + configuration_.name +
                 (options_.plain ? ", plain" : "") + ", with " + compiler_.identity,
             {"bzImage", "modules"});
        install(tree);
        write_make_script(tree);
        return report(key);
    }

private:
    // Everything on which the result depends.
    std::string key() {
        Digest digest;
        digest.add(source_.name).add(configuration_.text).add(compiler_.identity);
        digest.add(macros_digest()).add(options_.plain ? "" : patches_digest());
        if (fs::exists(exceptions())) {
            digest.add(read_text(exceptions()));
        }
        if (!source_.ours) {
            for (const fs::directory_entry& entry : fs::recursive_directory_iterator(source_.directory)) {
                if (entry.is_regular_file() && !entry.is_symlink()) {
                    digest.add(entry.path().string())
                        .add(std::to_string(entry.last_write_time().time_since_epoch().count()));
                }
            }
        }
        return digest.hex();
    }

    [[nodiscard]] std::string macros_digest() const {
        return Digest()
            .add(options_.plain ? "plain"
                                : read_text(definitions_directory() + "/previrt/" + compiler_.macros))
            .hex();
    }

    // Of everything that turns Debian's source into the patched source.
    [[nodiscard]] std::string patches_digest() const {
        Digest digest;
        digest.add(read_text(definitions_directory() + "/previrt/annotate.h"));
        for (const LinuxPatch& patch : patches_) {
            digest.add(read_text(patch.path));
        }
        return digest.hex();
    }

    // Instructions of this version that may stay unrecorded.
    [[nodiscard]] std::string exceptions() const {
        return in_source_tree("linux-patches/" + source_.version + "/exceptions");
    }

    // Whether an earlier build with this key was complete.
    [[nodiscard]] bool is_up_to_date(const std::string& key) const {
        for (const char* const file : {"/bzImage", "/vmlinux", "/config", "/make", "/previrt.json"}) {
            if (!fs::exists(output_ + file)) {
                return false;
            }
        }
        const auto report = nlohmann::json::parse(read_text(output_ + "/previrt.json"), nullptr, false);
        return report.is_object() && report.value("key", "") == key && report.value("complete", false);
    }

    // The source to build, patched or unchanged.
    [[nodiscard]] std::string prepare_tree() const {
        if (options_.plain) {
            return source_.directory;
        }
        // Beside the build directory, so that the relative path is the same for all kernels: the cache's key.
        make_patched_copy(source_, patches_, output_ + "/source");
        return output_ + "/source";
    }

    // make does not know that objects depend on the macros: with other macros all objects are old.
    void prepare_build_directory() const {
        const std::string stamp = build_ + "/previrt-macros";
        const std::string digest = macros_digest();
        if (fs::exists(build_) && (!fs::exists(stamp) || read_text(stamp) != digest)) {
            fs::remove_all(build_);
        }
        make_directories(build_);
        write_text(stamp, digest);
    }

    void configure(const std::string& tree) const {
        write_text(build_ + "/previrt.fragment", configuration_.text);
        make(tree, "configuring", {"KCONFIG_ALLCONFIG=" + build_ + "/previrt.fragment", "allnoconfig"});
        check_configuration(configuration_, build_ + "/.config", options_.plain);
    }

    // The make command of this kernel, without targets.
    [[nodiscard]] Program make_program(const std::string& tree) const {
        const unsigned jobs =
            options_.jobs != 0 ? options_.jobs : std::max(1U, std::thread::hardware_concurrency());
        // The kernel contains neither path, time nor user: the same input gives the same file.
        Program program{
            .arguments = {"make", "-C", tree, "O=" + build_, "-j" + std::to_string(jobs), "LOCALVERSION="},
            .directory = {},
            .environment = {{"PREVIRT", program_beside_this("previrt")},
                            {"LC_ALL", "C"},
                            {"KBUILD_BUILD_USER", "previrt"},
                            {"KBUILD_BUILD_HOST", "previrt"},
                            {"KBUILD_BUILD_VERSION", "1"},
                            {"KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 2026"}}};
        auto& arguments = program.arguments;
        arguments.insert(arguments.end(), compiler_.make_variables.begin(), compiler_.make_variables.end());
        arguments.push_back("CC=" + cache_.launcher + compiler_.program);
        if (!options_.plain) {
            arguments.push_back("KCFLAGS=" + recording_flags_);
            arguments.push_back("KAFLAGS=" + recording_flags_);
        }
        return program;
    }

    // OUTPUT/make: the same command for the user, above all for other modules: OUTPUT/make M=$PWD modules
    void write_make_script(const std::string& tree) const {
        Program program = make_program(tree);
        // It may be used when the compiler is no longer the one that the environment of this build names.
        program.environment.emplace_back("CCACHE_DISABLE", "1");
        std::string script =
            "#!/bin/sh\n# Runs make as this kernel was built, from any place: make M=$PWD modules\n";
        for (const auto& [name, value] : program.environment) {
            script += "export " + name + "=\"${" + name + ":-" + value + "}\"\n";
        }
        script += "exec";
        for (const std::string& argument : program.arguments) {
            script += " '" + argument + "'";
        }
        write_text(output_ + "/make", script + " \"$@\"\n");
        fs::permissions(output_ + "/make",
                        fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                        fs::perm_options::add);
    }

    void make(const std::string& tree, const std::string& what,
              const std::vector<std::string>& targets) const {
        Program program = make_program(tree);
        program.arguments.insert(program.arguments.end(), targets.begin(), targets.end());
        program.environment.insert(program.environment.end(), cache_.environment.begin(),
                                   cache_.environment.end());
        std::ofstream log(output_ + "/build.log", std::ios::app);
        std::deque<std::string> last;
        MakeProgress progress(what);
        const int status = run_program(program, [&](std::string_view line) {
            log << line << '\n';
            progress.line(line);
            last.emplace_back(line);
            if (last.size() > lines_shown_of_a_failure) {
                last.pop_front();
            }
        });
        progress.finish();
        if (status != 0) {
            std::string message = "make failed; the last lines of " + output_ + "/build.log:";
            for (const std::string& line : last) {
                message += "\n  " + line;
            }
            throw InputError(message);
        }
    }

    void install(const std::string& tree) const {
        const auto copy = [&](const std::string& from, const std::string& to) {
            fs::copy_file(build_ + from, output_ + to, fs::copy_options::overwrite_existing);
        };
        copy("/arch/x86/boot/bzImage", "/bzImage");
        copy("/vmlinux", "/vmlinux");
        copy("/.config", "/config");
        fs::remove(output_ + "/exceptions");
        if (const std::string list = exceptions(); fs::exists(list) && !options_.plain) {
            fs::copy_file(list, output_ + "/exceptions");
        }
        fs::remove_all(output_ + "/modules");
        make(tree, "installing modules",
             {"INSTALL_MOD_PATH=" + output_ + "/modules", "DEPMOD=/sbin/depmod", "modules_install"});
    }

    [[nodiscard]] bool report(const std::string& key) const {
        nlohmann::json json{
            {"key", key},
            {"source", source_.name},
            {"kernel", read_kernel_release()},
            {"compiler", compiler_.identity},
            {"configuration",
             {{"name", configuration_.name}, {"sha256", sha256_of_file(output_ + "/config")}}},
            {"plain", options_.plain},
            {"bzImage_sha256", sha256_of_file(output_ + "/bzImage")},
            {"complete", true}};
        if (!options_.plain) {
            unsigned lines = 0;
            for (const LinuxPatch& patch : patches_) {
                json[patch.optional ? "optional_patch_lines" : "patch_lines_by_purpose"][patch.purpose] =
                    patch.lines;
                lines += patch.optional ? 0 : patch.lines;
            }
            json["patch_lines"] = lines;
            json["complete"] = audit_all(json);
        }
        write_text(output_ + "/previrt.json", json.dump(2) + "\n");
        return json["complete"];
    }

    [[nodiscard]] std::string read_kernel_release() const {
        const std::string release = read_text(build_ + "/include/config/kernel.release");
        return release.substr(0, release.find('\n'));
    }

    bool audit_all(nlohmann::json& json) const {
        const std::string list = exceptions();
        ExceptionList exceptions = fs::exists(list) ? ExceptionList(list, read_text(list)) : ExceptionList();
        const KernelFile symbols = load_kernel_file(output_ + "/vmlinux");
        const AuditReport kernel = audit(load_kernel_file(output_ + "/bzImage"), exceptions, &symbols.elf);
        print_text(std::cout, kernel, exceptions);
        bool complete = kernel.complete();
        json["sites"] = kernel.records_by_kind;
        json["module_sites"] = nlohmann::json::object();
        for (const fs::directory_entry& entry : fs::recursive_directory_iterator(output_ + "/modules")) {
            if (entry.path().extension() == ".ko") {
                const AuditReport module = audit(load_kernel_file(entry.path().string()), exceptions);
                json["module_sites"][entry.path().stem().string()] = module.records;
                if (!module.complete()) {
                    print_text(std::cout, module, exceptions);
                    complete = false;
                }
            }
        }
        return complete;
    }

    BuildLinuxOptions options_;
    Compiler compiler_;
    LinuxSource source_;
    LinuxConfiguration configuration_;
    std::vector<LinuxPatch> patches_;
    ObjectCache cache_;
    std::string recording_flags_;
    std::string output_;
    std::string build_;
};

} // namespace

bool build_linux(const BuildLinuxOptions& options) {
    return LinuxBuild(options).run();
}

} // namespace previrt
