// SPDX-License-Identifier: BSD-2-Clause
#include "bench/files/bench.hpp"

#include "bench/failed_rows.hpp"
#include "bench/files/rows.hpp"
#include "bench/left_out.hpp"
#include "bench/measured_places.hpp"
#include "bench/network/processor_meter.hpp"
#include "bench/operations.hpp"
#include "bench/peers/gvisor.hpp"
#include "bench/peers/qemu_virtio.hpp"
#include "bench/peers/user_mode_linux.hpp"
#include "bench/results/save_result.hpp"
#include "bench/timed_program.hpp"
#include "bench/turns.hpp"
#include "host/input_error.hpp"
#include "host/temporary_directory.hpp"
#include "host/tree.hpp"
#include "toolchain/linux/source.hpp"

#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <future>
#include <iostream>
#include <unistd.h>

namespace previrt {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto ends_within = 7200s;
constexpr const char* guest_memory = "1G";
constexpr const char* native = "native";
constexpr const char* virtio_name = "QEMU virtio";
constexpr std::uint64_t mebibyte = 1U << 20U;

class FilesBench {
public:
    explicit FilesBench(const FilesBenchOptions& options)
        : options_(options), rows_(options.rows.empty() ? measured_file_rows() : options.rows),
          kernel_(build_measured_kernel(options.kernel)) {
        require_programs({"fio", "git", "make", "cpio"});
        std::cerr << "previrt: making disks and a folder in " << directory_.path() << '\n';
        const std::string source =
            options.source.empty() ? fetch_linux_source("6.1").directory : options.source;
        if (run_program(
                {.arguments = {in_source_tree("bench/make-files"), directory_.path(), source,
                               std::to_string(options.disk_mebibytes), std::to_string(cold_mebibytes())},
                 .directory = {},
                 .environment = {}}) != 0) {
            throw InputError("bench/make-files failed in " + directory_.path());
        }
    }

    void run() {
        const std::vector<std::string> all = {native, "process", "kvm", "UML", virtio_name, "gVisor"};
        for (const std::string& name : choose_columns(all, options_.columns)) {
            try_place(name, [&] { places_.push_back({.name = name, .run = find(name), .rows = {}}); });
        }
        take_turns(places_, options_.runs, [&](Place& place) {
            // In a thread of its own: behind a guest under KVM, Linux counts too little for what the same
            // thread starts.
            return try_place(place.name,
                             [&] { std::async(std::launch::async, [&] { measure(place); }).get(); });
        });
        print();
        save_result(options_.kernel, json());
    }

private:
    using Run = std::function<TimedEnd(const TimedLine& line)>;
    struct Place {
        std::string name;
        Run run;
        std::vector<FilesRow> rows; // of all runs
    };

    // A machine finds its disks by their sizes.
    [[nodiscard]] unsigned cold_mebibytes() const { return options_.disk_mebibytes + 1; }
    [[nodiscard]] std::string disk() const { return directory_.path() + "/disk"; }
    [[nodiscard]] std::string cold() const { return directory_.path() + "/cold"; }
    [[nodiscard]] std::string folder() const { return directory_.path() + "/folder"; }
    [[nodiscard]] static std::string script() { return in_source_tree("bench/guest/files.sh"); }

    [[nodiscard]] Settings settings(const std::string& place) const {
        return {{"files_rows", listed(rows_)},
                {"files_place", place},
                {"files_folder", folder()},
                {"files_seconds", std::to_string(options_.seconds)},
                {"files_disk_bytes", std::to_string(options_.disk_mebibytes * mebibyte)},
                {"files_cold_bytes", std::to_string(cold_mebibytes() * mebibyte)}};
    }

    // For a machine whose first process is the script.
    [[nodiscard]] std::vector<std::string> machine_words(const std::string& mount) const {
        Settings all = settings("machine");
        all.emplace_back("init", script());
        std::vector<std::string> words = words_for(all);
        words.push_back("\"files_mount=" + mount + "\"");
        return words;
    }

    static Run start(const Program& program) {
        return [program](const TimedLine& line) { return run_timed(program, ends_within, line); };
    }

