#!/usr/bin/env python3
"""Draws the layers of the source tree from their text source: draw_layers.py docs/pictures/architecture.txt > architecture.svg.
With --check SVG it writes nothing and fails where the picture is not what it would write. No program beside Python is needed."""
import argparse
import collections
import re
import sys

Layer = collections.namedtuple("Layer", "name row column arrows lanes includes_all text")

BOX_W, BOX_H, STEP_X, STEP_Y, MARGIN = 236, 58, 272, 104, 24
LINE = re.compile(r"^(\S+)\s+([\d.]+)\s+([\d.]+)\s*->\s*([^:]*):\s*(.+)$")


def read_layers(path):
    """Every layer of the file by name, in its order."""
    layers = {}
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            if not line.strip() or line.startswith("#"):
                continue
            match = LINE.match(line.rstrip())
            if not match:
                sys.exit("%s:%d: expected LAYER ROW COLUMN -> LAYER... : text" % (path, number))
            name, row, column, arrows, text = match.groups()
            words = [word.partition("@") for word in arrows.split()]
            layers[name] = Layer(name, float(row), float(column), [w for w, _, _ in words if w != "*"],
                                 {w: float(lane) for w, _, lane in words if lane}, "*" in arrows.split(),
                                 [part.strip() for part in text.split("|")])
    for layer in layers.values():
        for to in layer.arrows:
            if to not in layers:
                sys.exit("%s: %s has an arrow to %s, which is no layer" % (path, layer.name, to))
    return layers


def middle(column):
    return MARGIN + column * STEP_X + BOX_W / 2


def top(row):
    return MARGIN + row * STEP_Y


def ports(layers):
    """Where arrows leave (below) and enter (above) each box, side by side in the order of where they come from or go to."""
    places = {}
    for layer in layers.values():
        for ends, key in ((layer.arrows, lambda to: (layer.name, to)),
                          ([l.name for l in layers.values() if layer.name in l.arrows], lambda by: (by, layer.name, "in"))):
            def x_of(other, ends=ends):
                lane = layers[other].lanes.get(layer.name, layer.lanes.get(other))
                return layers[other].column if lane is None else lane
            ordered = sorted(ends, key=x_of)
            for i, other in enumerate(ordered):
                places[key(other)] = middle(layer.column) + (i - (len(ordered) - 1) / 2) * 56
    return places


def arrow(a, b, places):
    """Down from the box, across above the goal (or down a lane), and into it."""
    x0, x1 = places[a.name, b.name], places[a.name, b.name, "in"]
    y0, y1 = top(a.row) + BOX_H, top(b.row) - 1
    lane = a.lanes.get(b.name)
    before = y1 - 15 - 7 * (abs(a.column - b.column) > 1)
    if lane is None:
        points = [(x0, y0), (x0, before), (x1, before), (x1, y1)] if x0 != x1 else [(x0, y0), (x1, y1)]
    else:
        x, after = middle(lane), y0 + 15
        points = [(x0, y0), (x0, after), (x, after), (x, before), (x1, before), (x1, y1)]
    path = "M" + " L".join("%g %g" % p for p in points)
    return '<path d="%s" class="a"/>\n<path d="M%g %g l-5 -9 h10 z" class="h"/>' % (path, x1, y1 + 1)


def box(layer):
    x, y = middle(layer.column) - BOX_W / 2, top(layer.row)
    lines = ['<rect x="%g" y="%g" width="%d" height="%d" rx="7" class="b"/>' % (x, y, BOX_W, BOX_H),
             '<text x="%g" y="%g" class="n">%s</text>' % (middle(layer.column), y + (24 if len(layer.text) == 1 else 19), layer.name)]
    for i, text in enumerate(layer.text):
        lines.append('<text x="%g" y="%g" class="t">%s</text>' % (middle(layer.column), y + (43 if len(layer.text) == 1 else 35) + 14 * i, text))
    return "\n".join(lines)


def draw(layers):
    width = middle(max(l.column for l in layers.values())) + BOX_W / 2 + MARGIN
    height = top(max(l.row for l in layers.values())) + BOX_H + MARGIN
    places = ports(layers)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img">' % (width, height, width, height),
           "<title>The layers of the source tree. An arrow means: may include.</title>",
           "<style>text{font-family:sans-serif;text-anchor:middle;fill:#1b2733}.n{font-size:15px;font-weight:bold}.t{font-size:12px}"
           ".b{fill:#f4f7fa;stroke:#4a6076}.a{fill:none;stroke:#4a6076;stroke-width:1.5}.h{fill:#4a6076}</style>",
           '<rect width="%g" height="%g" fill="#ffffff"/>' % (width, height)]
    out += [arrow(a, layers[to], places) for a in layers.values() for to in a.arrows]
    out += [box(layer) for layer in layers.values()]
    return "\n".join(out) + "\n</svg>\n"


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("source")
    options.add_argument("--check", metavar="SVG", help="compare with this picture")
    args = options.parse_args()
    drawn = draw(read_layers(args.source))
    if not args.check:
        sys.stdout.write(drawn)
        return
    with open(args.check, encoding="utf-8") as f:
        if f.read() != drawn:
            sys.exit("%s is not what %s says; run: tools/draw_layers.py %s > %s" % (args.check, args.source, args.source, args.check))


if __name__ == "__main__":
    main()
