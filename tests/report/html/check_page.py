# SPDX-License-Identifier: Apache-2.0
"""The pages of haul report --html and haul plan --html in a browser: no errors and no requests; the pixels of each chart; the values below a chart
are those of haul report --json; nothing is wider than a phone; contrasts; drawn within two seconds of processor.

check_page.py WRITE_PAGES [test_NAME ...]; HAUL is the program, HAUL_NPM the folder with axe-core. Without names, all tests run
that no other call names (ALONE). With HAUL_TEST_FULL, all parts of the pages
with hundreds of runs are opened, too. With HAUL_PAGE_SHOTS, screenshots are left in that folder."""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from browser import Browser

HAUL, NPM, SOURCE = os.environ["HAUL"], os.environ["HAUL_NPM"], os.environ["HAUL_SOURCE"]
SHOTS = os.environ.get("HAUL_PAGE_SHOTS")
LONG = bool(os.environ.get("HAUL_TEST_FULL"))
DRAWN_S = 2
# Pages with more than a thousand charts when all their parts are open.
HEAVY = ("two", "runs256", "runs1000")
PAGES = ("one", "phase", "old", "two", "nothing", "ranks6144", *(("runs256",) if LONG else ()), "runs1000", "plan")
# Tests that a call of their own runs after every change, on the page "one" alone.
ALONE = ("test_axis_of_one", "test_print", "test_hostile")

# Opens all parts, and waits until every chart in them is drawn.
OPEN_ALL = """(async () => {
    const frame = () => new Promise(requestAnimationFrame);
    for (let tries = 0; tries < 600; tries++) {
        const closed = [...document.querySelectorAll('details:not([open])')];
        closed.forEach(one => { one.open = true; if (one.fill) one.fill(); });
        await frame();
        if (!closed.length && document.querySelectorAll('figure:not([data-drawn])').length === 0)
            break;
    }
    await frame();
    return document.querySelectorAll('figure').length;
})()"""
DRAWN = """(async () => {
    const frame = () => new Promise(requestAnimationFrame);
    const waiting = () => [...document.querySelectorAll('figure:not([data-drawn])')].filter(one => !one.closest('details:not([open])')).length;
    for (let tries = 0; tries < 600 && waiting(); tries++)
        await frame();
    await frame();
    return [document.body.dataset.ready, waiting(), document.querySelectorAll('figure[data-drawn]').length];
})()"""

# Of each chart: how many pixels have the colour of one of its series, and how many are drawn at all.
PIXELS = """[...document.querySelectorAll('figure')].map(figure => {
    const canvas = figure.querySelector('canvas');
    if (!canvas)
        return null;
    const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const colors = [...figure.querySelectorAll('.swatch')].map(one => getComputedStyle(one).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number));
    let own = 0, drawn = 0;
    const seen = new Set();
    for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] < 200)
            continue;
        drawn++;
        seen.add((data[i] >> 4) * 256 + (data[i + 1] >> 4) * 16 + (data[i + 2] >> 4));
        own += colors.some(color => color.every((value, k) => Math.abs(value - data[i + k]) < 12));
    }
    return {title: figure.querySelector('figcaption').firstChild.textContent, own, drawn, colors: seen.size, pixels: data.length / 4};
}).filter(one => one)"""

# Of each chart, the values below it at its first, second and last point, by the arrow keys.
VALUES = """[...document.querySelectorAll('figure')].map(figure => {
    const press = key => figure.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
    const read = () => ({index: Number(figure.querySelector('.readout').dataset.index),
        values: Object.fromEntries([...figure.querySelectorAll('.readout div')].map(row =>
            [row.querySelector('dt').textContent, [row.querySelector('dd').dataset.value, row.querySelector('dd').textContent]]))});
    const found = [];
    press('ArrowRight');
    found.push(read());
    press('ArrowRight');
    found.push(read());
    const phase = figure.closest('details.phase');
    return {title: figure.querySelector('figcaption').firstChild.textContent,
        phase: phase ? phase.querySelector('summary').textContent : '', found};
})"""

