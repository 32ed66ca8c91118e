// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/disk/choice.hpp"

#include "host/input_error.hpp"

#include <gtest/gtest.h>

namespace previrt {

namespace {

std::string refusal_of(const std::string& text) {
    try {
        parse_disk(text);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(DiskChoice, HasTheFileAndItsProperties) {
    const DiskChoice plain = parse_disk("a/b c.img");
    EXPECT_EQ(plain.path, "a/b c.img");
    EXPECT_FALSE(plain.is_read_only || plain.is_snapshot || plain.is_unsafe || plain.says_format);
    EXPECT_TRUE(parse_disk("a,ro").is_read_only);
    const DiskChoice all = parse_disk("a,snapshot,cache=unsafe,format=raw");
    EXPECT_TRUE(all.is_snapshot && all.is_unsafe && all.says_format);
    EXPECT_EQ(all.path, "a");
}

TEST(DiskChoice, ACommaInTheNameIsDoubled) {
    EXPECT_EQ(parse_disk("a,,b").path, "a,b");
    EXPECT_EQ(parse_disk(",,").path, ",");
    EXPECT_EQ(parse_disk("a,,,,b").path, "a,,b");
    const DiskChoice choice = parse_disk("a,,ro,ro");
    EXPECT_EQ(choice.path, "a,ro");
    EXPECT_TRUE(choice.is_read_only);
    EXPECT_EQ(parse_disk("a,,,ro").path, "a,"); // a doubled comma comes first
}

TEST(DiskChoice, WhatIsNotKnownIsRefusedWithWhatIs) {
    for (const char* const text :
         {"a,", "a,rw", "a,ro,", "a,RO", "a,cache=none", "a,cache=", "a,size=5", "a,ro=1"}) {
        const std::string refusal = refusal_of(text);
        EXPECT_NE(refusal.find("is not understood there; it is FILE[,ro][,snapshot]"), std::string::npos)
            << text << ": " << refusal;
        EXPECT_NE(refusal.find(text), std::string::npos) << refusal;
    }
    EXPECT_NE(refusal_of("a,ro,ro").find("'ro' is there twice"), std::string::npos);
    EXPECT_NE(refusal_of("a,ro,snapshot").find("leave out 'ro' or 'snapshot'"), std::string::npos);
    EXPECT_NE(refusal_of("").find("there is no file's name"), std::string::npos);
    EXPECT_NE(refusal_of(",ro").find("there is no file's name"), std::string::npos);
}

TEST(DiskChoice, OtherFormatsAreToBeConverted) {
    for (const char* const format : {"qcow2", "vmdk", "vhdx"}) {
        EXPECT_NE(refusal_of("a.img,format=" + std::string(format))
                      .find("qemu-img convert -f " + std::string(format) + " -O raw a.img NEW"),
                  std::string::npos);
    }
}

TEST(DiskChoice, EightDisksAtMost) {
    std::vector<std::string> texts(8, "a");
    EXPECT_EQ(parse_disks(texts).size(), 8U);
    texts.emplace_back("a");
    EXPECT_THROW(parse_disks(texts), InputError);
}

} // namespace

} // namespace previrt
