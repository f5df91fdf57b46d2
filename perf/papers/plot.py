# SPDX-License-Identifier: BSD-3-Clause
"""plot - drawings as SVG text: lines over two axes, and maps of cells with a color for each name.

Idea     A drawing is described by axes, series of points, and cells. The output has no random parts, so equal drawings
         give equal bytes.
Why      Machines that run weft may not have a library for plots, and these plots are simple.
"""
import math
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

COLORS = ("#0b5fa5", "#c05000", "#2f7d32", "#7a3b9a", "#b3912b", "#c2185b", "#4d4d4d", "#00838f", "#8d6e63", "#9e9d24")
MARKS = ("circle", "square", "triangle", "diamond")


@dataclass
class Axis:
    label: str
    log: bool = False
    ticks: tuple = ()  # values; chosen automatically if empty
    form: object = None  # function from a value to its text

    def text(self, value):
        return self.form(value) if self.form else f"{value:g}"


def log_axis(label, ticks=(), form=None):
    return Axis(label, True, ticks, form)


@dataclass
class Series:
    name: str
    points: list  # pairs (x, y)
    line: bool = True  # connect the points
    mark: bool = True  # draw a mark at each point
    spread: list = ()  # standard deviation of each point, drawn as an error bar


@dataclass
class Panel:
    title: str
    x: Axis
    y: Axis
    series: list = field(default_factory=list)
    cells: list = field(default_factory=list)  # (column, row, name): a map instead of series


def sizes(value):
    """Formats bytes with a unit."""
    for unit, text in ((1 << 20, "M"), (1 << 10, "K")):
        if value >= unit and value % unit == 0:
            return f"{value // unit:.0f}{text}"
    return f"{value:g}"


def nice_ticks(low, high, log):
    """Returns round values between low and high for the ticks of an axis."""
    if log:
        powers = range(math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9) + 1)
        ticks = [10.0 ** power for power in powers if low <= 10.0 ** power * 1.0001 and 10.0 ** power <= high * 1.0001]
        if len(ticks) > 2:
            return ticks
        for factors in ((1, 2, 3, 5), range(1, 10)):
            steps = [factor * 10.0 ** power for power in powers for factor in factors]
            ticks = [tick for tick in steps if low * 0.999 <= tick <= high * 1.001]
            if len(ticks) > 2:
                break
        return ticks
    step = 10.0 ** math.floor(math.log10((high - low) / 4 or 1))
    step = next(step * factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 6)
    first = math.ceil(low / step - 1e-9)
    return [round(number * step, 12) for number in range(first, math.floor(high / step + 1e-9) + 1)]


