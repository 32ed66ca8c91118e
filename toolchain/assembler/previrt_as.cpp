// SPDX-License-Identifier: BSD-2-Clause
// previrt-as: replaces `as` for gcc and clang; pads and records the code that it assembles.
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "toolchain/assembler/options.hpp"
#include "toolchain/assembler/site_streamer.hpp"

#include <cstdlib>
#include <iostream>
#include <iterator>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCAsmParserExtension.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/ToolOutputFile.h>
#include <memory>
#include <string>
#include <vector>

namespace previrt {

namespace {

constexpr int failed = 1;

constexpr const char* prelude =
#include "previrt/sites-previrt-as.inc"
    ;

constexpr const char* help_text =
    "usage: previrt-as [options] [FILE ...]\n"
    "Assembles x86-64 like `as`; pads every virtualization-sensitive instruction and records its place.\n"
    "  -o FILE  -I DIR  --defsym SYMBOL=VALUE  --noexecstack  --fatal-warnings  -W  -g  --64  --version\n"
    "With gcc or clang: -B DIR, where DIR holds it under the name `as` (clang: -fno-integrated-as as "
    "well).\n";

// .previrt_annotate KIND, WIDTH, LEVEL-OR-TAG annotates the next instruction. .previrt_note gives this file
// the note.
class AnnotationDirective : public llvm::MCAsmParserExtension {
public:
    explicit AnnotationDirective(SiteStreamer& streamer) : streamer_(streamer) {}

    void Initialize(llvm::MCAsmParser& parser) override {
        MCAsmParserExtension::Initialize(parser);
        parser.addDirectiveHandler(".previrt_annotate",
                                   {this, HandleDirective<AnnotationDirective, &AnnotationDirective::parse>});
        parser.addDirectiveHandler(
            ".previrt_note", {this, HandleDirective<AnnotationDirective, &AnnotationDirective::parse_note>});
    }

private:
    bool parse(llvm::StringRef /*directive*/, llvm::SMLoc location) {
        llvm::StringRef kind_name;
        std::int64_t width = 0;
        std::int64_t operand = 0;
        if (getParser().parseIdentifier(kind_name) || getParser().parseComma() ||
            getParser().parseAbsoluteExpression(width) || getParser().parseComma() ||
            getParser().parseAbsoluteExpression(operand) || getParser().parseEOL()) {
            return true;
        }
        for (const SiteKindInfo& info : site_kinds) {
            if (info.annotates == Annotates::nothing || kind_name != info.name) {
                continue;
            }
            if (operand < 0 || operand > 255) {
                return Error(location, "previrt_site: level or tag outside 0..255");
            }
            streamer_.annotate(
                {info.kind, static_cast<unsigned>(width), static_cast<std::uint8_t>(operand), location});
            return false;
        }
        return Error(location, "previrt_site: no annotated kind is called '" + kind_name + "'");
    }

    bool parse_note(llvm::StringRef /*directive*/, llvm::SMLoc /*location*/) {
        if (getParser().parseEOL()) {
            return true;
        }
        streamer_.emit_note();
        return false;
    }

    SiteStreamer& streamer_;
};

std::string read_inputs(const AssemblerOptions& options) {
    std::string source = prelude;
    const std::vector<std::string> inputs =
        options.inputs.empty() ? std::vector<std::string>{"-"} : options.inputs;
    for (const std::string& input : inputs) {
        source += "# 1 \"" + (input == "-" ? "{standard input}" : input) +
                  "\"\n"; // so that messages name its lines
        if (input == "-") {
            source.append(std::istreambuf_iterator<char>(std::cin), {});
        } else {
            const std::vector<std::uint8_t> bytes = read_file(input);
            source.append(bytes.begin(), bytes.end());
        }
        source += '\n';
    }
    return source;
}

int assemble(const AssemblerOptions& options) {
    LlvmTarget target;
    target.options.MCFatalWarnings = options.fatal_warnings;
    target.options.MCNoWarn = options.no_warnings;
    target.options.X86RelaxRelocations = options.relax_relocations;
    target.options.MCRelaxAll = false;

    llvm::SourceMgr sources;
    sources.setIncludeDirs(options.include_directories);
    const std::string name = options.inputs.size() == 1 ? options.inputs.front() : "<stdin>";
    const std::string source = read_inputs(options);
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(source, name), llvm::SMLoc());

    llvm::MCContext context(target.triple, target.assembly.get(), target.registers.get(),
                            target.subtarget.get(), &sources, &target.options);
    const std::unique_ptr<llvm::MCObjectFileInfo> file_info(
        target.target->createMCObjectFileInfo(context, /*PIC=*/false));
    context.setObjectFileInfo(file_info.get());
    // A compiler that passes -g on has line directives of its own.
    context.setGenDwarfForAssembly(options.debug_lines && source.find("\t.loc ") == std::string::npos);
    context.setDwarfVersion(5);

    std::error_code error;
    llvm::ToolOutputFile output(options.output, error, llvm::sys::fs::OF_None);
    if (error) {
        throw InputError(options.output + ": " + error.message());
    }
    std::unique_ptr<llvm::MCAsmBackend> backend(
        target.target->createMCAsmBackend(*target.subtarget, *target.registers, target.options));
    std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(output.os());
    std::unique_ptr<llvm::MCCodeEmitter> emitter(
        target.target->createMCCodeEmitter(*target.instructions, context));
    SiteStreamer streamer(target, context, std::move(backend), std::move(writer), std::move(emitter));
    new llvm::MCTargetStreamer(streamer); // NOLINT(cppcoreguidelines-owning-memory): the streamer owns it
    streamer.initSections(options.executable_stack_note, *target.subtarget);

    const std::unique_ptr<llvm::MCAsmParser> parser(
        llvm::createMCAsmParser(sources, context, streamer, *target.assembly));
    const std::unique_ptr<llvm::MCTargetAsmParser> target_parser(
        target.target->createMCAsmParser(*target.subtarget, *parser, *target.instructions, target.options));
    parser->setTargetParser(*target_parser);
    streamer.report_errors_through(*parser);
    AnnotationDirective annotations(streamer);
    annotations.Initialize(*parser);
    for (const auto& [symbol, value] : options.symbols) {
        streamer.emitAssignment(context.getOrCreateSymbol(symbol),
                                llvm::MCConstantExpr::create(value, context));
    }
    if (parser->Run(/*NoInitialTextSection=*/true) || context.hadError()) {
        return failed;
    }
    output.keep();
    return 0;
}

int main(const std::vector<std::string>& arguments) {
    const AssemblerOptions options = parse_assembler_options(arguments);
    if (options.help) {
        std::cout << help_text;
        return 0;
    }
    if (options.version) {
        // Linux's scripts/as-version.sh needs these words and the last number: the version of gas with this
        // syntax.
        std::cout << "GNU assembler (previrt-as, LLVM 19) 2.40\n";
        return 0;
    }
    return assemble(options);
}

} // namespace

} // namespace previrt

int main(int argc, char** argv) {
    try {
        return previrt::main({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        std::cerr << "previrt-as: " << error.what() << '\n';
    }
    return previrt::failed;
}
