// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCInstrAnalysis.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Triple.h>
#include <memory>

namespace previrt {

// LLVM's description of x86-64, with every instruction-set extension allowed.
struct LlvmTarget {
    LlvmTarget();

    llvm::Triple triple;
    const llvm::Target* target;
    llvm::MCTargetOptions options;
    std::unique_ptr<llvm::MCRegisterInfo> registers;
    std::unique_ptr<llvm::MCAsmInfo> assembly;
    std::unique_ptr<llvm::MCInstrInfo> instructions;
    std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
    std::unique_ptr<llvm::MCInstrAnalysis> analysis;
};

} // namespace previrt
