// SPDX-License-Identifier: BSD-2-Clause
#include "bench/chart/axis.hpp"
#include "bench/chart/panels.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "host/temporary_directory.hpp"
#include "host/xml_text.hpp"

#include <filesystem>
#include <gtest/gtest.h>

namespace previrt {
namespace {

using Values = std::vector<double>;

TEST(Axis, LinearIsInProportionFromZero) {
    const Axis axis = Axis::linear(101, 643);
    EXPECT_FALSE(axis.is_logarithmic());
    EXPECT_DOUBLE_EQ(axis.place(axis.base()), 0);
    EXPECT_DOUBLE_EQ(axis.place(643), 1);
    EXPECT_DOUBLE_EQ(axis.place(200), 2 * axis.place(100));
    EXPECT_EQ(axis.marks(), (Values{0, 200, 400, 600}));
}

TEST(Axis, LinearHasRoomBelowZero) {
    const Axis axis = Axis::linear(-1, 3);
    EXPECT_DOUBLE_EQ(axis.place(-1), 0);
    EXPECT_DOUBLE_EQ(axis.place(0), 0.25);
    EXPECT_EQ(axis.marks(), (Values{-1, 0, 1, 2, 3}));
}

TEST(Axis, LinearOfNothingHasALength) {
    const Axis axis = Axis::linear(0, 0);
    EXPECT_DOUBLE_EQ(axis.place(0), 0);
    EXPECT_LT(axis.place(0), axis.place(1));
}

TEST(Axis, LogarithmicGivesEqualRatiosEqualLengths) {
    const Axis axis = Axis::logarithmic(20, 2e6);
    EXPECT_TRUE(axis.is_logarithmic());
    EXPECT_GT(axis.place(20), 0); // its bar is to be seen
    EXPECT_DOUBLE_EQ(axis.place(axis.base()), 0);
    EXPECT_NEAR(axis.place(2000) - axis.place(200), axis.place(200) - axis.place(20), 1e-9);
    EXPECT_DOUBLE_EQ(axis.place(0), 0);
    EXPECT_EQ(axis.marks(), (Values{10, 100, 1000, 10000, 100000, 1000000}));
}

TEST(Axis, RatiosGoBothWaysFromOne) {
    const Axis axis = Axis::of_ratios(0.1, 100);
    EXPECT_DOUBLE_EQ(axis.base(), 1);
    EXPECT_NEAR(axis.place(1) - axis.place(0.1), axis.place(100) - axis.place(10), 1e-9);
    EXPECT_NEAR(axis.place(100), 1, 1e-9);
    EXPECT_DOUBLE_EQ(Axis::of_ratios(2, 3).place(1), 0);
}

TEST(Panels, TakeALogarithmOnlyIfALinearAxisHidesValues) {
    EXPECT_FALSE(need_logarithm({}));
    EXPECT_FALSE(need_logarithm({1, 30}));
    EXPECT_TRUE(need_logarithm({1, 40}));
    EXPECT_FALSE(need_logarithm({0, 1, 40})); // no logarithmic axis has 0
}

TEST(Panels, WriteRatiosWithTwoDigits) {
    EXPECT_EQ(ratio_bar(0.366).text, "0.37\u00d7");
    EXPECT_EQ(ratio_bar(0.999).text, "1.0\u00d7");
    EXPECT_EQ(ratio_bar(4.44).text, "4.4\u00d7");
    EXPECT_EQ(ratio_bar(9.97).text, "10\u00d7");
    EXPECT_EQ(ratio_bar(99.8).text, "100\u00d7");
    EXPECT_EQ(ratio_bar(602.5).text, "600\u00d7");
    EXPECT_EQ(ratio_bar(0).text, "0.00\u00d7");
}

TEST(XmlText, IsEscaped) {
    EXPECT_EQ(escape_xml("<a b='c'>&\"\n"), "&lt;a b=&apos;c&apos;&gt;&amp;&quot;\uFFFD");
    EXPECT_EQ(escape_xml("\u00e9"), "\u00e9");
    EXPECT_EQ(characters_of("\u00e9\u00d7a"), 3U);
}

TEST(File, IsCheckedWithoutAChange) {
    const TemporaryDirectory directory;
    const std::string file = directory.path() + "/file";
    check_writable(file);
    EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
    write_text(file, "old");
    check_writable(file);
    EXPECT_EQ(read_text(file), "old");
    EXPECT_THROW(check_writable(directory.path()), InputError);
    EXPECT_THROW(check_writable(directory.path() + "/none/file"), InputError);
}

} // namespace
} // namespace previrt
