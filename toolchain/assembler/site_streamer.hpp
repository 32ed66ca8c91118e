// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/llvm/site_classifier.hpp"

#include <cstdint>
#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCELFStreamer.h>
#include <llvm/MC/MCObjectWriter.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/Support/SMLoc.h>
#include <memory>
#include <optional>

namespace previrt {

// Writes an object file in which every sensitive instruction is padded and recorded. The macros of
// asm-macros/ do this by mnemonic; the streamer does it for the instructions that the assembler has
// recognised.
class SiteStreamer : public llvm::MCELFStreamer {
public:
    SiteStreamer(const LlvmTarget& target, llvm::MCContext& context,
                 std::unique_ptr<llvm::MCAsmBackend> backend, std::unique_ptr<llvm::MCObjectWriter> writer,
                 std::unique_ptr<llvm::MCCodeEmitter> emitter);

    // The parser's messages name a place inside a macro best.
    void report_errors_through(llvm::MCAsmParser& parser) { parser_ = &parser; }

    // The next instruction is annotated (.previrt_annotate).
    struct Annotation {
        SiteKind kind;
        unsigned width;
        std::uint8_t operand;
        llvm::SMLoc location;
    };
    void annotate(const Annotation& annotation);
    // Once a file, whoever asks for it.
    void emit_note();

    void emitInstruction(const llvm::MCInst& instruction, const llvm::MCSubtargetInfo& subtarget) override;

    // gcc repeats file 0 as file 1, and LLVM then leaves number 1 unassigned. Without a file 0, LLVM takes
    // file 1 for it.
    void emitDwarfFile0Directive(llvm::StringRef /*directory*/, llvm::StringRef /*name*/,
                                 std::optional<llvm::MD5::MD5Result> /*checksum*/,
                                 std::optional<llvm::StringRef> /*source*/, unsigned /*unit*/) override {}

private:
    // A rep or lock on a line of its own.
    struct LonePrefix {
        llvm::MCSymbol* label;
        bool repeats;
    };

    [[nodiscard]] std::optional<SiteForm> form_of(const llvm::MCInst& instruction,
                                                  const llvm::MCSubtargetInfo& subtarget);
    void emit_site(const SiteForm& form, const llvm::MCInst& instruction,
                   const llvm::MCSubtargetInfo& subtarget, const std::optional<LonePrefix>& prefix);
    void emit_record(llvm::MCSymbol* site, const SiteForm& form, bool repeats, unsigned padding,
                     unsigned length);

    void report(llvm::SMLoc location, const llvm::Twine& message);

    const LlvmTarget& target_;
    llvm::MCAsmParser* parser_ = nullptr;
    SiteClassifier classifier_;
    std::optional<LonePrefix> prefix_;
    std::optional<Annotation> annotation_;
    bool note_emitted_ = false;
};

} // namespace previrt
