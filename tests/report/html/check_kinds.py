# SPDX-License-Identifier: Apache-2.0
"""Pages of real runs of each kind of phase, series, search and comparison (zoo.py) in a browser, at three widths, light and dark: nothing is
wider than the window, no table is cut off, no text lies on another, the first chart is on the first screen, the first sentence is that of
the text, texts stand out from what is behind them, and there is no error. A defect of each of these that is planted in a copy is found.

check_kinds.py; HAUL is the program. Without HAUL_TEST_FULL, each kind of chart is looked at once, on one window. With
HAUL_PAGE_SHOTS, screenshots are left in that folder."""
import os
import subprocess
import sys
import tempfile
import time

import zoo
from browser import Browser

HAUL = os.environ["HAUL"]
FULL = bool(os.environ.get("HAUL_TEST_FULL"))
SHOTS = os.environ.get("HAUL_PAGE_SHOTS")
WINDOWS = ((390, 844), (768, 1024), (1280, 800))
# In the change set: pages that differ in their first chart, and the windows to look at them.
QUICK = (("training", 1280, True), ("training", 390, False), ("sweep", 390, True), ("kvcache", 1280, False), ("errors", 1280, False),
         ("pair", 768, True))

# Before the scripts of a page: remembers where a canvas has texts. A canvas that is cleared has none.
WATCH = """(() => {
    const proto = CanvasRenderingContext2D.prototype, fill = proto.fillText, clear = proto.clearRect;
    proto.clearRect = function(x, y, width, height) {
        if (width >= this.canvas.width && height >= this.canvas.height)
            this.canvas.texts = [];
        return clear.call(this, x, y, width, height);
    };
    proto.fillText = function(text, x, y, ...more) {
        const box = this.measureText(text), at = this.getTransform();
        const corners = [[x - box.actualBoundingBoxLeft, y - box.actualBoundingBoxAscent], [x + box.actualBoundingBoxRight, y + box.actualBoundingBoxDescent]]
            .map(([a, b]) => at.transformPoint({x: a, y: b}));
        if (String(text).trim())
            (this.canvas.texts ||= []).push({text, left: Math.min(corners[0].x, corners[1].x), right: Math.max(corners[0].x, corners[1].x),
                top: Math.min(corners[0].y, corners[1].y), bottom: Math.max(corners[0].y, corners[1].y)});
        return fill.call(this, text, x, y, ...more);
    };
})();"""

# Opens all parts but lists of values, and waits until every chart that is open is drawn.
OPEN = """(async () => {
    const frame = () => new Promise(requestAnimationFrame);
    const closed = () => [...document.querySelectorAll('details:not([open])')].filter(one => !one.closest('figure'));
    const waiting = () => [...document.querySelectorAll('figure:not([data-drawn])')].filter(one => !one.closest('details:not([open])')).length;
    for (let tries = 0; tries < 600 && (closed().length || waiting()); tries++) {
        closed().forEach(one => { one.open = true; one.fill && one.fill(); });
        await frame();
    }
    await frame();
    return waiting();
})()"""
DRAWN = OPEN.replace("closed().length || ", "").replace("closed().forEach(one => { one.open = true; one.fill && one.fill(); });", "")

# What is wrong with the page as it is, as sentences.
LOOK = """(() => {
    const wrong = [], wide = document.documentElement.clientWidth;
    const words = one => `"${one.textContent.trim().slice(0, 60)}"`;
    if (document.documentElement.scrollWidth > wide)
        wrong.push(`the page is ${document.documentElement.scrollWidth} pixels wide`);
    for (const one of document.querySelectorAll('.scroll'))
        if (one.clientWidth && one.scrollWidth > one.clientWidth && (wide >= 1280 || !/gradient/.test(getComputedStyle(one).backgroundImage)))
            wrong.push(`a table is ${one.scrollWidth} pixels wide, in ${one.clientWidth}: ${words(one)}`);
    for (const one of document.querySelectorAll('.bars .name, .bars .value, .bars .caption, .readout *, .cards *, th, td, figcaption, figcaption span'))
        if (one.clientWidth && !one.closest('[aria-hidden]') && one.scrollWidth > one.clientWidth + 1)
            wrong.push(`cut off: ${words(one)}`);
    const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.5;
    const apart = (list, what) => list.forEach((a, i) => list.slice(i + 1).forEach(b => {
        if (meet(a, b))
            wrong.push(`${what}: "${a.text}" lies on "${b.text}"`);
    }));
    for (const canvas of document.querySelectorAll('canvas')) {
        const title = canvas.closest('figure').querySelector('figcaption').firstChild.textContent;
        apart(canvas.texts || [], title);
        for (const one of canvas.texts || [])
            if (one.left < -1 || one.right > canvas.width + 1 || one.top < -1 || one.bottom > canvas.height + 1)
                wrong.push(`${title}: "${one.text}" leaves the chart`);
    }
    const boxes = list => [...list].map(one => ({text: one.textContent, ...(r => ({left: r.left, right: r.right, top: r.top, bottom: r.bottom}))(one.getBoundingClientRect())}));
    for (const one of document.querySelectorAll('.bars'))
        apart(boxes(one.querySelectorAll('.caption, .name, .value')), 'bars');
    for (const one of document.querySelectorAll('svg'))
        apart(boxes(one.querySelectorAll('text')), 'svg');
    return wrong;
})()"""

