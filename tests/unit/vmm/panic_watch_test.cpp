// SPDX-License-Identifier: BSD-2-Clause
// When the VMM takes what a guest prints for a panic.
#include "inplace-vmm/panic_watch.hpp"

#include <gtest/gtest.h>
#include <string>

namespace previrt {

namespace {

// After which characters it was told.
std::string read_all(PanicWatch& watch, const std::string& text) {
    std::string told;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (watch.read(text[i])) {
            told += std::to_string(i) + " ";
        }
    }
    return told;
}

TEST(PanicWatch, TellsOnceAtTheEndOfTheLine) {
    PanicWatch watch;
    EXPECT_EQ(read_all(watch, "boot\n[    1.2] Kernel panic"), "");
    EXPECT_EQ(read_all(watch, " - not syncing: no init\r"), "");
    EXPECT_EQ(read_all(watch, "\n"), "0 ");
    EXPECT_EQ(read_all(watch, "---[ end Kernel panic - not syncing: no init ]---\r\n"), "");
}

TEST(PanicWatch, LooksForAllOfTheText) {
    PanicWatch watch;
    EXPECT_EQ(read_all(watch, "Kernel panic is not near\nKernel Kernel panic - not synced\n"), "");
    EXPECT_EQ(read_all(watch, "KKernel panic - not syncing\n"), "27 ");
}

} // namespace

} // namespace previrt
