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
    EXPECT_FALSE(plain.is_read_only || plain.is_snapshot || plain.is_unsafe || plain.is_image());
    EXPECT_EQ(plain.format, "");
    EXPECT_TRUE(parse_disk("a,ro").is_read_only);
    const DiskChoice all = parse_disk("a,snapshot,cache=unsafe,format=raw");
    EXPECT_TRUE(all.is_snapshot && all.is_unsafe);
    EXPECT_EQ(all.format, "raw");
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

TEST(DiskChoice, HasTheFormatThatIsSaid) {
    for (const char* const format : {"qcow2", "vmdk", "vdi", "vpc", "vhdx"}) {
        const DiskChoice choice = parse_disk("a.img,ro,format=" + std::string(format));
        EXPECT_EQ(choice.format, format);
        EXPECT_TRUE(choice.is_image());
        EXPECT_FALSE(choice.is_written());
    }
    EXPECT_FALSE(parse_disk("a,format=raw").is_image());
    EXPECT_NE(refusal_of("a,format=raw,format=qcow2").find("'format=qcow2' is there twice"),
              std::string::npos);
    EXPECT_NE(refusal_of("a.img,format=qed")
                  .find("the formats are raw, qcow2, vmdk, vdi, vpc, vhdx; `qemu-img convert -f qed -O qcow2 "
                        "a.img NEW`"),
              std::string::npos);
    EXPECT_NE(refusal_of("a,format=").find("`qemu-img convert -f FORMAT -O qcow2 a NEW`"), std::string::npos);
}

TEST(DiskChoice, HasTheBackingFilesInTheirOrder) {
    const DiskChoice choice = parse_disk("a,format=qcow2,backing=b,,ro,ro,backing-format=qcow2,backing=/c");
    EXPECT_EQ(choice.path, "a");
    EXPECT_TRUE(choice.is_read_only);
    ASSERT_EQ(choice.backing.size(), 2U);
    EXPECT_EQ(choice.backing[0].path, "b,ro");
    EXPECT_EQ(choice.backing[0].format, "qcow2");
    EXPECT_EQ(choice.backing[1].path, "/c");
    EXPECT_EQ(choice.backing[1].format, "");
    EXPECT_EQ(parse_disk("a,backing=b,format=vmdk").backing.size(), 1U);
    for (const char* const text : {"a,backing=b", "a,format=raw,backing=b", "a,format=vdi,backing=b"}) {
        EXPECT_NE(refusal_of(text).find("only qcow2 and vmdk have backing files"), std::string::npos) << text;
    }
    EXPECT_NE(refusal_of("a,format=qcow2,backing=b,backing=c").find("'backing=c': b is raw"),
              std::string::npos);
    EXPECT_NE(refusal_of("a,format=qcow2,backing=").find("'backing=' has no file's name"), std::string::npos);
    EXPECT_NE(refusal_of("a,format=qcow2,backing-format=raw").find("is not understood there"),
              std::string::npos);
    EXPECT_NE(refusal_of("a,format=qcow2,backing=b,backing-format=x").find("the formats are raw"),
              std::string::npos);
    std::string many = "a,format=qcow2";
    for (int i = 0; i < 17; ++i) {
        many += ",backing=b,backing-format=qcow2";
    }
    EXPECT_NE(refusal_of(many).find("16 backing files at most"), std::string::npos);
}

TEST(DiskChoice, EightDisksAtMost) {
    std::vector<std::string> texts(8, "a");
    EXPECT_EQ(parse_disks(texts).size(), 8U);
    texts.emplace_back("a");
    EXPECT_THROW(parse_disks(texts), InputError);
}

} // namespace

} // namespace previrt
