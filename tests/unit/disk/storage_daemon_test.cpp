// SPDX-License-Identifier: BSD-2-Clause
// Images of disks: what a guest writes is in the image, whatever a hostile image names stays closed, and the
// daemon that opens images ends with the monitor.
#include "monitor/disk/storage_daemon.hpp"

#include "host/file.hpp"
#include "host/input_error.hpp"
#include "tests/unit/command.hpp"
#include "tests/unit/contains.hpp"
#include "tests/unit/disk/disk_guest.hpp"
#include "tests/unit/disk/refusal.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace previrt {

namespace {

using backend::DiskOperation;
using backend::DiskResult;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

// A disk of an image, and its guest.
struct ImageGuest {
    explicit ImageGuest(const DiskChoice& choice)
        : file(choice), engine(make_image_engine(file.daemon()->take_connection(),
                                                 file.overlay() != nullptr ? file.overlay()->number() : -1,
                                                 guest.events(), std::chrono::milliseconds(300))) {
        guest.start(file, *engine);
    }
    ~ImageGuest() { guest.stop(); }
    ImageGuest(const ImageGuest&) = delete;
    ImageGuest& operator=(const ImageGuest&) = delete;

    DiskFile file;
    DiskGuest guest;
    std::unique_ptr<DiskEngine> engine;
};

class Images : public testing::Test {
protected:
    static void qemu_img(const std::string& arguments) {
        ASSERT_EQ(run_command("qemu-img " + arguments + " 2>&1").status, 0) << arguments;
    }
    // An image of a disk of 16 MiB.
    [[nodiscard]] std::string make(const std::string& format, const std::string& options = "") const {
        std::string path = directory_.path("image." + format);
        qemu_img("create -q -f " + format + " " + options + " " + path + " 16M");
        return path;
    }
    [[nodiscard]] Bytes disk_in(const std::string& path, const std::string& format) const {
        const std::string raw = directory_.path("converted");
        qemu_img("convert -f " + format + " -O raw " + path + " " + raw);
        return read_file(raw);
    }
    // The file is refused in one line which has these parts, and nothing stays behind: it can be locked at
    // once.
    static void expect_refusal(const DiskChoice& choice, const std::vector<std::string>& parts) {
        const std::string refusal = refusal_of(choice);
        EXPECT_TRUE(refusal.starts_with("--disk " + choice.path + ": ")) << refusal;
        for (const std::string& part : parts) {
            EXPECT_TRUE(contains(refusal, part)) << refusal;
        }
        EXPECT_FALSE(contains(refusal, "\n"));
        EXPECT_NO_THROW(open_disk_file(choice.path, true));
    }
    static Bytes bytes_of(std::uint8_t value, std::size_t count = mib) {
        Bytes bytes(count);
        std::ranges::fill(bytes, value);
        return bytes;
    }

