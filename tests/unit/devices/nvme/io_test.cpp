// SPDX-License-Identifier: BSD-2-Clause
// The commands that reach the medium.
#include "tests/unit/devices/nvme/machine.hpp"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>

namespace previrt {
namespace {

using namespace nvme;

class NvmeIo : public testing::Test, protected NvmeMachine {
protected:
    explicit NvmeIo(const Medium& medium = default_medium()) : NvmeMachine(medium) {}
    void SetUp() override {
        enable();
        create_pair(1);
    }
    Result transfer(IoOpcode opcode, std::uint64_t prp1, std::uint64_t prp2, std::uint32_t blocks) {
        Command made = command(opcode, 0, blocks);
        made.prp1 = prp1;
        made.prp2 = prp2;
        return run(1, made);
    }
    Result discard(std::uint32_t ranges, std::uint32_t attributes = 4) {
        Command made = command(IoOpcode::dataset_management);
        made.words[0] = ranges - 1;
        made.words[1] = attributes;
        made.prp1 = data;
        return run(1, made);
    }
    void put_range(std::uint64_t number, std::uint64_t lba, std::uint32_t blocks) {
        ram.store(data + (16 * number), std::uint32_t{0});
        ram.store(data + (16 * number) + 4, blocks);
        ram.store(data + (16 * number) + 8, lba);
    }
};

TEST_F(NvmeIo, WritesAndReadsAnyLength) {
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{512}, std::uint64_t{4092}}) {
        for (const std::uint32_t blocks : {1U, 7U, 8U, 9U, 16U, 17U, 128U, 2047U, 2048U}) {
            const std::uint64_t bytes = std::uint64_t{blocks} * 512;
            const auto first = static_cast<std::uint8_t>(blocks + offset);
            fill(data + offset, bytes, first);
            ASSERT_EQ(write(blocks, blocks, data + offset).status, 0) << blocks;
            std::ranges::fill(std::span(ram.at(data + offset, bytes), bytes), std::uint8_t{0});
            ASSERT_EQ(read(blocks, blocks, data + offset).status, 0) << blocks;
            EXPECT_TRUE(holds(data + offset, bytes, first)) << blocks << ' ' << offset;
            EXPECT_EQ(done.back().pieces.size(), 1U); // its pages follow each other
        }
    }
}

TEST_F(NvmeIo, PagesInAnyOrder) {
    for (std::uint64_t i = 0; i < 257; ++i) { // every other page, backwards
        ram.store(lists + (8 * i), data + (2 * page * (300 - i)));
    }
    fill(data, 700 * page, 5);
    ASSERT_EQ(transfer(IoOpcode::write, data + (2 * page * 310) + 8, lists, 2048).status, 0);
    ASSERT_EQ(done.back().pieces.size(), most_pieces);
    EXPECT_EQ(done.back().pieces[0].bytes, page - 8);
    EXPECT_EQ(done.back().pieces[256].address, data + (2 * page * 45));
    EXPECT_EQ(done.back().pieces[256].bytes, 8U);
    EXPECT_EQ(disk[0], pattern(5, (2 * page * 310) + 8));
    EXPECT_EQ(disk[page - 8], pattern(5, 2 * page * 300));
}

TEST_F(NvmeIo, ListsLeadToFurtherLists) {
    for (const std::uint64_t list : {lists, lists + page - 8, lists + page - 16, lists + 0x800}) {
        fill(data + 16, 1 << 20U, 8);
        Command made = command(IoOpcode::write, 0, 2048);
        give_memory(made, data + 16, 1 << 20U, list);
        ASSERT_EQ(run(1, made).status, 0) << std::hex << list;
        EXPECT_EQ(disk[0], pattern(8, 0));
        EXPECT_EQ(disk[0xf'ffff], pattern(8, 0xf'ffff));
    }
}

