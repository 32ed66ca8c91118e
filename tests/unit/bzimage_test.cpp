// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/bzimage.hpp"

#include "tests/unit/compress.hpp"
#include "tests/unit/make_bzimage.hpp"

#include <gtest/gtest.h>
#include <initializer_list>
#include <string>
#include <utility>

namespace previrt {

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20U;

// As Linux lays it out: gzip's own last field is the size, and an uncompressed kernel has none.
Buffer payload_of(const Sample& sample, std::size_t claimed_size) {
    if (sample.compression == Compression::none) {
        return sample.stream;
    }
    Bytes stream = sample.stream;
    if (sample.compression == Compression::gzip) {
        stream = stream.first(stream.size() - 4);
    }
    return with_size_trailer(stream, static_cast<std::uint32_t>(claimed_size));
}

std::string refusal_to_unpack(Bytes file) {
    return refusal([&] { unpack_bzimage(file); });
}

std::string trace(Compression compression) {
    return std::string(name_of(compression));
}

TEST(BzImage, EveryCompressionUnpacks) {
    for (const Sample& sample : samples()) {
        SCOPED_TRACE(trace(sample.compression));
        const Buffer file = make_bzimage(payload_of(sample, kernel().size()));
        EXPECT_TRUE(is_bzimage(file));
        const BzImage image = unpack_bzimage(file);
        EXPECT_EQ(image.boot_protocol, 0x020f);
        EXPECT_EQ(image.compression, sample.compression);
        EXPECT_EQ(image.kernel, kernel());
    }
}

TEST(BzImage, SizeOfGzipIsItsOwnLastField) {
    const Sample sample{.compression = Compression::gzip, .stream = stream_of(Compression::gzip)};
    EXPECT_EQ(payload_of(sample, kernel().size()), sample.stream);
}

TEST(BzImage, NoSetupSectorsMeansFour) {
    constexpr std::size_t sectors_of_make_bzimage = 2;
    Buffer file = make_bzimage(stream_of(Compression::gzip));
    file.insert(file.begin() + 0x300, (4 - sectors_of_make_bzimage) * 512, 0xcc);
    EXPECT_NE(refusal_to_unpack(file), "accepted");
    file[0x1f1] = 0;
    EXPECT_EQ(unpack_bzimage(file).kernel, kernel());
    file[0x1f1] = 4;
    EXPECT_EQ(unpack_bzimage(file).kernel, kernel());
}

TEST(BzImage, LargestNumberOfSetupSectors) {
    Buffer file = make_bzimage(stream_of(Compression::gzip));
    file.insert(file.begin() + 0x300, std::size_t{255 - 2} * 512, 0xcc);
    file[0x1f1] = 255;
    EXPECT_EQ(unpack_bzimage(file).kernel, kernel());
}

TEST(BzImage, ShortFileIsRefused) {
    const Buffer file = make_bzimage(stream_of(Compression::gzip));
    for (const std::size_t length : {0U, 1U, 0x1f1U, 0x1ffU, 0x205U, 0x206U, 0x24fU}) {
        const Bytes part = Bytes(file).first(length);
        EXPECT_TRUE(
            contains(refusal_to_unpack(part), "too short for a setup header: " + std::to_string(length)));
        EXPECT_EQ(is_bzimage(part), length >= 0x206) << length;
    }
    EXPECT_TRUE(contains(refusal_to_unpack(Bytes(file).first(0x250)), "payload"));
}

TEST(BzImage, BootFlagAndMagicAreNeeded) {
    const Buffer file = make_bzimage(stream_of(Compression::gzip));
    for (const std::size_t offset : {0x1feU, 0x1ffU}) {
        Buffer changed = file;
        changed[offset] ^= 1;
        EXPECT_FALSE(is_bzimage(changed));
        EXPECT_TRUE(contains(refusal_to_unpack(changed), "boot flag"));
    }
    for (const std::size_t offset : {0x202U, 0x203U, 0x204U, 0x205U}) {
        Buffer changed = file;
        changed[offset] ^= 1;
        EXPECT_FALSE(is_bzimage(changed));
        EXPECT_TRUE(contains(refusal_to_unpack(changed), "HdrS"));
    }
}

TEST(BzImage, OldBootProtocolIsRefused) {
    Buffer file = make_bzimage(stream_of(Compression::gzip));
    put_u16(file, 0x206, 0x0207);
    EXPECT_TRUE(contains(refusal_to_unpack(file), "boot protocol 2.07, older than 2.08"));
    put_u16(file, 0x206, 0x010c);
    EXPECT_TRUE(contains(refusal_to_unpack(file), "boot protocol 1.12"));
    put_u16(file, 0x206, 0x0208);
    EXPECT_EQ(unpack_bzimage(file).boot_protocol, 0x0208);
}

TEST(BzImage, PayloadOutsideTheFileIsRefused) {
    const Buffer file = make_bzimage(stream_of(Compression::gzip));
    const auto refusal_of = [&](std::size_t offset, std::size_t length) {
        Buffer changed = file;
        put_u32(changed, 0x248, static_cast<std::uint32_t>(offset));
        put_u32(changed, 0x24c, static_cast<std::uint32_t>(length));
        return refusal_to_unpack(changed);
    };
    const std::size_t protected_mode_size = file.size() - (std::size_t{3} * 512);
    const std::size_t largest = 0xffffffff;
    for (const auto& [offset, length] : std::initializer_list<std::pair<std::size_t, std::size_t>>{
             {0x2d0, largest},
             {largest, 1},
             {largest, largest},
             {0xfffff600, 0xa00}, // in 32 bits: 0, and the start of the file
             {0x2d0, 0xfffffd30},
             {protected_mode_size, 1},
             {protected_mode_size + 1, 0},
             {0x2d0, protected_mode_size - 0x2d0 + 1}}) {
        SCOPED_TRACE(offset);
        EXPECT_TRUE(contains(refusal_of(offset, length),
                             "payload is " + std::to_string(length) + " bytes at offset " +
                                 std::to_string(offset + (std::size_t{3} * 512))));
    }
    EXPECT_TRUE(contains(refusal_of(protected_mode_size, 0), "empty"));
    EXPECT_TRUE(contains(refusal_of(0x2d0, 0), "empty"));
    EXPECT_TRUE(contains(refusal_of(0x2d0, 3), "payload of 3 bytes"));
}

TEST(BzImage, UnknownCompressionIsRefused) {
    const Buffer payload{0xde, 0xad, 0xbe, 0xef, 0x00, 0x11, 0x22, 0x33, 0x44};
    EXPECT_TRUE(contains(refusal_to_unpack(make_bzimage(payload)),
                         "unknown compression of the kernel, whose first bytes are de ad be ef 00 11 22 33"));
}

TEST(BzImage, WrongSizeTrailerIsRefused) {
    for (const Sample& sample : samples()) {
        if (sample.compression == Compression::none) {
            continue;
        }
        SCOPED_TRACE(trace(sample.compression));
        const auto refusal_of_claim = [&](std::size_t claim) {
            return refusal_to_unpack(make_bzimage(payload_of(sample, claim)));
        };
        EXPECT_TRUE(contains(refusal_of_claim(kernel().size() - 1), "holds more than the 200000 bytes"));
        EXPECT_TRUE(contains(refusal_of_claim(0), "holds more than the 0 bytes"));
        EXPECT_TRUE(contains(refusal_of_claim(kernel().size() + 1),
                             sample.compression == Compression::gzip
                                 ? "damaged: incorrect length check"
                                 : "ends early: it gives 200001 of the 200002"));
        EXPECT_TRUE(contains(refusal_of_claim((1024 * mebibyte) + 1), "claims 1073741825 bytes"));
        EXPECT_TRUE(contains(refusal_of_claim(0xffffffff), "claims 4294967295 bytes, more than the 1 GiB"));
    }
}

TEST(BzImage, PayloadCutShortIsRefused) {
    for (const Sample& sample : samples()) {
        SCOPED_TRACE(trace(sample.compression));
        if (sample.compression == Compression::none) {
            continue; // has no size but its length
        }
        Buffer cut = sample.stream;
        cut.resize(cut.size() / 2);
        const Sample half{.compression = sample.compression, .stream = cut};
        EXPECT_TRUE(
            contains(refusal_to_unpack(make_bzimage(payload_of(half, kernel().size()))), "ends early"));
    }
}

TEST(BzImage, OtherFilesAreNotBzImages) {
    EXPECT_FALSE(is_bzimage({}));
    EXPECT_FALSE(is_bzimage(kernel()));
    EXPECT_FALSE(is_bzimage(Buffer(4096)));
}

} // namespace

} // namespace previrt