    ScratchDirectory directory_;
};

TEST_F(Images, OfEachFormatHaveWhatTheGuestWrites) {
    for (const std::string format : {"qcow2", "vmdk", "vdi", "vpc", "vhdx"}) {
        const std::string path = make(format, format == "vpc" ? "-o force_size=on" : "");
        {
            ImageGuest disk({.path = path, .format = format});
            EXPECT_EQ(disk.file.disk().bytes, 16 * mib) << format;
            EXPECT_EQ(disk.guest.read(0, 4096), std::pair(DiskResult::done, Bytes(4096))) << format;
            EXPECT_EQ(disk.guest.write(5 * mib, bytes_of(5)), DiskResult::done) << format;
            EXPECT_EQ(disk.guest.write(3 * mib, bytes_of(3), true), DiskResult::done) << format;
            EXPECT_EQ(disk.guest.write((9 * mib) + 512, bytes_of(9, 512)), DiskResult::done) << format;
            EXPECT_EQ(disk.guest.ask(DiskOperation::write_zeroes, 3 * mib, mib / 2), DiskResult::done)
                << format;
            EXPECT_EQ(disk.guest.ask(DiskOperation::flush, 0, 0), DiskResult::done) << format;
            EXPECT_EQ(disk.guest.read(5 * mib, mib), std::pair(DiskResult::done, bytes_of(5))) << format;
            EXPECT_EQ(disk.guest.stop().counts().failed, 0U) << format;
        }
        const Bytes all = disk_in(path, format);
        Bytes expected(16 * mib);
        std::fill_n(expected.begin() + 5 * mib, mib, std::uint8_t{5});
        std::fill_n(expected.begin() + 3 * mib + mib / 2, mib / 2, std::uint8_t{3});
        std::fill_n(expected.begin() + 9 * mib + 512, 512, std::uint8_t{9});
        EXPECT_TRUE(all == expected) << format;
        if (format != "vpc") { // which has no check
            qemu_img("check -q -f " + format + " " + path);
        }
    }
}

TEST_F(Images, ReturnSpaceForADiscard) {
    const std::string path = make("qcow2");
    const auto space = [&] {
        struct stat status{};
        stat(path.c_str(), &status);
        return static_cast<std::uint64_t>(status.st_blocks) * 512;
    };
    ImageGuest disk({.path = path, .format = "qcow2"});
    EXPECT_TRUE(disk.file.disk().discards);
    for (std::uint64_t number = 0; number < 4; ++number) {
        EXPECT_EQ(disk.guest.write(number * mib, bytes_of(1), true), DiskResult::done);
    }
    EXPECT_GE(space(), 4 * mib);
    EXPECT_EQ(disk.guest.ask(DiskOperation::discard, 0, 4 * mib), DiskResult::done);
    EXPECT_EQ(disk.guest.ask(DiskOperation::flush, 0, 0), DiskResult::done);
    EXPECT_LT(space(), mib);
    EXPECT_EQ(disk.guest.read(mib, mib), std::pair(DiskResult::done, Bytes(mib)));
    EXPECT_EQ(disk.guest.write(0, bytes_of(2)), DiskResult::done);
    EXPECT_EQ(disk.guest.read(0, mib), std::pair(DiskResult::done, bytes_of(2)));
}

TEST_F(Images, ADiscardMayBeLongerThanARequestOfTheProtocol) {
    const std::string path = directory_.path("large");
    qemu_img("create -q -f qcow2 " + path + " 9G");
    ImageGuest disk({.path = path, .format = "qcow2"});
    const std::uint64_t bytes = 9ULL * 1024 * mib;
    for (const std::uint64_t offset : {std::uint64_t{0}, bytes / 2, bytes - mib}) {
        EXPECT_EQ(disk.guest.write(offset, bytes_of(7)), DiskResult::done);
    }
    EXPECT_EQ(disk.guest.ask(DiskOperation::discard, 0, bytes), DiskResult::done);
    for (const std::uint64_t offset : {std::uint64_t{0}, bytes / 2, bytes - mib}) {
        EXPECT_EQ(disk.guest.read(offset, mib), std::pair(DiskResult::done, Bytes(mib)));
    }
}

TEST_F(Images, ReadOnlyOnesAndSnapshotsStayAsTheyAre) {
    const std::string path = make("qcow2");
    {
        ImageGuest disk({.path = path, .format = "qcow2"});
        EXPECT_EQ(disk.guest.write(0, bytes_of(1)), DiskResult::done);
    }
    const Bytes before = read_file(path);
    {
        ImageGuest disk({.path = path, .is_read_only = true, .format = "qcow2"});
        EXPECT_EQ(disk.guest.read(0, mib), std::pair(DiskResult::done, bytes_of(1)));
        EXPECT_EQ(disk.guest.write(0, bytes_of(2)), DiskResult::refused);
        EXPECT_EQ(disk.guest.ask(DiskOperation::discard, 0, mib), DiskResult::refused);
    }
    {
        ImageGuest disk({.path = path, .is_snapshot = true, .format = "qcow2"});
        EXPECT_EQ(disk.guest.write(512, bytes_of(2, 512)), DiskResult::done);
        EXPECT_EQ(disk.guest.ask(DiskOperation::discard, 1024, 512), DiskResult::done);
        EXPECT_EQ(disk.guest.ask(DiskOperation::flush, 0, 0), DiskResult::done);
        Bytes expected = bytes_of(1);
        std::fill_n(expected.begin() + 512, 512, std::uint8_t{2});
        std::fill_n(expected.begin() + 1024, 512, std::uint8_t{0});
        EXPECT_EQ(disk.guest.read(0, mib), std::pair(DiskResult::done, expected));
    }
    EXPECT_TRUE(read_file(path) == before);
}

TEST_F(Images, HaveTheBackingFilesThatTheUserNames) {
    const std::string base = directory_.write("base", std::string(16 * mib, 'b'));
    const std::string middle = directory_.path("middle");
    const std::string top = directory_.path("top");
    qemu_img("create -q -f qcow2 -b " + base + " -F raw " + middle);
    qemu_img("create -q -f qcow2 -b " + middle + " -F qcow2 " + top);
    const DiskChoice choice{.path = top,
                            .format = "qcow2",
                            .backing = {{.path = middle, .format = "qcow2"}, {.path = base, .format = ""}}};
    {
        ImageGuest disk(choice);
        EXPECT_EQ(disk.guest.read(mib, mib), std::pair(DiskResult::done, bytes_of('b')));
        EXPECT_EQ(disk.guest.write(mib, bytes_of('t')), DiskResult::done);
        EXPECT_EQ(disk.guest.ask(DiskOperation::discard, 2 * mib, mib), DiskResult::done);
        EXPECT_EQ(disk.guest.read(2 * mib, mib), std::pair(DiskResult::done, Bytes(mib)));
    }
    Bytes expected(16 * mib, 'b');
    std::fill_n(expected.begin() + mib, mib, std::uint8_t{'t'});
    std::fill_n(expected.begin() + 2 * mib, mib, std::uint8_t{0});
    EXPECT_TRUE(disk_in(top, "qcow2") == expected);
    EXPECT_TRUE(read_file(base) == Bytes(16 * mib, 'b'));

    DiskChoice shorter = choice;
    shorter.backing.pop_back();
    EXPECT_TRUE(contains(refusal_of(shorter), "--disk " + middle + ": it names a backing file, '" + base));
    DiskChoice unsaid = choice;
    unsaid.backing[0].format = "";
    unsaid.backing.pop_back();
    EXPECT_TRUE(contains(refusal_of(unsaid), "--disk " + middle +
                                                 ": it is a qcow2 image, and previrt guesses "
                                                 "no format: put ,backing-format=qcow2"));
    DiskChoice itself = choice;
    itself.backing = {{.path = top, .format = "raw"}};
    EXPECT_TRUE(contains(refusal_of(itself), "another guest has it"));
    expect_refusal({.path = make("qcow2"), .format = "qcow2", .backing = {{.path = base, .format = "raw"}}},
                   {"it names no backing file: leave out ,backing=" + base});
}

TEST_F(Images, OpenNoFileThatOnlyTheyName) {
    const std::string secret = directory_.write("secret", std::string(16 * mib, 's'));
    std::filesystem::permissions(directory_.path(""), std::filesystem::perms(0755));
    std::filesystem::permissions(secret, std::filesystem::perms(0666));
    const std::string path = directory_.path("hostile");
    qemu_img("create -q -f qcow2 -b " + secret + " -F raw " + path);
    expect_refusal({.path = path, .format = "qcow2"},
                   {"it names a backing file, '" + secret + "'", ",backing=FILE"});
    // QEMU takes a name for more than a file.
    for (const std::string name : {R"(json:{\"driver\":\"file\",\"filename\":\"/etc/passwd\"})",
                                   "nbd://localhost/x", "fd:0", "/image/3", "/dev/null"}) {
        std::filesystem::remove(path);
        qemu_img("create -q -f qcow2 -u -b \"" + name + "\" -F raw " + path + " 16M");
        expect_refusal({.path = path, .format = "qcow2"}, {"it names a backing file, '"});
    }
    std::filesystem::remove(path);
    qemu_img("create -q -f qcow2 -o data_file=" + secret + " " + path + " 16M");
    expect_refusal({.path = path, .format = "qcow2"},
                   {"Could not open '" + secret + "': Permission denied",
                    "previrt opens no file that only an image names", "qemu-img convert -f qcow2"});
    std::filesystem::remove(path);
    qemu_img("create -q -f vmdk -o subformat=monolithicFlat " + path + " 16M");
    expect_refusal({.path = path, .format = "vmdk"}, {"Permission denied", "qemu-img convert -f vmdk"});
    qemu_img("create -q -f vmdk -o subformat=twoGbMaxExtentSparse " + path + ".vmdk 16M");
    expect_refusal({.path = path + ".vmdk", .format = "vmdk"}, {"Permission denied"});
    qemu_img("create -q -f vmdk " + directory_.path("parent.vmdk") + " 16M");
    qemu_img("create -q -f vmdk -b " + directory_.path("parent.vmdk") + " -F vmdk " +
             directory_.path("child.vmdk"));
    expect_refusal({.path = directory_.path("child.vmdk"), .format = "vmdk"},
                   {"it names a backing file, '", "parent.vmdk'"});
}

TEST_F(Images, ReachNoDescriptorOfTheirDaemon) {
    // An external data file, whose name becomes one by which the daemon finds an open image.
    const std::string path = directory_.path("hostile");
    for (int number = 0; number < 16; ++number) {
        const std::string name = "/image/" + std::to_string(number);
        const std::string other(name.size(), 'd');
        std::filesystem::remove(path);
        run_command("cd " + directory_.path("") + " && qemu-img create -q -f qcow2 -o data_file=" + other +
                    " hostile 16M");
        std::vector<std::uint8_t> image = read_file(path);
        const auto found = std::ranges::search(image, other);
        ASSERT_FALSE(found.empty());
        std::ranges::copy(name, found.begin());
        write_file(path, image);
        expect_refusal({.path = path, .format = "qcow2"},
                       {"Could not open '" + name + "': Permission denied"});
    }
}

TEST_F(Images, OfAnotherFormatOrNoneAreRefused) {
    const std::string raw = directory_.write("raw", std::string(mib, 'r'));
    const std::string empty = directory_.write("empty", "");
    const std::string begin = directory_.write("begin", "QFI\xfb");
    for (const std::string format : {"qcow2", "vmdk", "vdi", "vpc", "vhdx"}) {
        expect_refusal({.path = raw, .format = format}, {});
        EXPECT_NE(refusal_of({.path = empty, .format = format}), "");
        EXPECT_NE(refusal_of({.path = begin, .format = format}), "");
    }
    expect_refusal({.path = raw, .format = "qcow2"},
                   {"Image is not in qcow2 format; `qemu-img info " + raw + "` says what it is"});
    // A header that promises too much.
    const std::string path = make("qcow2");
    const std::vector<std::uint8_t> image = read_file(path);
    for (std::size_t place = 4; place < 104; place += 4) {
        std::vector<std::uint8_t> damaged = image;
        std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(place), 4, std::uint8_t{0xff});
        write_file(path, damaged);
        const std::string refusal = refusal_of({.path = path, .is_read_only = true, .format = "qcow2"});
        EXPECT_TRUE(refusal.empty() || refusal.starts_with("--disk " + path + ": ")) << refusal;
        EXPECT_FALSE(contains(refusal, "signal")) << place << refusal;
    }
    EXPECT_TRUE(contains(refusal_of({.path = directory_.path("missing"), .format = "qcow2"}),
                         "missing: No such file or directory"));
}