# Charts of a phase, and where their series stand in its JSON.
SERIES = {
    "Bandwidth of all ranks": {"read": ("timeline", "bytes_read_per_second"), "written": ("timeline", "bytes_written_per_second")},
    "Ranks that waited for storage": {"ranks": ("timeline", "ranks_stalled")},
    "Operations of all ranks": {"operations": ("timeline", "operations_per_second")},
    "A step on average over the ranks": {"load": ("steps", "load_ns"), "compute": ("steps", "compute_ns"),
                                         "other ranks": ("steps", "ranks_ns")},
    "The longest wait for a batch": {"longest load": ("steps", "load_max_ns")},
    "Time accounts": {name: ("by_rank", "accounts", name) for name in ("compute", "transfer", "ranks", "haul", "queue", "open")},
    "AU by rank": {"AU": ("by_rank", "au"), "average": ("by_rank", "au"), "worst rank": ("by_rank", "au_min")},
    "p99 by rank": {"p99": ("by_rank", "p99_ns"), "worst p99": ("by_rank", "p99_ns")},
    "Wait for storage by node": {"average": ("by_node", "storage_wait_s"), "worst rank": ("by_node", "storage_wait_s_max")},
    "Latency: read": {"requests": ("distribution_ns", "read", "counts")},
}


def check(condition, sentence):
    if not condition:
        raise AssertionError(sentence)


def read_pages(folder, names):
    pages = {}
    for name in names:
        path = f"{folder}/{name}.html"
        check(os.path.getsize(path) < 3 << 20, f"{name}: {os.path.getsize(path)} bytes")
        with open(f"{folder}/{name}.json") as f:
            pages[name] = path, json.load(f)
    return pages


def make_one(write_pages, folder):
    """Only the page "one"."""
    subprocess.run([write_pages, folder, "one"], check=True, timeout=300)
    return read_pages(folder, ("one",))


def make_pages(write_pages, folder):
    """The pages by name, with the JSON of their files."""
    subprocess.run([write_pages, folder], check=True, timeout=300)
    old = f"{SOURCE}/tests/fixtures/results/version_2.h5"
    subprocess.run([HAUL, "report", "--html", f"{folder}/old.html", old], check=True, timeout=300)
    with open(f"{folder}/old.json", "w") as f:
        subprocess.run([HAUL, "report", "--json", old], check=True, timeout=300, stdout=f)
    plan = [HAUL, "plan", "unet3d_aurora", "--set", "dataset.steps_per_epoch=100"]
    subprocess.run([*plan, "--html", f"{folder}/plan.html", "--storage", "650 GB/s"], check=True, timeout=300)
    with open(f"{folder}/plan.json", "w") as f:
        each = [subprocess.run([*plan, "--nodes", str(2 ** i), "--json"], check=True, timeout=300, capture_output=True).stdout for i in range(10)]
        json.dump([json.loads(one) for one in each], f)
    return read_pages(folder, PAGES)


def open_parts(browser, name):
    """Opens the parts of the page, and returns how many charts there are."""
    if name in HEAVY and not LONG:
        return browser.evaluate(DRAWN)[2]
    return browser.evaluate(OPEN_ALL)


def shot(browser, name):
    if SHOTS:
        browser.screenshot(os.path.join(SHOTS, name + ".png"))


def test_opens(browser, pages):
    """As a reader opens it: no trouble, drawn in time."""
    for name, (path, _) in pages.items():
        before = browser.processor_s()
        browser.open(path)
        ready, waiting, drawn = browser.evaluate(DRAWN)
        check(ready == "yes" and waiting == 0 and not browser.trouble, f"{name}: {ready}, {waiting}, {browser.trouble}")
        check(drawn >= (1 if name in ("old", "phase") else 3), f"{name}: only {drawn} charts")
        after = browser.processor_s()
        used = after - before if after >= before else after  # a new process of the page begins at 0
        check(used < DRAWN_S, f"{name}: {used:.2f} s of processor until it was drawn")
        shot(browser, f"{name}-desktop")


def test_charts(browser, pages):
    """Each chart has pixels in the colours of its series, and others for its axes."""
    for name, (path, _) in pages.items():
        browser.open(path)
        count = open_parts(browser, name)
        charts = browser.evaluate(PIXELS)
        check(len(charts) == count and not browser.trouble, f"{name}: {browser.trouble}")
        check(count >= {"nothing": 1, "old": 4, "phase": 6, "two": 5, "runs256": 5, "runs1000": 5}.get(name, 8), f"{name}: {count} charts")
        for chart in charts:
            check(chart["own"] >= 4 and chart["colors"] >= 3 and chart["drawn"] < chart["pixels"], f"{name}: {chart}")


def at(phase, path):
    for key in path:
        phase = phase[key]
    return phase