class Canvas:
    def __init__(self):
        self.parts = []

    def add(self, text):
        self.parts.append(text)

    def line(self, x1, y1, x2, y2, color="#d8d8d8", width=1.0):
        self.add(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" '
                 f'stroke-width="{width:g}"/>')

    def text(self, x, y, words, anchor="middle", size=11, turn=0, color="#222222"):
        spin = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
        self.add(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{color}"{spin}>'
                 f'{escape(words)}</text>')

    def mark(self, kind, x, y, color, r=3.0):
        if kind == "circle":
            self.add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:g}" fill="{color}"/>')
            return
        corners = {"square": ((-1, -1), (1, -1), (1, 1), (-1, 1)), "triangle": ((0, -1.2), (1.1, 0.9), (-1.1, 0.9)),
                   "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0))}[kind]
        points = " ".join(f"{x + r * dx:.1f},{y + r * dy:.1f}" for dx, dy in corners)
        self.add(f'<polygon points="{points}" fill="{color}"/>')


WIDTH, HEIGHT = 560, 330
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 28, 44


def scale(axis, low, high, start, end):
    """Returns a function from values to positions between start and end, for an axis from low to high."""
    if axis.log:
        low, high = math.log(low), math.log(high)
    span = high - low or 1.0
    return lambda value: start + ((math.log(value) if axis.log else value) - low) / span * (end - start)


def limits(values, log):
    """Returns the ends of an axis: the range of the values and a margin."""
    low, high = min(values), max(values)
    if log:
        return (low / 1.15, high * 1.15) if low == high or high / low < 3 else (low / 1.1, high * 1.1)
    low = 0 if 0 <= low < 0.6 * high else low
    return low, high + (high - low or 1) * 0.05


def legend(canvas, names, x, y):
    for number, name in enumerate(names):
        line = y + 15 * number
        canvas.line(x, line, x + 16, line, COLORS[number % len(COLORS)], 2)
        canvas.mark(MARKS[number % len(MARKS)], x + 8, line, COLORS[number % len(COLORS)])
        canvas.text(x + 22, line + 4, name, "start")


def draw_frame(canvas, panel, x0, y0, x_ticks, y_ticks, place_x, place_y):
    right, bottom = x0 + WIDTH - RIGHT, y0 + HEIGHT - BOTTOM
    for tick in x_ticks:
        canvas.line(place_x(tick), y0 + TOP, place_x(tick), bottom)
        canvas.text(place_x(tick), bottom + 15, panel.x.text(tick))
    for tick in y_ticks:
        canvas.line(x0 + LEFT, place_y(tick), right, place_y(tick))
        canvas.text(x0 + LEFT - 6, place_y(tick) + 4, panel.y.text(tick), "end")
    canvas.line(x0 + LEFT, bottom, right, bottom, "#222222")
    canvas.line(x0 + LEFT, y0 + TOP, x0 + LEFT, bottom, "#222222")
    canvas.text((x0 + LEFT + right) / 2, y0 + HEIGHT - 8, panel.x.label)
    canvas.text(x0 + 14, (y0 + TOP + bottom) / 2, panel.y.label, turn=-90)
    canvas.text((x0 + LEFT + right) / 2, y0 + 16, panel.title, size=13)


def draw_lines(canvas, panel, x0, y0):
    xs = [x for series in panel.series for x, _ in series.points]
    ys = [y for series in panel.series for _, y in series.points]
    (x_low, x_high), (y_low, y_high) = limits(xs, panel.x.log), limits(ys, panel.y.log)
    if not panel.x.log:
        x_low, x_high = min(xs), max(xs)
    place_x = scale(panel.x, x_low, x_high, x0 + LEFT + 6, x0 + WIDTH - RIGHT - 6)
    place_y = scale(panel.y, y_low, y_high, y0 + HEIGHT - BOTTOM, y0 + TOP)
    draw_frame(canvas, panel, x0, y0, panel.x.ticks or nice_ticks(x_low, x_high, panel.x.log),
               panel.y.ticks or nice_ticks(y_low, y_high, panel.y.log), place_x, place_y)
    for number, series in enumerate(panel.series):
        color = COLORS[number % len(COLORS)]
        places = [(place_x(x), place_y(y)) for x, y in series.points]
        if series.line and len(places) > 1:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            canvas.add(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.6"/>')
        for (x, y), deviation in zip(series.points, series.spread):
            low, high = max(y - deviation, y_low), min(y + deviation, y_high)
            canvas.line(place_x(x), place_y(low), place_x(x), place_y(high), color)
        if series.mark:
            for x, y in places:
                canvas.mark(MARKS[number % len(MARKS)], x, y, color, 2.6)


def draw_cells(canvas, panel, x0, y0):
    columns = sorted({column for column, _, _ in panel.cells})
    rows = sorted({row for _, row, _ in panel.cells})
    names = list(dict.fromkeys(name for _, _, name in sorted(panel.cells, key=lambda cell: cell[2])))
    width = (WIDTH - LEFT - RIGHT) / len(columns)
    height = (HEIGHT - TOP - BOTTOM) / len(rows)
    place_x = {column: x0 + LEFT + width * (i + 0.5) for i, column in enumerate(columns)}
    place_y = {row: y0 + HEIGHT - BOTTOM - height * (i + 0.5) for i, row in enumerate(rows)}
    for column, row, name in panel.cells:
        canvas.add(f'<rect x="{place_x[column] - width / 2:.1f}" y="{place_y[row] - height / 2:.1f}" '
                   f'width="{width + 0.3:.1f}" height="{height + 0.3:.1f}" '
                   f'fill="{COLORS[names.index(name) % len(COLORS)]}"/>')
    every = max(1, len(columns) // 12)
    draw_frame(canvas, panel, x0, y0, columns[::every], rows, place_x.get, place_y.get)
    return names


def drawing(*panels):
    """Returns the SVG of panels below each other, each with its legend on the right."""
    canvas = Canvas()
    longest = 0
    for number, panel in enumerate(panels):
        y0 = HEIGHT * number
        if panel.cells:
            names = draw_cells(canvas, panel, 0, y0)
        else:
            draw_lines(canvas, panel, 0, y0)
            names = [series.name for series in panel.series]
        legend(canvas, names, WIDTH + 4, y0 + TOP + 10)
        longest = max([longest, *map(len, names)])
    width, height = WIDTH + 34 + 6.3 * longest, HEIGHT * len(panels)
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
            f'viewBox="0 0 {width:.0f} {height}" font-family="sans-serif">\n'
            f'<rect width="{width:.0f}" height="{height}" fill="#ffffff"/>\n')
    return head + "\n".join(canvas.parts) + "\n</svg>\n"
