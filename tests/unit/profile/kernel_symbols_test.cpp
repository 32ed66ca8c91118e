// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/profile/kernel_symbols.hpp"

#include "host/file.hpp"
#include "host/input_error.hpp"
#include "host/temporary_directory.hpp"
#include "monitor/profile/symbol_file.hpp"
#include "tests/unit/make_elf.hpp"
#include "toolchain/image/elf_image.hpp"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <random>
#include <utility>

namespace previrt {

namespace {

constexpr std::uint64_t text = 0xffffffff81000000;

std::string name_at(const KernelSymbols& symbols, std::uint64_t address) {
    const std::optional<FoundSymbol> found = symbols.find(address);
    return found ? std::string(found->name) + "+" + std::to_string(found->offset) : "";
}

constexpr const char* map = "0000000000000000 D fixed_percpu_data\n"
                            "ffffffff81000000 T startup_64\n"
                            "ffffffff81000000 T _text\n"
                            "ffffffff81000100 t first\n"
                            "ffffffff81000180 T second\n"
                            "ffffffff81000190 d no_code\n"
                            "ffffffff81000200 T _etext\n"
                            "ffffffff81a00000 W of_the_start\n";

TEST(KernelSymbols, AMapNamesItsFunctions) {
    const KernelSymbols symbols = KernelSymbols::of_map("System.map", map);
    EXPECT_EQ(name_at(symbols, text), "startup_64+0");
    EXPECT_EQ(name_at(symbols, text + 0x17f), "first+127");
    EXPECT_EQ(name_at(symbols, text + 0x1ff), "second+127");
    EXPECT_EQ(name_at(symbols, 0xffffffff81a00000), "of_the_start+0");
    EXPECT_EQ(name_at(symbols, text - 1), "");
    EXPECT_EQ(name_at(symbols, 0xffffffff81a00001), ""); // its end is not known
    EXPECT_EQ(name_at(symbols, ~std::uint64_t{0}), "");
    EXPECT_EQ(name_at(symbols, 0), "");
}

void expect_refused(const std::string& contents, const std::string& part) {
    try {
        KernelSymbols::of_map("System.map", contents);
        ADD_FAILURE() << "taken: " << contents;
    } catch (const InputError& error) {
        const std::string message = error.what();
        EXPECT_TRUE(message.starts_with("System.map:")) << message;
        EXPECT_NE(message.find(part), std::string::npos) << message;
        EXPECT_NE(message.find("give the vmlinux or the System.map"), std::string::npos) << message;
        EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
}

TEST(KernelSymbols, ABadMapIsRefusedWithItsLine) {
    expect_refused("", "no function");
    expect_refused("ffffffff81000000 D data\n", "no function");
    expect_refused("ffffffff81000000 T first\nhello\n", ":2: ");
    expect_refused("ffffffff81000000T first\n", ":1: ");
    expect_refused("ffffffff81000000 T\n", ":1: ");
    expect_refused("ffffffff810000001 T too_many_digits\n", ":1: ");
    expect_refused(std::string(1000, '\0'), ":1: ");
}

// Names go to terminals, and into folded stacks.
TEST(KernelSymbols, NamesArePrintable) {
    const KernelSymbols symbols = KernelSymbols::of_map(
        "System.map", "ffffffff81000000 T good\nffffffff81000100 T \x1b[31mred\nffffffff81000200 T " +
                          std::string(10000, 'x') + "\n");
    EXPECT_EQ(name_at(symbols, text + 0x250), "");
    EXPECT_EQ(name_at(symbols, text), "good+0");
}

// ---- files

std::vector<std::uint8_t> make_kernel(bool has_symbols, std::uint8_t code) {
    ElfBuilder builder(ET_EXEC);
    const std::size_t section = builder.add_code(".text", text, std::vector<std::uint8_t>(0x200, code));
    if (has_symbols) {
        builder.add(ElfSymbol{"first", section, 0, 0x100, STT_FUNC});
        builder.add(ElfSymbol{"second", section, 0x100, 0x80, STT_FUNC});
    }
    return builder.build().bytes;
}

class SymbolFiles : public testing::Test {
protected:
    SymbolFiles() { write_file(path("kernel"), make_kernel(false, 0x90)); }

    [[nodiscard]] std::string path(const std::string& name) const { return directory_.path() + "/" + name; }
    void expect_refused(const std::string& name, const std::string& part) const {
        try {
            (void)read_symbol_file(path(name), path("kernel"));
            ADD_FAILURE() << "taken: " << name;
        } catch (const InputError& error) {
            const std::string message = error.what();
            EXPECT_TRUE(message.starts_with(path(name) + ":")) << message;
            EXPECT_NE(message.find(part), std::string::npos) << message;
        }
    }

private:
    TemporaryDirectory directory_;
};

TEST_F(SymbolFiles, AVmlinuxNamesItsFunctions) {
    write_file(path("vmlinux"), make_kernel(true, 0x90));
    const SymbolFile file = read_symbol_file(path("vmlinux"), path("kernel"));
    EXPECT_EQ(name_at(file.symbols, text + 0x10), "first+16");
    EXPECT_EQ(name_at(file.symbols, text + 0x1ff), "second+255");
    EXPECT_EQ(name_at(file.symbols, text + 0x200), "");
    EXPECT_FALSE(file.has_lines);
}

TEST_F(SymbolFiles, AnotherKernelsIsRefused) {
    write_file(path("vmlinux"), make_kernel(true, 0xcc));
    expect_refused("vmlinux", "its code is not that of");
}

TEST_F(SymbolFiles, OneWithoutNamesIsRefused) {
    write_file(path("vmlinux"), make_kernel(false, 0x90));
    expect_refused("vmlinux", "it names no function");
}

TEST_F(SymbolFiles, TruncatedAnywhere) {
    const std::vector<std::uint8_t> whole = make_kernel(true, 0x90);
    for (std::size_t bytes = 0; bytes < whole.size(); bytes += 7) {
        write_file(path("vmlinux"), {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes)});
        EXPECT_THROW((void)read_symbol_file(path("vmlinux"), path("kernel")), InputError) << bytes;
    }
    expect_refused("absent", "No such file");
}

TEST_F(SymbolFiles, AnyByteChangedIsTakenOrRefused) {
    const std::vector<std::uint8_t> whole = make_kernel(true, 0x90);
    std::mt19937 random(1); // NOLINT(cert-msc32-c,cert-msc51-cpp): the same run each time
    for (unsigned i = 0; i < 1000; ++i) {
        std::vector<std::uint8_t> changed = whole;
        changed.at(random() % changed.size()) = static_cast<std::uint8_t>(random());
        write_file(path("vmlinux"), changed);
        try {
            const SymbolFile file = read_symbol_file(path("vmlinux"), path("kernel"));
            (void)file.symbols.find(text + 0x10);
        } catch (const InputError& error) {
            EXPECT_TRUE(std::string(error.what()).starts_with(path("vmlinux") + ":")) << error.what();
        }
    }
}

TEST_F(SymbolFiles, OneBesideTheKernelIsFound) {
    EXPECT_TRUE(find_symbol_file(path("kernel")).path.empty());
    std::filesystem::create_directory(path("build"));
    write_text(path("build/System.map"), map);
    EXPECT_EQ(find_symbol_file(path("kernel")).path, path("build/System.map"));
    write_file(path("vmlinux"), make_kernel(true, 0xcc)); // another kernel's: the next is taken
    EXPECT_EQ(find_symbol_file(path("kernel")).path, path("build/System.map"));
    write_file(path("vmlinux"), make_kernel(true, 0x90));
    EXPECT_EQ(find_symbol_file(path("kernel")).path, path("vmlinux"));
}

// ---- the kernel's own tables

struct OwnSymbol {
    std::uint32_t offset;
    std::string name; // with its type in front
};

// The tables of a kernel whose bytes stand for themselves, but for one token.
class OwnTables {
public:
    explicit OwnTables(std::vector<OwnSymbol> symbols) : symbols_(std::move(symbols)) {}

