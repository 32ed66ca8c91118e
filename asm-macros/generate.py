#!/usr/bin/env python3
"""Make the macros, the annotation header and the C++ tables from site-kinds.toml.

usage: generate.py OUTPUT_DIRECTORY
"""

import pathlib
import re
import sys
import tomllib

HERE = pathlib.Path(__file__).parent
ABI_VERSION = 1
SHAPES = {"implicit": 0, "registers": 1, "memory": 2, "immediate": 3, "dx": 4}
SHORTEST_NOP_PADDED = {"ins": 1, "outs": 1, "int_n": 2, "lcall": 2}
SEGMENT_OF_MNEMONIC = {"lss": 2, "lfs": 4, "lgs": 5}

GENERAL_REGISTERS = ["ax", "cx", "dx", "bx", "sp", "bp", "si", "di"]
SEGMENT_REGISTERS = ["es", "cs", "ss", "ds", "fs", "gs"]


class DefinitionError(Exception):
    """site-kinds.toml says something that no macro can be made of."""


def width_code(width):
    """1, 2, 4, 8 bytes as 1..4; 0 where a width means nothing."""
    return {0: 0, 1: 1, 2: 2, 4: 3, 8: 4}[width]


def load(path):
    definition = tomllib.loads(path.read_text())
    seen = {}
    for name, kind in definition["kinds"].items():
        if not 0 < kind["id"] < 256 or kind["id"] in seen:
            raise DefinitionError(f"{name}: id {kind['id']:#x} is taken or out of range")
        seen[kind["id"]] = name
        kind["size"] = max(definition["replacements"][r] for r in kind["replace"])
        kind.setdefault("pad", "front")
        kind.setdefault("scan", "none")
        kind.setdefault("silent", False)
        kind.setdefault("as", [])
        if kind["pad"] == "nop":
            kind["nop"] = kind["size"] - SHORTEST_NOP_PADDED[name]
    tags = [constant["tag"] for constant in definition["layout"].values()]
    if len(set(tags)) != len(tags) or not all(0 < tag < 256 for tag in tags):
        raise DefinitionError("layout: a tag is taken or out of range")
    return definition


# ---- assembler macros


def general_register_names():
    """(name, number, width in bytes) of every general register."""
    for number, base in enumerate(GENERAL_REGISTERS):
        yield f"r{base}", number, 8
        yield f"e{base}", number, 4
        yield base, number, 2
    for number in range(8, 16):
        yield f"r{number}", number, 8
        yield f"r{number}d", number, 4
        yield f"r{number}w", number, 2


def register_symbols():
    """Symbols that a macro looks operands up by: the only hash table an assembler has."""
    for name, number, width in general_register_names():
        yield f'.set ".Lprevirt_gpr%{name}", {width_code(width) << 4 | number:#x}'
    for number in range(16):
        yield f'.set ".Lprevirt_system%cr{number}", {number:#x}'
        yield f'.set ".Lprevirt_system%dr{number}", {0x10 | number:#x}'
        yield f'.set ".Lprevirt_system%db{number}", {0x10 | number:#x}'
    for number, name in enumerate(SEGMENT_REGISTERS):
        yield f'.set ".Lprevirt_system%{name}", {0x20 | number:#x}'
    for name, width in (("al", 1), ("ax", 2), ("eax", 4)):
        yield f'.set ".Lprevirt_accumulator%{name}", {width_code(width)}'
    yield '.set ".Lprevirt_dx%dx", 1'
    yield '.set ".Lprevirt_dx(%dx)", 1'


def kind_symbols(kinds):
    for width in (1, 2, 4, 8):
        yield f".set .Lprevirt_width_{width}, {width_code(width)}"
    for name, kind in kinds.items():
        if "annotates" in kind:
            yield f".set .Lprevirt_kind_{name}, {kind['id']:#x}"
            yield f".set .Lprevirt_size_{name}, {kind['size']}"
            yield f".set .Lprevirt_shape_{name}, {annotated_shape(name, kind)}"
        if kind["scan"] == "string":
            for mnemonic in kind["as"]:
                yield f'.set ".Lprevirt_string{mnemonic.partition(":")[0]}", 1'


def annotated_shape(name, kind):
    """The one operand shape of an annotated kind: no macro looks for it."""
    shapes = {SHAPES[form.split()[0]] for form in kind["llvm"].values()}
    if len(shapes) != 1:
        raise DefinitionError(f"{name}: an annotated kind has one operand shape")
    return shapes.pop()


def widths(kind):
    """The operand widths that the kind's encodings know."""
    return {int((shape.split() + ["0"])[1]) for shape in kind["llvm"].values()}