TEST_F(Images, AreWrittenByOneGuest) {
    const std::string path = make("qcow2");
    const DiskChoice choice{.path = path, .format = "qcow2"};
    {
        const DiskFile writer(choice);
        EXPECT_TRUE(contains(refusal_of(choice), "another guest has it"));
        EXPECT_TRUE(contains(refusal_of({.path = path, .is_read_only = true, .format = "qcow2"}),
                             "another guest has it"));
        EXPECT_TRUE(contains(run_command("qemu-img info " + path + " 2>&1").output, "Failed to get shared"));
    }
    const DiskFile reader({.path = path, .is_read_only = true, .format = "qcow2"});
    EXPECT_EQ(refusal_of({.path = path, .is_snapshot = true, .format = "qcow2"}), "");
    EXPECT_TRUE(contains(refusal_of(choice), "another guest has it"));
}

TEST_F(Images, AKilledDaemonIsErrorsInAGuestThatGoesOn) {
    const std::string path = make("qcow2");
    ImageGuest disk({.path = path, .format = "qcow2"});
    EXPECT_EQ(disk.guest.write(0, bytes_of(1), true), DiskResult::done);
    EXPECT_EQ(disk.file.daemon()->describe_trouble(false), "");
    ASSERT_EQ(kill(disk.file.daemon()->process(), SIGKILL), 0);
    // One may still be answered.
    EXPECT_EQ(disk.guest.read(2 * mib, mib).second.size(), mib);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(disk.guest.read(0, mib).first, DiskResult::read_error);
        EXPECT_EQ(disk.guest.write(0, bytes_of(2)), DiskResult::write_error);
        EXPECT_EQ(disk.guest.ask(DiskOperation::discard, 0, mib), DiskResult::write_error);
        EXPECT_EQ(disk.guest.ask(DiskOperation::flush, 0, 0), DiskResult::write_error);
    }
    const DiskServer& server = disk.guest.stop();
    EXPECT_GE(server.counts().failed, 10U);
    EXPECT_TRUE(contains(server.first_failure(), "Input/output error")) << server.first_failure();
    EXPECT_TRUE(disk.engine->has_lost_disk());
    EXPECT_EQ(disk.file.daemon()->describe_trouble(true),
              "qemu-storage-daemon serves the image no more: signal Killed");
}

