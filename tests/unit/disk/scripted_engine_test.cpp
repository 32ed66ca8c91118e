// SPDX-License-Identifier: BSD-2-Clause
// A disk's thread, with an engine that gives the results that a test wants: errors that no file gives at
// will.
#include "tests/unit/command.hpp"
#include "tests/unit/disk/disk_guest.hpp"

#include <cerrno>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <poll.h>

namespace previrt {

namespace {

using backend::DiskOperation;
using backend::DiskResult;

class ScriptedEngine : public DiskEngine {
public:
    explicit ScriptedEngine(const DiskEvents& events) : events_(events) {}

    struct Call {
        FileCall call;
        std::uint64_t offset;
        std::uint64_t bytes;
        int mode;
    };
    // Of the next calls; behind them every call does all of its work.
    std::deque<std::int64_t> results;
    std::vector<Call> calls;

    [[nodiscard]] std::string name() const override { return "a script"; }
    void begin(const GuestCall& /*group*/) override {}
    void start(unsigned slot, const FileOperation& operation) override {
        std::uint64_t bytes = operation.bytes;
        for (const iovec& piece : operation.pieces) {
            bytes += piece.iov_len;
        }
        calls.push_back(
            {.call = operation.call, .offset = operation.offset, .bytes = bytes, .mode = operation.mode});
        const bool moves = !operation.pieces.empty();
        std::int64_t result = moves ? static_cast<std::int64_t>(bytes) : 0;
        if (!results.empty()) {
            result = results.front();
            results.pop_front();
        }
        results_.push_back({.slot = slot, .result = result});
    }
    Turn turn(bool sleeps) override {
        std::array<pollfd, 2> waiting = {{{.fd = events_.called, .events = POLLIN, .revents = 0},
                                          {.fd = events_.ended, .events = POLLIN, .revents = 0}}};
        poll(waiting.data(), waiting.size(), sleeps && results_.empty() ? -1 : 0);
        eventfd_t count = 0;
        if (waiting[0].revents != 0) {
            eventfd_read(events_.called, &count);
        }
        return {.was_called = waiting[0].revents != 0, .has_ended = waiting[1].revents != 0};
    }
    std::optional<FileResult> next() override {
        if (results_.empty()) {
            return {};
        }
        const FileResult result = results_.front();
        results_.pop_front();
        return result;
    }

private:
    DiskEvents events_;
    std::deque<FileResult> results_;
};

class ScriptedDisk : public testing::Test {
protected:
    void start(DiskChoice choice = {}) {
        choice.path = directory_.write("disk", "");
        std::filesystem::resize_file(choice.path, 1U << 20U);
        file_ = std::make_unique<DiskFile>(choice);
        guest_.start(*file_, engine_);
    }
    void TearDown() override { guest_.stop(); }
    DiskResult write(std::size_t bytes, bool is_durable = false) {
        return guest_.write(4096, Bytes(bytes, 1), is_durable);
    }
    DiskResult flush() { return guest_.ask(DiskOperation::flush, 0, 0); }

