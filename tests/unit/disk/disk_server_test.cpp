// SPDX-License-Identifier: BSD-2-Clause
// A disk's thread on real files, with each engine.
#include "monitor/disk/disk_server.hpp"

#include "host/file.hpp"
#include "host/input_error.hpp"
#include "tests/unit/command.hpp"
#include "tests/unit/disk/disk_guest.hpp"
#include "tests/unit/disk/random.hpp"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <sys/resource.h>
#include <sys/stat.h>

namespace previrt {

namespace {

using backend::DiskOperation;
using backend::DiskPiece;
using backend::DiskResult;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

struct Engine {
    const char* name;
    // nullptr: a daemon serves the file, as if it were an image.
    std::unique_ptr<DiskEngine> (*make)(int file, int overlay, const DiskEvents& events);
};

// Reads and writes above all.
DiskOperation any_operation(std::uint32_t die) {
    if (die < 9) {
        return DiskOperation::read;
    }
    if (die < 18) {
        return DiskOperation::write;
    }
    return die < 19 ? DiskOperation::write_zeroes : DiskOperation::discard;
}

class DiskServers : public testing::TestWithParam<Engine> {
protected:
    void SetUp() override {
        try {
            make_ring_engine(make_event().number(), -1, guest_.events());
        } catch (const InputError& error) {
            if (GetParam().make == make_ring_engine) {
                GTEST_SKIP() << error.what();
            }
        }
    }
    void start(const DiskChoice& choice, std::uint64_t bytes = 8 * mib) {
        path_ = choice.path;
        if (bytes != 0) {
            path_ = directory_.write("disk", "");
            std::filesystem::resize_file(path_, bytes);
        }
        DiskChoice at_path = choice;
        at_path.path = path_;
        file_ = std::make_unique<DiskFile>(at_path);
        const int overlay = file_->overlay() != nullptr ? file_->overlay()->number() : -1;
        if (has_daemon()) {
            start_daemon(at_path);
            engine_ = make_image_engine(daemon_->take_connection(), overlay, guest_.events());
        } else {
            engine_ = GetParam().make(file_->number(), overlay, guest_.events());
        }
        guest_.start(*file_, *engine_);
    }
    [[nodiscard]] static bool has_daemon() { return GetParam().make == nullptr; }
    void start_daemon(const DiskChoice& choice) {
        Image image;
        image.push_back({.path = choice.path,
                         .format = "raw",
                         .file = {.descriptor = Descriptor(fcntl(file_->number(), F_DUPFD_CLOEXEC, 0)),
                                  .is_device = false},
                         .is_written = choice.is_written()});
        setrlimit(RLIMIT_FSIZE, &limit_of_daemon_);
        daemon_ = std::make_unique<StorageDaemon>(std::move(image), choice.is_unsafe);
        setrlimit(RLIMIT_FSIZE, &limit_);
    }
    [[nodiscard]] Bytes in_file(std::uint64_t offset, std::size_t bytes) const {
        const Bytes all = read_file(path_);
        return {all.begin() + static_cast<std::ptrdiff_t>(offset),
                all.begin() + static_cast<std::ptrdiff_t>(offset + bytes)};
    }
    [[nodiscard]] std::uint64_t space() const {
        struct stat status{};
        stat(path_.c_str(), &status);
        return static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
    Bytes random_bytes(std::size_t bytes) {
        Bytes result(bytes);
        std::ranges::generate(result, [&] { return static_cast<std::uint8_t>(random_()); });
        return result;
    }

    ScratchDirectory directory_;
    std::string path_;
    DiskGuest guest_;
    std::unique_ptr<DiskFile> file_;
    std::unique_ptr<StorageDaemon> daemon_;
    std::unique_ptr<DiskEngine> engine_;
    RandomNumbers random_;
    rlimit limit_ = limit_of_files();           // of this process
    rlimit limit_of_daemon_ = limit_of_files(); // from its start

    static rlimit limit_of_files() {
        rlimit limit{};
        getrlimit(RLIMIT_FSIZE, &limit);
        return limit;
    }

    void TearDown() override {
        if (file_) {
            guest_.stop();
        }
    }
};

INSTANTIATE_TEST_SUITE_P(Engines, DiskServers,
                         testing::Values(Engine{.name = "Ring", .make = make_ring_engine},
                                         Engine{.name = "Workers", .make = make_worker_engine},
                                         Engine{.name = "Daemon", .make = nullptr}),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(DiskServers, WriteAndReadTheFile) {
    start({});
    const Bytes bytes = random_bytes(mib);
    for (const bool is_durable : {false, true}) {
        for (const std::size_t length : {std::size_t{512}, std::size_t{4096}, bytes.size()}) {
            const Bytes part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
            EXPECT_EQ(guest_.write(3 * length, part, is_durable), DiskResult::done);
            EXPECT_EQ(in_file(3 * length, length), part);
            EXPECT_EQ(guest_.read(3 * length, length), std::pair(DiskResult::done, part));
        }
    }
    EXPECT_EQ(guest_.ask(DiskOperation::flush, 0, 0), DiskResult::done);
    EXPECT_EQ(guest_.read(6 * mib, 4096), std::pair(DiskResult::done, Bytes(4096)));
    const DiskCounts counts = guest_.stop().counts();
    EXPECT_EQ(counts.reads, 7U);
    EXPECT_EQ(counts.writes, 6U);
    EXPECT_EQ(counts.flushes, 1U);
    EXPECT_EQ(counts.written_bytes, 2 * (mib + 4096 + 512));
    EXPECT_EQ(counts.failed, 0U);
}

TEST_P(DiskServers, ReadWhatLinuxHasNotInItsMemory) {
    start({});
    constexpr std::uint32_t page = 4096;
    constexpr std::uint32_t four_pages = 4 * page;
    const Bytes bytes = random_bytes(mib);
    const auto bytes_at = [&](std::size_t offset, std::size_t count) {
        const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
        return Bytes(begin, begin + static_cast<std::ptrdiff_t>(count));
    };
    ASSERT_EQ(guest_.write(0, bytes), DiskResult::done);
    ASSERT_EQ(guest_.ask(DiskOperation::flush, 0, 0), DiskResult::done);
    for (std::size_t offset = 0; offset < bytes.size(); offset += 2 * std::size_t{four_pages}) {
        ASSERT_EQ(posix_fadvise(file_->number(), 0, 0, POSIX_FADV_DONTNEED), 0);
        EXPECT_EQ(guest_.read(offset, page), std::pair(DiskResult::done, bytes_at(offset, page)));
        // The first of its pages is there by now.
        EXPECT_EQ(guest_.read(offset, four_pages), std::pair(DiskResult::done, bytes_at(offset, four_pages)));
    }
}

TEST_P(DiskServers, MemoryMayLieInPieces) {
    start({});
    const Bytes bytes = random_bytes(mib);
    std::vector<DiskPiece> pieces;
    std::uint64_t left = mib;
    // Pages of which the first begins in the middle, downwards.
    for (std::uint64_t page = DiskGuest::ram_bytes - DiskGuest::page; left != 0;
         page -= 2 * DiskGuest::page) {
        const std::uint64_t skipped = pieces.empty() ? 1536 : 0;
        pieces.push_back({.address = page + skipped, .bytes = std::min(left, DiskGuest::page - skipped)});
        left -= pieces.back().bytes;
    }
    EXPECT_EQ(pieces.size(), std::size_t{backend::most_request_pieces});
    std::size_t done = 0;
    for (const DiskPiece& piece : pieces) {
        std::copy_n(bytes.data() + done, piece.bytes, guest_.ram().data() + piece.address);
        done += piece.bytes;
    }
    EXPECT_EQ(guest_.ask(DiskOperation::write, mib, mib, pieces), DiskResult::done);
    EXPECT_EQ(in_file(mib, mib), bytes);
    std::ranges::fill(guest_.ram(), std::uint8_t{0x11});
    EXPECT_EQ(guest_.ask(DiskOperation::read, mib, mib, pieces), DiskResult::done);
    done = 0;
    for (const DiskPiece& piece : pieces) {
        ASSERT_TRUE(std::equal(bytes.data() + done, bytes.data() + done + piece.bytes,
                               guest_.ram().data() + piece.address));
        done += piece.bytes;
    }
    EXPECT_EQ(std::ranges::count(guest_.ram().first(DiskGuest::ram_bytes - (514 * DiskGuest::page)), 0x11),
              DiskGuest::ram_bytes - (514 * DiskGuest::page));
}

TEST_P(DiskServers, ManyRequestsAtOnceKeepTheirBytes) {
    start({});
    constexpr std::uint64_t block = 16384;
    constexpr std::uint64_t blocks = 8 * mib / block;
    constexpr std::uint64_t rooms = DiskGuest::ram_bytes / block;
    std::vector<Bytes> model(blocks, Bytes(block));
    struct Flight {
        std::uint64_t block;
        std::uint64_t room;
        DiskOperation operation;
    };
    std::map<std::uint64_t, Flight> flights; // by token
    std::vector<std::uint64_t> free_rooms(rooms);
    std::ranges::generate(free_rooms, [next = std::uint64_t{0}]() mutable { return next++; });
    std::uint64_t token = 0;
    const auto land = [&] {
        const backend::DiskCompletion completion = guest_.next();
        ASSERT_EQ(completion.result, DiskResult::done);
        const Flight flight = flights.at(completion.token);
        const std::uint8_t* const memory = guest_.ram().data() + (flight.room * block);
        if (flight.operation == DiskOperation::read) {
            ASSERT_TRUE(std::equal(memory, memory + block, model[flight.block].begin()));
        }
        free_rooms.push_back(flight.room);
        flights.erase(completion.token);
    };
    for (int i = 0; i < 6000; ++i) {
        const std::uint64_t number = random_() % blocks;
        while (free_rooms.empty() || std::ranges::any_of(flights, [&](const auto& other) {
                   return other.second.block == number;
               })) {
            ASSERT_NO_FATAL_FAILURE(land());
        }
        const DiskOperation operation = any_operation(random_() % 20);
        const Flight flight{.block = number, .room = free_rooms.back(), .operation = operation};
        free_rooms.pop_back();
        const std::span<std::uint8_t> memory = guest_.ram().subspan(flight.room * block, block);
        if (operation == DiskOperation::write) {
            std::ranges::generate(model[number], [&] { return static_cast<std::uint8_t>(random_()); });
            std::ranges::copy(model[number], memory.begin());
        } else if (operation != DiskOperation::read) {
            model[number] = Bytes(block);
        }
        const DiskPiece piece{.address = flight.room * block, .bytes = block};
        const bool has_data = operation == DiskOperation::read || operation == DiskOperation::write;
        flights[++token] = flight;
        guest_.submit({.token = token,
                       .operation = operation,
                       .is_durable = random_() % 50 == 0,
                       .offset = number * block,
                       .bytes = block,
                       .pieces = has_data ? std::span(&piece, 1) : std::span<const DiskPiece>()});
        if (random_() % 4 == 0) {
            guest_.notify();
        }
    }
    while (!flights.empty()) {
        ASSERT_NO_FATAL_FAILURE(land());
    }
    guest_.stop();
    const Bytes all = read_file(path_);
    for (std::uint64_t number = 0; number < blocks; ++number) {
        ASSERT_TRUE(std::ranges::equal(model[number], std::span(all).subspan(number * block, block)));
    }
}

TEST_P(DiskServers, DiscardsReturnSpaceAndReadAsZeros) {
    start({});
    EXPECT_EQ(guest_.write(mib, random_bytes(mib), true), DiskResult::done);
    EXPECT_GE(space(), mib);
    if (!file_->disk().discards) {
        GTEST_SKIP() << "the file system of the test's directory frees nothing";
    }
    EXPECT_EQ(guest_.ask(DiskOperation::discard, mib, mib), DiskResult::done);
    EXPECT_LT(space(), mib);
    EXPECT_EQ(guest_.read(mib, mib), std::pair(DiskResult::done, Bytes(mib)));
    EXPECT_EQ(std::filesystem::file_size(path_), 8 * mib);
}

TEST_P(DiskServers, ZerosAreWrittenOverWhatWasThere) {
    start({});
    Bytes bytes = random_bytes(mib);
    EXPECT_EQ(guest_.write(2 * mib, bytes), DiskResult::done);
    for (const bool is_durable : {false, true}) {
        EXPECT_EQ(guest_.ask(DiskOperation::write_zeroes, (2 * mib) + 512, 3ULL * 512, {}, is_durable),
                  DiskResult::done);
        std::fill_n(bytes.begin() + 512, 3 * 512, std::uint8_t{0});
        EXPECT_EQ(guest_.read(2 * mib, mib), std::pair(DiskResult::done, bytes));
    }
    EXPECT_EQ(guest_.ask(DiskOperation::write_zeroes, 0, 8 * mib), DiskResult::done); // more than data may be
    EXPECT_EQ(in_file(0, 8 * mib), Bytes(8 * mib));
}

TEST_P(DiskServers, WhatIsOutsideIsRefused) {
    start({});
    const Bytes before = random_bytes(4096);
    EXPECT_EQ(guest_.write(0, before), DiskResult::done);
    constexpr std::uint64_t huge = ~std::uint64_t{0} - 511;
    const auto ask = [&](DiskOperation operation, std::uint64_t offset, std::uint64_t bytes,
                         std::vector<DiskPiece> pieces) {
        return guest_.ask(operation, offset, bytes, pieces);
    };
    for (const DiskOperation operation : {DiskOperation::read, DiskOperation::write}) {
        const std::vector<DiskPiece> block{{.address = 0, .bytes = 512}};
        for (const std::uint64_t offset :
             {8 * mib, (8 * mib) + 512, huge, std::uint64_t{1}, std::uint64_t{511}}) {
            EXPECT_EQ(ask(operation, offset, 512, block), DiskResult::refused) << offset;
        }
        for (const std::uint64_t address :
             {DiskGuest::ram_bytes - 511, DiskGuest::ram_bytes, huge, huge + 511}) {
            EXPECT_EQ(ask(operation, 0, 512, {{.address = address, .bytes = 512}}), DiskResult::refused)
                << address;
        }
        EXPECT_EQ(ask(operation, 0, 512, {{.address = 0, .bytes = huge + 511}}), DiskResult::refused);
        EXPECT_EQ(ask(operation, 0, 512, {}), DiskResult::refused);
        EXPECT_EQ(ask(operation, 0, 512, {{.address = 0, .bytes = 511}}), DiskResult::refused);
        EXPECT_EQ(ask(operation, 0, 512, {{.address = 0, .bytes = 513}}), DiskResult::refused);
        EXPECT_EQ(ask(operation, 0, 512, {{.address = 0, .bytes = 512}, {.address = 0, .bytes = huge + 1}}),
                  DiskResult::refused);
        EXPECT_EQ(ask(operation, 0, 511, {{.address = 0, .bytes = 511}}), DiskResult::refused);
        EXPECT_EQ(ask(operation, 0, mib + 512, {{.address = 0, .bytes = mib + 512}}), DiskResult::refused);
    }
    for (const DiskOperation operation : {DiskOperation::write_zeroes, DiskOperation::discard}) {
        EXPECT_EQ(ask(operation, 0, (8 * mib) + 512, {}), DiskResult::refused);
        EXPECT_EQ(ask(operation, 512, huge, {}), DiskResult::refused);
        EXPECT_EQ(ask(operation, 0, 100, {}), DiskResult::refused);
    }
    EXPECT_EQ(ask(static_cast<DiskOperation>(5), 0, 512, {}), DiskResult::refused);
    EXPECT_EQ(guest_.read(0, 4096), std::pair(DiskResult::done, before));
    EXPECT_GT(guest_.stop().counts().refused, 30U);
}

TEST_P(DiskServers, AReadOnlyDiskRefusesWrites) {
    start({.path = {}, .is_read_only = true});
    EXPECT_EQ(guest_.write(0, Bytes(512, 1)), DiskResult::refused);
    EXPECT_EQ(guest_.ask(DiskOperation::write_zeroes, 0, 512), DiskResult::refused);
    EXPECT_EQ(guest_.ask(DiskOperation::discard, 0, 512), DiskResult::refused);
    EXPECT_EQ(guest_.read(0, 512), std::pair(DiskResult::done, Bytes(512)));
    EXPECT_EQ(guest_.ask(DiskOperation::flush, 0, 0), DiskResult::done);
}

TEST_P(DiskServers, ASnapshotForgetsItsWrites) {
    Bytes model = random_bytes(8 * mib);
    path_ = directory_.write("disk", std::string(model.begin(), model.end()));
    const Bytes original = model;
    start({.path = path_, .is_snapshot = true}, 0);
    for (int i = 0; i < 300; ++i) {
        const std::uint64_t offset = random_() % (7 * mib) / 512 * 512;
        const std::size_t length = (std::size_t{random_() % 64} + 1) * 512;
        const auto begin = model.begin() + static_cast<std::ptrdiff_t>(offset);
        switch (random_() % 4) {
        case 0: {
            const Bytes bytes = random_bytes(length);
            ASSERT_EQ(guest_.write(offset, bytes, random_() % 2 == 0), DiskResult::done);
            std::ranges::copy(bytes, begin);
            break;
        }
        case 1: {
            const auto operation = random_() % 2 == 0 ? DiskOperation::write_zeroes : DiskOperation::discard;
            ASSERT_EQ(guest_.ask(operation, offset, length), DiskResult::done);
            std::fill_n(begin, length, std::uint8_t{0});
            break;
        }
        default: {
            const Bytes expected(begin, begin + static_cast<std::ptrdiff_t>(mib));
            ASSERT_EQ(guest_.read(offset, mib), std::pair(DiskResult::done, expected));
        }
        }
    }
    EXPECT_EQ(guest_.ask(DiskOperation::flush, 0, 0), DiskResult::done);
    EXPECT_EQ(read_file(path_), original);
}

TEST_P(DiskServers, AFileThatBecomesShorterIsAReadError) {
    start({});
    EXPECT_EQ(guest_.write(0, Bytes(4096, 1)), DiskResult::done);
    std::filesystem::resize_file(path_, mib + 512);
    // QEMU reads zeros behind the end of a file.
    const DiskResult behind = has_daemon() ? DiskResult::done : DiskResult::read_error;
    EXPECT_EQ(guest_.read(2 * mib, 4096).first, behind);
    EXPECT_EQ(guest_.read(mib, 4096).first, behind); // after the 512 bytes that are there
    EXPECT_EQ(guest_.read(mib, 512), std::pair(DiskResult::done, Bytes(512)));
    EXPECT_EQ(guest_.write(2 * mib, Bytes(4096, 2)), DiskResult::done); // makes it longer
    EXPECT_EQ(guest_.read(2 * mib, 4096), std::pair(DiskResult::done, Bytes(4096, 2)));
    const DiskServer& server = guest_.stop();
    EXPECT_EQ(server.counts().failed, has_daemon() ? 0U : 2U);
    EXPECT_EQ(server.first_failure(), has_daemon() ? "" : "read at byte 2097152: Input/output error");
}

TEST_P(DiskServers, AFileThatCannotGrowIsLackOfSpace) {
    limit_of_daemon_.rlim_cur = 2 * mib;
    start({});
    rlimit limit = limit_;
    limit.rlim_cur = 2 * mib;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const DiskResult beyond = guest_.write(3 * mib, Bytes(4096, 1));
    const DiskResult across = guest_.write((2 * mib) - 512, Bytes(4096, 1));
    const DiskResult within = guest_.write(mib, Bytes(4096, 1));
    setrlimit(RLIMIT_FSIZE, &limit_);
    EXPECT_EQ(beyond, DiskResult::no_space);
    EXPECT_EQ(across, DiskResult::no_space);
    EXPECT_EQ(within, DiskResult::done);
    EXPECT_EQ(guest_.ask(DiskOperation::flush, 0, 0), DiskResult::done);
}

TEST_P(DiskServers, MemoryThatIsGoneIsAnError) {
    start({});
    mprotect(guest_.ram().data() + mib, DiskGuest::page, PROT_NONE);
    const std::vector<DiskPiece> pieces{{.address = mib, .bytes = 4096}};
    EXPECT_EQ(guest_.ask(DiskOperation::write, 0, 4096, pieces), DiskResult::write_error);
    EXPECT_EQ(guest_.ask(DiskOperation::read, 0, 4096, pieces), DiskResult::read_error);
    EXPECT_EQ(guest_.ask(DiskOperation::flush, 0, 0), DiskResult::done);
}

TEST_P(DiskServers, AGuestThatLiesHarmsOnlyItself) {
    start({});
    const auto lie = [&](auto& ring) {
        for (std::uint32_t* const counter : {&ring.counters.produced, &ring.counters.consumed}) {
            if (random_() % 8 == 0) {
                __atomic_store_n(counter, random_() & ~15U, __ATOMIC_RELAXED);
            }
        }
        const std::uint32_t words[] = {random_() % 512, 32, 48, 0, ~std::uint32_t{0}, random_()};
        const std::size_t place = (random_() % sizeof(ring.bytes)) & ~std::size_t{3};
        auto* const word = reinterpret_cast<std::uint32_t*>(&ring.bytes[place]);
        __atomic_store_n(word, words[random_() % 6], __ATOMIC_RELAXED);
    };
    const DiskPiece piece{.address = 0, .bytes = 4096};
    for (int i = 0; i < 50000; ++i) {
        lie(*guest_.request_ring);
        lie(*guest_.completion_ring);
        if (random_() % 3 == 0) {
            (void)guest_.vmm.submit({.token = 1,
                                     .operation = static_cast<DiskOperation>(random_() % 6),
                                     .is_durable = false,
                                     .offset = std::uint64_t{random_() % 64} * 512,
                                     .bytes = std::uint64_t{random_() % 16} * 512,
                                     .pieces = std::span(&piece, random_() % 2)});
        }
        guest_.ring();
        (void)guest_.vmm.next_completion();
    }
    guest_.stop(); // it ends
}

TEST_P(DiskServers, AnEndedGuestLeavesNothingHalfDone) {
    start({});
    const Bytes bytes = random_bytes(mib);
    std::ranges::copy(bytes, guest_.ram().begin());
    const DiskPiece piece{.address = 0, .bytes = mib};
    for (std::uint64_t token = 0; token < 8; ++token) {
        guest_.submit({.token = token,
                       .operation = DiskOperation::write,
                       .is_durable = true,
                       .offset = token * mib,
                       .bytes = mib,
                       .pieces = std::span(&piece, 1)});
    }
    guest_.ring();
    guest_.next(); // all were taken together
    guest_.stop();
    for (std::uint64_t number = 0; number < 8; ++number) {
        EXPECT_EQ(in_file(number * mib, mib), bytes);
    }
}

} // namespace

} // namespace previrt