def test_values(browser, pages):
    """The values below a chart are those of the JSON, to the last digit, and the text is the same number."""
    for name in ("one", "phase", "old", "ranks6144"):
        path, report = pages[name]
        browser.open(path)
        browser.evaluate(OPEN_ALL)
        phase = [p for p in report["phases"] if p["verdict"]][-1]
        seen = set()
        for chart in browser.evaluate(VALUES):
            if chart["title"] not in SERIES or not (chart["phase"] + " ").startswith(phase["name"] + " "):
                continue
            for point in chart["found"]:
                for label, where in SERIES[chart["title"]].items():
                    if label not in point["values"]:
                        continue
                    exact, text = point["values"][label]
                    wanted = at(phase, where)[point["index"]]
                    check(exact == "null" and text == "–" if wanted is None else float(exact) == wanted and text not in ("", "–"),
                          f"{name}: {chart['title']}, {label}: {exact} ({text}), wanted {wanted}")
                    seen.add(chart["title"])
        # A time line of one point is not drawn.
        check(len(seen) >= {"old": 3, "phase": 4}.get(name, 8), f"{name}: only {seen} were compared")


def test_plan(browser, pages):
    """The charts of a plan show what haul plan --json prints for each number of nodes, and its first sentence the greatest."""
    path, plans = pages["plan"]
    browser.open(path)
    browser.evaluate(OPEN_ALL)
    train = [one["phases"][1] for one in plans]
    wanted = {
        "Bandwidth that all nodes need": {"AU 100 %": [p["demand"]["bytes_per_second"] for p in train],
                                          "AU 90 %": [p["demand"]["at_target_bytes_per_second"] for p in train]},
        "Bandwidth that each node needs": {"AU 100 %": [p["demand"]["bytes_per_second_per_node"] for p in train]},
        "Opens per second of all nodes": {"AU 100 %": [p["demand"]["opens_per_second"] for p in train]},
        "Memory of a node that haul takes": {"memory": [one["memory_bytes_per_node"] for one in plans]},
        "Data set": {"bytes": [one["dataset"]["bytes"] for one in plans]},
    }
    compared = 0
    for chart in browser.evaluate(VALUES):
        for point in chart["found"] if chart["title"] in wanted else ():
            check(float(point["values"]["nodes"][0]) == plans[point["index"]]["nodes"], f"{chart['title']}: {point}")
            for label, values in wanted[chart["title"]].items():
                check(float(point["values"][label][0]) == values[point["index"]], f"{chart['title']}, {label}: {point}, wanted {values}")
                compared += 1
    check(compared >= 2 * 6, f"only {compared} values were compared")
    sentence = browser.evaluate("document.querySelector('.verdict').textContent")
    check(re.fullmatch(r"On 512 nodes, the 6,144 ranks of train need 67\.6 TB/s for an AU of 100 %, "
                       r"and 60\.[89] TB/s for the target of 90 %\.", sentence), sentence)
    kept = browser.evaluate("document.getElementById('page').textContent.includes('is kept on up to 5 nodes.')")
    check(kept, "the page does not tell how many nodes the storage feeds")


def test_times_of_nothing(browser, pages):
    """A time of 0 that was measured is 0 s, and that of something that was not done is a dash."""
    browser.open(pages["one"][0])
    browser.evaluate(OPEN_ALL)
    rows = browser.evaluate("""[...document.querySelectorAll('h3')].filter(one => one.textContent === 'Checkpoints').map(one =>
        [...one.nextElementSibling.querySelectorAll('tbody tr')].map(row => [...row.cells].map(cell => cell.textContent)))[0]""")
    check(rows == [["1", "–", "0 s", "0 B"], ["2", "1.00 s", "5.00 s", "5.00 B"]], f"{rows}")


def test_names(browser, pages):
    """The name of a time does not end with the unit of the JSON, since each text of it has its own unit."""
    for name in ("one", "two"):
        browser.open(pages[name][0])
        open_parts(browser, name)
        cells = browser.evaluate("[...document.querySelectorAll('th, td:first-child')].map(one => one.textContent)")
        check(len(cells) > 10, f"{name}: {cells}")
        check(not [one for one in cells if one.endswith((" ns", " s")) and not one[0].isdigit()], f"{name}: {cells}")


