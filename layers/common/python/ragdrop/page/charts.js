// Charts: lines and bars with a scale, a legend, and the same figures as a table.

import { h, svg } from "./dom.js";
import { t } from "./strings.js";

const opened = new Set();  // charts whose table is open: they are drawn again every now and then

// A chart of *points* `{label, name, …}`.  *series* are `{key, text}`: lines, or bars of the first with the others in
// front of it.  *form* writes a value; *note* says more.
export function chart({ id, title, points, series, bars = false, form, note }) {
  const values = points.flatMap((point) => series.map(({ key }) => point[key] ?? 0));
  const top = nice(Math.max(...values, bars && series.length ? 1 : 0) || 1);
  const drawn = series.map((each, place) => (bars ? columns(points, each, place, top, form) : line(points, each, place, top)));
  const known = values.some(Boolean);
  const every = Math.ceil(points.length / 6);
  return h("figure", { class: "chart", "data-chart": id },
    h("figcaption", {}, h("h3", {}, title), h("span", { class: "legend small" }, series.length > 1 && series.map(({ text }, place) =>
      h("span", {}, svg("svg", { viewBox: "0 0 20 10", "aria-hidden": "true" }, svg("path", { class: `${bars ? "bar" : "line"} s${place}`, d: bars ? "M0 0h20v10h-20z" : "M0 5h20" })), text)))),
    h("div", { class: "plot" }, h("div", { class: "scale small muted", "aria-hidden": "true" }, [top, top / 2, 0].map((value) => h("span", {}, form(value)))),
      svg("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img", "aria-label": `${title}. ${known ? told(points, series, form) : t("chart.nothing")}` },
        svg("path", { class: "grid", d: "M0 0h100M0 50h100M0 100h100" }), drawn),
      !known && h("p", { class: "muted small empty-plot" }, t("chart.nothing")),
      h("div", { class: "ticks small muted", "aria-hidden": "true" }, points.filter((_, place) => place % every === 0).map(({ label }) => h("span", {}, label)))),
    note && h("p", { class: "muted small" }, note),
    h("details", { open: opened.has(id), ontoggle: (event) => (event.target.open ? opened.add(id) : opened.delete(id)) }, h("summary", { class: "small" }, t("chart.table")),
      h("div", { class: "scroll-x", tabindex: 0, role: "region", "aria-label": title }, h("table", { class: "table small" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("chart.time")), series.map(({ text }) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, points.map((point) => h("tr", {}, h("th", { scope: "row" }, point.name), series.map(({ key }) => h("td", {}, point[key] === null ? "–" : form(point[key]))))))))));
}

// The least of 1, 2 and 5 times a power of ten that is not under *value*.
function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 5, 10].find((step) => step * power >= value);
}

function line(points, { key }, place, top) {
  let pen = "M";
  const path = points.map((point, index) => {
    const value = point[key];
    const command = value === null ? "" : `${pen}${x(index, points)} ${100 - 100 * value / top}h0`;
    pen = value === null ? "M" : "L";
    return command;
  });
  return svg("path", { class: `line s${place}`, d: path.join("") });
}

function columns(points, { key, text }, place, top, form) {
  const width = 100 / points.length;
  return points.map((point, index) => point[key] > 0 && svg("rect", { class: `bar s${place}`, x: (index + 0.15) * width, width: 0.7 * width, y: 100 - 100 * point[key] / top, height: 100 * point[key] / top },
    svg("title", {}, `${point.name}: ${form(point[key])} ${text}`)));
}

const x = (index, points) => 100 * (index + 0.5) / points.length;

// The highest value of each series in words.
const told = (points, series, form) => series.map(({ key, text }) => {
  const best = points.reduce((found, point) => ((point[key] ?? -1) > (found[key] ?? -1) ? point : found));
  return t("chart.most", { text, value: form(best[key] ?? 0), name: best.name });
}).join(" ");
