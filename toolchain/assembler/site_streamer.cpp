// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/assembler/site_streamer.hpp"

#include "toolchain/image/site_table.hpp"

#include <llvm/ADT/SmallVector.h>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/MC/MCAssembler.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCExpr.h>
#include <llvm/MC/MCSectionELF.h>
#include <string>
#include <string_view>
#include <utility>

namespace previrt {

namespace {

constexpr char cs_prefix = 0x2e;
constexpr char int3 = '\xcc';

bool has_repeat_prefix(llvm::StringRef encoded) {
    return !encoded.empty() && (encoded[0] == '\xf3' || encoded[0] == '\xf2');
}

} // namespace

SiteStreamer::SiteStreamer(const LlvmTarget& target, llvm::MCContext& context,
                           std::unique_ptr<llvm::MCAsmBackend> backend,
                           std::unique_ptr<llvm::MCObjectWriter> writer,
                           std::unique_ptr<llvm::MCCodeEmitter> emitter)
    : MCELFStreamer(context, std::move(backend), std::move(writer), std::move(emitter)), target_(target),
      classifier_(target) {}

void SiteStreamer::annotate(const Annotation& annotation) {
    annotation_ = annotation;
}

void SiteStreamer::emitInstruction(const llvm::MCInst& instruction, const llvm::MCSubtargetInfo& subtarget) {
    const std::string_view name = target_.instructions->getName(instruction.getOpcode());
    if (name == "REP_PREFIX" || name == "REPNE_PREFIX" || name == "LOCK_PREFIX") {
        prefix_ = LonePrefix{getContext().createTempSymbol(), name != "LOCK_PREFIX"};
        emitLabel(prefix_->label);
        MCELFStreamer::emitInstruction(instruction, subtarget);
        return;
    }
    const std::optional<LonePrefix> prefix = std::exchange(prefix_, std::nullopt);
    const std::optional<SiteForm> form = form_of(instruction, subtarget);
    if (form) {
        emit_site(*form, instruction, subtarget, prefix);
    } else {
        MCELFStreamer::emitInstruction(instruction, subtarget);
    }
}

void SiteStreamer::report(llvm::SMLoc location, const llvm::Twine& message) {
    parser_->printError(location, message);
}

std::optional<SiteForm> SiteStreamer::form_of(const llvm::MCInst& instruction,
                                              const llvm::MCSubtargetInfo& subtarget) {
    const std::optional<Annotation> annotation = std::exchange(annotation_, std::nullopt);
    if (!subtarget.checkFeatures("+64bit-mode")) {
        return std::nullopt; // the in-place VMM rewrites 64-bit code only; the audit names other code
    }
    if (!annotation) {
        return classifier_.classify(instruction);
    }
    std::optional<SiteForm> form = classifier_.classify_annotated(annotation->kind, instruction);
    if (!form || form->width != annotation->width) {
        report(annotation->location, "previrt_site: the instruction is not of this kind or width");
        return std::nullopt;
    }
    form->operand = annotation->operand;
    return form;
}

void SiteStreamer::emit_site(const SiteForm& form, const llvm::MCInst& instruction,
                             const llvm::MCSubtargetInfo& subtarget,
                             const std::optional<LonePrefix>& prefix) {
    llvm::SmallVector<char, 16> encoded;
    llvm::SmallVector<llvm::MCFixup, 4> fixups;
    getAssembler().getEmitter().encodeInstruction(instruction, encoded, fixups, subtarget);
    const SiteKindInfo& info = *find_site_kind(static_cast<std::uint8_t>(form.kind));
    const unsigned length = static_cast<unsigned>(encoded.size()) + (prefix ? 1 : 0);
    unsigned padding = info.replacement_bytes > length ? info.replacement_bytes - length : 0;
    llvm::MCSymbol* const site = prefix ? prefix->label : getContext().createTempSymbol();

    if (info.padding == Padding::front) {
        if (prefix && padding != 0) {
            report(instruction.getLoc(), "a prefix on a line of its own in front of " +
                                             std::string(info.name) + " leaves no room to pad it");
            return;
        }
        if (!prefix) {
            emitLabel(site);
        }
        emitBytes(std::string(padding, cs_prefix));
        MCELFStreamer::emitInstruction(instruction, subtarget);
    } else {
        if (!prefix) {
            emitLabel(site);
        }
        MCELFStreamer::emitInstruction(instruction, subtarget);
        if (info.padding == Padding::nop) {
            padding = info.nop_bytes;
            emitBytes(padding == 4 ? llvm::StringRef("\x0f\x1f\x40\x00", 4)
                                   : llvm::StringRef("\x0f\x1f\x00", 3));
        } else {
            emitBytes(std::string(padding, int3));
        }
    }
    const bool repeats = form.shape == Shape::dx &&
                         ((prefix && prefix->repeats) || has_repeat_prefix({encoded.data(), encoded.size()}));
    emit_record(site, form, repeats, padding, length);
}

void SiteStreamer::emit_record(llvm::MCSymbol* site, const SiteForm& form, bool repeats, unsigned padding,
                               unsigned length) {
    emit_note();
    llvm::MCContext& context = getContext();
    pushSection();
    switchSection(context.getELFSection(site_section, llvm::ELF::SHT_PROGBITS, llvm::ELF::SHF_ALLOC));
    emitValueToAlignment(llvm::Align(4), 0, 1, 0);
    llvm::MCSymbol* const here = context.createTempSymbol();
    emitLabel(here);
    emitValue(llvm::MCBinaryExpr::createSub(llvm::MCSymbolRefExpr::create(site, context),
                                            llvm::MCSymbolRefExpr::create(here, context), context),
              4);
    emitInt8(static_cast<std::uint8_t>(form.kind));
    emitInt8(encode_form(form.shape, form.width, repeats));
    emitInt8(form.operand);
    emitInt8((padding << 4U) | length);
    popSection();
}

void SiteStreamer::emit_note() {
    if (std::exchange(note_emitted_, true)) {
        return;
    }
    pushSection();
    switchSection(getContext().getELFSection(note_section, llvm::ELF::SHT_NOTE,
                                             llvm::ELF::SHF_ALLOC | llvm::ELF::SHF_GROUP, 0, "previrt_abi",
                                             true));
    emitValueToAlignment(llvm::Align(4), 0, 1, 0);
    emitInt32(8);
    emitInt32(8);
    emitInt32(1);
    emitBytes(llvm::StringRef("previrt\0", 8));
    emitInt32(abi_version);
    emitInt32(sizeof(SiteRecord));
    popSection();
}

} // namespace previrt