TEST_F(Images, AStoppedDaemonDoesNotKeepAGuestThatHasEnded) {
    const std::string path = make("qcow2");
    ImageGuest disk({.path = path, .format = "qcow2"});
    const pid_t daemon = disk.file.daemon()->process();
    EXPECT_EQ(disk.guest.write(0, bytes_of(1)), DiskResult::done);
    ASSERT_EQ(kill(daemon, SIGSTOP), 0);
    const backend::DiskPiece piece{.address = 0, .bytes = 4096};
    for (std::uint64_t token = 1; token <= 100; ++token) { // more than there are rooms for
        disk.guest.submit({.token = token,
                           .operation = DiskOperation::write,
                           .is_durable = false,
                           .offset = 0,
                           .bytes = 4096,
                           .pieces = std::span(&piece, 1)});
    }
    disk.guest.ring();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_EQ(disk.guest.stop().counts().failed, 100U);
    kill(daemon, SIGCONT);
}

TEST_F(Images, OutliveAKilledMonitorWithAllThatWasWritten) {
    const std::string path = make("qcow2");
    Pipe report = make_pipe();
    const pid_t monitor = fork();
    if (monitor == 0) {
        ImageGuest disk({.path = path, .format = "qcow2"});
        bool is_done = true;
        for (std::uint64_t number = 0; number < 8; ++number) {
            is_done =
                is_done && disk.guest.write(number * mib, bytes_of(static_cast<std::uint8_t>(number + 1)),
                                            false) == DiskResult::done;
        }
        // As a monitor does: it may not send the daemon a signal then. Only this thread: others have filters.
        constexpr uid_t nobody = 65534;
        is_done = is_done && (geteuid() != 0 || syscall(SYS_setresuid, nobody, nobody, nobody) == 0);
        const pid_t daemon = is_done ? disk.file.daemon()->process() : 0;
        [[maybe_unused]] const ssize_t written = write(report.write.number(), &daemon, sizeof daemon);
        pause();
        _exit(1);
    }
    report.write.close();
    pid_t daemon = 0;
    ASSERT_EQ(read(report.read.number(), &daemon, sizeof daemon), static_cast<ssize_t>(sizeof daemon));
    ASSERT_NE(daemon, 0);
    kill(monitor, SIGKILL);
    waitpid(monitor, nullptr, 0);
    for (int tries = 0; tries < 500 && std::filesystem::exists("/proc/" + std::to_string(daemon) + "/exe");
         ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const DiskFile next({.path = path, .format = "qcow2"}); // nobody has it any more
    const Bytes all = disk_in(path + " -U", "qcow2");
    for (std::uint64_t number = 0; number < 8; ++number) {
        EXPECT_EQ(all[number * mib], number + 1);
    }
}

TEST_F(Images, AreOpenedByAProgramThatMayDoNothingElse) {
    const std::string path = make("qcow2");
    const DiskFile file({.path = path, .format = "qcow2"});
    const std::string process = "/proc/" + std::to_string(file.daemon()->process());
    const std::string status = run_command("cat " + process + "/status").output;
    EXPECT_TRUE(contains(status, "Seccomp:\t2")) << status;
    EXPECT_TRUE(contains(status, "NoNewPrivs:\t1")) << status;
    EXPECT_TRUE(contains(status, "CapEff:\t0000000000000000")) << status;
    EXPECT_TRUE(contains(status, "CapBnd:\t0000000000000000") || geteuid() != 0) << status;
    EXPECT_FALSE(contains(status, "Uid:\t0\t")) << status;
    // Of regular files it has the image.
    std::size_t regular = 0;
    for (const auto& entry : std::filesystem::directory_iterator(process + "/fd")) {
        regular += std::filesystem::is_regular_file(entry.path()) ? 1 : 0;
    }
    EXPECT_EQ(regular, 2U); // and the library that confines it
    EXPECT_TRUE(std::filesystem::equivalent(process + "/exe", "/usr/bin/qemu-storage-daemon"));
}

TEST_F(Images, NeedTheirProgram) {
    const std::string path = make("qcow2");
    const std::string before = std::getenv("PATH");
    setenv("PATH", "/nowhere", 1);
    const std::string refusal = refusal_of({.path = path, .format = "qcow2"});
    setenv("PATH", before.c_str(), 1);
    EXPECT_EQ(refusal, "--disk: an image is opened by qemu-storage-daemon, which is missing (package "
                       "qemu-system-common)");
}

TEST_F(Images, AreExaminedForAProgramThatOpensThemItself) {
    Image image = open_image({.path = make("qcow2"), .format = "qcow2"});
    examine_image(image);
    EXPECT_TRUE(
        contains(refusal_of({.path = image.front().path, .format = "qcow2"}), "another guest has it"));
    const std::string secret = directory_.write("secret", std::string(mib, 's'));
    const std::string path = directory_.path("hostile");
    qemu_img("create -q -f qcow2 -b " + secret + " -F raw " + path);
    Image hostile = open_image({.path = path, .format = "qcow2"});
    EXPECT_THROW(examine_image(hostile), InputError);
}

TEST_F(Images, AreDescribedWithoutAnythingThatQemuMustGuess) {
    Image image;
    image.push_back(
        {.path = "a", .format = "qcow2", .file = {.descriptor = Descriptor()}, .is_written = true});
    image.push_back(
        {.path = "b", .format = "vmdk", .file = {.descriptor = Descriptor()}, .is_written = false});
    const std::string text =
        describe_for_qemu(image, true, [](std::size_t place) { return "/place/" + std::to_string(place); });
    for (const char* const part :
         {R"("backing":{"auto-read-only":false,"backing":null)", R"("filename":"/place/1")",
          R"("filename":"/place/0")", R"("no-flush":true)", R"("locking":"on")", R"("driver":"vmdk")"}) {
        EXPECT_TRUE(contains(text, part)) << text;
    }
    EXPECT_FALSE(contains(text, R"("no-flush":false)"));
    EXPECT_TRUE(
        contains(describe_for_qemu(image, false, [](std::size_t) { return ""; }), R"("no-flush":false)"));
}

} // namespace

} // namespace previrt
