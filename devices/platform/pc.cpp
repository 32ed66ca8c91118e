// SPDX-License-Identifier: BSD-2-Clause
#include "devices/platform/pc.hpp"

#include "devices/dp83820/configuration_space.hpp"
#include "devices/platform/absent_ports.hpp"
#include "devices/virtio/configuration_space.hpp"

#include <algorithm>

namespace previrt {

namespace {

constexpr std::uint8_t floating_bus = 0xff;
constexpr std::uint32_t port_count = 0x1'0000;
constexpr unsigned first_bar = 0x10; // in a configuration space

constexpr bool is_uart(std::uint16_t port) {
    return (port & ~7U) == Pc::uart_port;
}

// Byte accesses reach no register but the reset control register.
constexpr bool is_pci_address(std::uint16_t port, unsigned width) {
    return port == Pci::address_port && width == 4;
}

constexpr bool is_pci_address_byte(std::uint16_t port) {
    return port >= Pci::address_port && port < Pci::data_port;
}

constexpr bool is_pci_data(std::uint16_t port, unsigned width) {
    return port >= Pci::data_port && port + width <= Pci::data_port + 4U;
}

// The I/O APIC's pins by their interrupt lines.
struct IoApicPins {
    IoApic& chip;

    void set_line(unsigned irq, bool asserted) { chip.set_line(Pc::io_apic_pin(irq), asserted); }
};

constexpr bool is_access(std::uint16_t port, unsigned width) {
    return (width == 1 || width == 2 || width == 4) && port + width <= port_count;
}

} // namespace

void Pc::start(std::uint64_t since_1970, std::uint64_t memory_bytes, std::uint64_t now) {
    advanced_to = now;
    rtc.start(since_1970, now);
    rtc.set_memory_size(memory_bytes);
    pci.add_host_bridge();
    pit.set_gate(control.gate2(), now);
    pit.write(0x43, 0x36, now); // counter 0: mode 3, 18.2 Hz
    pit.write(0x40, 0, now);
    pit.write(0x40, 0, now);
    pit.write(0x43, 0x54, now); // counter 1: mode 2, memory refresh
    pit.write(0x41, 18, now);
    set_line(timer_irq, pit.output(0, now));
}

void Pc::start_apics(unsigned processors) {
    local_apics.start(processors);
    io_apic.start();
    io_apic.set_line(io_apic_pin(timer_irq), pit.output(0, advanced_to));
}

// No request of the 8259s here is ever taken.
void Pc::lead_lines_elsewhere() {
    constexpr std::uint8_t all = 0xff;
    for (const std::uint16_t mask : {std::uint16_t{0x21}, std::uint16_t{0xa1}}) {
        pic.write(mask, all);
    }
    lines_lead_elsewhere = true;
}

std::uint32_t Pc::index_of(const PciFunction& function) const {
    return static_cast<std::uint32_t>(&function - pci.functions.data());
}

void Pc::configure(PciFunction& function, unsigned irq) {
    constexpr unsigned command = 0x04;
    constexpr unsigned interrupt_line = 0x3c;
    constexpr std::uint16_t level_triggered = 0x4d1; // IRQ 8 to 15
    function.set(interrupt_line, 1, irq);
    function.set(command, 1, 3);
    pic.write(level_triggered, static_cast<std::uint8_t>(pic.read(level_triggered) | (1U << (irq - 8))));
}

void Pc::insert_network_card(const ethernet::MacAddress& address) {
    PciFunction* const function = dp83820::add_function(pci, network_device);
    function->set(first_bar + (4 * dp83820::io_bar), 4, network_ports | 1U);
    function->set(first_bar + (4 * dp83820::memory_bar), 4, network_memory);
    configure(*function, network_irq);
    network.start(address, dp83820::Transceiver::copper);
    network_index = index_of(*function);
    has_network = true;
}

std::optional<std::uint32_t> Pc::read(std::uint16_t port, unsigned width, std::uint64_t now) {
    now = std::max(now, advanced_to);
    if (!is_access(port, width)) {
        return std::nullopt;
    }
    if (is_pci_address(port, width)) {
        return pci.read_address();
    }
    if (is_pci_data(port, width)) {
        return pci.read_data(port, width);
    }
    if (const std::optional<std::uint32_t> offset = network_register(port, width)) {
        return read_network(*offset, now);
    }
    if (const std::optional<std::uint32_t> offset = balloon_register(port)) {
        return read_balloon(*offset, width);
    }
    if (const std::optional<std::uint32_t> offset = vsock_register(port)) {
        return read_vsock(*offset, width);
    }
    if (const std::optional<std::uint32_t> offset = console_register(port)) {
        return read_console(*offset, width);
    }
    if (const std::optional<FolderRegister> place = folder_register(port)) {
        return read_folder(*place, width);
    }
    std::uint32_t value = 0;
    for (unsigned i = 0; i < width; ++i) {
        const std::optional<std::uint8_t> byte = read_byte(static_cast<std::uint16_t>(port + i), now);
        if (!byte && !floats_beside_device(port, width, i)) {
            return std::nullopt;
        }
        value |= std::uint32_t{byte.value_or(floating_bus)} << (8U * i);
    }
    return value;
}

bool Pc::write(std::uint16_t port, unsigned width, std::uint32_t value, std::uint64_t now) {
    now = std::max(now, advanced_to);
    if (!is_access(port, width)) {
        return false;
    }
    if (is_pci_address(port, width)) {
        pci.write_address(value);
        return true;
    }
    if (is_pci_data(port, width)) {
        pci.write_data(port, width, value);
        return true;
    }
    if (const std::optional<std::uint32_t> offset = network_register(port, width)) {
        return write_network(*offset, value, now) != Written::nothing;
    }
    if (const std::optional<std::uint32_t> offset = balloon_register(port)) {
        return write_balloon(*offset, width, value);
    }
    if (const std::optional<std::uint32_t> offset = vsock_register(port)) {
        return write_vsock(*offset, width, value);
    }
    if (const std::optional<std::uint32_t> offset = console_register(port)) {
        return write_console(*offset, width, value);
    }
    if (const std::optional<FolderRegister> place = folder_register(port)) {
        return write_folder(*place, width, value);
    }
    for (unsigned i = 0; i < width; ++i) {
        if (!write_byte(static_cast<std::uint16_t>(port + i), static_cast<std::uint8_t>(value >> (8U * i)),
                        now) &&
            !floats_beside_device(port, width, i)) {
            return false;
        }
    }
    return true;
}

bool Pc::decodes(std::uint16_t port) const {
    const bool is_network = has_network && network_function().decodes_io() &&
                            port - network_function().bar_address(dp83820::io_bar) < dp83820::io_bar_bytes;
    return is_network || balloon_register(port) || vsock_register(port) || console_register(port) ||
           folder_register(port) || PicPair::decodes(port) || is_uart(port) || Pit8254::decodes(port) ||
           SystemControl::decodes(port) || Rtc::decodes(port) || KeyboardController::decodes(port) ||
           is_pci_address_byte(port) || is_pci_data(port, 1) || find_absent(port) != nullptr;
}

bool Pc::claims_port(std::uint16_t port, unsigned width) const {
    for (std::uint32_t i = port; i < port + width && i < port_count; ++i) {
        if (decodes(static_cast<std::uint16_t>(i))) {
            return true;
        }
    }
    return false;
}

bool Pc::floats_beside_device(std::uint16_t port, unsigned width, unsigned byte) const {
    return !decodes(static_cast<std::uint16_t>(port + byte)) && claims_port(port, width);
}

bool Pc::claims_memory(std::uint64_t address, std::uint64_t bytes) const {
    const bool has_local_apic = std::ranges::any_of(local_apics.all(), &LocalApic::is_enabled);
    return (has_local_apic && overlap(address, bytes, LocalApic::place, LocalApic::place_bytes)) ||
           (io_apic.exists && overlap(address, bytes, IoApic::place, IoApic::place_bytes)) ||
           (has_network && network_function().decodes_memory() &&
            overlap(address, bytes, network_function().bar_address(dp83820::memory_bar),
                    dp83820::memory_bar_bytes)) ||
           disk_claims(address, bytes);
}

std::optional<std::uint64_t> Pc::read_memory(const MemoryPlace& place, std::uint64_t now) {
    now = std::max(now, advanced_to);
    if (is_local_apic(place)) {
        return local_apics.of(place.processor).read(place.address - LocalApic::place, now);
    }
    if (const std::optional<std::uint32_t> offset = network_register(place.address, place.width)) {
        return read_network(*offset, now);
    }
    if (const std::optional<DiskRegister> found = disk_register(place.address)) {
        return disks[found->disk].read(found->offset, place.width);
    }
    return is_io_apic(place) ? io_apic.read(place.address - IoApic::place) : std::nullopt;
}

Pc::Written Pc::write_memory(const MemoryPlace& place, std::uint64_t value, std::uint64_t now) {
    now = std::max(now, advanced_to);
    const auto half = static_cast<std::uint32_t>(value);
    if (is_local_apic(place)) {
        return write_local_apic(place, half, now);
    }
    if (const std::optional<std::uint32_t> offset = network_register(place.address, place.width)) {
        return write_network(*offset, half, now);
    }
    if (const std::optional<DiskRegister> found = disk_register(place.address)) {
        const bool is_modelled = disks[found->disk].write(found->offset, place.width, value);
        update_disk_line();
        return is_modelled ? Written::disk : Written::nothing;
    }
    if (is_io_apic(place)) {
        advance_devices(now);
        const bool is_modelled = io_apic.write(place.address - IoApic::place, half);
        send_messages();
        return is_modelled ? Written::io_apic : Written::nothing;
    }
    return Written::nothing;
}

Pc::Written Pc::write_local_apic(const MemoryPlace& place, std::uint32_t value, std::uint64_t now) {
    const LocalApics::Written written =
        local_apics.write(place.processor, place.address - LocalApic::place, value, now);
    if (written.ended) {
        io_apic.end_interrupt(*written.ended);
        send_messages();
    }
    return written.is_modelled ? Written::local_apic : Written::nothing;
}

std::optional<std::uint32_t> Pc::virtio_register(const PciFunction& function, std::uint16_t port) {
    const std::uint32_t offset = port - function.bar_address(virtio::io_bar);
    return function.decodes_io() && offset < virtio::io_bar_bytes ? std::optional(offset) : std::nullopt;
}

std::optional<std::uint32_t> Pc::network_register(std::uint16_t port, unsigned width) const {
    if (!has_network || width != 4 || !network_function().decodes_io()) {
        return std::nullopt;
    }
    const std::uint32_t offset = port - network_function().bar_address(dp83820::io_bar);
    return offset < dp83820::io_bar_bytes ? std::optional(offset) : std::nullopt;
}

std::optional<std::uint32_t> Pc::network_register(std::uint64_t address, unsigned width) const {
    if (!has_network || width != 4 || !network_function().decodes_memory()) {
        return std::nullopt;
    }
    const std::uint64_t offset = address - network_function().bar_address(dp83820::memory_bar);
    return offset < dp83820::memory_bar_bytes ? std::optional(static_cast<std::uint32_t>(offset))
                                              : std::nullopt;
}

std::optional<std::uint32_t> Pc::read_network(std::uint32_t offset, std::uint64_t now) {
    const std::optional<std::uint32_t> value = network.read(offset, network_function(), now);
    update_network_line(now);
    return value;
}

Pc::Written Pc::write_network(std::uint32_t offset, std::uint32_t value, std::uint64_t now) {
    const bool is_request_again = network.requests_transmission_again(offset, value);
    if (!network.write(offset, value, now)) {
        return Written::nothing;
    }
    if (is_request_again) {
        return Written::transmit_request;
    }
    update_network_line(now);
    return Written::network_card;
}

bool Pc::network_line(std::uint64_t now) const {
    return has_network && !network_function().disables_interrupt() && network.interrupt_line(now);
}

bool Pc::is_local_apic(const MemoryPlace& place) const {
    return local_apics.of(place.processor).is_enabled() &&
           place.address - LocalApic::place < LocalApic::place_bytes && place.width == 4;
}

bool Pc::is_io_apic(const MemoryPlace& place) const {
    return io_apic.exists && place.address - IoApic::place < IoApic::place_bytes && place.width == 4;
}

bool Pc::request_passes(unsigned processor) const {
    const LocalApic& apic = local_apics.of(processor);
    return apic.highest_request().has_value() || (pic.interrupt_requested() && apic.passes_external());
}

std::uint8_t Pc::acknowledge(unsigned processor) {
    LocalApic& apic = local_apics.of(processor);
    return apic.highest_request() ? apic.acknowledge() : pic.acknowledge();
}

// The I/O APIC and the 8259s have the same lines, but the timer's has another pin.
void Pc::set_line(unsigned irq, bool asserted) {
    pic.set_line(irq, asserted);
    if (asserted && pic.interrupt_requested()) {
        local_apics.notified |= std::uint64_t{1} << boot_processor; // others' LINT0 is masked
    }
    io_apic.set_line(io_apic_pin(irq), asserted);
    send_messages();
}

bool Pc::passes(unsigned irq) const {
    if (lines_lead_elsewhere) {
        return true; // the masks are elsewhere too
    }
    const bool passes_external =
        local_apics.count == 0 || std::ranges::any_of(local_apics.all(), &LocalApic::passes_external);
    return (pic.enabled(irq) && passes_external) || io_apic.passes(io_apic_pin(irq));
}

void Pc::send_messages() {
    while (const std::optional<InterruptMessage> message = io_apic.next_message()) {
        local_apics.deliver(*message);
    }
}

std::optional<std::uint8_t> Pc::read_byte(std::uint16_t port, std::uint64_t now) {
    if (PicPair::decodes(port)) {
        advance_devices(now);
        return pic.read(port);
    }
    if (is_uart(port)) {
        const std::uint8_t value = uart.read(port);
        update_lines();
        return value;
    }
    if (Pit8254::decodes(port)) {
        return pit.read(port, now);
    }
    if (SystemControl::decodes(port)) {
        return control.read(port, pit.output(2, now), now);
    }
    if (Rtc::decodes(port)) {
        const std::uint8_t value = rtc.read(port, now);
        advance_devices(now);
        return value;
    }
    if (KeyboardController::decodes(port)) {
        return keyboard.read(port);
    }
    if (is_pci_data(port, 1)) {
        return static_cast<std::uint8_t>(pci.read_data(port, 1));
    }
    if (is_pci_address_byte(port) || find_absent(port) != nullptr) {
        return floating_bus;
    }
    return std::nullopt;
}

bool Pc::write_byte(std::uint16_t port, std::uint8_t value, std::uint64_t now) {
    if (PicPair::decodes(port)) {
        advance_devices(now);
        pic.write(port, value);
        return true;
    }
    if (is_uart(port)) {
        uart.write(port, value);
        update_lines();
        return true;
    }
    if (Pit8254::decodes(port)) {
        advance_devices(now);
        const bool before = pit.output(0, now);
        pit.write(port, value, now);
        const bool after = pit.output(0, now);
        timer_edges += after && !before ? 1 : 0;
        set_timer_line(after);
        return true;
    }
    if (SystemControl::decodes(port)) {
        return write_control(port, value, now);
    }
    if (Rtc::decodes(port)) {
        advance_devices(now);
        rtc.write(port, value, now);
        set_line(rtc_irq, rtc.line(now));
        return true;
    }
    if (KeyboardController::decodes(port)) {
        return write_keyboard(port, value);
    }
    if (is_pci_data(port, 1)) {
        pci.write_data(port, 1, value);
        return true;
    }
    return is_pci_address_byte(port) || find_absent(port) != nullptr;
}

bool Pc::write_control(std::uint16_t port, std::uint8_t value, std::uint64_t now) {
    const SystemControl::Effect effect = control.write(port, value);
    pit.set_gate(control.gate2(), now);
    if (effect == SystemControl::Effect::reset) {
        request = Request::reset;
    }
    return effect != SystemControl::Effect::a20_off;
}

bool Pc::write_keyboard(std::uint16_t port, std::uint8_t value) {
    const KeyboardController::Effect effect = keyboard.write(port, value);
    if (effect == KeyboardController::Effect::reset) {
        request = Request::reset;
    }
    return effect != KeyboardController::Effect::a20_off;
}

void Pc::advance(unsigned processor, std::uint64_t now) {
    now = std::max(now, advanced_to);
    advance_devices(now);
    local_apics.of(processor).advance(now);
}

void Pc::advance_devices(std::uint64_t now) {
    now = std::max(now, advanced_to);
    const std::uint64_t edges = pit.rising_edges(advanced_to, now);
    const bool level = pit.output(0, now);
    timer_edges += edges;
    if (!io_apic.passes(io_apic_pin(timer_irq))) {
        lost_timer_edges += edges > 0 ? edges - (pic.pending(timer_irq) ? 0 : 1) : 0;
        // A request that still waits disappears with the line.
        lost_timer_edges += !level && (edges > 0 || pic.pending(timer_irq)) ? 1 : 0;
    }
    const Lines lines{
        .timer_rose = edges > 0, .timer = level, .rtc = rtc.line(now), .network = network_line(now)};
    move_lines(pic, lines);
    IoApicPins pins{io_apic};
    move_lines(pins, lines);
    send_messages();
    advanced_to = now;
}

template <typename Controller>
void Pc::move_lines(Controller& to, const Lines& lines) {
    if (lines.timer_rose) {
        to.set_line(timer_irq, false);
        to.set_line(timer_irq, true);
    }
    to.set_line(timer_irq, lines.timer);
    to.set_line(rtc_irq, lines.rtc);
    to.set_line(network_irq, lines.network);
}

PicPair Pc::interrupts_at(std::uint64_t when) const {
    when = std::max(when, advanced_to);
    PicPair then = pic;
    Rtc clock = rtc;
    move_lines(then, {.timer_rose = pit.rising_edges(advanced_to, when) > 0,
                      .timer = pit.output(0, when),
                      .rtc = clock.line(when),
                      .network = network_line(when)});
    return then;
}

PicPair Pc::interrupts_after_input() const {
    PicPair then = pic;
    Uart16550 receiver = uart;
    receiver.receive(0);
    then.set_line(uart_irq, receiver.line());
    return then;
}

// A request that still waits disappears with the line.
void Pc::set_timer_line(bool level) {
    lost_timer_edges += !level && pic.pending(timer_irq) ? 1 : 0;
    set_line(timer_irq, level);
}

void Pc::update_lines() {
    set_line(uart_irq, uart.line());
    update_network_line(advanced_to);
}

void Pc::update_network_line(std::uint64_t now) {
    set_line(network_irq, network_line(now));
}

std::optional<std::uint64_t> Pc::next_event(unsigned processor) const {
    std::optional<std::uint64_t> next = local_apics.of(processor).next_event();
    const auto add = [&](std::optional<std::uint64_t> event) {
        next = event && (!next || *event < *next) ? event : next;
    };
    add(passes(timer_irq) ? pit.next_edge(advanced_to) : std::nullopt);
    add(passes(rtc_irq) ? rtc.next_event(advanced_to) : std::nullopt);
    add(has_network && passes(network_irq) ? network.next_event(advanced_to) : std::nullopt);
    return next;
}

} // namespace previrt