# Charts and bars of drawn numbers: one to many points, marks that lie near each other, axes of any size, names of any length.
DRAW = """(async (seed, many) => {
    const next = () => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed / 2147483648; };
    const whole = most => Math.floor(next() * most), list = (n, make) => Array.from({length: n}, (ignored, i) => make(i));
    const pick = (...from) => from[whole(from.length)];
    const page = document.getElementById('page');
    page.replaceChildren();
    for (let i = 0; i < many; i++) {
        const n = pick(1, 2, 3, 7, 64, 300), kind = pick('ns', 'rate', 'share', 'number', 'count', 'frequency'), size = kind === 'share' ? 1 : 10 ** whole(14), log = next() < 0.4, step = pick(1, 3, 500), first = log ? 1 + whole(9) : whole(3);
        const values = log ? list(n, k => first * 10 ** (k * pick(0.3, 0.3, 2) / 3)).sort((a, b) => a - b) : list(n, k => first + k * step);
        const at = () => values[0] + (values[n - 1] - values[0]) * pick(0, 0.5, 0.501, 0.52, 0.99, 1, next());
        const made = chart.draw({
            title: `drawn ${i}`, x: {label: 'x', kind: pick('count', 'ns', 'seconds'), log, ticks: next() < 0.4, whole: !log && next() < 0.5, values},
            y: {kind, log: next() < 0.3}, stacked: next() < 0.2,
            series: list(1 + whole(3), k => ({label: `series ${k}`, values: list(n, () => next() * size), style: pick('line', 'points', 'bars')})),
            marks: ['p50', 'p95', 'p99', 'p99.9', 'max'].map(label => ({at: at(), label})).sort((a, b) => a.at - b.at),
            levels: next() < 0.5 ? [{at: size * next(), label: 'target'}] : []});
        page.append(made);
        page.append(bars.draw({title: `bars ${i}`, kind, level: next() < 0.3 ? {at: size * next(), label: 'a target'} : null,
            rows: list(1 + whole(12), () => ({label: pick('p99', 'a_long_name_without_blanks_'.repeat(1 + whole(3)), 'some words that wrap '.repeat(1 + whole(4))), value: next() * size,
                ...(next() < 0.5 ? {low: 0, high: size} : {})}))}));
    }
    const frame = () => new Promise(requestAnimationFrame);
    for (let tries = 0; tries < 600 && document.querySelector('figure:not([data-drawn])'); tries++)
        await frame();
    await frame();
    return document.querySelectorAll('figure[data-drawn]').length;
})"""

# Texts that do not stand out from their background.
PALE = """(() => {
    const parse = text => { const m = text.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
    const light = rgb => { const [r, g, b] = rgb.map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const behind = one => { for (; one; one = one.parentElement) { const c = parse(getComputedStyle(one).backgroundColor); if (c[3] === 1) return c.slice(0, 3); } return [255, 255, 255]; };
    const pale = new Set(), walker = document.createTreeWalker(document.getElementById('page'), NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const one = walker.currentNode.parentElement;
        if (!walker.currentNode.textContent.trim() || !one.getClientRects().length)
            continue;
        const a = light(parse(getComputedStyle(one).color).slice(0, 3)), b = light(behind(one));
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < 4.5)
            pale.add(`a contrast of ${contrast.toFixed(1)}: "${one.textContent.trim().slice(0, 60)}"`);
    }
    return [...pale];
})()"""

# The first sentence, the chart of the first screen, and where it ends.
FIRST = """(() => {
    const sentence = document.querySelector('.verdict'), chart = document.querySelector('.answer figure, .answer .bars');
    return [sentence ? sentence.textContent : null, chart ? chart.getBoundingClientRect().bottom + scrollY : null,
        chart ? Boolean(chart.querySelector('canvas, .bar')) : false];
})()"""


def text_of(files):
    """The report as text, on one line."""
    verb = ("report",) if len(files) == 1 else ("compare",)
    done = subprocess.run([HAUL, *verb, *files], env=zoo.ENV, capture_output=True, text=True, timeout=300)
    return " ".join(done.stdout.split())


def first_screen(browser, name, height, text):
    sentence, bottom, drawn = browser.evaluate(FIRST)
    wrong = []
    if name != "ways" and (not sentence or " ".join(sentence.split()) not in text):
        wrong.append(f"the text does not say {sentence!r}")
    if name != "ways" and len(sentence.split()) < 4:
        wrong.append(f"{sentence!r} is no sentence")
    if not drawn:
        wrong.append("the first screen has no chart")
    elif height is not None and bottom > height:
        wrong.append(f"the first chart ends at {bottom:.0f}, below the first screen of {height}")
    return wrong


