#!/usr/bin/env python3
"""Draws bench/results/*.json as SVG beside them, with nothing but the standard library.

usage: plot.py [FOLDER]

width.json gives width.svg: milliseconds of a forward by its number of rows, against the time its bytes take to be read and
the time its multiply-adds take. pair_*.json give pair.svg: tokens per second of each draft width against plain decoding.
"""
import json
import sys
from html import escape
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "results"
INK, PALE, MEASURED, READ, COMPUTE = "#24292f", "#d0d7de", "#0969da", "#bf8700", "#8250df"
STYLE = "font-family='system-ui, sans-serif' font-size='13'"


class Picture:
    """Lines and texts in pixels; (0, 0) is at the top left."""

    def __init__(self, width, height):
        self.size = width, height
        self.parts = [f"<rect width='{width}' height='{height}' fill='#ffffff'/>"]

    def line(self, points, colour, width=2, dash=""):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='{width}' "
                          f"stroke-dasharray='{dash}'/>")

    def text(self, x, y, text, colour=INK, anchor="middle", size=13):
        self.parts.append(f"<text x='{x:.1f}' y='{y:.1f}' fill='{colour}' text-anchor='{anchor}' font-size='{size}'>"
                          f"{escape(text)}</text>")

    def bar(self, x, y, width, height, colour):
        self.parts.append(f"<rect x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height:.1f}' fill='{colour}'/>")

    def dot(self, x, y, colour):
        self.parts.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3' fill='{colour}'/>")

    def save(self, path):
        width, height = self.size
        body = "\n".join(self.parts)
        path.write_text(f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' {STYLE}>\n{body}\n</svg>\n")


def machine_line(result):
    m = result["machine"]
    return f"{m['cpu']}, {m['isa']}, {m['threads']} threads, {m['read_gb_s']:.1f} GB/s, {m['fma_gflop_s']:.0f} GFLOP/s"


def round_step(most, steps=5):
    """A step of 1, 2 or 5 times a power of ten, of which `most` has about `steps`."""
    power = 1.0
    while power * 10 * steps <= most:
        power *= 10
    while power * steps > most:
        power /= 10
    return next(power * f for f in (1, 2, 5, 10) if power * f * steps >= most)


def axis(picture, box, most, unit):
    """Horizontal lines of the value axis; returns the function from a value to its height."""
    left, top, right, bottom = box
    step = round_step(most)

    def height(value):
        return bottom - (bottom - top) * value / most

    value = 0.0
    while value <= most * 1.001:
        picture.line([(left, height(value)), (right, height(value))], PALE, 1)
        picture.text(left - 8, height(value) + 4, f"{value:g}", anchor="end", size=12)
        value += step
    picture.text(left, top - 12, unit, anchor="start", size=12)
    return height


def draw_width(result, path):
    points = [p for p in result["points"] if p["context"] == result["points"][0]["context"]]
    picture = Picture(760, 420)
    box = left, _, right, bottom = 70, 70, 600, 350
    most_rows = max(p["rows"] for p in points)
    height = axis(picture, box, 1.05 * max(max(p["ms"], p["floor_ms"], p["compute_floor_ms"]) for p in points), "ms")

    def x(rows):
        return left + (right - left) * rows / most_rows

    labels = []
    for key, colour, name, dash in (("ms", MEASURED, "measured", ""), ("floor_ms", READ, "reading its bytes", "6 4"),
                                    ("compute_floor_ms", COMPUTE, "its multiply-adds", "2 4")):
        picture.line([(x(p["rows"]), height(p[key])) for p in points], colour, dash=dash)
        labels.append((height(points[-1][key]), colour, name))
    for p in points:
        picture.dot(x(p["rows"]), height(p["ms"]), MEASURED)
        picture.line([(x(p["rows"]), height(p["min"])), (x(p["rows"]), height(min(p["max"], 1.5 * p["ms"])))], MEASURED, 1)
    at = 0.0
    for y, colour, name in sorted(labels):  # not on top of each other
        at = max(at + 16, y)
        picture.text(right + 8, at + 4, name, colour, anchor="start")
    for rows in sorted({p["rows"] for p in points} - {3, 6}):
        picture.text(x(rows), bottom + 18, str(rows), size=12)
    picture.text((left + right) / 2, bottom + 38, "rows verified in one forward", size=12)
    picture.text(20, 24, f"One forward of {Path(result['model']).name}, {points[0]['context']} tokens read before",
                 anchor="start", size=15)
    picture.text(20, 44, machine_line(result), anchor="start", size=12)
    picture.text(20, 410, result["command"][:110], anchor="start", size=10)
    picture.save(path)


def draw_pairs(results, path):
    picture = Picture(760, 420)
    box = left, _, right, bottom = 70, 70, 740, 350
    rates = [p["tokens_per_s"] for _, result in results for p in result["points"]]
    height = axis(picture, box, 1.1 * max(rates), "tokens/s")
    group = (right - left) / len(results)
    for g, (name, result) in enumerate(results):
        points = result["points"]
        step = group / (len(points) + 1)
        for i, p in enumerate(points):
            x = left + g * group + (i + 0.5) * step
            colour = {"plain": PALE, "auto": MEASURED}.get(p["draft_tokens"], READ)
            picture.bar(x, height(p["tokens_per_s"]), step * 0.8, bottom - height(p["tokens_per_s"]), colour)
            picture.text(x + step * 0.4, height(p["tokens_per_s"]) - 6, f"{p['ratio_to_plain']:.2f}×", size=11)
            picture.text(x + step * 0.4, bottom + 16, str(p["draft_tokens"]), size=12)
        picture.text(left + (g + 0.5) * group - step / 2, bottom + 38, name, size=13)
    picture.text(20, 24, "Tokens per second by draft tokens a round", anchor="start", size=15)
    picture.text(20, 44, machine_line(results[0][1]), anchor="start", size=12)
    picture.text(20, 410, results[0][1]["command"][:110] + " ...", anchor="start", size=10)
    picture.save(path)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    width = folder / "width.json"
    if width.exists():
        draw_width(json.loads(width.read_text()), folder / "width.svg")
    names = (("pair_easy", "what the pair was trained on"), ("pair_foreign", "foreign text"))
    pairs = [(title, json.loads((folder / f"{name}.json").read_text()))
             for name, title in names if (folder / f"{name}.json").exists()]
    if pairs:
        draw_pairs(pairs, folder / "pair.svg")


if __name__ == "__main__":
    main()
