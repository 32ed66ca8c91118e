// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/llvm/llvm_target.hpp"

#include <llvm/Support/TargetSelect.h>
#include <stdexcept>
#include <string>

namespace previrt {

LlvmTarget::LlvmTarget() : triple("x86_64-pc-linux-gnu") {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmParser();
    LLVMInitializeX86Disassembler();
    std::string error;
    target = llvm::TargetRegistry::lookupTarget(triple.str(), error);
    if (target == nullptr) {
        throw std::runtime_error("this LLVM has no x86-64: " + error);
    }
    registers.reset(target->createMCRegInfo(triple.str()));
    assembly.reset(target->createMCAsmInfo(*registers, triple.str(), options));
    instructions.reset(target->createMCInstrInfo());
    subtarget.reset(target->createMCSubtargetInfo(triple.str(), "", ""));
    analysis.reset(target->createMCInstrAnalysis(instructions.get()));
}

} // namespace previrt