    ScratchDirectory directory_;
    DiskGuest guest_;
    ScriptedEngine engine_{guest_.events()};
    std::unique_ptr<DiskFile> file_;
};

TEST_F(ScriptedDisk, GoesOnWhereAShortCallEnded) {
    engine_.results = {512, 3, 4096, -EINTR, -EAGAIN, 1};
    start();
    EXPECT_EQ(write(8192), DiskResult::done);
    ASSERT_EQ(engine_.calls.size(), 7U);
    const std::uint64_t offsets[] = {4096, 4608, 4611, 8707, 8707, 8707, 8708};
    for (std::size_t i = 0; i < 7; ++i) {
        EXPECT_EQ(engine_.calls[i].offset, offsets[i]);
        EXPECT_EQ(engine_.calls[i].bytes, 12288 - offsets[i]);
    }
    engine_.results = {4096, 0};
    EXPECT_EQ(guest_.read(0, 8192).first, DiskResult::read_error); // the file ends there
    engine_.results = {9000};                                      // more than there was to do
    EXPECT_EQ(guest_.read(0, 8192).first, DiskResult::read_error);
}

TEST_F(ScriptedDisk, TellsWhatTheHostSaid) {
    start();
    const struct {
        int error;
        DiskResult result;
    } cases[] = {{.error = EIO, .result = DiskResult::write_error},
                 {.error = EFAULT, .result = DiskResult::write_error},
                 {.error = ENOSPC, .result = DiskResult::no_space},
                 {.error = EDQUOT, .result = DiskResult::no_space},
                 {.error = EFBIG, .result = DiskResult::no_space}};
    for (const auto& one : cases) {
        engine_.results = {-one.error};
        EXPECT_EQ(write(512), one.result) << one.error;
        engine_.results = {-one.error};
        EXPECT_EQ(guest_.read(0, 512).first, DiskResult::read_error) << one.error;
    }
    EXPECT_EQ(flush(), DiskResult::done);
    const DiskServer& server = guest_.stop();
    EXPECT_EQ(server.counts().failed, 10U);
    EXPECT_EQ(server.first_failure(), "write at byte 4096: Input/output error");
}

TEST_F(ScriptedDisk, SynchronizesBeforeItAnswersAFlush) {
    start();
    EXPECT_EQ(write(512), DiskResult::done);
    EXPECT_EQ(write(512, true), DiskResult::done);
    EXPECT_EQ(flush(), DiskResult::done);
    EXPECT_EQ(guest_.ask(DiskOperation::write_zeroes, 0, 512, {}, true), DiskResult::done);
    ASSERT_EQ(engine_.calls.size(), 5U);
    const FileCall calls[] = {FileCall::write, FileCall::durable_write, FileCall::synchronize,
                              FileCall::allocate, FileCall::synchronize};
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(engine_.calls[i].call, calls[i]);
    }
}

TEST_F(ScriptedDisk, NeverTakesLostWritesForStable) {
    start();
    engine_.results = {-EIO};
    EXPECT_EQ(flush(), DiskResult::write_error);
    EXPECT_EQ(flush(), DiskResult::write_error); // without a call: the host would say that all is well
    EXPECT_EQ(write(512, true), DiskResult::write_error);
    EXPECT_EQ(engine_.calls.size(), 1U);
    EXPECT_EQ(write(512), DiskResult::done);
}

TEST_F(ScriptedDisk, AFullDiskLosesNothing) {
    start();
    engine_.results = {-ENOSPC};
    EXPECT_EQ(write(512, true), DiskResult::no_space);
    EXPECT_EQ(flush(), DiskResult::done);
}

TEST_F(ScriptedDisk, UnsafeAndSnapshotNeverSynchronize) {
    for (const bool is_snapshot : {false, true}) {
        DiskGuest guest;
        ScriptedEngine engine{guest.events()};
        const std::string path = directory_.write("unsafe", "");
        std::filesystem::resize_file(path, 1U << 20U);
        DiskFile file({.path = path, .is_snapshot = is_snapshot, .is_unsafe = !is_snapshot});
        guest.start(file, engine);
        EXPECT_EQ(guest.write(0, Bytes(512), true), DiskResult::done);
        EXPECT_EQ(guest.ask(DiskOperation::flush, 0, 0), DiskResult::done);
        guest.stop();
        ASSERT_EQ(engine.calls.size(), 1U);
        EXPECT_EQ(engine.calls.front().call, FileCall::write);
    }
    start();
}

TEST_F(ScriptedDisk, WritesZerosIfTheFileSystemCannot) {
    start();
    engine_.results = {-EOPNOTSUPP};
    constexpr std::uint64_t bytes = (std::uint64_t{1} << 20U) - 4096;
    EXPECT_EQ(guest_.ask(DiskOperation::write_zeroes, 4096, bytes, {}, true), DiskResult::done);
    ASSERT_EQ(engine_.calls.size(), 3U);
    EXPECT_EQ(engine_.calls[0].mode, FALLOC_FL_ZERO_RANGE);
    EXPECT_EQ(engine_.calls[1].call, FileCall::write);
    EXPECT_EQ(engine_.calls[1].bytes, bytes);
    EXPECT_EQ(engine_.calls[2].call, FileCall::synchronize);
    EXPECT_EQ(guest_.ask(DiskOperation::write_zeroes, 4096, 512), DiskResult::done); // it is not asked again
    EXPECT_EQ(engine_.calls.size(), 4U);
    engine_.results = {-ENOSPC};
    EXPECT_EQ(guest_.ask(DiskOperation::write_zeroes, 4096, 512), DiskResult::no_space);
}

TEST_F(ScriptedDisk, ADiscardThatFreesNothingIsDone) {
    start();
    engine_.results = {-EOPNOTSUPP};
    EXPECT_EQ(guest_.ask(DiskOperation::discard, 0, 512), DiskResult::done);
    EXPECT_EQ(guest_.ask(DiskOperation::discard, 0, 512), DiskResult::done);
    ASSERT_EQ(engine_.calls.size(), 1U);
    EXPECT_EQ(engine_.calls.front().mode, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
    EXPECT_EQ(guest_.stop().counts().failed, 0U);
}

} // namespace

} // namespace previrt
