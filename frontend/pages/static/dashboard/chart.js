// Bars a day, the groups on top of each other.

const COLOURS = 8;
// Requests and micro-CHF are whole: there is nothing between 0 and 1.
const STEPS = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

export class Chart {
  #node; #legend; #readout; #plot; #shown;

  constructor(node, legend, readout) {
    [this.#node, this.#legend, this.#readout] = [node, legend, readout];
    new ResizeObserver(() => this.#plot?.setSize(this.#size())).observe(node);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#shown && this.draw(this.#shown));
  }

  // shown: days, lines (a Map of name to one value a day), format (a value as text), title.
  draw(shown) {
    this.#shown = shown;
    this.#plot?.destroy();
    this.#node.setAttribute("aria-label", shown.title);
    this.#legend.replaceChildren(...[...shown.lines.keys()].map((name, place) => this.#entry(name, place)));
    this.#readout.textContent = "";
    const heights = stacked([...shown.lines.values()], shown.days.length);
    // The tallest first, so that each lower one is drawn over it.
    const data = [shown.days.map((_, place) => place), ...heights.toReversed()];
    this.#plot = new uPlot(this.#options(shown, heights.length), data, this.#node);
  }

  #size() {
    return { width: Math.max(200, this.#node.clientWidth), height: 256 };
  }

  #options(shown, count) {
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
      scales: { x: { time: false, range: [-0.5, shown.days.length - 0.5] }, y: { range: (_, low, high) => [0, high || 1] } },
      axes: [
        { stroke: ink, grid: { show: false }, ticks: lines, incrs: [1, 2, 7, 14, 28, 56, 112], values: (_, at) => at.map((place) => shown.days[place]?.slice(5) ?? "") },
        { stroke: ink, grid: lines, ticks: lines, incrs: STEPS, size: roomFor, values: (_, at) => alike(at.map((value) => shown.format(value))) },
      ],
      series: [{}, ...series],
      hooks: { setCursor: [(plot) => this.#read(shown, plot.cursor.idx)] },
    };
  }

  #read(shown, place) {
    if (place == null || shown.days[place] === undefined) {
      this.#readout.textContent = "";
      return;
    }
    const values = [...shown.lines].filter(([, line]) => line[place]).map(([name, line]) => `${name} ${shown.format(line[place])}`);
    this.#readout.textContent = `${shown.days[place]}: ${values.join(", ") || "nothing"}`;
  }

  #entry(name, place) {
    const entry = document.createElement("li");
    entry.textContent = name;
    entry.style.setProperty("--colour", `var(--series-${place % COLOURS})`);
    return entry;
  }
}

// All with as many decimals as the one that has most.
function alike(labels) {
  const decimals = Math.max(0, ...labels.map((label) => (label.split(".")[1] ?? "").length));
  return labels.map((label) => (label.includes(".") ? label.padEnd(label.indexOf(".") + 1 + decimals, "0") : label));
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

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
