#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""charts.py PREVIRT SOURCE-TREE
`previrt bench plot` draws results as they are, and the documents' charts are those of the figures beside them."""
import json
import math
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

previrt, source = sys.argv[1:]
svg = "{http://www.w3.org/2000/svg}"
failures = []


def require(holds, what):
    if not holds:
        failures.append(what)


def near(one, other):  # the file has one digit behind the point
    return abs(one - other) < 0.3


def plot(results, *options, name="chart.svg"):
    files = []
    for number, result in enumerate(results):
        files.append(f"{work}/{number}.json")
        with open(files[-1], "w") as file:
            file.write(result if isinstance(result, str) else json.dumps(result))
    ended = subprocess.run([previrt, "bench", "plot", *files, "--plot", f"{work}/{name}", *options],
                           capture_output=True, text=True, timeout=60)
    return ended.returncode, ended.stderr


def drawn(name="chart.svg"):
    return ElementTree.parse(f"{work}/{name}").getroot()


def bars(chart):
    """Left end and width, by the name that the bar has as its title."""
    return {bar.find(svg + "title").text.rpartition(":")[0]: (float(bar.get("x")), float(bar.get("width")))
            for bar in chart.iter(svg + "rect") if bar.get("class") == "bar"}


def texts(chart):
    return [text.text for text in chart.iter(svg + "text")]


def times(rows):
    return {"title": "Of a test", "unit": "nanoseconds",
            "times": {row: {column: {"median": value} for column, value in places.items()}
                      for row, places in rows.items()}}


def lengths():
    # 3, 6 and 9 ms lie close together: amounts on a linear axis.
    status, said = plot([times({"one": {"native": 3e6, "process": 6e6}, "two": {"native": 9e6}})])
    require(status == 0, f"linear: {said}")
    chart = drawn()
    width = {name: bar[1] for name, bar in bars(chart).items()}
    require(near(width["one, process"], 2 * width["one, native"]), f"linear: {width}")
    require(near(width["two, native"], 3 * width["one, native"]), f"linear: {width}")
    require("logarithmic" not in " ".join(texts(chart)), "linear: it says logarithmic")
    require(texts(chart).count("not measured") == 1, f"linear: the missing figure: {texts(chart)}")
    require("6.00 ms" in texts(chart), f"linear: the values: {texts(chart)}")

    # Far apart: ratios to native, to both sides of 1.
    status, said = plot([times({"quick": {"native": 100, "process": 10, "UML": 1000},
                                "slow": {"native": 1e6, "process": 1e8, "UML": 1e6},
                                "launch": {"process": 1e8, "UML": 1e9}})])
    require(status == 0, f"ratios: {said}")
    chart = drawn()
    place = bars(chart)
    base = place["quick, UML"][0]
    decade = place["quick, UML"][1]
    require(decade > 50, f"ratios: {place}")
    require(near(place["quick, process"][1], decade), f"ratios: {place}")
    require(near(place["quick, process"][0] + decade, base), f"ratios: {place}")
    require(near(place["slow, process"][1], 2 * decade), f"ratios: {place}")
    require(place["slow, UML"][1] < 0.3, f"ratios: {place}")
    said = " ".join(texts(chart))
    require("on a logarithmic axis" in said and "native = 1" in said, f"ratios: {said}")
    require("100\u00d7" in said and "0.10\u00d7" in said and "native 100 ns" in said, f"ratios: {said}")
    require(near(place["launch, UML"][1], 10 * place["launch, process"][1]), f"launch: {place}")

    # One column alone, far apart: amounts on a logarithmic axis.
    status, said = plot([times({"low": {"native": 10}, "middle": {"native": 1000}, "high": {"native": 1e5}})])
    width = {name: bar[1] for name, bar in bars(drawn()).items()}
    require(near(width["high, native"] - width["middle, native"], width["middle, native"] - width["low, native"]),
            f"logarithmic: {width}")
    require(width["low, native"] > 5, f"logarithmic: {width}")
    require("on a logarithmic axis" in " ".join(texts(drawn())), "logarithmic: it does not say so")


def several_results():
    # Each by its own native.
    ours = times({"one": {"native": 100, "kvm": 200}, "two": {"native": 1e5, "kvm": 1e5}})
    peers = times({"one": {"native": 200, "UML": 400}, "two": {"native": 1e5, "UML": 1e6}})
    status, said = plot([ours, peers])
    require(status == 0, f"several: {said}")
    place = bars(drawn())
    require(near(place["one, kvm"][1], place["one, UML"][1]), f"several: {place}")
    require(near(place["one, kvm"][1] / math.log10(2), place["two, UML"][1]), f"several: {place}")
    status, said = plot([ours, ours])
    require(status == 2 and "two results have 'one' of 'kvm'" in said, f"the same twice: {said}")
    status, said = plot([ours, times({"one": {"process": 1, "UML": 100}})])
    require(status == 2 and "count by different columns" in said, f"different references: {said}")
    status, said = plot([ours, peers], "--columns", "UML")
    require(status == 0 and not any("kvm" in name for name in bars(drawn())), f"columns: {said}")
    status, said = plot([ours], "--columns", "gVisor")
    require(status == 2 and "'gVisor' is none of native, kvm" in said, f"columns: {said}")