TEST_F(NvmeIo, RefusesBadPointers) {
    EXPECT_EQ(transfer(IoOpcode::read, data + 1, 0, 1).code(), Status::prp_offset_invalid);
    EXPECT_EQ(transfer(IoOpcode::read, data, data + page + 4, 16).code(), Status::prp_offset_invalid);
    EXPECT_EQ(transfer(IoOpcode::read, data, lists + 4, 17).code(), Status::prp_offset_invalid);
    EXPECT_EQ(transfer(IoOpcode::read, ram_bytes, 0, 1).code(), Status::data_transfer_error);
    EXPECT_EQ(transfer(IoOpcode::read, data, ram_bytes, 16).code(), Status::data_transfer_error);
    EXPECT_EQ(transfer(IoOpcode::read, data, 0xfd00'0000, 17).code(), Status::data_transfer_error);
    EXPECT_EQ(transfer(IoOpcode::read, ~std::uint64_t{0xfff}, 0, 16).code(), Status::data_transfer_error);
    ram.store(lists, data + page);
    ram.store(lists + 8, data + (2 * page) + 512);
    EXPECT_EQ(transfer(IoOpcode::read, data, lists, 24).code(), Status::prp_offset_invalid);
    ram.store(lists + 8, std::uint64_t{1} << 63U);
    EXPECT_EQ(transfer(IoOpcode::read, data, lists, 24).code(), Status::data_transfer_error);
    ram.store(lists + page - 8, lists + page - 8); // a list that leads to itself, but not to its start
    EXPECT_EQ(transfer(IoOpcode::read, data, lists + page - 8, 2048).code(), Status::prp_offset_invalid);
    ram.store(lists + page - 8, lists); // each time round has an entry more
    EXPECT_EQ(transfer(IoOpcode::read, data, lists + page - 8, 2048).code(), Status::data_transfer_error);
    EXPECT_TRUE(done.empty());
}

TEST_F(NvmeIo, RefusesWhatIsOutsideTheDisk) {
    constexpr std::uint64_t blocks = disk_bytes / 512;
    EXPECT_EQ(read(blocks - 1, 1, data).status, 0);
    for (const IoOpcode opcode : {IoOpcode::read, IoOpcode::write, IoOpcode::write_zeroes}) {
        for (const std::uint64_t lba : {blocks, blocks - 7, ~std::uint64_t{0}, ~std::uint64_t{0} - 7}) {
            Command made = command(opcode, lba, 8);
            made.prp1 = data;
            const Result result = run(1, made);
            EXPECT_EQ(result.code(), Status::lba_out_of_range) << lba;
            EXPECT_TRUE(result.is_final());
        }
    }
    EXPECT_EQ(transfer(IoOpcode::read, data, lists, 2049).code(), Status::invalid_field); // MDTS
    EXPECT_EQ(transfer(IoOpcode::read, data, lists, 65536).code(), Status::invalid_field);
    for (const std::uint32_t id : {0U, 2U, all_namespaces}) {
        Command made = command(IoOpcode::read);
        made.namespace_id = id;
        made.prp1 = data;
        EXPECT_EQ(run(1, made).code(), Status::invalid_namespace);
    }
    EXPECT_EQ(done.size(), 1U);
}

TEST_F(NvmeIo, RefusesWhatItDoesNotKnow) {
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
        if (opcode > 2 && opcode != 8 && opcode != 9) {
            EXPECT_EQ(run(1, command(static_cast<IoOpcode>(opcode))).code(), Status::invalid_opcode)
                << opcode;
        }
    }
    for (const std::uint8_t flags : std::to_array<std::uint8_t>({0x01, 0x02, 0x40, 0x80})) {
        Command made = command(IoOpcode::read);
        made.flags = flags;
        made.prp1 = data;
        EXPECT_EQ(run(1, made).code(), Status::invalid_field);
    }
    Command streamed = command(IoOpcode::write);
    streamed.words[2] |= 1U << 20U; // a directive
    streamed.prp1 = data;
    EXPECT_EQ(run(1, streamed).code(), Status::invalid_field);
    EXPECT_TRUE(done.empty());
}

TEST_F(NvmeIo, FlushesAndWritesThrough) {
    EXPECT_EQ(write(0, 1, data).status, 0);
    EXPECT_FALSE(done.back().transfer.is_durable);
    EXPECT_EQ(run(1, command(IoOpcode::flush)).status, 0);
    EXPECT_EQ(done.back().transfer.operation, Operation::flush);
    Command of_all = command(IoOpcode::flush);
    of_all.namespace_id = all_namespaces;
    EXPECT_EQ(run(1, of_all).status, 0);
    EXPECT_EQ(done.size(), 3U);
    for (const IoOpcode opcode : {IoOpcode::write, IoOpcode::write_zeroes}) {
        Command forced = command(opcode);
        forced.words[2] |= 1U << 30U;
        forced.prp1 = data;
        EXPECT_EQ(run(1, forced).status, 0);
        EXPECT_TRUE(done.back().transfer.is_durable);
    }
    EXPECT_EQ(run(0, command(AdminOpcode::set_features, 6, 0)).status, 0); // no write cache
    EXPECT_EQ(write(0, 1, data).status, 0);
    EXPECT_TRUE(done.back().transfer.is_durable);
}

TEST_F(NvmeIo, DiscardsRanges) {
    std::ranges::fill(disk, std::uint8_t{1});
    put_range(0, 8, 8);
    put_range(1, 5, 0); // nothing
    put_range(2, 1000, 1);
    EXPECT_EQ(discard(3).status, 0);
    ASSERT_EQ(done.size(), 2U);
    EXPECT_EQ(done[0].transfer.operation, Operation::discard);
    EXPECT_EQ(done[0].transfer.offset, 4096U);
    EXPECT_EQ(done[0].transfer.bytes, 4096U);
    EXPECT_EQ(done[1].transfer.offset, 512'000U);
    EXPECT_EQ(discard(3, 3).status, 0); // hints alone
    EXPECT_EQ(done.size(), 2U);
    put_range(1, disk_bytes / 512, 1);
    EXPECT_EQ(discard(3).code(), Status::lba_out_of_range);
    EXPECT_EQ(done.size(), 3U);
    put_range(0, 0, 0);
    EXPECT_EQ(discard(1).status, 0);
    for (std::uint32_t i = 0; i < 256; ++i) {
        put_range(i, std::uint64_t{i} * 3, 1);
    }
    done.clear();
    EXPECT_EQ(discard(256).status, 0);
    EXPECT_EQ(done.size(), 256U);
}

TEST_F(NvmeIo, TellsTheErrorsOfTheHost) {
    holds_work = true;
    const auto run_to = [&](IoOpcode opcode, TransferEnd how) {
        Command made = command(opcode);
        made.prp1 = data;
        made.words[1] = opcode == IoOpcode::dataset_management ? 4 : made.words[1];
        put(1, made);
        ring(1);
        settle();
        EXPECT_TRUE(end(0, how));
        const Result result = result_of(take(1).value_or(Completion{}));
        EXPECT_TRUE(result.is_final());
        return result.code();
    };
    put_range(0, 0, 8);
    EXPECT_EQ(run_to(IoOpcode::read, TransferEnd::read_error), Status::unrecovered_read_error);
    EXPECT_EQ(run_to(IoOpcode::write, TransferEnd::write_error), Status::write_fault);
    EXPECT_EQ(run_to(IoOpcode::write, TransferEnd::no_space), Status::capacity_exceeded);
    EXPECT_EQ(run_to(IoOpcode::flush, TransferEnd::write_error), Status::write_fault);
    EXPECT_EQ(run_to(IoOpcode::write_zeroes, TransferEnd::refused), Status::internal_error);
    EXPECT_EQ(run_to(IoOpcode::dataset_management, TransferEnd::refused), Status::internal_error);
    EXPECT_EQ(nvme.log.media_errors, 5U);
    EXPECT_EQ(nvme.log.error_count, 6U);
}

TEST_F(NvmeIo, WaitsForRoomOfTheMedium) {
    room = 2;
    holds_work = true;
    put_range(0, 0, 8);
    put(1, command(IoOpcode::write_zeroes, 0));
    put(1, command(IoOpcode::write_zeroes, 1));
    put(1, command(IoOpcode::write_zeroes, 2));
    Command trim = command(IoOpcode::dataset_management);
    trim.words[0] = 0;
    trim.words[1] = 4;
    trim.prp1 = data;
    put(1, trim);
    ring(1);
    settle();
    EXPECT_EQ(work.size(), 2U);
    EXPECT_TRUE(nvme.is_notified);
    EXPECT_TRUE(end());
    settle();
    EXPECT_EQ(work.size(), 2U);
    EXPECT_TRUE(end());
    settle();
    EXPECT_EQ(work.back().transfer.operation, Operation::discard);
    EXPECT_TRUE(end());
    EXPECT_TRUE(end());
    settle();
    unsigned taken = 0;
    while (take(1)) {
        ++taken;
    }
    EXPECT_EQ(taken, 4U);
    EXPECT_FALSE(nvme.is_notified && nvme.lacks_room);
}

TEST_F(NvmeIo, EndsInTheMediumsOrder) {
    holds_work = true;
    std::vector<std::uint16_t> identifiers;
    identifiers.reserve(5);
    for (unsigned i = 0; i < 5; ++i) {
        identifiers.push_back(put(1, command(IoOpcode::write_zeroes, i)));
    }
    ring(1);
    settle();
    for (const std::size_t place : {4U, 0U, 2U, 1U, 0U}) {
        EXPECT_TRUE(end(place));
    }
    for (const std::size_t number : {4U, 0U, 3U, 2U, 1U}) {
        EXPECT_EQ(take(1)->identifier_and_status & 0xffffU, identifiers[number]);
    }
    std::array<Piece, most_pieces> pieces{};
    EXPECT_FALSE(nvme.complete(ram.memory(), pieces, 0, TransferEnd::done));
    EXPECT_FALSE(nvme.complete(ram.memory(), pieces, 5000, TransferEnd::done));
}

// Of a read, the host writes the memory by itself. The VMM learns of each page before the driver does.
TEST_F(NvmeIo, AnnouncesReadMemoryAtItsEnd) {
    holds_work = true;
    Command made = command(IoOpcode::read, 0, 24);
    give_memory(made, data, 24 * 512);
    put(1, made);
    ring(1);
    settle();
    written.clear();
    execute();
    EXPECT_TRUE(end());
    EXPECT_EQ(written,
              (std::vector<std::uint64_t>{data, data + page, data + (2 * page), pairs[1].completion}));
}

TEST_F(NvmeIo, CountsForTheHealthLog) {
    EXPECT_EQ(write(0, 2048, data).status, 0);
    EXPECT_EQ(read(0, 8, data).status, 0);
    EXPECT_EQ(read(0, 8, data).status, 0);
    Command made = command(AdminOpcode::get_log_page, 2 | (127U << 16U));
    made.prp1 = data;
    EXPECT_EQ(run(0, made).status, 0);
    EXPECT_EQ(ram.load<std::uint64_t>(data + 32), 1U);
    EXPECT_EQ(ram.load<std::uint64_t>(data + 48), 3U); // 1 MiB in units of 512000 bytes
    EXPECT_EQ(ram.load<std::uint64_t>(data + 64), 2U);
    EXPECT_EQ(ram.load<std::uint64_t>(data + 80), 1U);
}

class NvmeReadOnly : public NvmeIo {
protected:
    NvmeReadOnly()
        : NvmeIo({.bytes = disk_bytes,
                  .block_bytes = 4096,
                  .number = 1,
                  .is_read_only = true,
                  .keeps_writes = false,
                  .discards = true}) {}
};

TEST_F(NvmeReadOnly, IsReadAlone) {
    disk[4096] = 0x5a;
    EXPECT_EQ(read(1, 1, data).status, 0);
    EXPECT_EQ(ram.load<std::uint8_t>(data), 0x5a);
    EXPECT_EQ(read(0, 256, data).status, 0); // 1 MiB
    EXPECT_EQ(transfer(IoOpcode::read, data, lists, 257).code(), Status::invalid_field);
    EXPECT_EQ(write(0, 1, data).code(), Status::namespace_is_write_protected);
    EXPECT_EQ(run(1, command(IoOpcode::write_zeroes)).code(), Status::namespace_is_write_protected);
    EXPECT_EQ(discard(1).code(), Status::namespace_is_write_protected);
    done.clear();
    EXPECT_EQ(run(1, command(IoOpcode::flush)).status, 0); // nothing to do
    EXPECT_TRUE(done.empty());
    EXPECT_EQ(run(0, command(AdminOpcode::get_features, 6)).code(), Status::invalid_field); // no cache
}

class NvmeWithoutDiscard : public NvmeIo {
protected:
    NvmeWithoutDiscard()
        : NvmeIo({.bytes = disk_bytes,
                  .block_bytes = 512,
                  .number = 0,
                  .is_read_only = false,
                  .keeps_writes = true,
                  .discards = false}) {}
};

TEST_F(NvmeWithoutDiscard, DoesNotKnowTheCommand) {
    EXPECT_EQ(discard(1).code(), Status::invalid_opcode);
}

} // namespace
} // namespace previrt
