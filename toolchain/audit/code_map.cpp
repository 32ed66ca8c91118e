// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/audit/code_map.hpp"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <limits>

namespace previrt {

namespace {

constexpr std::size_t longest_instruction = 15;
constexpr std::uint8_t lock_prefix = 0xf0;
constexpr std::uint8_t near_return = 0xc3;
constexpr std::uint8_t trap_fill = 0xcc; // int3
constexpr std::size_t function_alignment = 16;
constexpr std::size_t fewest_table_entries = 2;

template <typename T>
T read_at(std::span<const std::uint8_t> bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

bool is_fill(std::uint8_t byte) {
    return byte == 0x00 || byte == 0xcc || byte == 0x90;
}

// At other addresses, bytes that decode may be the middle of an instruction.
bool may_begin_function(std::span<const std::uint8_t> bytes, std::size_t at) {
    return at % function_alignment == 0 && (is_fill(bytes[at - 1]) || bytes[at - 1] == near_return);
}

// At most as many as one instruction has.
std::span<const std::uint8_t> bytes_from(const Section& section, std::uint64_t address) {
    const auto rest = section.bytes.subspan(address - section.address);
    return rest.first(std::min(rest.size(), longest_instruction + 1));
}

} // namespace

CodeMap::CodeMap(const ElfImage& image, const ElfImage& symbols, const std::vector<Site>& sites,
                 const InstructionDecoder& decoder)
    : image_(image), symbols_(symbols.symbols()), decoder_(decoder) {
    for (const Section& section : image.sections()) {
        if (section.executable && !section.bytes.empty()) {
            areas_.push_back({&section, std::vector(section.bytes.size(), Byte::unknown),
                              std::vector<bool>(section.bytes.size())});
        }
    }
    mark_data_symbols();
    add_certain_roots(sites);
    explore_roots();
    add_address_roots();
    explore_roots();
    explore_gaps(true);
    explore_roots();
    explore_gaps(false);
    explore_roots();
    summarise();
}

CodeMap::Area* CodeMap::area_at(std::uint64_t address) {
    const auto after =
        std::ranges::upper_bound(areas_, address, {}, [](const Area& area) { return area.section->address; });
    if (after == areas_.begin()) {
        return nullptr;
    }
    Area& area = *(after - 1);
    return address - area.section->address < area.bytes.size() ? &area : nullptr;
}

CodeMap::Byte* CodeMap::byte_at(std::uint64_t address) {
    Area* const area = area_at(address);
    return area == nullptr ? nullptr : &area->bytes[address - area->section->address];
}

// ---- evidence

void CodeMap::mark_data_symbols() {
    for (const Symbol& symbol : symbols_) {
        Area* const area = area_at(symbol.address);
        if (symbol.type != SymbolType::object || area == nullptr) {
            continue;
        }
        const std::size_t offset = symbol.address - area->section->address;
        const std::size_t length = std::min<std::uint64_t>(symbol.size, area->bytes.size() - offset);
        std::fill_n(area->bytes.begin() + static_cast<std::ptrdiff_t>(offset), length, Byte::data);
    }
}

void CodeMap::add_certain_roots(const std::vector<Site>& sites) {
    for (const Symbol& symbol : symbols_) {
        if (symbol.type == SymbolType::function) {
            roots_[certain].push_back(symbol.address);
        }
    }
    for (const Site& site : sites) {
        roots_[certain].push_back(site.address);
    }
    if (!image_.relocatable()) {
        roots_[certain].push_back(image_.entry());
    }
}

void CodeMap::add_address_roots() {
    for (const Symbol& symbol : symbols_) {
        if (symbol.type == SymbolType::none) {
            roots_[address_taken].push_back(symbol.address);
        }
    }
    for (const Relocation& relocation : image_.relocations()) {
        const Byte* const place = byte_at(relocation.place);
        const bool in_instruction = place != nullptr && (*place == Byte::start || *place == Byte::body);
        if (relocation.symbol && !in_instruction) {
            roots_[address_taken].push_back(*relocation.symbol +
                                            static_cast<std::uint64_t>(relocation.addend));
        }
    }
    if (!image_.relocatable()) {
        add_pointers();
    }
}

// The addresses that relocations give in an object file, from a linked file's data: jump tables and
// functions' addresses.
void CodeMap::add_pointers() {
    for (const Section& section : image_.sections()) {
        if (section.executable) {
            continue;
        }
        const std::size_t unaligned = (0 - section.address) % sizeof(std::uint64_t);
        for (std::size_t at = unaligned; at + sizeof(std::uint64_t) <= section.bytes.size();
             at += sizeof(std::uint64_t)) {
            const auto pointer = read_at<std::uint64_t>(section.bytes, at);
            if (area_at(pointer) != nullptr) {
                roots_[address_taken].push_back(pointer);
            }
        }
    }
}

// ---- following execution

void CodeMap::explore_roots() {
    for (;;) {
        auto* const roots = std::ranges::find_if(roots_, [](const auto& queue) { return !queue.empty(); });
        if (roots == std::end(roots_)) {
            return;
        }
        const std::uint64_t root = roots->front();
        roots->pop_front();
        explore(root, roots == &roots_[certain]);
    }
}

// Marks all code that execution reaches from `root` without passing a call's return. Unless `sure`, marks
// nothing if any of it contradicts known code.
bool CodeMap::explore(std::uint64_t root, bool sure) {
    std::vector<Step> steps;
    std::vector<std::uint64_t> pending{root};
    while (!pending.empty()) {
        const std::uint64_t address = pending.back();
        pending.pop_back();
        Area* const area = area_at(address);
        const bool good = area != nullptr && follow(*area, address, sure, steps, pending);
        if (!good && !sure) {
            std::ranges::for_each(steps, [this](const Step& step) { release(step); });
            return false;
        }
    }
    std::ranges::for_each(steps, [this, sure](const Step& step) { commit(step, sure); });
    return true;
}

// Follows one straight run. False: it is not code.
bool CodeMap::follow(Area& area, std::uint64_t address, bool sure, std::vector<Step>& steps,
                     std::vector<std::uint64_t>& pending) {
    const std::size_t first_of_run = steps.size();
    for (;;) {
        const std::size_t offset = address - area.section->address;
        if (offset >= area.bytes.size()) {
            return true; // a fragment (an alternative, a last call that does not return) may end with its
                         // section
        }
        if (area.bytes[offset] == Byte::start) {
            return true;
        }
        if (sure && area.bytes[offset] == Byte::body) {
            follow_overlapping(area, address);
            return true;
        }
        const auto bytes = bytes_from(*area.section, address);
        std::optional<Instruction> instruction;
        if (area.bytes[offset] == Byte::unknown && (sure || !area.refuted[offset])) {
            instruction = decoder_.decode(bytes, address);
        }
        if (!instruction || (!sure && is_surely_data(bytes, address))) {
            if (sure) {
                undecodable_.push_back(address);
            } else if (area.bytes[offset] == Byte::unknown) {
                refute(area, address, std::span(steps).subspan(first_of_run));
            }
            return false;
        }
        const auto rest = std::span(area.bytes).subspan(offset + 1, instruction->length - 1);
        if (std::ranges::any_of(rest, [](Byte byte) { return byte != Byte::unknown; })) {
            if (sure && std::ranges::find(rest, Byte::data) != rest.end()) {
                undecodable_.push_back(address);
            } else if (sure) {
                follow_overlapping(area, address);
            }
            return sure;
        }
        const Step step{address, *instruction};
        claim(step);
        steps.push_back(step);

        bool leaves_file = false;
        const Flow flow = instruction->flow;
        const auto target = branch_target(*instruction, address, leaves_file);
        if ((flow == Flow::branch || flow == Flow::jump) && !leaves_file &&
            (!target || !continue_at(*target, sure, pending))) {
            return false;
        }
        if (flow == Flow::call && !leaves_file && !sure && (!target || byte_at(*target) == nullptr)) {
            return false;
        }
        if (flow != Flow::next && flow != Flow::branch) {
            return true;
        }
        address += instruction->length;
    }
}

// Code hidden in the bytes of other code, as Linux's srso_safe_ret in the immediate of a mov: its
// instructions count, and the bytes stay marked as they are.
void CodeMap::follow_overlapping(Area& area, std::uint64_t address) {
    while (overlapping_.insert(address).second) {
        const std::size_t offset = address - area.section->address;
        if (offset >= area.bytes.size() || area.bytes[offset] == Byte::start) {
            return;
        }
        const auto instruction = decoder_.decode(bytes_from(*area.section, address), address);
        if (!instruction || area.bytes[offset] == Byte::data) {
            undecodable_.push_back(address);
            return;
        }
        note(*instruction, address);
        bool leaves_file = false;
        if (const auto target = branch_target(*instruction, address, leaves_file)) {
            roots_[certain].push_back(*target);
        }
        if (instruction->flow != Flow::next && instruction->flow != Flow::branch) {
            return;
        }
        address += instruction->length;
    }
}

// No later finding can make code of it: only unsure explorations remain by then. Without this, every possible
// start of a function in front of a bad byte would run into it again.
void CodeMap::refute(Area& area, std::uint64_t address, std::span<const Step> run) {
    area.refuted[address - area.section->address] = true;
    for (const Step& step : run) {
        area.refuted[step.address - area.section->address] = true;
    }
}

// A linker fills in no opcode, and zeros (add %al,(%rax)) are fill or a table.
bool CodeMap::is_surely_data(std::span<const std::uint8_t> bytes, std::uint64_t address) const {
    return image_.relocation_at(address) != nullptr || (bytes.size() >= 2 && bytes[0] == 0 && bytes[1] == 0);
}

bool CodeMap::continue_at(std::uint64_t target, bool sure, std::vector<std::uint64_t>& pending) {
    const Byte* const byte = byte_at(target);
    if (byte == nullptr || *byte == Byte::data) {
        return sure;
    }
    if (*byte == Byte::body && !sure) {
        const Area& area = *area_at(target);
        const std::size_t offset = target - area.section->address;
        return area.section->bytes[offset - 1] == lock_prefix; // a single processor jumps over it
    }
    if (*byte != Byte::start) {
        pending.push_back(target);
    }
    return true;
}

// In a relocatable file the displacement is still zero and a relocation names the target.
std::optional<std::uint64_t> CodeMap::branch_target(const Instruction& instruction, std::uint64_t address,
                                                    bool& leaves_file) const {
    if (!instruction.target || !image_.relocatable()) {
        return instruction.target;
    }
    const std::uint64_t end = address + instruction.length;
    for (const unsigned size : {4U, 1U}) {
        const Relocation* const relocation = image_.relocation_at(end - size);
        if (relocation != nullptr && instruction.length > size) {
            leaves_file = !relocation->symbol;
            return leaves_file ? std::nullopt
                               : std::optional(*relocation->symbol +
                                               static_cast<std::uint64_t>(relocation->addend) + size);
        }
    }
    return instruction.target;
}

void CodeMap::claim(const Step& step) {
    Byte* const first = byte_at(step.address);
    *first = Byte::start;
    std::fill_n(first + 1, step.instruction.length - 1, Byte::body);
}

void CodeMap::release(const Step& step) {
    std::fill_n(byte_at(step.address), step.instruction.length, Byte::unknown);
}

void CodeMap::note(const Instruction& instruction, std::uint64_t address) {
    ++instruction_count_;
    if (instruction.sensitive) {
        sensitive_.push_back({address, instruction.length, *instruction.sensitive});
    }
    if (const LayoutConstantInfo* const constant = decoder_.layout_constant(instruction)) {
        const SiteForm form{SiteKind::layout_constant, Shape::immediate, sizeof(std::uint64_t),
                            static_cast<std::uint8_t>(constant->constant)};
        layout_constants_.push_back({address, instruction.length, form});
    }
}

void CodeMap::commit(const Step& step, bool sure) {
    const Instruction& instruction = step.instruction;
    const std::uint64_t next = step.address + instruction.length;
    note(instruction, step.address);
    if (instruction.reference) {
        roots_[address_taken].push_back(*instruction.reference);
    }
    for (std::uint64_t place = step.address + 1; image_.relocatable() && place < next; ++place) {
        const Relocation* const relocation = image_.relocation_at(place);
        if (relocation != nullptr && relocation->symbol && !instruction.target) {
            const bool relative = relocation->type != R_X86_64_64 && relocation->type != R_X86_64_32 &&
                                  relocation->type != R_X86_64_32S;
            roots_[address_taken].push_back(*relocation->symbol +
                                            static_cast<std::uint64_t>(relocation->addend) +
                                            (relative ? next - place : 0));
        }
    }
    switch (instruction.flow) {
    case Flow::call: {
        bool leaves_file = false;
        const auto target = branch_target(instruction, step.address, leaves_file);
        if (target) {
            roots_[sure ? certain : after_call].push_back(*target);
        }
        roots_[after_call].push_back(next);
        break;
    }
    case Flow::indirect_call:
        roots_[after_call].push_back(next);
        break;
    case Flow::trap:
        if (const Area& area = *area_at(step.address);
            next - area.section->address < area.bytes.size() &&
            area.section->bytes[next - area.section->address] != trap_fill) {
            roots_[after_call].push_back(next);
        }
        break;
    default:
        break;
    }
}

// ---- code that nothing points to

void CodeMap::explore_gaps(bool inside_functions) {
    if (!inside_functions) {
        for (Area& area : areas_) {
            explore_gap(area, 0, area.bytes.size());
        }
        return;
    }
    for (const Symbol& symbol : symbols_) {
        Area* const area = area_at(symbol.address);
        if (symbol.type == SymbolType::function && area != nullptr) {
            const std::size_t begin = symbol.address - area->section->address;
            explore_gap(*area, begin,
                        begin + std::min<std::uint64_t>(symbol.size, area->bytes.size() - begin));
        }
    }
}

// Explores every unknown run of [begin, end): skips tables; otherwise believes code at the front, or at
// starts of functions.
void CodeMap::explore_gap(Area& area, std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end;) {
        if (area.bytes[at] != Byte::unknown) {
            ++at;
            continue;
        }
        const std::size_t table_end = skip_jump_table(area, at, end);
        if (table_end != at) {
            explore_roots();
            at = table_end;
            continue;
        }
        const Relocation* const relocation = image_.relocation_at(area.section->address + at);
        if (relocation != nullptr) {
            const std::size_t size =
                relocation->type == R_X86_64_64 || relocation->type == R_X86_64_PC64 ? 8 : 4;
            for (const std::size_t after = at + size; at < std::min(after, end); ++at) {
                area.bytes[at] = Byte::data;
            }
            continue;
        }
        if (is_fill(area.section->bytes[at])) {
            ++at;
            continue;
        }
        if (!explore(area.section->address + at, false)) {
            do {
                ++at;
            } while (at < end && area.bytes[at] == Byte::unknown &&
                     !may_begin_function(area.section->bytes, at));
        }
    }
}

// If a table of jump targets begins at `begin`, marks it as data and returns its end. Entries are 8-byte
// addresses, or 4-byte distances from the table, of addresses in this section; the table ends where its first
// target begins.
std::size_t CodeMap::skip_jump_table(Area& area, std::size_t begin, std::size_t end) {
    const auto bytes = area.section->bytes;
    for (const std::size_t entry_size : {std::size_t{8}, std::size_t{4}}) {
        if (begin % entry_size != 0 || (entry_size == 8 && image_.relocatable())) {
            continue; // compilers align tables, and an object's addresses have relocations
        }
        std::vector<std::uint64_t> targets;
        std::size_t limit = end;
        std::size_t at = begin;
        for (; at + entry_size <= limit && area.bytes[at] == Byte::unknown; at += entry_size) {
            const std::uint64_t offset =
                entry_size == 8
                    ? read_at<std::uint64_t>(bytes, at) - area.section->address
                    : begin + static_cast<std::uint64_t>(std::int64_t{read_at<std::int32_t>(bytes, at)});
            const bool inside_table = offset >= begin && offset < at + entry_size;
            if (offset >= bytes.size() || inside_table || area.bytes[offset] == Byte::body ||
                area.bytes[offset] == Byte::data || bytes[offset] == trap_fill) {
                break;
            }
            if (offset > at) {
                limit = std::min<std::size_t>(limit, offset);
            }
            targets.push_back(area.section->address + offset);
        }
        if (targets.size() < fewest_table_entries) {
            continue;
        }
        std::fill_n(area.bytes.begin() + static_cast<std::ptrdiff_t>(begin), at - begin, Byte::data);
        const bool all_code = std::ranges::all_of(targets, [this](std::uint64_t target) {
            const Byte* const byte = byte_at(target);
            return *byte == Byte::start || explore(target, false);
        });
        if (all_code) {
            return at;
        }
        std::fill_n(area.bytes.begin() + static_cast<std::ptrdiff_t>(begin), at - begin, Byte::unknown);
    }
    return begin;
}

// ---- results

void CodeMap::summarise() {
    std::ranges::sort(sensitive_, {}, &SensitiveInstruction::address);
    std::ranges::sort(layout_constants_, {}, &SensitiveInstruction::address);
    std::ranges::sort(undecodable_);
    const auto repeated = std::ranges::unique(undecodable_);
    undecodable_.erase(repeated.begin(), repeated.end());
    for (const Area& area : areas_) {
        for (std::size_t at = 0; at < area.bytes.size();) {
            const Byte kind = area.bytes[at];
            const std::size_t begin = at;
            bool doubtful = false;
            while (at < area.bytes.size() && area.bytes[at] == kind) {
                if (kind == Byte::unknown && !doubtful) {
                    const std::uint64_t address = area.section->address + at;
                    const auto instruction = decoder_.decode(bytes_from(*area.section, address), address);
                    doubtful = instruction && instruction->sensitive;
                }
                ++at;
            }
            if (kind == Byte::unknown || kind == Byte::data) {
                data_bytes_ += at - begin;
            }
            if (doubtful) {
                doubtful_.push_back({area.section->address + begin, at - begin});
            }
        }
    }
}

} // namespace previrt
