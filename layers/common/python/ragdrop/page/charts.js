// Charts: lines and bars with a scale, a legend, and the same figures as a table.

import { h, svg, table } from "./dom.js";
import { t } from "./strings.js";

const opened = new Set();  // charts whose table is open: they are drawn again every now and then

// A chart of *points* `{label, name, …}`.  *series* are `{key, text}`: lines, or bars of the first with the others in
// front of it.  *form* writes a value, *least* is the least top of the scale, *note* says more.
export function chart({ id, title, points, series, bars, form, least = 0, note }) {
  const values = points.flatMap((point) => series.map(({ key }) => point[key] ?? 0));
  const top = nice(Math.max(...values, least) || 1);
  const nothing = !values.some(Boolean) && t("chart.nothing");
  const every = Math.ceil(points.length / 6);
  return h("figure.chart.card", { "data-chart": id },
    h("figcaption.row.spread", h("h3", title), series.length > 1 && series.map(({ text }, place) => h("span.small",
      svg("svg[viewBox=0 0 20 10][aria-hidden=true]", svg("path", { class: `${bars ? "bar" : "line"} s${place}`, d: bars ? "M0 0h20v10h-20z" : "M0 5h20" })), text))),
    h("div.plot", h("div.scale.small.muted[aria-hidden=true]", [top, top / 2, 0].map((value) => h("span", form(value)))),
      svg("svg[viewBox=0 0 100 100][preserveAspectRatio=none][role=img]", { "aria-label": `${title}. ${nothing || told(points, series, form)}` },
        svg("path.lines[d=M0 0h100M0 50h100M0 100h100]"), series.map((each, place) => (bars ? columns : line)(points, each, place, top))),
      nothing && h("p.muted.small", nothing),
      h("div.ticks.small.muted[aria-hidden=true]", points.filter((_, place) => place % every === 0).map(({ label }) => h("span", label)))),
    note && h("p.muted.small", note),
    h("details", { open: opened.has(id), ontoggle: ({ target }) => (target.open ? opened.add(id) : opened.delete(id)) }, h("summary.small", t("chart.table")),
      table(title, "", [t("chart.time"), ...series.map(({ text }) => text)], points.map((point) => [h("th[scope=row]", point.name), ...series.map(({ key }) => (point[key] === null ? "–" : form(point[key])))]))));
}

// The least of 1, 2, 4, 6 and 8 times a power of ten that is not under *value*.
function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 4, 6, 8, 10].find((step) => step * power >= value);
}

function line(points, { key }, place, top) {
  const d = points.map(({ [key]: value }, index) => (value === null ? ""
    : `${(points[index - 1]?.[key] ?? null) === null ? "M" : "L"}${100 * (index + 0.5) / points.length} ${100 - 100 * value / top}h0`)).join("");
  return svg("path.line", { class: `s${place}`, d });
}

function columns(points, { key }, place, top) {
  const width = 100 / points.length;
  return points.map(({ [key]: value }, index) => value > 0 && svg("rect.bar", { class: `s${place}`, x: (index + 0.15) * width, width: 0.7 * width, y: 100 - 100 * value / top, height: 100 * value / top }));
}

// The highest value of each series in words.
const told = (points, series, form) => series.map(({ key, text }) => {
  const best = points.reduce((found, point) => ((point[key] ?? -1) > (found[key] ?? -1) ? point : found));
  return t("chart.most", { text, value: form(best[key] ?? 0), name: best.name });
}).join(" ");