    // Before Linux 6.4.
    std::vector<std::uint8_t> old_layout() {
        add_offsets();
        append_value(bytes_, text);
        add_names();
        add_tokens();
        return bytes_;
    }
    std::vector<std::uint8_t> new_layout() {
        add_names();
        add_tokens();
        add_offsets();
        append_value(bytes_, text);
        return bytes_;
    }

private:
    void align() { bytes_.resize((bytes_.size() + 7) / 8 * 8); }
    void add_offsets() {
        align();
        for (const OwnSymbol& symbol : symbols_) {
            append_value(bytes_, symbol.offset);
        }
        align();
    }
    void add_names() {
        constexpr std::size_t continues = 0x80;
        align();
        append_value(bytes_, static_cast<std::uint64_t>(symbols_.size()));
        for (const OwnSymbol& symbol : symbols_) {
            std::string name = symbol.name;
            if (const std::size_t at = name.find("page_"); at != std::string::npos) {
                name.replace(at, 5, "\x01");
            }
            if (name.size() >= continues) {
                bytes_.push_back(static_cast<std::uint8_t>(name.size() | continues));
                bytes_.push_back(static_cast<std::uint8_t>(name.size() >> 7U));
            } else {
                bytes_.push_back(static_cast<std::uint8_t>(name.size()));
            }
            bytes_.insert(bytes_.end(), name.begin(), name.end());
        }
        align();
        for (std::uint32_t i = 0; i < symbols_.size(); i += 256) {
            append_value(bytes_, i); // a marker, which nobody reads
        }
    }
    void add_tokens() {
        align();
        const std::size_t begin = bytes_.size();
        std::vector<std::uint16_t> index;
        for (unsigned token = 0; token < 256; ++token) {
            index.push_back(static_cast<std::uint16_t>(bytes_.size() - begin));
            const std::string string =
                token == 1 ? "page_" : std::string(1, static_cast<char>(std::max(token, 2U)));
            bytes_.insert(bytes_.end(), string.begin(), string.end());
            bytes_.push_back(0);
        }
        align();
        for (const std::uint16_t place : index) {
            append_value(bytes_, place);
        }
    }

