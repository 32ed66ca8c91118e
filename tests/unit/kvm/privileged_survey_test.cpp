// SPDX-License-Identifier: BSD-2-Clause
// When a guest with several processors counts as powered off.
#include "monitor/kvm/privileged/processor_survey.hpp"

#include <gtest/gtest.h>

namespace previrt {

namespace {

using Activity = ProcessorSurvey::Activity;

TEST(ProcessorSurvey, AllHaveHaltedIfNoneCanWakeAnother) {
    ProcessorSurvey survey(3);
    EXPECT_FALSE(survey.all_have_halted());
    survey.answer(0, Activity::has_halted);
    survey.answer(1, Activity::waits_for_start);
    EXPECT_TRUE(survey.asks(2));
    EXPECT_FALSE(survey.all_have_halted());
    survey.answer(2, Activity::executes);
    EXPECT_FALSE(survey.asks(2));
    EXPECT_FALSE(survey.all_have_halted());
    survey.answer(2, Activity::has_halted);
    EXPECT_TRUE(survey.all_have_halted());
}

TEST(ProcessorSurvey, ForgetsTheAnswersBefore) {
    ProcessorSurvey survey(2);
    survey.answer(0, Activity::has_halted);
    survey.answer(1, Activity::has_halted);
    survey.begin();
    EXPECT_TRUE(survey.asks(0));
    EXPECT_FALSE(survey.all_have_halted());
    survey.answer(1, Activity::waits_for_start);
    EXPECT_EQ(survey.answer_of(1), Activity::waits_for_start);
}

} // namespace

} // namespace previrt