def mnemonic_macro(mnemonic, width, kind, plain, argument):
    """The macro that takes the place of one mnemonic."""
    number, scan = kind["id"], kind["scan"]
    size = kind["nop"] if kind["pad"] == "nop" else kind["size"]
    site = f"{kind['pad']} {size}, {number:#x}"
    arguments = f"{kind['pad']}, {size}, {number:#x}"
    insn = plain(mnemonic)
    if scan in ("none", "feature"):
        body = f"previrt_{site}, {SHAPES['implicit'] | width_code(width) << 3:#x}, 0, {insn} \\args"
    elif scan == "memory":
        body = f"previrt_{site}, {SHAPES['memory'] | width_code(width) << 3:#x}, 0, {insn} \\args"
    elif scan == "immediate":
        body = f"previrt_{site}, {SHAPES['immediate']:#x}, 0, {insn} \\args"
    elif scan == "rm":
        known = widths(kind)
        fixed = width or (known.pop() if len(known) == 1 else 0)
        system = SEGMENT_OF_MNEMONIC.get(mnemonic[:3], 0) << 4 if number == 0x2C else 0
        widest = width_code(max(widths(kind)))
        body = f"previrt_rm {arguments}, {width_code(fixed)}, {widest}, {system:#x}, {argument(mnemonic)}, \\args"
    elif scan == "port":
        body = f"previrt_port {arguments}, {width_code(width)}, {argument(mnemonic)}, \\args"
    elif scan == "string":
        body = f"previrt_string {size}, {number:#x}, {width_code(width)}, {insn} \\args"
    elif scan == "return":
        body = f"previrt_return {arguments}, {width_code(width)}, {argument(mnemonic)}, \\args"
    else:
        raise DefinitionError(f"{mnemonic}: unknown scan {scan!r}")
    return f".macro {mnemonic} args:vararg\n\t{body}\n.endm"


def system_register_macros(kinds, argument):
    for mnemonic in ("mov", "movw", "movl", "movq"):
        yield f".macro {mnemonic} args:vararg\n\tprevirt_mov {argument(mnemonic)}, \\args\n.endm"
    for stem in ("push", "pop"):
        kind = kinds[f"{stem}_segment"]
        for suffix, width in (("", 8), ("q", 8), ("w", 2)):
            body = f"previrt_push_pop {kind['size']}, {kind['id']:#x}, {width_code(width)}, {argument(stem + suffix)}, \\args"
            yield f".macro {stem}{suffix} args:vararg\n\t{body}\n.endm"


def macros(definition, assembler):
    kinds = definition["kinds"]

    def plain(mnemonic):
        return mnemonic.upper() if assembler == "clang" else "{nooptimize} " + mnemonic

    def argument(mnemonic):
        return plain(mnemonic) if assembler == "clang" else f'"{plain(mnemonic)}"'

    text = (HERE / "site-macros.s.in").read_text()
    text = re.sub(r"PLAIN:(\w+)", lambda match: plain(match[1]), text)
    values = {"ABI_VERSION": ABI_VERSION}
    values |= {f"SHAPE_{name}": value for name, value in SHAPES.items()}
    values |= {f"SIZE_{name}": kind["size"] for name, kind in kinds.items()}
    values |= {f"ID_{name}": f"{kind['id']:#x}" for name, kind in kinds.items()}
    text = re.sub(r"@(\w+)@", lambda match: str(values[match[1]]), text)
    lines = [text, *register_symbols(), *kind_symbols(kinds)]
    for kind in kinds.values():
        if assembler not in kind.get("assemblers", [assembler]):
            continue
        for entry in kind["as"]:
            mnemonic, _, width = entry.partition(":")
            lines.append(mnemonic_macro(mnemonic, int(width or 0), kind, plain, argument))
    lines += system_register_macros(kinds, argument)
    return "\n".join(lines) + "\n"


# previrt-as records instructions by itself; an annotation reaches it as a directive.
PREVIRT_AS_PRELUDE = """.macro previrt_site kind, width, tag, insn:vararg
	.previrt_annotate \\kind, \\width, \\tag
	\\insn
.endm
.macro previrt_note
	.previrt_note
.endm
"""

CLANG_HEADER = """/* Generated from asm-macros/site-kinds.toml. Give it to clang as -include previrt/sites-clang.h */
#ifndef PREVIRT_SITES
#define PREVIRT_SITES 1
#ifdef __ASSEMBLER__
.include "previrt/sites-clang.s"
#else
__asm__(".include \\"previrt/sites-clang.s\\"");
#endif
#endif
"""


def annotation_header(definition):
    devices = "\n".join(
        f"#define PREVIRT_DEVICE_{name.upper()} {tag}" for name, tag in definition["devices"].items()
    )
    constants = "\n".join(
        f"#define PREVIRT_{name.upper()} {constant['tag']}" for name, constant in definition["layout"].items()
    )
    text = (HERE / "annotate.h.in").read_text()
    return text.replace("@DEVICES@", devices).replace("@LAYOUT_CONSTANTS@", constants)