    std::vector<OwnSymbol> symbols_;
    std::vector<std::uint8_t> bytes_ = std::vector<std::uint8_t>(100, '0'); // other constants
};

std::vector<OwnSymbol> own_symbols(bool has_processors) {
    std::vector<OwnSymbol> symbols = {{.offset = 0, .name = "Tstartup_64"},
                                      {.offset = 0x10, .name = "tcopy_page_range"},
                                      {.offset = 0x80, .name = "dno_code"},
                                      {.offset = 0x90, .name = "t" + std::string(300, 'l')}};
    for (std::uint32_t i = 0; i < 300; ++i) {
        symbols.push_back({.offset = 0x100 + (i * 16), .name = "tfurther"});
    }
    if (has_processors) {
        for (OwnSymbol& symbol : symbols) {
            symbol.offset = ~symbol.offset; // -1 - offset
        }
        symbols.insert(symbols.begin(), {.offset = 0x40, .name = "Apercpu_data"});
    }
    return symbols;
}

KernelSymbols symbols_of(std::vector<std::uint8_t> constants) {
    ElfBuilder builder(ET_EXEC);
    builder.add_code(".text", text, std::vector<std::uint8_t>(0x2000, 0x90));
    builder.add_data(".rodata", text + 0x100000, std::move(constants));
    return KernelSymbols::of_kallsyms(ElfImage::parse(builder.build().bytes));
}

TEST(Kallsyms, NamesFunctionsInBothLayouts) {
    for (const bool has_processors : {false, true}) {
        for (const bool is_old : {false, true}) {
            OwnTables tables(own_symbols(has_processors));
            const KernelSymbols symbols = symbols_of(is_old ? tables.old_layout() : tables.new_layout());
            EXPECT_EQ(name_at(symbols, text + 0x5), "startup_64+5") << has_processors << is_old;
            EXPECT_EQ(name_at(symbols, text + 0x11), "copy_page_range+1");
            EXPECT_EQ(name_at(symbols, text + 0x90), std::string(300, 'l') + "+0");
            EXPECT_EQ(name_at(symbols, text + 0x101), "further+1");
            EXPECT_EQ(name_at(symbols, text + 0x2000), "");
        }
    }
}

TEST(Kallsyms, AnyByteChangedOrMissing) {
    std::mt19937 random(1); // NOLINT(cert-msc32-c,cert-msc51-cpp): the same run each time
    const std::vector<std::uint8_t> whole = OwnTables(own_symbols(true)).old_layout();
    unsigned named = 0;
    for (unsigned i = 0; i < 2000; ++i) {
        std::vector<std::uint8_t> changed = whole;
        changed.at(random() % changed.size()) = static_cast<std::uint8_t>(random());
        if (i % 4 == 0) {
            changed.resize(random() % changed.size());
        }
        named += symbols_of(changed).find(text + 0x11) ? 1 : 0;
    }
    EXPECT_GT(named, 0U);
    EXPECT_LT(named, 2000U);
    EXPECT_TRUE(symbols_of({}).empty());
}

} // namespace

} // namespace previrt