def test_cache(browser, pages):
    """The page of a key-value cache has what MLPerf's benchmark would report beside what all ranks did, and the criteria."""
    folder = os.path.dirname(pages["one"][0])
    cache = {"model": "tiny-1b", "users": 4, "duration": "600 s", "requests": 12, "tiers": ["s"]}
    with open(f"{folder}/cache_job.json", "w") as f:
        json.dump({"stores": {"s": {"uri": "sim://s", "bandwidth": "100 GB/s"}}, "phases": [{"kvcache": cache}]}, f)
    subprocess.run([HAUL, "run", "cache_job.json", "--quiet", "--results", "cache.h5"], cwd=folder, check=True, timeout=300)
    subprocess.run([HAUL, "report", "--html", "cache.html", "cache.h5"], cwd=folder, check=True, timeout=300)
    found = subprocess.run([HAUL, "report", "--json", "cache.h5"], cwd=folder, check=True, timeout=300, capture_output=True)
    phase, = json.loads(found.stdout)["phases"]
    browser.open(f"{folder}/cache.html")
    browser.evaluate(OPEN_ALL)
    rows = {name: browser.evaluate(f"""[...document.querySelectorAll('h3')].filter(one => one.textContent === "{name}").map(one => {{
        let table = one.nextElementSibling;
        while (!table.querySelector('tbody'))
            table = table.nextElementSibling;
        return [...table.querySelectorAll('tbody tr')].map(row => [...row.cells].map(cell => cell.textContent));
    }})[0]""") for name in ("MLPerf's figures", "MLPerf's criteria")}
    figures, criteria = phase["mlperf_figures"], phase["mlperf_criteria"]
    check([row[:2] + row[4:] for row in rows["MLPerf's figures"]] == [[f["name"], f["unit"], f["note"]] for f in figures], f"{rows}")
    check(len(figures) >= 6 and all("–" not in row[2] for row in rows["MLPerf's figures"]), f"{rows}")
    for row, figure in zip(rows["MLPerf's figures"], figures):
        shown, exact = float(row[2].replace(",", "")), figure["mlperf"]
        check(abs(shown - exact) <= 0.01 * abs(exact), f"{row} {figure}")
    check([row[3] for row in rows["MLPerf's criteria"]] == [{"unknown": "neither met nor missed"}.get(c["state"], c["state"]) for c in criteria], f"{rows}")
    check(len(criteria) >= 3 and not browser.trouble, f"{rows}, {browser.trouble}")


def test_targets_that_do_not_count(browser, pages):
    """Figures that do not count neither meet nor miss a target."""
    folder = os.path.dirname(pages["one"][0])
    train = {"compute": "5 ms", "batch": 2, "null_steps": 0, "target_au": 0.01}
    with open(f"{folder}/void_job.json", "w") as f:
        json.dump({"stores": {"s": {"uri": f"file://{folder}/void"}},
                   "dataset": {"store": "s", "format": "raw", "files": 40, "sample_bytes": 100000},
                   "phases": [{"generate": {}}, {"train": {**train, "name": "met"}}, {"train": {**train, "name": "missed", "target_au": 1}}]}, f)
    subprocess.run([HAUL, "run", "void_job.json", "--quiet", "--results", "void.h5"], cwd=folder, check=True, timeout=300)
    subprocess.run([HAUL, "report", "--html", "void.html", "void.h5"], cwd=folder, check=True, timeout=300)
    found = subprocess.run([HAUL, "report", "--json", "void.h5"], cwd=folder, check=True, timeout=300, capture_output=True)
    phases = [p for p in json.loads(found.stdout)["phases"] if p["targets"]]
    check(all(any(doubt["voids"] for doubt in p["doubts"]) for p in phases), f"{phases}")
    browser.open(f"{folder}/void.html")
    browser.evaluate(OPEN_ALL)
    said = browser.evaluate("""[...document.querySelectorAll('h3')].filter(one => one.textContent === 'Targets')
        .map(one => one.nextElementSibling.querySelector('tbody tr').cells[3].textContent)""")
    check(said == ["neither met nor missed"] * 2 and not browser.trouble, f"{said}, {browser.trouble}")


def test_pointer(browser, pages):
    """Under the pointer, a chart shows the point that lies there."""
    path, report = pages["one"]
    browser.open(path, height=6000)
    browser.evaluate(DRAWN)
    find = "[...document.querySelectorAll('figure')].find(one => one.textContent.startsWith('Bandwidth'))"
    box = browser.evaluate(f"(r => [r.left, r.top, r.width, r.height])({find}.querySelector('.u-over').getBoundingClientRect())")
    browser.hover(box[0] + box[2] / 2, box[1] + box[3] / 2)
    browser.evaluate(DRAWN)
    index = int(browser.evaluate(f"{find}.querySelector('.readout').dataset.index"))
    exact = browser.evaluate(f"{find}.querySelectorAll('.readout dd')[1].dataset.value")
    rates = report["phases"][1]["timeline"]["bytes_read_per_second"]
    check(abs(index - (len(rates) - 1) / 2) <= 1 and float(exact) == rates[index], f"{index}: {exact}, {rates}")