    [[nodiscard]] Run find(const std::string& name) const {
        if (name == native) {
            return start({.arguments = {script()}, .directory = {}, .environment = settings("host")});
        }
        if (name == "UML") {
            return start(user_mode_linux_on_root(
                find_user_mode_linux(), {"ubd0=" + disk(), "ubd1r=" + cold()},
                machine_words("-t hostfs -o " + folder() + " none"), directory_.path(), guest_memory));
        }
        if (name == virtio_name) {
            return [this](const TimedLine& line) {
                QemuVirtio machine(
                    kernel_,
                    {{.file = disk(), .is_read_only = false}, {.file = cold(), .is_read_only = true}},
                    folder(), guest_memory);
                return run_timed(
                    machine.program(machine_words("-t virtiofs " + std::string(QemuVirtio::tag))),
                    ends_within, line);
            };
        }
        if (name == "gVisor") {
            return start(gvisor_on_root(find_gvisor(), script(), settings("gvisor"), directory_.path(),
                                        directory_.path()));
        }
        return start(command_in_guest(name));
    }

    [[nodiscard]] Program command_in_guest(const std::string& on) const {
        return command_on_root(kernel_,
                               {"--on", on, "--memory", guest_memory, "--share", folder(), "--disk", disk(),
                                "--disk", cold() + ",ro"},
                               settings("command"), script());
    }

    static bool is_peer(const std::string& name) {
        return name == "UML" || name == virtio_name || name == "gVisor";
    }

    // A KVM may be missing.
    template <typename Step>
    bool try_place(const std::string& name, const Step& step) {
        return left_out_.try_step(name, name != native && name != "process", step);
    }

    // This machine has all bytes of the disk in its memory, and none of the cold one.
    void prepare() const {
        for (const char* const made : {"untarred", "compiled", "temporary"}) {
            fs::remove_all(folder() + "/" + made);
        }
        fs::create_directory(folder() + "/temporary");
        const Descriptor warm(open(disk().c_str(), O_RDONLY | O_CLOEXEC));
        std::vector<char> block(mebibyte);
        while (read(warm.number(), block.data(), block.size()) > 0) {
        }
        const Descriptor evicted(open(cold().c_str(), O_RDONLY | O_CLOEXEC));
        if (posix_fadvise(evicted.number(), 0, 0, POSIX_FADV_DONTNEED) != 0) {
            throw InputError(cold() + ": this machine keeps it in memory");
        }
    }

    void measure(Place& place) const {
        prepare();
        const ProcessorMeter meter;
        FilesRowsReader reader([&] { return meter.used(); });
        const TimedEnd end = place.run(
            [&](std::string_view line, std::chrono::nanoseconds /*now*/) { reader.read_line(line); });
        reader.require(rows_, end.last_lines);
        report_failed_rows(reader.failed(), place.name, is_peer(place.name), end.last_lines);
        place.rows.insert(place.rows.end(), reader.done().begin(), reader.done().end());
    }

    [[nodiscard]] TimeTable table() const {
        TimeTable table;
        for (const Place& place : places_) {
            add_rows(table, place.name, place.rows);
        }
        return table;
    }

    void print() const {
        left_out_.print(12);
        std::printf("%u %s, %u s a transfer, disks of %u MiB, %s of memory\n\n", options_.runs,
                    options_.runs == 1 ? "run" : "runs", options_.seconds, options_.disk_mebibytes,
                    guest_memory);
        table().print();
    }

    [[nodiscard]] nlohmann::ordered_json json() const {
        return {{"title", "What disks and folders cost"},
                {"unit", "nanoseconds"},
                {"runs", options_.runs},
                {"seconds", options_.seconds},
                {"disk_mebibytes", options_.disk_mebibytes},
                {"left_out", left_out_.reasons()},
                {"times", table().json()}};
    }

    const FilesBenchOptions& options_;
    std::vector<std::string> rows_;
    TemporaryDirectory directory_;
    std::string kernel_;
    std::vector<Place> places_;
    LeftOut left_out_;
};

} // namespace

const std::vector<std::string>& measured_file_rows() {
    // Writes come last: their way to the host's disk takes longer than they do.
    static const std::vector<std::string> all = {
        "read_4k_depth_1",  "read_4k_depth_32",  "read_1_MiB", "cold_4k_depth_1",
        "cold_4k_depth_32", "cold_1_MiB",        "find",       "git_status",
        "git_status_again", "compile",           "untar",      "write_4k_and_fsync",
        "write_4k_depth_1", "write_4k_depth_32", "write_1_MiB"};
    return all;
}

void bench_files(const FilesBenchOptions& options) {
    FilesBench(options).run();
}

} // namespace previrt