def look(browser, name, path, text, width, height, dark):
    """What is wrong with a page in a window."""
    browser.open(path, width=width, height=height, dark=dark)
    browser.evaluate(DRAWN)
    # A phone has room for the sentence and the doubts.
    wrong = first_screen(browser, name, height if width >= 768 else None, text)
    if SHOTS:
        browser.screenshot(f"{SHOTS}/{name}-{width}{'-dark' if dark else ''}.png")
    browser.evaluate(OPEN)
    wrong += browser.evaluate(LOOK) + browser.evaluate(PALE)
    if SHOTS:
        browser.screenshot(f"{SHOTS}/{name}-{width}{'-dark' if dark else ''}-open.png")
    return wrong + [str(one) for one in browser.trouble]


# Defects, and what is to be found: what replaces which part of a page. The first FEW are planted after every change.
FEW = 4
PLANTED = (
    ("</style>", "td.text { white-space: nowrap !important; min-width: 80rem !important; }</style>", "a table is"),
    ("ctx.fillText(text, x, y);", "ctx.fillText(text, x, y); ctx.fillText(text, x + 2, y);", "lies on"),
    ("</style>", ".muted { color: #bbbbbb !important; }</style>", "a contrast of"),
    ("const KINDS = {", "if (1) return {of: () => {}, ofFile: () => null, ofPair: () => null}; const KINDS = {", "has no chart"),
    ("</style>", ".bars { width: 3000px; }</style>", "pixels wide"),
    ("</style>", ".bars .name { position: absolute; top: 200px; }</style>", "lies on"),
    ("</style>", ".doubts { margin-top: 30rem !important; }</style>", "below the first screen"),
    ("document.body.dataset.ready", "console.error('planted'); document.body.dataset.ready", "planted"),
    ('"headline":"', '"headline":"Something else, and ', "the text does not say"),
)


def planted(browser, folder, path, text):
    with open(path, encoding="utf-8") as f:
        whole = f.read()
    missed = []
    for i, (old, new, sentence) in enumerate(PLANTED if FULL else PLANTED[:FEW]):
        if old not in whole:
            missed.append(f"{old!r} is not in the page")
            continue
        copy = f"{folder}/planted_{i}.html"
        with open(copy, "w", encoding="utf-8") as f:
            f.write(whole.replace(old, new))
        wrong = look(browser, "planted", copy, text, 1280, 800, False)
        if not any(sentence in one for one in wrong):
            missed.append(f"{new!r} was not found: {wrong}")
    return missed


def drawn(browser, path):
    """What is wrong with charts of drawn numbers."""
    wrong = []
    many = 60 if FULL else 15
    for seed in range(10) if FULL else (1,):
        for width, height in WINDOWS if FULL else WINDOWS[:1]:
            browser.open(path, width=width, height=height)
            count = browser.evaluate(f"{DRAW}({seed}, {many})")
            wrong += [f"seed {seed}, {width} wide: {one}" for one in browser.evaluate(LOOK) + browser.trouble]
            if count != many:
                wrong.append(f"seed {seed}: {count} charts")
            if SHOTS and seed == 1:
                browser.screenshot(f"{SHOTS}/drawn-{width}.png")
    return wrong


def main():
    looked = [(name, *window, dark) for name in zoo.ZOO for window in WINDOWS for dark in (False, True)] if FULL \
        else [(name, *next(w for w in WINDOWS if w[0] == width), dark) for name, width, dark in QUICK]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="haul-kinds-") as folder, Browser() as browser:
        began = time.monotonic()
        pages = zoo.make(folder, dict.fromkeys(one[0] for one in looked))
        texts = {name: text_of(files) for name, (_, files) in pages.items()}
        print(f"{len(pages)} pages were made in {time.monotonic() - began:.1f} s", flush=True)
        browser.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        for name, width, height, dark in looked:
            wrong = look(browser, name, pages[name][0], texts[name], width, height, dark)
            failed += bool(wrong)
            print("FAIL" if wrong else "ok  ", name, width, "dark" if dark else "light", *wrong[:12], sep="\n      " if wrong else " ", flush=True)
        wrong = drawn(browser, pages["errors"][0])
        failed += bool(wrong)
        print(*(f"FAIL drawn: {one}" for one in wrong[:20]), f"{len(wrong)} faults of charts of drawn numbers", sep="\n", flush=True)
        missed = planted(browser, folder, pages["errors"][0], texts["errors"])
        failed += len(missed)
        print(*(f"FAIL planted: {one}" for one in missed), f"{len(missed)} planted defects were missed; {time.monotonic() - began:.1f} s", sep="\n")
    sys.exit(failed > 0)


main()
