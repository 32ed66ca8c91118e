// SPDX-License-Identifier: BSD-2-Clause
// The command lines below are those that the programs give.
#include "cli/qemu_options.hpp"

#include "host/input_error.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace previrt {

namespace {

using Words = std::vector<std::string>;

QemuCommand translate(Words words) {
    return translate_qemu_options(words);
}

// With a kernel, so that nothing else is missing.
QemuCommand with_kernel(Words words) {
    words.insert(words.begin(), {"-kernel", "k"});
    return translate_qemu_options(words);
}

std::string message_of(Words words) {
    try {
        with_kernel(std::move(words));
    } catch (const InputError& error) {
        return error.what();
    }
    return "(accepted)";
}

TEST(QemuOptions, OfKunit) {
    const QemuCommand command =
        translate({"-nodefaults", "-m", "1024", "-kernel", ".kunit/arch/x86/boot/bzImage", "-append",
                   "kunit.filter_glob=list* kunit.enable=1 console=ttyS0 kunit_shutdown=reboot", "-no-reboot",
                   "-nographic", "-serial", "stdio", "-machine", "previrt-kvm"});
    EXPECT_EQ(command.run,
              Words({"run", ".kunit/arch/x86/boot/bzImage", "--quiet", "--on=kvm", "--memory=1073741824",
                     "--cpus=1",
                     "--append=kunit.filter_glob=list* kunit.enable=1 console=ttyS0 kunit_shutdown=reboot"}));
    EXPECT_EQ(command.console, "");
    EXPECT_EQ(command.answer, "");
}

TEST(QemuOptions, OfKunitForX86) {
    const QemuCommand command = with_kernel(
        {"-nodefaults", "-m", "1024", "-no-reboot", "-nographic", "-serial", "stdio", "-bios", "qboot.rom"});
    EXPECT_EQ(command.run, Words({"run", "k", "--quiet", "--memory=1073741824", "--cpus=1"}));
}

TEST(QemuOptions, OfRcutorture) {
    const QemuCommand command =
        translate({"-net", "none", "-serial", "file:res/console.log", "-m", "512", "-kernel", "bzImage",
                   "-append", "debug_boot_weak_hash panic=-1 console=ttyS0"});
    EXPECT_EQ(command.run, Words({"run", "bzImage", "--quiet", "--memory=536870912", "--cpus=1",
                                  "--append=debug_boot_weak_hash panic=-1 console=ttyS0"}));
    EXPECT_EQ(command.console, "res/console.log");
}

TEST(QemuOptions, OfNolibc) {
    const QemuCommand command =
        translate({"-display", "none", "-no-reboot", "-kernel", "bzImage", "-serial", "stdio", "-M", "pc",
                   "-append", "console=ttyS0,9600 i8042.noaux panic=-1"});
    EXPECT_EQ(command.run, Words({"run", "bzImage", "--quiet", "--memory=134217728", "--cpus=1",
                                  "--append=console=ttyS0,9600 i8042.noaux panic=-1"}));
    EXPECT_EQ(command.console, "");
}

std::vector<std::string> names_of(const std::vector<QemuPort>& ports) {
    std::vector<std::string> names;
    names.reserve(ports.size());
    for (const QemuPort& port : ports) {
        names.push_back(port.name + ">" + port.file);
    }
    return names;
}

// For a shell, where it finds a virtiofsd that it can use.
TEST(QemuOptions, OfVirtmeForAShell) {
    const QemuCommand command =
        with_kernel({"-name",     "virtme-ng",
                     "-m",        "1G",
                     "-chardev",  "socket,id=charvirtfs5,path=/tmp/virtmeq",
                     "-device",   "vhost-user-fs-device,chardev=charvirtfs5,tag=ROOTFS",
                     "-object",   "memory-backend-memfd,id=mem,size=1G,share=on",
                     "-numa",     "node,memdev=mem",
                     "-machine",  "accel=kvm:tcg",
                     "-M",        "microvm,accel=kvm,pcie=on,rtc=on",
                     "-device",   "i6300esb,id=watchdog0",
                     "-cpu",      "host,topoext=on",
                     "-parallel", "none",
                     "-net",      "none",
                     "-echr",     "1",
                     "-chardev",  "file,path=/proc/self/fd/2,id=dmesg",
                     "-device",   "virtio-serial-device",
                     "-device",   "virtconsole,chardev=dmesg",
                     "-chardev",  "stdio,id=console,signal=off,mux=on",
                     "-serial",   "chardev:console",
                     "-mon",      "chardev=console",
                     "-vga",      "none",
                     "-display",  "none",
                     "-smp",      "1",
                     "-append",   "rootfstype=virtiofs root=ROOTFS ro"});
    EXPECT_EQ(command.run,
              Words({"run", "k", "--quiet", "--on=kvm", "--memory=1073741824", "--cpus=1",
                     "--share-socket=/tmp/virtmeq:ROOTFS", "--append=rootfstype=virtiofs root=ROOTFS ro"}));
    EXPECT_EQ(command.console, "");
    EXPECT_EQ(names_of(command.ports), Words({">/proc/self/fd/2"}));
}

// For a command, without such a virtiofsd.
TEST(QemuOptions, OfVirtmeForACommand) {
    const std::string given = "a=9p virtme_initmount0_fstype=9p virtme.exec=`ZQ==` rootfstype=9p "
                              "rootflags=version=9p2000.L,trans=virtio,access=any,msize=524288 ro init=/i";
    const std::string taken = "a=9p virtme_initmount0_fstype=virtiofs virtme.exec=`ZQ==` "
                              "rootfstype=virtiofs root=qemu-root  ro init=/i";
    const QemuCommand command =
        with_kernel({"-fsdev",   "local,id=virtfs5,path=/,security_model=none,readonly=on,multidevs=remap",
                     "-device",  "virtio-9p-pci,fsdev=virtfs5,mount_tag=/dev/root",
                     "-fsdev",   "local,id=virtfs9,path=/tmp/a,,b,security_model=none,multidevs=remap",
                     "-device",  "virtio-9p-pci,fsdev=virtfs9,mount_tag=virtme.initmount0",
                     "-serial",  "chardev:console",
                     "-chardev", "file,id=console,path=/dev/null",
                     "-chardev", "stdio,id=stdin,signal=on,mux=off",
                     "-device",  "virtio-serial-pci",
                     "-device",  "virtserialport,name=virtme.stdin,chardev=stdin",
                     "-chardev", "file,id=ret,path=/tmp/virtme_ret",
                     "-device",  "virtio-serial-pci",
                     "-device",  "virtserialport,name=virtme.ret,chardev=ret",
                     "-append",  given});
    EXPECT_EQ(command.run,
              Words({"run", "k", "--quiet", "--memory=134217728", "--cpus=1", "--share=/:qemu-root,ro",
                     "--share=/tmp/a,b:virtme.initmount0", "--append=" + taken}));
    EXPECT_EQ(command.console, "/dev/null");
    EXPECT_EQ(names_of(command.ports), Words({"virtme.stdin>", "virtme.ret>/tmp/virtme_ret"}));
}

TEST(QemuOptions, WordsOf9pStayWithoutADeviceOf9p) {
    EXPECT_EQ(with_kernel({"-append", "rootfstype=9p"}).run.back(), "--append=rootfstype=9p");
}

TEST(QemuOptions, DevicesHaveWhatTheyNeed) {
    const auto refusal = [](Words words, const std::string& why) {
        const std::string message = message_of(std::move(words));
        EXPECT_NE(message.find(why), std::string::npos) << message;
    };
    const Words device = {"-device", "virtio-serial-pci", "-device"};
    const auto with_device = [&](const std::string& port, const std::string& stream) {
        Words words = device;
        words.insert(words.end(), {port, "-chardev", stream});
        return words;
    };
    refusal({"-device", "virtserialport,name=a,chardev=b"}, "no virtio-serial-pci");
    refusal(with_device("virtserialport,chardev=b", "null,id=b"), "no chardev, or no name");
    refusal(with_device("virtserialport,name=a", "null,id=b"), "no chardev, or no name");
    refusal(with_device("virtserialport,name=a,chardev=c", "null,id=b"), "none has the id 'c'");
    refusal(with_device("virtserialport,name=a,chardev=b,nr=5", "null,id=b"), "'nr'");
    refusal(with_device("virtserialport,name=a,chardev=b", "socket,id=b,path=s"), "vhost-user-fs alone");
    Words words = with_device("virtserialport,name=a,chardev=b", "stdio,id=b");
    words.insert(words.end(), {"-serial", "stdio"});
    refusal(words, "another user already");
    refusal({"-device", "virtio-serial-pci,vectors=4"}, "'vectors'");
    refusal({"-device", "vhost-user-fs-pci,chardev=a,tag=t", "-chardev", "file,id=a,path=p"}, "no socket");
    refusal({"-device", "vhost-user-fs-pci,chardev=a", "-chardev", "socket,id=a,path=p"}, "no tag");
    refusal({"-device", "vhost-user-fs-pci,chardev=a,tag=t,cache-size=1G", "-chardev", "socket,id=a,path=p"},
            "'cache-size'");
    refusal({"-chardev", "socket,id=a,path=p,server=on"}, "'server'");
    refusal({"-fsdev", "local,id=f,path=/"}, "no device uses 'f'");
    refusal({"-fsdev", "proxy,id=f,socket=s"}, "-fsdev proxy");
    refusal({"-fsdev", "local,id=f,path=/,security_model=mapped"}, "security_model=mapped");
    refusal({"-fsdev", "local,id=f"}, "no id, or no path");
    refusal({"-fsdev", "local,id=f,path=/", "-fsdev", "local,id=f,path=/"}, "has this id");
    refusal({"-device", "virtio-9p-pci,fsdev=f,mount_tag=t"}, "no -fsdev has the id 'f'");
    refusal({"-fsdev", "local,id=f,path=/", "-device", "virtio-9p-pci,fsdev=f,mount_tag=a/b"}, "slash");
}

TEST(QemuOptions, TwoDashesAreAsGoodAsOne) {
    EXPECT_EQ(translate({"--kernel", "k", "--m", "2G", "--initrd", "i"}).run,
              Words({"run", "k", "--quiet", "--memory=2147483648", "--cpus=1", "--initrd=i"}));
}

TEST(QemuOptions, AFileOfAnyNameIsAFile) {
    EXPECT_EQ(translate({"-kernel", "-k", "-initrd", "--help"}).run,
              Words({"run", "./-k", "--quiet", "--memory=134217728", "--cpus=1", "--initrd=./--help"}));
}

TEST(QemuOptions, MemoryHasUnits) {
    const auto memory = [](const std::string& text) { return with_kernel({"-m", text}).run[3]; };
    EXPECT_EQ(memory("64"), "--memory=67108864");
    EXPECT_EQ(memory("size=64m"), "--memory=67108864");
    EXPECT_EQ(memory("65536k"), "--memory=67108864");
    EXPECT_EQ(memory("67108864B"), "--memory=67108864");
    EXPECT_EQ(memory("1T"), "--memory=1099511627776");
    for (const char* const text : {"", "0", "M", "-1", "1.5G", "1GB", "16777216T", "18446744073709551616"}) {
        EXPECT_NE(message_of({"-m", text}).find("no size of memory"), std::string::npos) << text;
    }
    EXPECT_NE(message_of({"-m", "1G,slots=2"}).find("a size alone"), std::string::npos);
}

TEST(QemuOptions, TheConsoleGoesToOneStream) {
    EXPECT_EQ(with_kernel({"-nographic"}).console, "");
    EXPECT_EQ(with_kernel({"-nographic", "-serial", "mon:stdio"}).console, "");
    EXPECT_EQ(with_kernel({"-nographic", "-nodefaults"}).console, "/dev/null");
    EXPECT_EQ(with_kernel({}).console, "/dev/null");
    EXPECT_EQ(with_kernel({"-serial", "null"}).console, "/dev/null");
    EXPECT_EQ(with_kernel({"-serial", "chardev:c", "-chardev", "file,id=c,path=a,,b"}).console, "a,b");
    EXPECT_EQ(with_kernel({"-serial", "chardev:c", "-chardev", "null,id=c"}).console, "/dev/null");
    EXPECT_NE(message_of({"-serial", "stdio", "-serial", "null"}).find("first serial port"),
              std::string::npos);
    EXPECT_NE(message_of({"-serial", "pty"}).find("-serial pty"), std::string::npos);
    EXPECT_NE(message_of({"-serial", "file:"}).find("-serial file:"), std::string::npos);
    EXPECT_NE(message_of({"-serial", "chardev:c"}).find("none has the id 'c'"), std::string::npos);
}

TEST(QemuOptions, AStreamHasOneUser) {
    EXPECT_NE(message_of({"-chardev", "file,id=log,path=/tmp/log"}).find("no device uses 'log'"),
              std::string::npos);
    EXPECT_NE(message_of({"-chardev", "null,id=a", "-chardev", "null,id=a"}).find("has this id"),
              std::string::npos);
    EXPECT_NE(message_of({"-chardev", "null"}).find("no id"), std::string::npos);
    EXPECT_NE(message_of({"-chardev", "file,id=a"}).find("no path"), std::string::npos);
    EXPECT_NE(message_of({"-chardev", "file,id=a,path=b,append=on"}).find("'append'"), std::string::npos);
    EXPECT_NE(message_of({"-chardev", "pty,id=a"}).find("-chardev pty"), std::string::npos);
    EXPECT_NE(message_of({"-chardev", "stdio,id=a", "-mon", "chardev=a"}).find("no monitor"),
              std::string::npos);
}

TEST(QemuOptions, ThePlaceIsThatOfMachineOrAccelerator) {
    const auto place = [](const Words& words) {
        const Words run = with_kernel(words).run;
        return run[3].starts_with("--on=") ? run[3].substr(5) : "";
    };
    EXPECT_EQ(place({}), "");
    EXPECT_EQ(place({"-machine", "q35"}), "");
    EXPECT_EQ(place({"-machine", "previrt-process"}), "process");
    EXPECT_EQ(place({"-machine", "previrt-process", "-machine", "previrt"}), "");
    EXPECT_EQ(place({"-machine", "accel=kvm"}), "kvm");
    EXPECT_EQ(place({"-machine", "type=pc,accel=kvm:tcg"}), "");
    EXPECT_EQ(place({"-accel", "kvm"}), "kvm");
    EXPECT_EQ(place({"-accel", "kvm", "-accel", "tcg"}), "");
    EXPECT_EQ(place({"-enable-kvm", "-machine", "previrt-kvm"}), "kvm");
    EXPECT_NE(message_of({"-enable-kvm", "-machine", "previrt-process"}).find("another place"),
              std::string::npos);
    EXPECT_NE(message_of({"-accel", "tcg"}).find("does not emulate"), std::string::npos);
    EXPECT_NE(message_of({"-accel", "hvf"}).find("-accel hvf"), std::string::npos);
    EXPECT_NE(message_of({"-machine", "virt"}).find("one machine"), std::string::npos);
    EXPECT_NE(message_of({"-machine", "microvm,pit=off"}).find("pit=off"), std::string::npos);
    EXPECT_NE(message_of({"-machine", "q35,usb"}).find("'usb' has no value"), std::string::npos);
}

TEST(QemuOptions, MemoryIsOnePiece) {
    const std::string memory = "memory-backend-memfd,id=mem,share=on,size=";
    EXPECT_EQ(message_of({"-m", "256", "-object", memory + "256M", "-machine", "memory-backend=mem"}),
              "(accepted)");
    EXPECT_NE(message_of({"-m", "256", "-object", memory + "128M", "-numa", "node,memdev=mem"}).find("-m"),
              std::string::npos);
    EXPECT_NE(message_of({"-numa", "node,memdev=mem"}).find("no memory has the id 'mem'"), std::string::npos);
    EXPECT_NE(message_of({"-m", "256", "-object", memory + "256M"}).find("one piece"), std::string::npos);
    EXPECT_NE(message_of({"-numa", "dist,src=0,dst=1,val=20"}).find("-numa dist"), std::string::npos);
    EXPECT_NE(message_of({"-object", "rng-random,id=rng"}).find("-object rng-random"), std::string::npos);
}

TEST(QemuOptions, WhatPrevirtLacksIsRefusedByName) {
    for (const Words& words : std::vector<Words>{{"-display", "gtk"},
                                                 {"-vga", "std"},
                                                 {"-parallel", "stdio"},
                                                 {"-monitor", "stdio"},
                                                 {"-net", "nic"},
                                                 {"-net", "user"},
                                                 {"-nic", "tap"},
                                                 {"-bios", "OVMF.fd"},
                                                 {"-cpu", "kvm64"},
                                                 {"-cpu", "host,pmu=off"},
                                                 {"-smp", "2,sockets=2"},
                                                 {"-smp", "none"},
                                                 {"-device", "virtio-blk-pci,drive=d"},
                                                 {"-device", "virtio-9p-pci,fsdev=f"}}) {
        EXPECT_EQ(message_of(words).find(words[0] + " " + words[1] + ": "), 0U) << message_of(words);
    }
    for (const char* const option :
         {"-gdb", "-qmp", "-drive", "-netdev", "-virtfs", "-S", "-s", "-snapshot", "-rtc", "disk.img", ""}) {
        EXPECT_EQ(message_of({option}).find(std::string(option) + ": "), 0U) << option;
    }
    EXPECT_NE(message_of({"-append"}).find("value is missing"), std::string::npos);
    EXPECT_THROW(translate({"-nographic"}), InputError);
}

TEST(QemuOptions, ANetworkComesOnlyWhenAsked) {
    EXPECT_EQ(with_kernel({"-nic", "user"}).run.back(), "--net=user");
    EXPECT_EQ(with_kernel({"-nic", "user", "-net", "none"}).run.back(), "--cpus=1");
}

TEST(QemuOptions, ProgramsAskForVersionAndLists) {
    EXPECT_EQ(translate({"--version"}).answer.find("QEMU emulator version 7.2.0"), 0U);
    EXPECT_NE(translate({"-help"}).answer.find("\n-kernel ..."), std::string::npos);
    EXPECT_NE(translate({"-machine", "help"}).answer.find("previrt-PLACE"), std::string::npos);
    EXPECT_NE(translate({"-cpu", "?"}).answer.find("host"), std::string::npos);
    EXPECT_NE(translate({"-device", "help"}).answer.find("i6300esb"), std::string::npos);
    EXPECT_TRUE(translate({"--version"}).run.empty());
}

} // namespace

} // namespace previrt
