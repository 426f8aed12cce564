// Bars a day, the groups on top of each other.

import { make, number } from "/shared/dom.js";

const COLOURS = 8;
const HEIGHT = 200;

export class Chart {
  #node; #legend; #readout; #plot; #shown;

  constructor(node, legend, readout) {
    [this.#node, this.#legend, this.#readout] = [node, legend, readout];
    new ResizeObserver(() => this.#plot?.setSize(this.#size())).observe(node);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#shown && this.draw(this.#shown));
  }

  // shown: days, lines (pairs of a name and one value a day), measure (of data.js), format (a value as text), title.
  draw(shown) {
    this.#shown = { ...shown, lines: few(shown.lines) };
    const { days, lines, title } = this.#shown;
    this.#plot?.destroy();
    this.#node.setAttribute("aria-label", title);
    this.#legend.replaceChildren(...lines.map(([name], place) => entry(name, place)));
    this.#readout.textContent = "";
    const heights = stacked(lines.map(([, values]) => values), days.length);
    // The tallest first, so that each lower one is drawn over it.
    const data = [days.map((_, place) => place), ...heights.toReversed()];
    this.#plot = new uPlot(this.#options(this.#shown, heights.length), data, this.#node);
  }

  #size() {
    return { width: Math.max(200, this.#node.clientWidth), height: HEIGHT };
  }

  #options({ days, measure }, count) {
    const ink = colour("--soft");
    const lines = { stroke: colour("--line"), width: 1 };
    const bars = uPlot.paths.bars({ size: [0.7, 64] });
    const series = Array.from({ length: count }, (_, place) => {
      const fill = colour(`--series-${(count - 1 - place) % COLOURS}`);
      return { fill, stroke: fill, width: 0, paths: bars, points: { show: false } };
    });
    return {
      ...this.#size(),
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: { x: { time: false, range: [-0.5, days.length - 0.5] }, y: { range: (_, low, high) => [0, high || 1] } },
      axes: [
        { stroke: ink, grid: { show: false }, ticks: lines, size: 30, incrs: [1, 2, 7, 14, 28, 56, 112], values: (_, at) => at.map((place) => days[place]?.slice(5) ?? "") },
        { stroke: ink, grid: lines, ticks: lines, incrs: steps(measure.least), space: 24, size: roomFor, values: (_, at) => ticks(at, measure), label: measure.unit, labelSize: 20, labelGap: 0 },
      ],
      series: [{}, ...series],
      hooks: { setCursor: [(plot) => this.#read(plot.cursor.idx)] },
    };
  }

  #read(place) {
    const { days, lines, format, measure } = this.#shown;
    const values = lines.filter(([, line]) => line[place]).map(([name, line]) => `${name} ${format(line[place])}`);
    const known = place != null && days[place] !== undefined;
    this.#readout.textContent = known ? `${days[place]}: ${values.join(", ") || `no ${measure.unit}`}` : "";
  }
}

// As many as there are colours: the last are the sum of the rest.
function few(lines) {
  if (lines.length <= COLOURS) return lines;
  const rest = lines.slice(COLOURS - 1).map(([, values]) => values);
  const sum = rest[0].map((_, day) => rest.reduce((all, values) => all + values[day], 0));
  return [...lines.slice(0, COLOURS - 1), [`${rest.length} others`, sum]];
}

// What lies between two ticks, in whole parts of a unit: there is nothing between 0 and `least`.
function steps(least) {
  return Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((step) => step * least * 10 ** power)).flat();
}

// As many decimals as usual, and more where a step is finer than that.
function ticks(at, { size, decimals }) {
  const step = at.length > 1 ? at[1] - at[0] : size;
  let needed = decimals;
  while (needed < 6 && (step * 10 ** needed) % size) needed++;
  return at.map((value) => number(value / size, needed));
}

// The width of an axis whose labels are these.
function roomFor(plot, labels) {
  const longest = Math.max(0, ...(labels ?? []).map((label) => label.length));
  return Math.max(40, 20 + 7 * longest);
}

function stacked(lines, length) {
  const sums = new Array(length).fill(0);
  return lines.map((line) => line.map((value, place) => (sums[place] += value)));
}

function entry(name, place) {
  const made = make("li", {}, name);
  made.style.setProperty("--colour", `var(--series-${place % COLOURS})`);
  return made;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
