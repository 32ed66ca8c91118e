#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""recipe.py SOURCE
docs/add-a-backend.md against the minimal back-end: its files are those that the recipe names, no other file of the tree names it,
and every header of inplace-vmm/backend is in the recipe."""
import pathlib
import re
import subprocess
import sys

source = pathlib.Path(sys.argv[1])
recipe = (source / "docs/add-a-backend.md").read_text()
folder = "tests/backends/ptrace/"
# They make the tests, build them, use the example or say where it is.
around = {"docs/add-a-backend.md", "docs/tour.md", "tests/backends/CMakeLists.txt", "tests/backends/recipe.py",
          "tests/backends/roots/roots.cpp"}


def files(introduction):
    """Of each paragraph that begins so."""
    paragraphs = re.findall(rf"^{re.escape(introduction)}: (.*?)\n\n", recipe, re.MULTILINE | re.DOTALL)
    return {path for paragraph in paragraphs for path in re.findall(r"`([^`]+)`", paragraph)}


def git(*words):
    result = subprocess.run(["git", "-C", source, *words], stdout=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit("git " + " ".join(words) + ": failed")
    return set(result.stdout.splitlines())


needed = {path.replace("backends/NAME/", folder) for path in files("Files") if path.startswith("backends/NAME/")}
present = git("ls-files", "--cached", "--others", "--exclude-standard", folder)
naming = git("grep", "--untracked", "-lE", r"backends[/.]ptrace|previrt-ptrace|\btraced::")
headers = {path.name for path in (source / "inplace-vmm/backend").glob("*.hpp")}
unnamed = {header for header in headers if f"`{header}`" not in recipe}

faults = [f"{path}: the recipe names it, and the minimal back-end has no such file" for path in sorted(needed - present)]
faults += [f"{path}: a file of the minimal back-end that the recipe does not name" for path in sorted(present - needed)]
faults += [f"{path}: names the minimal back-end" for path in sorted(naming - present - around)]
faults += [f"inplace-vmm/backend/{header}: a header that the recipe does not name" for header in sorted(unnamed)]
if len(needed) < 15 or len(headers) < 9:
    faults.append(f"too little was found: {len(needed)} files, {len(headers)} headers")
print("\n".join(faults))
sys.exit(1 if faults else 0)
