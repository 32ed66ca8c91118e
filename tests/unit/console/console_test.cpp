// SPDX-License-Identifier: BSD-2-Clause
// Whose words are on a console, and what they say of the end.
#include "monitor/console/line_sieve.hpp"
#include "monitor/console/prompt_wait.hpp"
#include "monitor/console/terminal.hpp"
#include "monitor/console/vmm_console.hpp"
#include "monitor/xen/console.hpp"
#include "monitor/xen/log.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

namespace previrt {

namespace {

TEST(ConsoleWatch, TellsPanicGoodbyeAndPrompt) {
    ConsoleWatch watch;
    watch.read("[    1.0] booting\r\nlogin: ");
    EXPECT_TRUE(watch.may_be_at_prompt());
    EXPECT_FALSE(watch.said_goodbye());
    watch.read("echo reboot: not this\r\n$ reboot: nor this\n");
    EXPECT_FALSE(watch.said_goodbye());
    watch.read("[    2.0] rebo");
    watch.read("ot: Power down\n");
    EXPECT_TRUE(watch.said_goodbye());
    EXPECT_EQ(watch.panic(), "");
    watch.read("[    3.0] Kernel panic - not syncing: no init\r\n");
    EXPECT_EQ(watch.panic(), "Kernel panic - not syncing: no init");
}

TEST(ConsoleWatch, AMessageOfLinuxIsNoPrompt) {
    for (const std::string_view message : {"", "[", "[    1.2", "[12345.678901] usb: "}) {
        ConsoleWatch watch;
        watch.read(message);
        EXPECT_FALSE(watch.may_be_at_prompt()) << message;
    }
    for (const std::string_view prompt : {"# ", "login: ", "[root@guest ~]# "}) {
        ConsoleWatch watch;
        watch.read(prompt);
        EXPECT_TRUE(watch.may_be_at_prompt()) << prompt;
    }
}

TEST(PromptWait, InputWaitsForAPromptOrForSilence) {
    using namespace std::chrono_literals;
    const PromptWait::Clock::time_point start{1000s};
    PromptWait prompt;
    prompt.heard(start + 10s);
    EXPECT_FALSE(prompt.over(start + 10100ms, start, true, false));
    EXPECT_TRUE(prompt.over(start + 10300ms, start, true, false));
    EXPECT_TRUE(prompt.over(start + 10300ms, start, false, false)) << "once over, it stays over";

    PromptWait silence;
    EXPECT_FALSE(silence.over(start + 14s, start, false, false));
    silence.heard(start + 14s);
    EXPECT_FALSE(silence.over(start + 28s, start, false, false));
    EXPECT_TRUE(silence.over(start + 30s, start, false, false));

    PromptWait chatter;
    for (std::chrono::seconds passed = 0s; passed < 120s; passed += 1s) {
        chatter.heard(start + passed);
        EXPECT_FALSE(chatter.over(start + passed, start, false, false));
    }
    chatter.heard(start + 121s);
    EXPECT_TRUE(chatter.over(start + 121s, start, false, false));

    PromptWait person;
    EXPECT_TRUE(person.over(start, start, false, true));
}

TEST(ConsoleWatch, ALineWithoutEndDoesNotGrow) {
    ConsoleWatch watch;
    for (int i = 0; i < 100; ++i) {
        watch.read(std::string(65536, 'x'));
    }
    watch.read("\nreboot: System halted\n");
    EXPECT_TRUE(watch.said_goodbye());
}

TEST(ConsoleWatch, AGuestOfOursSaysItsEndInALineOfItsOwn) {
    ConsoleWatch watch;
    watch.read("say guest: end\nguest: end of it\n");
    EXPECT_FALSE(watch.said_goodbye());
    watch.read("guest: end\r\n");
    EXPECT_TRUE(watch.said_goodbye());
}

// ---- a sieve for the lines of others

class Sieve {
public:
    LineSieve sieve{{"(XEN) ", "vmm: "}, [this](const std::string& mark, std::string_view text) {
                        taken.push_back(mark + std::string(text));
                    }};
    std::vector<std::string> taken;
};

TEST(LineSieve, TakesMarkedLinesFromAnywhereInALine) {
    Sieve sieve;
    EXPECT_EQ(sieve.sieve.read("one\n(XEN) first\r\ntw(XEN) second\r\no\nvmm: third\n"), "one\ntwo\n");
    EXPECT_EQ(sieve.taken, (std::vector<std::string>{"(XEN) first", "(XEN) second", "vmm: third"}));
}

TEST(LineSieve, IsTheSameForAnyPieces) {
    const std::string text = "((XEN) a(XEN) b\n(XE(XEN) \nN) (XEN)\n vm: vvmm: c\r\r\n(XE";
    Sieve whole;
    const std::string left = whole.sieve.read(text);
    EXPECT_EQ(left, "((XEN) (XEN)\n vm: v");
    for (std::size_t size = 1; size < text.size(); ++size) {
        Sieve pieces;
        std::string joined;
        for (std::size_t at = 0; at < text.size(); at += size) {
            joined += pieces.sieve.read(std::string_view(text).substr(at, size));
        }
        EXPECT_EQ(joined, left);
        EXPECT_EQ(pieces.taken, whole.taken);
    }
    EXPECT_EQ(whole.taken, (std::vector<std::string>{"(XEN) a(XEN) b", "(XEN) ", "vmm: c"}));
    EXPECT_EQ(whole.sieve.release(), "(XE");
}

TEST(LineSieve, AnUnfinishedLineAppearsAtOnce) {
    Sieve sieve;
    EXPECT_EQ(sieve.sieve.read("login: "), "login: ");
    EXPECT_EQ(sieve.sieve.read("a ("), "a ");
    EXPECT_EQ(sieve.sieve.release(), "(");
    EXPECT_EQ(sieve.sieve.release(), "");
    EXPECT_EQ(sieve.sieve.read("XE"), "");
    EXPECT_EQ(sieve.sieve.read("!"), "XE!"); // what was released does not come again
    EXPECT_EQ(sieve.sieve.read("("), "");
    EXPECT_EQ(sieve.sieve.release(), "(");
    EXPECT_EQ(sieve.sieve.read("XEN) late\n."), ".");
    EXPECT_EQ(sieve.taken, std::vector<std::string>{"(XEN) late"});
}

TEST(LineSieve, ALineWithoutEndDoesNotGrow) {
    Sieve sieve;
    sieve.sieve.read("vmm: ");
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(sieve.sieve.read(std::string(65536, 'x')), "");
    }
    EXPECT_EQ(sieve.sieve.read("\nand on"), "and on");
    ASSERT_EQ(sieve.taken.size(), 1U);
    EXPECT_LE(sieve.taken[0].size(), 65536U + 5);
}

// ---- consoles under Xen

TEST(VmmConsole, TellsEndAndCounters) {
    VmmConsole console;
    EXPECT_EQ(console.read("guest: end\nprevirt-vmm: counters: {\"a\": 1}\nprevirt-vmm: end: stopped, no\n"),
              "guest: end\n");
    EXPECT_EQ(console.end(), "stopped, no");
    EXPECT_EQ(console.counters(), "{\"a\": 1}");
}

TEST(VmmConsole, WhatAGuestPrintsIsNoEndIfMoreFollows) {
    VmmConsole console;
    console.read("# previrt-vmm: end: powered off\n");
    EXPECT_TRUE(console.end().has_value());
    EXPECT_EQ(console.read("\r\n"), "\r\n");
    EXPECT_TRUE(console.end().has_value());
    EXPECT_EQ(console.read("# "), "# ");
    EXPECT_FALSE(console.end().has_value());
}

// Xen puts a carriage return before each line feed, of its own and of the guest's.
TEST(XenConsole, LeavesTheGuestsBytesAsTheyWere) {
    XenConsole console(FirstDomain::guest, false);
    EXPECT_EQ(console.read("a firmware's banner\r\n(XEN) Xen version\r\n"), "");
    EXPECT_FALSE(console.ending());
    EXPECT_EQ(console.read("one\r\r\ntwo\r\nthr"), "one\r\ntwo\nthr");
    EXPECT_EQ(console.read("(XEN) d0v0 says\r\nee\r"), "ee");
    EXPECT_EQ(console.read("\n100 %\r10"), "\n100 %\r10");
    EXPECT_EQ(console.read("\r\nprevirt-vmm: end: reb(XEN) so\r\nooted\r\n"), "\n");
    EXPECT_TRUE(console.ending());
    EXPECT_EQ(console.vmm().end(), "rebooted");
    EXPECT_FALSE(console.over());
    EXPECT_EQ(console.read("(XE"), "");
    EXPECT_EQ(console.release(), "(XE");
}

TEST(XenConsole, BesideADom0OnlyTheGuestsDomainIsTheGuest) {
    XenConsole console(FirstDomain::dom0, false);
    EXPECT_EQ(console.read("(XEN) Xen version\r\nmapping kernel into physical memory\r\n"), "");
    EXPECT_EQ(console.read("previrt-dom0: xl: Parsing\r\npreVIRT\r\n"), "");
    EXPECT_FALSE(console.guest_is_there());
    EXPECT_EQ(console.read("previrt-dom0: guest begins\r\n"), "");
    EXPECT_TRUE(console.guest_is_there());
    EXPECT_EQ(console.read("one\r\r\nprevirt-vmm: end: powered off\r\n"), "one\r\n");
    EXPECT_TRUE(console.ending());
    EXPECT_FALSE(console.over());
    EXPECT_EQ(console.read("previrt-dom0: guest ended: 0\r\nRestarting\r\n"), "");
    EXPECT_EQ(console.vmm().end(), "powered off");
    EXPECT_EQ(console.domain_end(), "0");
    EXPECT_TRUE(console.over());
    console.read("previrt-dom0: guest ended: xl did\r\n");
    EXPECT_EQ(console.domain_end(), "0");
    EXPECT_EQ(console.release(), "");
}

TEST(XenConsole, KeepsWhatDom0SaidForTheLog) {
    XenConsole console(FirstDomain::dom0, false);
    console.read("(XEN) Xen version\r\n[    1.0] Kernel panic\r\nprevirt-dom0: xl: no memory\r\n");
    std::ostringstream log;
    console.log().print_end(log);
    EXPECT_NE(log.str().find("\n(XEN) Xen version\n(dom0) [    1.0] Kernel panic\n(dom0) xl: no memory\n"),
              std::string::npos)
        << log.str();
}

TEST(XenLog, ShowsTheEndFromWhereTheTroubleBegan) {
    XenLog log;
    EXPECT_FALSE(log.begun());
    log.add_of_xen("Xen version 4.17.7");
    log.add_of_xen("Freed 656kB init memory");
    EXPECT_TRUE(log.begun());
    std::ostringstream nothing;
    log.print_end(nothing);
    EXPECT_EQ(nothing.str(), "");
    for (int i = 0; i < 50; ++i) {
        log.add_of_xen("line " + std::to_string(i));
    }
    std::ostringstream last;
    log.print_end(last);
    EXPECT_NE(last.str().find("lines:\n(XEN) line 20\n"), std::string::npos) << last.str();
    log.add_of_xen("d0v0 Unhandled: vec 14, #PF[0002]");
    for (int i = 0; i < 60; ++i) {
        log.add_of_xen("stack");
    }
    EXPECT_FALSE(log.over());
    log.add_of_xen("Hardware Dom0 crashed: rebooting machine in 5 seconds.");
    EXPECT_TRUE(log.over());
    std::ostringstream end;
    log.print_end(end);
    EXPECT_NE(end.str().find("lines:\n(XEN) d0v0 Unhandled"), std::string::npos) << end.str();
    for (int i = 0; i < 1000; ++i) {
        log.add_of_xen("more");
    }
    std::ostringstream bounded;
    log.print_end(bounded);
    EXPECT_LT(bounded.str().size(), 4000U);
}

TEST(XenLog, TellsThatAGuestHadNoStack) {
    XenLog log;
    log.add_of_xen("d0v0 Unhandled: vec 14, #PF[0002]");
    EXPECT_FALSE(log.found_no_stack());
    log.add_of_xen("domain_crash_sync called from entry.S: fault at ffff82d0403602d0 "
                   "x86_64/entry.S#domain_crash_page_fault_6x8+0/0x4");
    EXPECT_TRUE(log.found_no_stack());
}

} // namespace

} // namespace previrt