def test_phone(browser, pages):
    for name, (path, _) in pages.items():
        browser.open(path, width=390, height=844)
        open_parts(browser, name)
        width = browser.evaluate("document.documentElement.scrollWidth")
        check(width <= 390 and not browser.trouble, f"{name}: {width} pixels wide; {browser.trouble}")
        shot(browser, f"{name}-phone")


def test_axis_of_one(browser, pages):
    """A chart of one rank has an axis around that rank."""
    browser.open(pages["one"][0])
    browser.evaluate(DRAWN)
    low, high = browser.evaluate("""(async () => {
        const made = chart.draw({title: 'one', x: {label: 'rank', kind: 'count', whole: true, step: 1, values: [0]}, y: {kind: 'seconds'},
            series: [{label: 'compute', values: [1], style: 'bars'}]});
        document.getElementById('page').prepend(made);
        while (!made.plot)
            await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        return [made.plot.scales.x.min, made.plot.scales.x.max];
    })()""")
    check((low, high) == (-0.5, 0.5), f"the axis of rank 0 goes from {low} to {high}")


def test_contrast(browser, pages):
    """By axe-core, in light and dark."""
    with open(f"{NPM}/node_modules/axe-core/axe.min.js", encoding="utf-8") as f:
        axe = f.read()
    browser.call("Page.setBypassCSP", enabled=True)  # for axe, which is not a part of the page
    for name in ("one", "two") if LONG else ("one",):
        for dark in (False, True):
            browser.open(pages[name][0], dark=dark)
            browser.evaluate(DRAWN if name in HEAVY else OPEN_ALL)
            background = browser.evaluate("getComputedStyle(document.body).backgroundColor")
            check((background == "rgb(255, 255, 255)") == (not dark), background)
            browser.evaluate(axe + "; 0")
            found = browser.evaluate("axe.run(document, {runOnly: ['color-contrast']}).then(r => [r.passes.length, "
                                     "r.violations.flatMap(v => v.nodes.map(n => n.html + ' ' + n.failureSummary))])")
            check(found[0] > 0 and not found[1], f"{name}, dark {dark}: {found[1][:3]}")
            shot(browser, f"{name}-{'dark' if dark else 'light'}-all")
    browser.call("Page.setBypassCSP", enabled=False)


def test_print(browser, pages):
    """On paper, the page is white wherever it was opened."""
    browser.open(pages["one"][0], dark=True)
    browser.evaluate(DRAWN)
    pdf = browser.pdf()
    check(pdf.startswith(b"%PDF") and len(pdf) > 20000, f"{len(pdf)} bytes of PDF")
    if SHOTS:
        with open(os.path.join(SHOTS, "one.pdf"), "wb") as f:
            f.write(pdf)
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    check(browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)", "the paper is dark")


def test_hostile(browser, pages):
    """Texts of a file are shown as texts."""
    path, _ = pages["one"]
    browser.open(path)
    browser.evaluate(OPEN_ALL)
    shown = browser.evaluate("document.getElementById('page').textContent.includes('</script><b>img_7.npz')")
    check(shown and browser.evaluate("document.querySelectorAll('#page b').length") == 0, "a text became an element")


def main():
    everything = {name: value for name, value in globals().items() if name.startswith("test_")}
    wanted = sys.argv[2:] or [name for name in everything if name not in ALONE]
    make = make_one if set(wanted) <= set(ALONE) else make_pages
    failed = 0
    with tempfile.TemporaryDirectory(prefix="haul-pages-") as folder, Browser() as browser:
        pages = make(sys.argv[1], folder)
        for test in [everything[name] for name in wanted]:
            begun = time.monotonic()
            try:
                test(browser, pages)
                print("ok   ", test.__name__, f"{time.monotonic() - begun:.1f} s", flush=True)
            except AssertionError as e:
                failed += 1
                print(f"FAIL  {test.__name__}: {e}", flush=True)
    sys.exit(failed > 0)


main()
