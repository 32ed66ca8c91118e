// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/guest/guest_threads.hpp"

#include "host/ending_signals.hpp"
#include "host/input_error.hpp"
#include "monitor/console/terminal.hpp"
#include "monitor/guest/confinement.hpp"
#include "monitor/guest/monitor_confinement.hpp"

#include <cerrno>
#include <exception>
#include <malloc.h>
#include <optional>
#include <sys/eventfd.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace previrt {

namespace {

// Passes a thread's exception to the waiting threads.
class Outcome {
public:
    template <typename Action>
    void of(const Action& action) noexcept {
        try {
            action();
        } catch (...) {
            error_ = std::current_exception();
        }
    }
    void rethrow() const {
        if (error_) {
            std::rethrow_exception(error_);
        }
    }

private:
    std::exception_ptr error_;
};

} // namespace

Descriptor make_event() {
    Descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (event.number() < 0) {
        throw InputError("eventfd: " + std::generic_category().message(errno));
    }
    return event;
}

ConsoleEvents make_events() {
    return {.output = make_event(), .ended = make_event()};
}

namespace {

void confine(const RunOptions& options, const ProcessorThread& processor, const PacketThread& packets,
             bool has_disks) {
    MissingLayers missing = processor.missing;
    if (options.is_own_process) {
        const std::vector<std::string> of_monitor = confine_monitor({.guest = processor.group,
                                                                     .guest_is_nobody = processor.is_nobody,
                                                                     .network = packets.process,
                                                                     .connects = packets.connects,
                                                                     .has_disks = has_disks,
                                                                     .sessions = options.sessions,
                                                                     .consoles = options.consoles,
                                                                     .counts = options.counts});
        missing.names.insert(missing.names.end(), of_monitor.begin(), of_monitor.end());
    }
    judge_isolation(options, missing);
}

} // namespace

// The confined threads touch the guest's memory: one runs the processor, one reads the guest's output, one
// moves its packets, each disk has one, one has the folders, one moves the streams of its commands, and one
// those of its console device. The calling thread only waits for them.
MonitoredEnd run_with_console(const RunOptions& options, MonitoredConsole& console,
                              const ConsoleEvents& events, const ProcessorThread& processor,
                              const PacketThread& packets, const std::vector<DiskThread>& disks,
                              const ChannelThread& channel, const FolderThread& folders,
                              const PortThread& ports) {
    malloc_trim(0); // kernel and initrd were here
    const Descriptor signals = channel.begin ? Descriptor(dup(channel.given_up)) : hold_ending_signals();
    const std::optional<RawTerminal> terminal =
        options.watch_console ? std::optional<RawTerminal>(std::in_place) : std::nullopt;
    confine(options, processor, packets, !disks.empty());
    console.begin();
    if (channel.begin) {
        channel.begin();
    }
    if (ports.begin) {
        ports.begin();
    }
    MonitoredEnd end;
    Outcome of_processor;
    Outcome of_console;
    Outcome of_packets;
    Outcome of_channel;
    Outcome of_ports;
    std::thread port_thread;
    if (ports.run) {
        port_thread = std::thread([&] { of_ports.of([&] { ports.run(signals.number()); }); });
    }
    std::thread channel_thread;
    if (channel.run) {
        channel_thread = std::thread([&] { of_channel.of(channel.run); });
    }
    std::thread packet_thread;
    if (packets.run) {
        packet_thread = std::thread([&] { of_packets.of(packets.run); });
    }
    std::vector<Outcome> of_disks(disks.size());
    std::vector<std::thread> disk_threads;
    disk_threads.reserve(disks.size());
    for (std::size_t i = 0; i < disks.size(); ++i) {
        disk_threads.emplace_back([&of_disk = of_disks[i], &disk = disks[i]] { of_disk.of(disk.run); });
    }
    std::thread folder_thread;
    std::string failure;
    Outcome of_folders;
    if (folders.run) {
        folder_thread = std::thread([&] {
            of_folders.of([&] { failure = folders.run(); });
            if (!failure.empty()) {
                eventfd_write(events.ended.number(), 1);
            }
        });
    }
    std::thread processor_thread([&] {
        of_processor.of([&] { end.processor = processor.run(); });
        eventfd_write(events.ended.number(), 1);
    });
    of_console.of([&] {
        std::thread([&] {
            of_console.of([&] {
                confine_console_thread({.console = options.consoles, .counts = options.counts},
                                       processor.group);
                console.relay(signals, terminal && terminal->active());
            });
        }).join();
    });
    processor.stop(processor_thread.native_handle());
    processor_thread.join();
    if (packet_thread.joinable()) {
        packets.end();
        packet_thread.join();
    }
    for (std::size_t i = 0; i < disks.size(); ++i) {
        disks[i].end();
        disk_threads[i].join();
    }
    if (folder_thread.joinable()) {
        folders.end();
        folder_thread.join();
        end.processor.failure = failure.empty() ? end.processor.failure : failure;
    }
    if (channel_thread.joinable()) {
        channel.end();
        channel_thread.join();
    }
    if (port_thread.joinable()) {
        ports.end();
        port_thread.join();
    }
    if (channel.finish) {
        channel.finish();
    }
    end.machine = console.deliver(signals);
    of_processor.rethrow();
    of_console.rethrow();
    of_packets.rethrow();
    for (const Outcome& of_disk : of_disks) {
        of_disk.rethrow();
    }
    of_channel.rethrow();
    of_ports.rethrow();
    of_folders.rethrow();
    return end;
}

} // namespace previrt
