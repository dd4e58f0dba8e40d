// The original beside the proof: pages of PDFs with the quoted words marked, text as it looks, tables with the cells that
// were used, pictures, and the file itself.

import { call, documentPath, query } from "./api.js";
import { button, h, show, svg } from "./dom.js";
import { parse, render } from "./markdown.js";
import { loading, problem } from "./problems.js";
import { nameOf, quiet } from "./records.js";
import { known, number, t } from "./strings.js";

const PDF = /[./]pdf$/i; // of a path, or a media type
const PICTURE = /[./](png|jpe?g|gif|webp)$/i;
const MARKUP = /\.(md|markdown|html?|docx|odt|rtf|epub|pptx|odp|xlsx|xls|ods|csv|tsv|eml|msg|mbox)$/i; // their parsed text is Markdown
const CELLS = /(^|!)[A-Z]+\d+(:[A-Z]+\d+)?$/; // such a part of a sheet is no heading
const AROUND = 600; // code points of rendered text before and after a quote
const NEAR = 2; // rows shown before and after a row that was used
const MAX_SHOWN = 200; // rows
const MAX_REQUESTS = 10;

export const isMarkup = (path) => MARKUP.test(path);

// What of a document can be shown as it looks: {vault, path, version, start, end, page}; null where nothing can.  Where
// the name does not say what it is, the server does.
export function lookOf(place, current) {
  const shown = (type) => (PDF.test(type) ? pdfPage(place, current) : PICTURE.test(type) ? picture(place, current) : null);
  if (isMarkup(place.path) || /\.txt$/i.test(place.path)) return null;
  const known = shown(place.path);
  if (known) return known;
  const later = h("div");
  linkOf(place).then(({ media_type: type }) => current() && show(later, shown(type)), () => null); // the text says what is wrong
  return later;
}

// The text around a quote as it looks.
export function excerptOf(place, current) {
  const body = h("div.rendered[tabindex=0][role=region]", { "aria-label": t("original.look") }, loading());
  const from = Math.max(0, place.start - AROUND);
  call(documentPath(place.vault, place.path) + query({ span: `${from}-${place.end + AROUND}`, version: place.version })).then(({ text }) => {
    if (!current()) return;
    body.textContent = "";
    looks(body, text, [place.start - from, place.end - from]);
    const mark = body.querySelector("mark");
    if (mark) body.scrollTop = mark.offsetTop - body.clientHeight / 3;
  }, () => body.remove()); // the text below says what is wrong
  return body;
}

// Render *text* into *body* by the allow-list of answers; *span*, in code points of it, is marked.
export function looks(body, text, span = null) {
  const points = span && Array.from(text);
  const [from, to] = span ? span.map((at) => points.slice(0, Math.max(0, at)).join("").length) : [0, 0];
  const paint = ({ start, end }) => {
    const cuts = [start, Math.min(end, Math.max(start, from)), Math.min(end, Math.max(start, to)), end];
    const [before, inside, after] = cuts.slice(1).map((cut, index) => text.slice(cuts[index], cut));
    return [before, inside && h("mark[data-looks][tabindex=-1]", inside), after];
  };
  render(body, parse(text), paint, ({ start, end }) => `${start}-${end}`);
}

// Text with a heading where a slide, a mail or another part begins; *chunks* say where.
export function looksByPart({ start, text }, chunks, span) {
  const points = Array.from(text);
  const begun = chunks.flatMap((chunk) => chunk.parts).filter(({ name }, at, all) => !CELLS.test(name) && name !== all[at - 1]?.name);
  const parts = begun.filter((part, at) => (begun[at + 1]?.start ?? Infinity) > start).map((part) => [Math.max(0, part.start - start), part.name]);
  if (!parts.length || parts[0][0] > 0) parts.unshift([0, null]);
  return parts.map(([from, name], at) => {
    const to = parts[at + 1]?.[0] ?? points.length;
    const body = h("div.rendered");
    looks(body, points.slice(from, to).join(""), span?.length ? span.map((cut) => Math.min(to, Math.max(from, cut - start)) - from) : null);
    const [, slide = null, more = ""] = /^slide (\d+)(, notes)?$/.exec(name) ?? [];
    return [name && h("h3.part-mark", { "data-part": name }, slide ? t(more ? "original.notes" : "original.slide", { number: slide }) : name), body];
  });
}