# ---- C++ tables


def encoding(code):
    """One entry of "code" as a C++ initializer of Encoding."""
    tokens = code.split()
    wide = tokens[0] == "rex.w"
    if wide:
        tokens.pop(0)
    mandatory = tokens.pop(0) if tokens[0] in ("66", "f2", "f3") else "00"
    opcode = []
    while tokens and re.fullmatch(r"[0-9a-f]{2}", tokens[0]):
        opcode.append(f"0x{tokens.pop(0)}")
    modrm, extension = "none", -1
    names_register = tokens[:1] == ["+r"]
    if names_register:
        tokens.pop(0)
    if tokens and tokens[0].startswith("/"):
        field = tokens.pop(0)[1:]
        extension = -1 if field == "r" else int(field)
        modrm = {"r": "reg", "m": "mem", "rm": "either"}[tokens.pop(0)]
    immediate = {"": 0, "ib": 1, "iw": 2, "iq": 8}[tokens.pop(0) if tokens else ""]
    if tokens:
        raise DefinitionError(f"cannot read the encoding {code!r}")
    wide, names_register = ("true" if flag else "false" for flag in (wide, names_register))
    return (
        f"{{0x{mandatory}, {wide}, {len(opcode)}, {{{', '.join(opcode)}}}, {names_register}, ModRm::{modrm}, "
        f"{extension}, {immediate}}}"
    )


def kind_table(definition):
    kinds = definition["kinds"]
    out = ["// Generated from asm-macros/site-kinds.toml.", "// NOLINTBEGIN", ""]
    out += [f"constexpr std::uint32_t abi_version = {ABI_VERSION};", ""]
    out.append("enum class SiteKind : std::uint8_t {")
    out += [f"    {name} = {kind['id']:#04x}," for name, kind in kinds.items()]
    out += ["};", ""]
    for name, kind in kinds.items():
        encodings = ", ".join(encoding(code) for code in kind["code"])
        out.append(f"inline constexpr Encoding encodings_{name}[] = {{{encodings}}};")
    out += ["", "inline constexpr SiteKindInfo site_kinds[] = {"]
    for name, kind in kinds.items():
        nop = kind.get("nop", 0)
        silent = "true" if kind["silent"] else "false"
        annotates = kind.get("annotates", "nothing")
        out.append(
            f'    {{SiteKind::{name}, "{name}", {kind["size"]}, Padding::{kind["pad"]}, {nop}, {silent}, '
            f"Annotates::{annotates}, encodings_{name}, {len(kind['code'])}}},"
        )
    out += ["};", "// NOLINTEND"]
    return "\n".join(out) + "\n"


def layout_table(definition):
    constants = definition["layout"]
    out = ["// Generated from asm-macros/site-kinds.toml.", "// NOLINTBEGIN", ""]
    out.append("enum class LayoutConstant : std::uint8_t {")
    out += [f"    {name} = {constant['tag']}," for name, constant in constants.items()]
    out += ["};", "", "inline constexpr LayoutConstantInfo layout_constants[] = {"]
    for name, constant in constants.items():
        numbers = ", ".join(f"{constant.get(key, 0):#x}" for key in ("place", "below", "above", "never"))
        mask = "true" if constant.get("mask", False) else "false"
        out.append(f'    {{LayoutConstant::{name}, "{name}", {numbers}, {mask}}},')
    out += ["};", "// NOLINTEND"]
    return "\n".join(out) + "\n"


def llvm_table(definition):
    out = ["// Generated from asm-macros/site-kinds.toml: {LLVM's name, kind, shape, width, system register}"]
    for name, kind in definition["kinds"].items():
        for opcode, form in kind["llvm"].items():
            shape, width, system = (form.split() + ["0", "-1"] if len(form.split()) == 1 else form.split() + ["-1"])[:3]
            out.append(f'{{"{opcode}", SiteKind::{name}, Shape::{shape}, {width}, {system}}},')
    return "\n".join(out) + "\n"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    definition = load(HERE / "site-kinds.toml")
    output = pathlib.Path(sys.argv[1])
    files = {
        "previrt/sites-gas.s": macros(definition, "gas"),
        "previrt/sites-clang.s": macros(definition, "clang"),
        "previrt/sites-clang.h": CLANG_HEADER,
        "previrt/sites-previrt-as.inc": f'R"({PREVIRT_AS_PRELUDE})"\n',
        "previrt/annotate.h": annotation_header(definition),
        "previrt/site_kinds.inc": kind_table(definition),
        "previrt/layout_constants.inc": layout_table(definition),
        "previrt/llvm_opcodes.inc": llvm_table(definition),
    }
    for name, text in files.items():
        path = output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    try:
        main()
    except (DefinitionError, KeyError) as error:
        sys.exit(f"site-kinds.toml: {error}")
