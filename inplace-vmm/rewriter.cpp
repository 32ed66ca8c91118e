// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/rewriter.hpp"

#include "inplace-vmm/backend/sites.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"
#include "previrt/layout_constants.hpp"

#include <cstring>
#include <optional>

namespace previrt {

namespace {

// As the manual recommends.
constexpr std::uint8_t long_nops[][9] = {
    {0x90},
    {0x66, 0x90},
    {0x0f, 0x1f, 0x00},
    {0x0f, 0x1f, 0x40, 0x00},
    {0x0f, 0x1f, 0x44, 0x00, 0x00},
    {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
    {0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
    {0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
    {0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
};
constexpr std::size_t longest_nop = sizeof(long_nops) / sizeof(long_nops[0]);

class Emitter {
public:
    Emitter(std::uint8_t* code, std::size_t room) : code_(code), room_(room) {}

    [[nodiscard]] std::size_t left() const { return room_ - done_; }
    void byte(unsigned value) {
        if (done_ == room_) {
            stop_guest("a replacement is longer than its site");
        }
        code_[done_++] = static_cast<std::uint8_t>(value);
    }
    void word(std::uint64_t value) {
        for (unsigned i = 0; i < 4; ++i) {
            byte(static_cast<unsigned>(value >> (8 * i)) & 0xffU);
        }
    }
    void fill() {
        while (left() > 0) {
            const std::size_t length = left() < longest_nop ? left() : longest_nop;
            for (std::size_t i = 0; i < length; ++i) {
                byte(long_nops[length - 1][i]);
            }
        }
    }

private:
    std::uint8_t* code_;
    std::size_t room_;
    std::size_t done_ = 0;
};

constexpr std::uint64_t no_site = 0;
[[gnu::section(".bss.cache")]] Trampolines trampolines;
[[gnu::section(".bss.cache")]] std::size_t trampolines_used;

// Loads a register from abs32 with 2, 4 or 8 bytes: the value that the instruction would have read. RAX..R15.
bool emit_load(Emitter& emit, const void* from, unsigned destination, unsigned width) {
    const bool wide = width == 8;
    const bool is_short = width == 2;
    const bool needs_rex = wide || destination >= 8;
    // If there is room, a REX prefix without effect is better than a NOP behind, which would be a step of its
    // own.
    const bool has_rex = needs_rex || (!is_short && emit.left() >= 8);
    const std::size_t length = 7U + (is_short ? 1U : 0U) + (has_rex ? 1U : 0U);
    if (emit.left() < length) {
        return false;
    }
    if (is_short) {
        emit.byte(0x66);
    }
    if (has_rex) {
        emit.byte(0x40U | (wide ? 8U : 0U) | (destination >= 8 ? 4U : 0U));
    }
    emit.byte(0x8b);
    emit.byte(0x04U | ((destination & 7U) << 3U));
    emit.byte(0x25);
    emit.word(reinterpret_cast<std::uint64_t>(from));
    return true;
}

const void* readable_register(const SiteRecord& record) {
    const unsigned number = record.operand >> 4U;
    switch (static_cast<SiteKind>(record.kind)) {
    case SiteKind::mov_from_control:
        switch (number) {
        case 0:
            return &vcpu.cr0;
        case 2:
            return &vcpu.cr2;
        case 3:
            return &vcpu.cr3;
        case 4:
            return &vcpu.cr4;
        case 8:
            return &vcpu.cr8;
        default:
            return nullptr;
        }
    case SiteKind::mov_from_segment: {
        constexpr unsigned cs = 1;
        constexpr unsigned ss = 2;
        if (number != cs && number != ss) {
            return nullptr;
        }
        return number == cs ? &vcpu.cs : &vcpu.ss;
    }
    default:
        return nullptr;
    }
}

// The same movabs. The number keeps its distance: from `place` instead of from the kernel's own address.
bool emit_layout_constant(Emitter& emit, const KnownSite& site, std::uint64_t place) {
    constexpr std::size_t length = 10;
    const std::span<const std::uint8_t> instruction = site.instruction();
    const LayoutConstantInfo* const constant = find_layout_constant(site.record.operand);
    if (constant == nullptr || instruction.size() < length || emit.left() < length) {
        return false;
    }
    for (const std::uint8_t byte :
         instruction.last(length).first(2)) { // REX, and the opcode with its register
        emit.byte(byte);
    }
    const std::uint64_t number = layout_number(instruction) + (place - constant->place);
    emit.word(number);
    emit.word(number >> 32U);
    return true;
}

bool emit_inline(Emitter& emit, const KnownSite& site, std::uint64_t target) {
    const SiteRecord& record = site.record;
    if (static_cast<SiteKind>(record.kind) == SiteKind::layout_constant) {
        return emit_layout_constant(emit, site, target);
    }
    if (static_cast<SiteKind>(record.kind) == SiteKind::cli) {
        if (emit.left() < 8) {
            return false;
        }
        emit.byte(0xc6); // movb $1, abs32
        emit.byte(0x04);
        emit.byte(0x25);
        emit.word(backend::interrupt_cell());
        emit.byte(1);
        return true;
    }
    const void* const from = readable_register(record);
    const bool is_plain = record.shape() == Shape::registers && record.width() >= 2;
    return from != nullptr && is_plain && emit_load(emit, from, record.operand & 15U, record.width());
}

// The kernel may copy code to where no distance of 32 bits leads to the VMM.
bool can_branch(std::uint64_t from, std::uint64_t to) {
    const std::uint64_t distance = to - (from + call_bytes);
    return distance == static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(distance)});
}

void emit_branch(Emitter& emit, unsigned opcode, std::uint64_t from, std::uint64_t to) {
    emit.byte(opcode);
    emit.word(to - (from + call_bytes));
}

// The trampoline's first instructions are the back-end's; its number identifies the site.
std::optional<std::uint64_t> make_trampoline(const KnownSite& site, std::uint64_t target) {
    std::size_t number = trampolines_used;
    for (std::size_t i = 0; i < trampolines_used; ++i) {
        if (trampolines.sites[i] == site.address) {
            return trampolines.address + (i * trampoline_bytes);
        }
        number = trampolines.sites[i] == no_site && number == trampolines_used ? i : number;
    }
    if (number == trampolines.count) {
        return {};
    }
    trampolines_used += number == trampolines_used ? 1 : 0;
    trampolines.sites[number] = site.address;
    const std::uint64_t address = trampolines.address + (number * trampoline_bytes);
    backend::write_trampoline(site, number, address,
                              {trampolines.code + (number * trampoline_bytes), trampoline_bytes}, target);
    return address;
}

// An unchanged instruction of this kind would not reach the VMM.
bool is_lost_where_native(SiteKind kind) {
    return find_site_kind(static_cast<std::uint8_t>(kind))->silent || kind == SiteKind::announce_sites;
}

constexpr std::uint8_t mark_prefix = 0x3e;
constexpr std::uint8_t rex_prefix = 0x40;
constexpr std::uint8_t undefined_opcode[] = {0x0f, 0xb9};
constexpr std::uint8_t with_displacement = 0x40; // of one byte: ModRM.mod
constexpr unsigned register_shift = 3;           // ModRM.reg
constexpr unsigned three_bits = 7;
constexpr unsigned stack_pointer = 4; // not usable as a base: a SIB would follow
constexpr unsigned widest_code = 4;   // of a record's width
constexpr unsigned other_base = 5;

// push and pop of a segment register encode the register in the opcode.
bool names_registers_by_modrm(const KnownSite& site) {
    return site.record.shape() == Shape::registers && site.record.kind < 0x80 &&
           find_site_kind(site.record.kind)->encodings[0].modrm != ModRm::none;
}

bool emit_trap_mark(Emitter& emit, const KnownSite& site) {
    const bool has_registers = names_registers_by_modrm(site);
    if (emit.left() < trap_mark_bytes || (!has_registers && site.record.shape() != Shape::implicit)) {
        return false;
    }
    const unsigned kind = site.record.kind;
    const unsigned width_code = (site.record.form >> register_shift) & three_bits;
    emit.byte(has_registers ? rex_prefix | (kind >> register_shift) : mark_prefix);
    for (const std::uint8_t byte : undefined_opcode) {
        emit.byte(byte);
    }
    if (has_registers) {
        emit.byte(with_displacement | ((kind & three_bits) << register_shift) |
                  (width_code == widest_code ? other_base : width_code));
        emit.byte(site.record.operand);
    } else {
        emit.byte(with_displacement | (width_code << register_shift));
        emit.byte(kind);
    }
    return true;
}

unsigned width_of_code(unsigned code) {
    return code == 0 ? 0 : 1U << (code - 1);
}

// For a site that no other replacement fits. Most kinds fault without a change.
std::optional<Way> emit_fault(Emitter& emit, const KnownSite& site, Placement placement,
                              backend::KernelFaults least) {
    const bool comes_to_vmm = backend::kernel_faults() >= least;
    const bool is_lost = is_lost_where_native(site.kind());
    if (placement == Placement::copied && comes_to_vmm && emit_trap_mark(emit, site)) {
        return Way::trap;
    }
    if (!is_lost) {
        const bool is_safe = comes_to_vmm || least != backend::KernelFaults::by_own_stack;
        return is_safe || placement == Placement::copied ? std::optional(Way::native) : std::nullopt;
    }
    if (placement == Placement::copied || !comes_to_vmm) {
        return {};
    }
    emit.byte(trap_instruction);
    return Way::trap;
}

} // namespace

void start_trampolines(Trampolines room) {
    trampolines = room;
    trampolines_used = 0;
}

void free_trampolines(std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t& site : std::span(trampolines.sites, trampolines_used)) {
        site = site >= begin && site < end ? no_site : site;
    }
}

std::uint64_t site_of_trampoline(std::uint64_t address) {
    const std::uint64_t number = (address - trampolines.address) / trampoline_bytes;
    return address >= trampolines.address && number < trampolines_used ? trampolines.sites[number] : 0;
}

std::optional<MarkedSite> read_trap_mark(std::span<const std::uint8_t, trap_mark_bytes> code) {
    const unsigned upper_bits = code[0] & 0xfU;
    const bool has_registers = code[0] == (rex_prefix | upper_bits);
    const unsigned middle = (code[3] >> register_shift) & three_bits;
    const unsigned base = code[3] & three_bits;
    if ((!has_registers && code[0] != mark_prefix) || code[1] != undefined_opcode[0] ||
        code[2] != undefined_opcode[1] || (code[3] & 0xc0U) != with_displacement ||
        (has_registers ? base == stack_pointer || base > other_base : base != 0 || middle > widest_code)) {
        return {};
    }
    if (!has_registers) {
        return MarkedSite{.kind = static_cast<SiteKind>(code[4]),
                          .width = width_of_code(middle),
                          .has_registers = false,
                          .operand = 0};
    }
    return MarkedSite{.kind = static_cast<SiteKind>((upper_bits << register_shift) | middle),
                      .width = width_of_code(base == other_base ? widest_code : base),
                      .has_registers = true,
                      .operand = code[4]};
}

namespace {

struct Replacement {
    std::uint8_t code[longest_site];
    Way way;
};

void emit_absolute_call(Emitter& emit, std::uint64_t entry) {
    emit.byte(0xff); // call *abs32
    emit.byte(0x14);
    emit.byte(0x25);
    emit.word(backend::entry_pointer(entry));
}

// False: no replacement fits.
bool make_replacement(const KnownSite& site, Placement placement, Replacement& replacement) {
    const std::size_t room = site.record.site_length();
    Emitter emit(replacement.code, room);
    Treatment treatment = backend::treat_site(site);
    if (treatment.way == Way::in_line && !emit_inline(emit, site, treatment.target)) {
        treatment = {.way = Way::call, .target = backend::general_site_entry()};
        emit = Emitter(replacement.code, room);
    }
    const bool is_copied = placement == Placement::copied;
    std::optional<Way> way = treatment.way;
    if (treatment.way == Way::jump) {
        const std::optional<std::uint64_t> trampoline =
            is_copied || room < call_bytes || !can_branch(site.address, trampolines.address)
                ? std::nullopt
                : make_trampoline(site, treatment.target);
        if (trampoline) {
            emit_branch(emit, 0xe9, site.address, *trampoline);
        } else {
            // iret pops its frame from a stack.
            way = emit_fault(emit, site, placement,
                             site.kind() == SiteKind::iret ? backend::KernelFaults::by_guest_stack
                                                           : backend::KernelFaults::by_own_stack);
            // Linux copies VERW over code that has the kernel's stack, and over code that it never runs here:
            // CPUID tells it of no buffers to clear.
            if (!way && is_copied && site.kind() == SiteKind::verw && room >= absolute_call_bytes) {
                way = Way::call;
                emit_absolute_call(emit, backend::general_site_entry());
            }
        }
    } else if (treatment.way == Way::call) {
        const bool is_marked = is_copied && backend::kernel_faults() != backend::KernelFaults::to_the_guest &&
                               emit_trap_mark(emit, site);
        if (is_marked) {
            way = Way::trap; // a call is identified by its address
        } else if (!is_copied && room >= call_bytes && can_branch(site.address, treatment.target)) {
            emit_branch(emit, 0xe8, site.address, treatment.target);
        } else if (room >= absolute_call_bytes) {
            emit_absolute_call(emit, treatment.target);
        } else {
            way = emit_fault(emit, site, placement, backend::KernelFaults::by_guest_stack);
        }
    } else if (treatment.way == Way::trap) {
        if (is_copied) {
            way = emit_fault(emit, site, placement, backend::KernelFaults::by_own_stack);
        } else {
            emit.byte(trap_instruction);
        }
    }
    if (!way) {
        return false;
    }
    replacement.way = *way;
    if (*way != Way::native) {
        emit.fill();
    }
    return true;
}

} // namespace

bool rewrite_site(const KnownSite& site, std::span<std::uint8_t> code, Placement placement) {
    Replacement replacement;
    if (!make_replacement(site, placement, replacement)) {
        return false;
    }
    ++counters.rewritten[site.record.kind][static_cast<unsigned>(replacement.way)];
    if (replacement.way != Way::native) {
        std::memcpy(code.data(), replacement.code, site.record.site_length());
    }
    return true;
}

bool is_rewritten(const KnownSite& site, std::span<const std::uint8_t> code) {
    const auto holds = [&](Placement placement) {
        Replacement replacement;
        return make_replacement(site, placement, replacement) && replacement.way != Way::native &&
               std::memcmp(code.data(), replacement.code, code.size()) == 0;
    };
    return code.size() == site.record.site_length() && (holds(Placement::fixed) || holds(Placement::copied));
}

} // namespace previrt