// A page of a PDF as it looks; marks lie on the words from *start* to *end*.
function pdfPage({ vault, path, version, start = 0, end = 0, page = 1 }, current) {
  const frame = h("div.drawn[tabindex=0][role=region][data-drawn-page]", { "aria-label": t("original.look") });
  const line = h("p.muted.small[role=status]");
  const turns = [-1, 1].map((by) => button(`.quiet.small[data-turn-page=${by}]`, t(by < 0 ? "docs.previous" : "docs.next"), () => go(at + by), { disabled: true }));
  let at = Number(page) || 1;
  async function go(to) {
    at = to;
    show(frame, loading());
    try {
      const got = await call(`${documentPath(vault, path)}/original/pages/${to}${query({ version, span: end > start ? `${start}-${end}` : null })}`);
      if (!current() || at !== to) return;
      const label = t("original.page_of", { page: number(got.page), pages: number(got.pages), name: nameOf(path) });
      const quoted = start < got.end && end > got.start;
      const marks = got.marks.map(({ left, top, width, height }) => svg("rect[data-page-mark]", { x: left * 1000 - 2, y: top * 1000 - 2, width: width * 1000 + 4, height: height * 1000 + 4 }));
      show(frame, h("div.sheet", h("img[data-drawn]", { src: `data:image/png;base64,${got.picture}`, width: got.width, height: got.height, alt: label }),
        svg("svg[viewBox=0 0 1000 1000][preserveAspectRatio=none][aria-hidden=true]", marks)));
      show(line, label, quoted && ` · ${t(got.located ? "original.marked" : "original.not_marked")}`);
      turns.forEach((turn, place) => { turn.disabled = place ? to >= got.pages : to <= 1; });
      if (marks.length) frame.scrollTop = Math.max(0, got.marks[0].top * frame.scrollHeight - frame.clientHeight / 3);
    } catch (error) {
      if (current()) show(frame, error.status === 404 ? quiet(t("original.gone")) : error.status === 422 ? quiet(known("reason", error.code)) : problem(error, () => go(to)));
    }
  }
  go(at);
  return h("div.part[data-original=pdf]", h("div.row.spread", line, h("div.row", turns)), frame);
}

function picture({ vault, path, version }, current) {
  const frame = h("div.drawn", loading());
  const failed = () => show(frame, quiet(t("original.gone")));
  linkOf({ vault, path, version }).then(({ url }) => current() && (/^https?:/.test(url) ? show(frame, h("img[data-drawn]", { src: url, alt: t("original.picture", { name: nameOf(path) }), onerror: failed })) : failed()), failed);
  return h("div.part[data-original=picture]", frame, quiet(t("original.words")));
}

const linkOf = ({ vault, path, version }) => call(`${documentPath(vault, path)}/original${query({ version })}`);

// A button that opens the file by a link that works for a minute.
export const openFile = (place, failed) => button("[data-open-file]", t("original.open"), () => linkOf(place).then(({ url }) =>
  h("a[target=_blank]", { href: url, rel: "noopener noreferrer" }).click(), failed));

// How a table's answer was computed: the rows with the used cells marked, and the number computed again here.
export async function tableProof(body, { vault, path }, table, changed) {
  const used = new Set(table.cells);
  const rowOf = (name) => Number(/\d+$/.exec(name)?.[0]);
  const expression = h("p", h("code", table.expression), table.planned_by && quiet(t("table.planned", { model: table.planned_by })));
  if (!path || changed) return show(body, expression, path && quiet(t("table.changed")));
  show(body, expression, loading());
  try {
    const [first, last] = table.range.split("!").at(-1).split(":").map(rowOf);
    const numbers = table.cells.map(rowOf);
    const to = Math.min(last, (numbers.length ? Math.max(...numbers) : last) + NEAR);
    const rows = [];
    let columns = [];
    let next = Math.max(first, (numbers.length ? Math.min(...numbers) : first) - NEAR);
    for (let asked = 0; next <= to && asked < MAX_REQUESTS; asked++) {
      const got = await call(`${documentPath(vault, path)}/tables${query({ range: table.range, rows: `${next}-${to}` })}`);
      columns = got.tables.find((each) => each.range === table.range)?.columns ?? [];
      if (!got.rows.length) break;
      rows.push(...got.rows);
      next = got.rows.at(-1).number + 1;
    }
    show(body, expression, h("div[data-recomputed]", verdictOf(table, rows, used, next > to)), grid(columns, rows, used));
  } catch (error) {
    show(body, expression, problem(error, () => tableProof(body, { vault, path }, table, changed)));
  }
}

