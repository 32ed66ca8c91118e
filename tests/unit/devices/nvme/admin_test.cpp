// SPDX-License-Identifier: BSD-2-Clause
// The commands of the first queue but those for other queues.
#include "tests/unit/devices/nvme/machine.hpp"

#include <array>
#include <gtest/gtest.h>
#include <string>

namespace previrt {
namespace {

using namespace nvme;

class NvmeAdmin : public testing::Test, protected NvmeMachine {
protected:
    explicit NvmeAdmin(const Medium& medium = default_medium()) : NvmeMachine(medium) {}
    void SetUp() override { enable(); }

    Result admin(AdminOpcode opcode, std::uint32_t cdw10 = 0, std::uint32_t cdw11 = 0,
                 std::uint32_t namespace_id = 0, std::uint64_t address = data, std::uint32_t bytes = page) {
        Command made = command(opcode, cdw10, cdw11);
        made.namespace_id = namespace_id;
        give_memory(made, address, bytes);
        return run(0, made);
    }
    Result identify(std::uint32_t structure, std::uint32_t namespace_id = 0, std::uint64_t address = data) {
        return admin(AdminOpcode::identify, structure, 0, namespace_id, address);
    }
    std::string text(std::uint64_t offset, std::size_t length) {
        return {reinterpret_cast<const char*>(ram.at(data + offset, length)), length};
    }
    Result get_feature(std::uint32_t identifier, std::uint32_t select = 0, std::uint32_t cdw11 = 0,
                       std::uint32_t namespace_id = 0) {
        return admin(AdminOpcode::get_features, identifier | (select << 8U), cdw11, namespace_id);
    }
    Result set_feature(std::uint32_t identifier, std::uint32_t value, std::uint32_t namespace_id = 0) {
        return admin(AdminOpcode::set_features, identifier, value, namespace_id);
    }
    Result get_log(std::uint32_t identifier, std::uint32_t bytes, std::uint64_t offset = 0,
                   bool retains_event = false) {
        Command made = command(AdminOpcode::get_log_page,
                               identifier | (((bytes / 4) - 1) << 16U) | (retains_event ? 1U << 15U : 0U));
        made.namespace_id = all_namespaces;
        made.words[2] = static_cast<std::uint32_t>(offset);
        made.words[3] = static_cast<std::uint32_t>(offset >> 32U);
        give_memory(made, data, bytes);
        return run(0, made);
    }
};

TEST_F(NvmeAdmin, IdentifiesTheController) {
    ASSERT_EQ(identify(1).status, 0);
    EXPECT_EQ(text(4, 20), "previrt-disk-0      ");
    EXPECT_EQ(text(24, 20), "previrt NVMe disk   ");
    EXPECT_EQ(ram.load<std::uint8_t>(data + 77), 8); // MDTS: 1 MiB
    EXPECT_EQ(ram.load<std::uint32_t>(data + 80), 0x1'0400U);
    EXPECT_EQ(ram.load<std::uint8_t>(data + 111), 1);
    EXPECT_EQ(ram.load<std::uint16_t>(data + 256), 0); // OACS: nothing optional
    EXPECT_EQ(ram.load<std::uint8_t>(data + 512), 0x66);
    EXPECT_EQ(ram.load<std::uint8_t>(data + 513), 0x44);
    EXPECT_EQ(ram.load<std::uint32_t>(data + 516), 1U);
    EXPECT_EQ(ram.load<std::uint16_t>(data + 520), 0x1c); // dataset management, write zeroes, select
    EXPECT_EQ(ram.load<std::uint8_t>(data + 525), 7);
    EXPECT_EQ(text(768, 68), "nqn.2014-08.org.nvmexpress:uuid:70726576-6972-8074-8000-000000000000");
}

TEST_F(NvmeAdmin, IdentifiesTheNamespace) {
    ASSERT_EQ(identify(0, 1).status, 0);
    EXPECT_EQ(ram.load<std::uint64_t>(data), disk_bytes / 512);
    EXPECT_EQ(ram.load<std::uint64_t>(data + 8), disk_bytes / 512);
    EXPECT_EQ(ram.load<std::uint8_t>(data + 99), 0);
    EXPECT_EQ(ram.load<std::uint32_t>(data + 128), 9U << 16U); // 512 bytes, without metadata
    ASSERT_EQ(identify(2, 0).status, 0);
    EXPECT_EQ(ram.load<std::uint64_t>(data), 1U); // and no further one
    ASSERT_EQ(identify(2, 1).status, 0);
    EXPECT_EQ(ram.load<std::uint64_t>(data), 0U);
    ASSERT_EQ(identify(3, 1).status, 0);
    EXPECT_EQ(ram.load<std::uint32_t>(data), 0x1003U); // a UUID
    EXPECT_EQ(text(4, 6), "previr");
    EXPECT_EQ(ram.load<std::uint32_t>(data + 20), 0U);
    for (const std::uint32_t structure : {0U, 3U}) {
        for (const std::uint32_t id : {0U, 2U, all_namespaces}) {
            EXPECT_EQ(identify(structure, id).code(), Status::invalid_namespace) << structure << ' ' << id;
        }
    }
    EXPECT_EQ(identify(2, all_namespaces).code(), Status::invalid_namespace);
    EXPECT_EQ(identify(6).code(), Status::invalid_field);
    EXPECT_TRUE(identify(6).is_final());
}

TEST(NvmeIdentify, ShowsTheMedium) {
    NvmeMachine machine({.bytes = 1 << 20U,
                         .block_bytes = 4096,
                         .number = 3,
                         .is_read_only = true,
                         .keeps_writes = false,
                         .discards = false});
    machine.enable();
    Command identify = NvmeMachine::command(AdminOpcode::identify, 1);
    identify.prp1 = NvmeMachine::data;
    ASSERT_EQ(machine.run(0, identify).status, 0);
    EXPECT_EQ(machine.ram.load<std::uint8_t>(NvmeMachine::data + 4 + 13), '3');
    EXPECT_EQ(machine.ram.load<std::uint8_t>(NvmeMachine::data + 525) & 1U, 0U);
    EXPECT_EQ(machine.ram.load<std::uint16_t>(NvmeMachine::data + 520) & 4U, 0U);
    identify = NvmeMachine::command(AdminOpcode::identify, 0);
    identify.prp1 = NvmeMachine::data;
    identify.namespace_id = 1;
    ASSERT_EQ(machine.run(0, identify).status, 0);
    EXPECT_EQ(machine.ram.load<std::uint64_t>(NvmeMachine::data), 256U);
    EXPECT_EQ(machine.ram.load<std::uint8_t>(NvmeMachine::data + 99), 1);
    EXPECT_EQ(machine.ram.load<std::uint8_t>(NvmeMachine::data + 130), 12);
}

TEST_F(NvmeAdmin, DataMayCrossAPage) {
    ASSERT_EQ(identify(1, 0, data + 0xc00).status, 0);
    EXPECT_EQ(ram.load<std::uint32_t>(data + 0xc00 + 80), 0x1'0400U);
    EXPECT_EQ(ram.load<std::uint32_t>(data + 0xc00 + 516), 1U); // behind the boundary is 0x400
    EXPECT_EQ(identify(1, 0, data + 2).code(), Status::prp_offset_invalid);
    EXPECT_EQ(identify(1, 0, ram_bytes).code(), Status::data_transfer_error);
    EXPECT_EQ(identify(1, 0, ram_bytes - 0x800).code(), Status::data_transfer_error);
    EXPECT_EQ(identify(1, 0, 0xfd00'0000).code(), Status::data_transfer_error); // registers
}

TEST_F(NvmeAdmin, FeaturesKeepTheirValuesUntilTheReset) {
    for (const auto& [identifier, value] : {std::pair{0x01U, 0x0302'0107U},
                                            {0x04U, 0x150U},
                                            {0x06U, 0U},
                                            {0x08U, 0x0a05U},
                                            {0x0aU, 1U},
                                            {0x0bU, 0xffU}}) {
        const std::uint32_t before = get_feature(identifier).value;
        EXPECT_NE(before, value);
        EXPECT_EQ(set_feature(identifier, value).status, 0) << identifier;
        EXPECT_EQ(get_feature(identifier).value, value) << identifier;
        EXPECT_EQ(get_feature(identifier, 1).value, before) << identifier; // by default
        EXPECT_EQ(get_feature(identifier, 2).value, before) << identifier; // saved: nothing is
        EXPECT_EQ(get_feature(identifier, 3).value, 4U) << identifier;     // changeable
        set(at::cc, 0);
        enable();
        EXPECT_EQ(get_feature(identifier).value, before) << identifier;
    }
    EXPECT_EQ(set_feature(0x05, 0x12, 1).status, 0); // error recovery is the namespace's
    EXPECT_EQ(get_feature(0x05, 0, 0, 1).value, 0x12U);
    EXPECT_EQ(get_feature(0x05, 3, 0, 1).value, 6U);
    EXPECT_EQ(set_feature(0x05, 0x12, 2).code(), Status::invalid_namespace);
    EXPECT_EQ(get_feature(0x02).value, 0U); // the only power state
    EXPECT_EQ(set_feature(0x02, 0).status, 0);
}

TEST_F(NvmeAdmin, FeaturesThatAreNotThere) {
    for (const std::uint32_t identifier : {0x00U, 0x03U, 0x0cU, 0x0dU, 0x0eU, 0x0fU, 0x10U, 0x80U, 0xffU}) {
        EXPECT_EQ(get_feature(identifier).code(), Status::invalid_field) << identifier;
        EXPECT_EQ(set_feature(identifier, 0).code(), Status::invalid_field) << identifier;
    }
    EXPECT_EQ(set_feature(0x02, 1).code(), Status::invalid_field);
    EXPECT_EQ(set_feature(0x05, 0x1'0000, 1).code(), Status::invalid_field);
    EXPECT_EQ(set_feature(0x09, 1).code(), Status::invalid_field);        // another vector
    EXPECT_EQ(set_feature(0x04, 0x1'0150).code(), Status::invalid_field); // another sensor
    EXPECT_EQ(get_feature(0x04, 4).code(), Status::invalid_field);
    EXPECT_EQ(set_feature(0x01, 0, 1).code(), Status::feature_not_namespace_specific);
    EXPECT_EQ(admin(AdminOpcode::set_features, 0x8000'0001).code(), Status::feature_identifier_not_saveable);
}

TEST_F(NvmeAdmin, GrantsQueuesBeforeThereAreSome) {
    EXPECT_EQ(set_feature(0x07, 0x00ff'00ff).value, 0x000f'000fU);
    EXPECT_EQ(get_feature(0x07).value, 0x000f'000fU);
    EXPECT_EQ(set_feature(0x07, 0x0001'0000).value, 0x0001'0000U); // one to send, two to complete
    EXPECT_EQ(set_feature(0x07, 0xffff'0000).code(), Status::invalid_field);
    EXPECT_EQ(set_feature(0x07, 0x0000'ffff).code(), Status::invalid_field);
    EXPECT_EQ(create_completion_queue(3, 8).code(), Status::invalid_queue_identifier);
    EXPECT_EQ(create_completion_queue(2, 8).status, 0);
    EXPECT_EQ(create_submission_queue(2, 8, 2).code(), Status::invalid_queue_identifier);
    EXPECT_EQ(set_feature(0x07, 0x0003'0003).code(), Status::command_sequence_error);
}

TEST_F(NvmeAdmin, LogPages) {
    ASSERT_EQ(get_log(2, 512).status, 0);
    EXPECT_EQ(ram.load<std::uint8_t>(data), 0); // critical warnings
    EXPECT_EQ(ram.load<std::uint16_t>(data + 1), 296);
    EXPECT_EQ(ram.load<std::uint8_t>(data + 3), 100);
    ASSERT_EQ(get_log(3, 512).status, 0);
    EXPECT_EQ(ram.load<std::uint8_t>(data), 1);
    EXPECT_EQ(text(8, 8), "1.0     ");
    fill(data, page, 3);
    ASSERT_EQ(get_log(4, 4096).status, 0);
    EXPECT_EQ(ram.load<std::uint64_t>(data), 0U);
    ASSERT_EQ(get_log(5, 4096).status, 0);
    EXPECT_EQ(ram.load<std::uint32_t>(data + (std::uint64_t{4} * 6)), 1U);        // identify
    EXPECT_EQ(ram.load<std::uint32_t>(data + (std::uint64_t{4} * 0x10)), 0U);     // firmware commit
    EXPECT_EQ(ram.load<std::uint32_t>(data + 1024 + (std::uint64_t{4} * 1)), 3U); // write
    EXPECT_EQ(ram.load<std::uint32_t>(data + 1024 + (std::uint64_t{4} * 9)), 3U); // dataset management
    EXPECT_EQ(ram.load<std::uint32_t>(data + 1024 + (std::uint64_t{4} * 5)), 0U); // compare
    EXPECT_EQ(get_log(6, 512).code(), Status::invalid_log_page);
    EXPECT_EQ(get_log(0x80, 512).code(), Status::invalid_log_page);
    EXPECT_EQ(admin(AdminOpcode::get_log_page, 2, 0, 1).code(), Status::invalid_field); // of a namespace
    EXPECT_EQ(admin(AdminOpcode::get_log_page, 2 | 0xffff'0000, 0xffff, 0).code(),
              Status::invalid_field); // 16 GiB
}

TEST_F(NvmeAdmin, LogPagesInParts) {
    fill(data, page, 9);
    ASSERT_EQ(get_log(5, 8, 24).status, 0);
    EXPECT_EQ(ram.load<std::uint32_t>(data), 1U); // identify
    EXPECT_EQ(ram.load<std::uint8_t>(data + 8), pattern(9, 8));
    fill(data, 3 * page, 9);
    ASSERT_EQ(get_log(2, 3 * page, 256).status, 0);
    EXPECT_TRUE(holds(data, 0, 9));
    EXPECT_EQ(ram.load<std::uint8_t>(data + 256), pattern(9, 256)); // behind the page's end
    EXPECT_EQ(get_log(2, 8, 516).code(), Status::invalid_field);
    EXPECT_EQ(get_log(2, 8, 2).code(), Status::invalid_field);
    EXPECT_EQ(get_log(2, 8, std::uint64_t{1} << 40U).code(), Status::invalid_field);
}

TEST_F(NvmeAdmin, TheErrorLogHasTheLastFailures) {
    for (std::uint32_t i = 0; i < 6; ++i) {
        EXPECT_EQ(identify(0, 100 + i).code(), Status::invalid_namespace);
    }
    ASSERT_EQ(get_log(1, 256).status, 0);
    for (std::uint64_t i = 0; i < 4; ++i) {
        const std::uint64_t entry = data + (64 * i);
        EXPECT_EQ(ram.load<std::uint64_t>(entry), 6 - i);
        EXPECT_EQ(ram.load<std::uint16_t>(entry + 8), 0);
        EXPECT_EQ(ram.load<std::uint16_t>(entry + 12) >> 1U, 0x600b);
        EXPECT_EQ(ram.load<std::uint32_t>(entry + 24), 105 - i);
    }
}

TEST_F(NvmeAdmin, AnswersWhatItDoesNotKnow) {
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
        switch (static_cast<AdminOpcode>(opcode)) {
        case AdminOpcode::delete_submission_queue:
        case AdminOpcode::create_submission_queue:
        case AdminOpcode::get_log_page:
        case AdminOpcode::delete_completion_queue:
        case AdminOpcode::create_completion_queue:
        case AdminOpcode::identify:
        case AdminOpcode::abort:
        case AdminOpcode::set_features:
        case AdminOpcode::get_features:
        case AdminOpcode::asynchronous_event_request:
            continue;
        }
        EXPECT_EQ(admin(static_cast<AdminOpcode>(opcode)).code(), Status::invalid_opcode) << opcode;
    }
    for (const std::uint8_t flags :
         std::to_array<std::uint8_t>({0x01, 0x02, 0x40, 0x80})) { // fused, scatter-gather lists
        Command made = command(AdminOpcode::identify, 1);
        made.flags = flags;
        made.prp1 = data;
        EXPECT_EQ(run(0, made).code(), Status::invalid_field);
    }
}

TEST_F(NvmeAdmin, EventsComeOnceUntilTheirPageIsRead) {
    const std::uint16_t request = put(0, command(AdminOpcode::asynchronous_event_request));
    put(0, command(AdminOpcode::asynchronous_event_request));
    ring(0);
    settle();
    EXPECT_FALSE(look(0));
    set(doorbell(5, false), 1); // no such queue
    set(doorbell(5, true), 1);
    settle();
    const std::optional<Completion> event = take(0);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->identifier_and_status & 0xffffU, request);
    EXPECT_EQ(event->result, 0x1'0000U);    // an error, of a doorbell, in the error log
    set(doorbell(0, false), admin_entries); // past the end
    settle();
    EXPECT_FALSE(take(0));
    ASSERT_EQ(get_log(1, 64, 0, true).status, 0); // retains the event
    EXPECT_EQ(ram.load<std::uint32_t>(data + 8), 0xffff'ffffU);
    EXPECT_FALSE(take(0));
    const std::uint16_t read_log = put(0, [&] {
        Command made = command(AdminOpcode::get_log_page, 1 | (15U << 16U));
        made.prp1 = data;
        return made;
    }());
    ring(0);
    settle();
    EXPECT_EQ(take(0)->identifier_and_status & 0xffffU, read_log);
    EXPECT_EQ(take(0)->result, 0x1'0100U); // the other one: its value was invalid
}

TEST_F(NvmeAdmin, TellsOfTheTemperatureIfAsked) {
    put(0, command(AdminOpcode::asynchronous_event_request));
    ring(0);
    settle();
    EXPECT_EQ(set_feature(0x04, 280).status, 0); // warmer than that
    EXPECT_FALSE(look(0));
    put(0, command(AdminOpcode::set_features, 0x0b, 2));
    ring(0);
    settle();
    EXPECT_EQ(result_of(*take(0)).status, 0);
    EXPECT_EQ(take(0)->result, 0x2'0101U);
    ASSERT_EQ(get_log(2, 512).status, 0);
    EXPECT_EQ(ram.load<std::uint8_t>(data), 2);
    EXPECT_FALSE(look(0));
}

TEST_F(NvmeAdmin, TakesFourRequestsForEvents) {
    for (unsigned i = 0; i < 4; ++i) {
        put(0, command(AdminOpcode::asynchronous_event_request));
    }
    ring(0);
    settle();
    EXPECT_FALSE(look(0));
    EXPECT_EQ(admin(AdminOpcode::asynchronous_event_request).code(),
              Status::asynchronous_event_request_limit_exceeded);
    put(0, command(AdminOpcode::abort, 0x0101U << 16U));
    ring(0);
    settle();
    const std::optional<Completion> aborted = take(0);
    ASSERT_TRUE(aborted);
    EXPECT_EQ(aborted->identifier_and_status & 0xffffU, 0x101U);
    EXPECT_EQ(result_of(*aborted).code(), Status::abort_requested);
    EXPECT_FALSE(result_of(*aborted).is_final());
    EXPECT_EQ(take(0)->result, 0U);
    EXPECT_EQ(admin(AdminOpcode::abort, 0x0101U << 16U).value, 1U); // it is gone
    EXPECT_EQ(admin(AdminOpcode::abort, (0x0102U << 16U) | 1).value, 1U);
}

} // namespace
} // namespace previrt