def labels():
    label = "<script a='1'> & \"]]>\x01\u00e9"
    result = times({label: {"native": 1e6, label: 2e6}, "other": {"native": 1e6, label: 3e6}})
    result["title"] = result["source"] = label
    status, said = plot([result])
    require(status == 0, f"labels: {said}")
    chart = drawn()
    wanted = label.replace("\x01", "\ufffd")
    require(chart.find(svg + "title").text == wanted, f"labels: {chart.find(svg + 'title').text!r}")
    require(texts(chart).count(wanted) == 4, f"labels: {texts(chart)}")
    require(not list(chart.iter(svg + "script")), "labels: a label became an element")


def exits_and_padding():
    exits = {"operations": {"tick": {"unrewritten": {"exits": 8, "io_exits": 4}, "in_place": {"exits": 2}}}}
    status, said = plot([exits])
    require(status == 0, f"exits: {said}")
    padding = {"operations": {"fork": {"plain": 1000, "padded": 1005}, "exec": {"plain": 1000, "padded": 998},
                              "none": {"plain": 0, "padded": 0}}}
    status, said = plot([padding])
    require(status == 0, f"padding: {said}")
    place = bars(drawn())
    require(near(place["exec, padded"][0] + place["exec, padded"][1], place["fork, padded"][0]), f"padding: {place}")
    require(near(place["fork, padded"][1], 2.5 * place["exec, padded"][1]), f"padding: {place}")
    require({"+0.50 %", "-0.20 %", "not measured"} <= set(texts(drawn())), f"padding: {texts(drawn())}")


def refusals():
    good = times({"one": {"native": 1}})
    for result, wanted in [("{", "is no JSON"), ("[]", "is no result"), ("{}", "is no result"), ('{"times": {}}', "it has no times"),
                           ('{"operations": {}}', "it has no operations"), ('{"operations": {"a": 3}}', "is no result"),
                           ('{"times": {"a": {"native": 3}}}', "is no result"),
                           ('{"times": {"a": {"native": {"median": "3"}}}}', "is no result"),
                           ('{"times": {"a": {"native": {"median": -3}}}}', "is no figure"),
                           ('{"times": {"a": {"native": {"median": 1e300}}}}', "is no figure")]:
        status, said = plot([result], name="none.svg")
        require(status == 2 and f"{work}/0.json: " in said and wanted in said, f"{result}: {status}, {said}")
        require(not os.path.exists(f"{work}/none.svg"), f"{result}: a chart")
    status, said = plot([good], name="0.json")
    require(status == 2 and "would replace the result" in said, f"onto the result: {said}")
    # Before anything is built or measured.
    for command in ["padding", "xen", "exits", "kvm", "process", "net", "programs", "files"]:
        for option in ["--plot", "--json"]:
            for file in ["/no/such/directory/chart", work]:
                ended = subprocess.run([previrt, "bench", command, option, file], capture_output=True, text=True,
                                       timeout=20)
                lines = ended.stderr.splitlines()
                require(ended.returncode == 2 and len(lines) == 1 and lines[0].startswith(f"previrt: {file}: "),
                        f"bench {command} {option} {file}: {ended.returncode}, {ended.stderr}")
    same = f"{work}/same"
    ended = subprocess.run([previrt, "bench", "process", "--plot", same, "--json", same], capture_output=True,
                           text=True, timeout=20)
    require(ended.returncode == 2 and "name the same file" in ended.stderr, f"the same file: {ended.stderr}")


def documents():
    folder = f"{source}/docs/charts"
    committed = sorted(name for name in os.listdir(folder) if name.endswith(".svg"))
    os.mkdir(f"{work}/documents")
    subprocess.run([f"{folder}/draw", previrt, f"{work}/documents"], check=True, timeout=60)
    require(committed and committed == sorted(os.listdir(f"{work}/documents")), f"docs/charts has {committed}")
    pages = [f"{source}/README.md"] + [f"{source}/docs/{name}" for name in os.listdir(f"{source}/docs")
                                       if name.endswith(".md")]
    pages = {page: open(page).read() for page in pages}
    for name in committed:
        chart = open(f"{folder}/{name}").read()
        require(chart == open(f"{work}/documents/{name}").read(), f"docs/charts/{name} is not what draw makes")
        require(ElementTree.fromstring(chart).find(svg + "title").text, f"docs/charts/{name} has no title")
        require(any(f"charts/{name})" in text for text in pages.values()), f"no page shows docs/charts/{name}")
    for page, text in pages.items():
        if page.endswith("-cost.md"):
            require("](charts/" in text.split("\n## ")[0], f"{page} does not begin with a chart")
    return len(committed)


with tempfile.TemporaryDirectory() as work:
    lengths()
    several_results()
    labels()
    exits_and_padding()
    refusals()
    count = documents()
for failure in failures:
    print(f"charts: {failure}")
print(f"charts: {count} charts of documents, {len(failures)} failures")
sys.exit(bool(failures))