function grid(columns, rows, used) {
  const isUsed = (row) => row.cells.some(({ name }) => used.has(name));
  const near = rows.filter((row, at) => rows.slice(Math.max(0, at - NEAR), at + NEAR + 1).some(isUsed));
  const shown = (used.size ? near : rows).slice(0, MAX_SHOWN);
  return [h("div.scroll-x[tabindex=0][role=region]", { "aria-label": t("table.rows") }, h("table.table.cells[data-cells]",
    h("thead", h("tr", h("th[scope=col]", "#"), columns.map(({ name, unit }) => h("th[scope=col]", name, unit && unit !== "mixed" && !name.includes(unit) && ` (${unit})`)))),
    h("tbody", shown.map((row, at) => h("tr", { class: row.is_total ? "total" : "", "data-gap": at > 0 && shown[at - 1].number < row.number - 1 }, h("th[scope=row]", number(row.number, { useGrouping: false })),
      row.cells.map(({ name, text }) => h("td", { "data-cell": name }, used.has(name) ? h("mark", text) : text))))))),
    shown.length < rows.length && quiet(t("table.some", { shown: number(shown.length), rows: number(rows.length) }))];
}

// Decimal numbers as whole ones of one scale, so that sums are exact.
function scaled(texts) {
  const digits = Math.max(0, ...texts.map((text) => (text.split(".")[1] ?? "").length));
  return texts.map((text) => { const [whole, rest = ""] = text.split("."); return BigInt(whole + rest.padEnd(digits, "0")); });
}

// The number of *operation* over *texts*, as whole numbers that must be the same: [computed, stated]; null if it cannot be told.
export function recompute(operation, texts, stated) {
  if (!texts.length || stated === null) return null;
  const [want, ...all] = scaled([stated, ...texts]);
  const sorted = [...all].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const sum = all.reduce((a, b) => a + b, 0n);
  const count = BigInt(all.length);
  const half = all.length >> 1;
  if (operation === "sum") return [sum, want];
  if (operation === "min") return [sorted[0], want];
  if (operation === "max") return [sorted.at(-1), want];
  if (operation === "mean") return near(sum, count, want);
  if (operation === "median") return all.length % 2 ? [sorted[half], want] : near(sorted[half - 1] + sorted[half], 2n, want);
  return null;
}

// A quotient may be rounded: it is the same within the last digit that is stated.
function near(whole, parts, want) {
  const difference = whole - want * parts;
  return [(difference < 0n ? -difference : difference) <= parts ? want : whole / parts, want];
}

function verdictOf(table, rows, used, complete) {
  const operation = /^(\w+)\(/.exec(table.expression)?.[1];
  const counted = rows.filter((row) => !row.is_total && (!used.size || row.cells.some(({ name }) => used.has(name))));
  const cells = counted.flatMap((row) => row.cells.filter(({ name, number: value }) => used.has(name) && value !== null));
  const whole = complete && counted.length === table.rows_used && !table.expression.startsWith("|") && !table.expression.includes(" group by ");
  const found = !whole ? null : operation === "count" ? table.number && [BigInt(counted.length), BigInt(Math.round(Number(table.number)))] : recompute(operation, cells.map((cell) => cell.number), table.number);
  if (!found) return quiet(t("table.not_recomputed"));
  const same = found[0] === found[1];
  return h("strong.status", { class: `status-${same ? "verified" : "contradicted"}`, "data-same": String(same) }, same ? "✓ " : "≠ ", t(same ? "table.same" : "table.differs", { count: number(operation === "count" ? counted.length : cells.length), value: table.value }));
}
