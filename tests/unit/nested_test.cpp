// SPDX-License-Identifier: BSD-2-Clause
// A previrt in a machine: what goes in, and what it and others in there say.
#include "host/file.hpp"
#include "host/initramfs.hpp"
#include "host/input_error.hpp"
#include "monitor/nested/command.hpp"
#include "monitor/nested/console.hpp"
#include "monitor/nested/report.hpp"
#include "monitor/nested/shared_libraries.hpp"
#include "monitor/qemu/serial_channel.hpp"
#include "tests/unit/command.hpp"

#include <algorithm>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace previrt {

namespace {

// ---- what goes in

std::string shell_says(const std::string& command) {
    const ScratchDirectory directory;
    const std::string show = directory.write("show", "#!/bin/sh\necho \"$LD_LIBRARY_PATH\"\n"
                                                     "for word; do printf '<%s>\\n' \"$word\"; done\n");
    return run_command("chmod +x " + show + " && cd " + directory.path("") + " && " + command).output;
}

TEST(NestedCommand, CarriesEveryOptionThroughAShell) {
    RunOptions options;
    options.kernel = "/a kernel";
    options.initrd = "/it's an initrd";
    options.append = "-x 'quoted' $HOME `id` \\n\ntwo";
    options.memory = 123456789;
    options.stats = "/stats";
    options.net = "tap=guest,mac=52:54:00:12:34:56";
    options.cpus = 4;
    options.isolate = true;
    options.verbose = true;
    options.timeout = 0.25;
    EXPECT_EQ(
        shell_says(nested_command("./show", {"/a/b.so", "/c d/e.so", "/a/f.so"}, options)),
        "/a:/c d\n<run>\n</a kernel>\n<--on>\n<kvm>\n<--memory>\n<123456789>\n"
        "<--append=-x 'quoted' $HOME `id` \\n\ntwo>\n<--initrd>\n</it's an initrd>\n<--stats>\n</stats>\n"
        "<--net>\n<tap=guest,mac=52:54:00:12:34:56>\n"
        "<--cpus>\n<4>\n<--isolate>\n<--verbose>\n<--timeout>\n<0.25>\n");
}

TEST(NestedCommand, SaysNothingOfWhatWasNotAskedFor) {
    RunOptions options;
    options.kernel = "/k";
    options.memory = 1;
    EXPECT_EQ(shell_says(nested_command("./show", {}, options)),
              "\n<run>\n</k>\n<--on>\n<kvm>\n<--memory>\n<1>\n");
}

TEST(Initramfs, HasEveryDirectoryAndEachFileOnce) {
    Initramfs initramfs;
    const std::vector<std::uint8_t> text = {'a', '\n'};
    initramfs.add_file("/usr/lib/one", text, true);
    initramfs.add_file("/usr/lib/deep/two", text, false);
    initramfs.add_file("/usr/lib/one", {}, true);
    initramfs.add_link("/usr/lib/deep/link", "two");
    initramfs.add_file("/top", text, false);
    const std::vector<std::uint8_t> bytes = std::move(initramfs).finish();
    const ScratchDirectory directory;
    const std::string file = directory.write("archive", std::string(bytes.begin(), bytes.end()));
    EXPECT_EQ(run_command("cpio --list --quiet <" + file).output,
              "usr\nusr/lib\nusr/lib/one\nusr/lib/deep\nusr/lib/deep/two\nusr/lib/deep/link\ntop\n");
    EXPECT_EQ(run_command("cd " + directory.path("") + " && cpio --extract --quiet <" + file +
                          " && cat usr/lib/one usr/lib/deep/link top")
                  .output,
              "a\na\na\n");
    EXPECT_THROW(Initramfs().add_file_of_host("/no/such/file"), InputError);
}

TEST(SharedLibraries, AreThoseOfTheProgram) {
    const std::vector<std::string> names = shared_libraries_of(PREVIRT);
    const auto has = [&](const std::string& part) {
        return std::ranges::any_of(names, [&](const std::string& name) {
            return name.starts_with('/') && name.find(part) != std::string::npos;
        });
    };
    EXPECT_TRUE(has("/libc.so.6"));
    EXPECT_TRUE(has("/libseccomp"));
    EXPECT_FALSE(has("/libLLVM"));
    EXPECT_TRUE(has("/ld-linux-x86-64.so.2"));
    EXPECT_FALSE(has("vdso"));
}

// ---- what comes back

class Report {
public:
    NestedReport report{[this](std::string_view text) { messages.emplace_back(text); }};
    std::vector<std::string> messages;
};

TEST(NestedReport, IsTheSameForAnyPieces) {
    const std::string text = "begin\nmessage one\nmessage \nmessage two words \nstats {\nstats }\nend 124\n";
    for (std::size_t size = 1; size <= text.size(); ++size) {
        Report whole;
        for (std::size_t at = 0; at < text.size(); at += size) {
            EXPECT_FALSE(whole.report.status().has_value());
            whole.report.read(std::string_view(text).substr(at, size));
        }
        EXPECT_TRUE(whole.report.begun());
        EXPECT_EQ(whole.messages, (std::vector<std::string>{"one", "", "two words "}));
        EXPECT_EQ(whole.report.counters(), "{\n}\n");
        EXPECT_EQ(whole.report.status(), 124);
    }
}

TEST(NestedReport, WithoutAWholeStatusThereIsNone) {
    for (const char* const text : {"", "end", "end \n", "end 1", "end 256\n", "end -1\n", "end 0x\n",
                                   "end 1 2\n", "ending 1\n", "beginning\n", "messages one\n"}) {
        Report report;
        report.report.read(text);
        EXPECT_FALSE(report.report.status().has_value()) << text;
        EXPECT_FALSE(report.report.begun()) << text;
        EXPECT_TRUE(report.messages.empty()) << text;
        EXPECT_EQ(report.report.counters(), "") << text;
    }
}

class Console {
public:
    // What goes to standard error meanwhile.
    template <typename Function>
    static std::string heard(Function function) {
        testing::internal::CaptureStderr();
        function();
        std::string text = testing::internal::GetCapturedStderr();
        std::erase(text, '\r'); // of a raw terminal
        return text;
    }

    RunOptions options;
    NestedConsole console{options};
};

TEST(NestedConsole, PassesMessagesOnButNotTheKernelsName) {
    Console machine;
    EXPECT_FALSE(machine.console.guest_is_there());
    EXPECT_EQ(Console::heard([&] {
                  machine.console.read_report(
                      "begin\nmessage previrt: /k (sha256 0123) on kvm: the host's KVM\n"
                      "message /k (sha256 0123)\nmessage previrt: it failed\n");
              }),
              "/k (sha256 0123)\nprevirt: it failed\n");
    EXPECT_TRUE(machine.console.guest_is_there());
    EXPECT_FALSE(machine.console.ending());
    EXPECT_FALSE(machine.console.over());
    machine.console.read_report("end 1\n");
    EXPECT_TRUE(machine.console.ending());
}

TEST(NestedConsole, KeepsWhatLinuxSaidForItsFailure) {
    Console machine;
    EXPECT_FALSE(machine.console.spoke());
    EXPECT_EQ(Console::heard(
                  [&] { machine.console.read_log("first\r\n[  1.0] Kernel panic - not syncing: why\r\n"); }),
              "");
    EXPECT_TRUE(machine.console.spoke());
    EXPECT_EQ(Console::heard([&] {
                  EXPECT_TRUE(machine.console.say_why_it_failed());
                  machine.console.print_log();
              }),
              "previrt: the Linux with KVM failed: Kernel panic - not syncing: why\n"
              "previrt: its last lines:\nfirst\n[  1.0] Kernel panic - not syncing: why\n");
}

TEST(NestedConsole, ShowsWhatLinuxSaysAtOnceWhereThatIsAskedFor) {
    Console machine;
    machine.options.verbose = true;
    EXPECT_EQ(Console::heard([&] {
                  machine.console.read_log("one\r\ntw");
                  machine.console.read_log("o\r\n");
                  machine.console.print_log();
                  EXPECT_FALSE(machine.console.say_why_it_failed());
              }),
              "(Linux) one\n(Linux) two\n");
}

TEST(SerialChannel, IsOpenUntilTheMachineHasGone) {
    std::string heard;
    SerialChannel channel([&](std::string_view text) { heard += text; });
    Descriptor machine = channel.take_machine_end();
    channel.read();
    EXPECT_GE(channel.descriptor(), 0); // it has nothing to say yet
    const std::string text(10000, 'x');
    EXPECT_EQ(write(machine.number(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    channel.read();
    EXPECT_EQ(heard, text);
    channel.read();
    EXPECT_GE(channel.descriptor(), 0);
    machine.close();
    channel.read();
    EXPECT_EQ(channel.descriptor(), -1);
}

} // namespace

} // namespace previrt
