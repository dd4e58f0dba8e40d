// Why this answer: the debug view of the same search as a picture, with a table beside it for those who want numbers.

import { call, documentPath } from "./api.js";
import { h, show, svg } from "./dom.js";
import { loading, problem } from "./problems.js";
import { duration, number, plural, t } from "./strings.js";

const SEARCH = ["query", "vaults", "folders", "prefer_folders", "rank_folders", "limit", "detail", "mode", "min_relevance", "doc_types", "content_type",
  "category", "tags", "session_id", "date_from", "date_to", "attributes", "min_promotion_level", "include_critical", "follow_links", "apply_boosting",
  "max_linked_docs", "max_link_depth", "expand", "allow_fallback"];
const WIDTH = 640;
const HEIGHT = 300;
const EDGE = { left: 46, right: 12, top: 14, bottom: 40 };
// What each stage did to a candidate, by the reason that the API gives.
const STAGES = [
  ["live", /not the live one/], ["noise", /noise floor/], ["threshold", /under min_relevance/], ["limit", /beyond the limit/],
  ["chunks", /best 3 chunks/], ["critical", /critical/], ["kept", /./],
];
const ROWS = 20;

const stageOf = (candidate) => STAGES.find(([, pattern]) => pattern.test(candidate.reason))[0];

// Search with the fields of a question and show why; *answer* is the answer's response, for its own timings.
export async function why(element, fields, answer = null) {
  show(element, loading());
  try {
    const body = Object.fromEntries(SEARCH.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name]]));
    const found = await call("/search", { method: "POST", body: { ...body, debug: true } });
    const { candidates, candidates_left_out: left } = found.debug;
    show(element, h("p", { class: "muted small" }, t("why.intro")),
      candidates.length ? [scatter(found), stages(candidates), table(candidates, left)] : h("p", {}, t("why.nothing")),
      timings(answer?.timings_ms ? { ...found.timings_ms, ...answer.timings_ms } : found.timings_ms, answer),
      settings(found.debug));
  } catch (error) {
    show(element, problem(error, () => why(element, fields, answer)));
  }
}

function thresholdOf({ debug }) {
  const known = debug.settings.min_relevance;
  const value = known && typeof known === "object" ? known.value : known;
  return typeof value === "number" ? value : 0.7;
}

// Vector score across, lexical score up; what was kept is filled, what was dropped hollow.
function scatter(found) {
  const candidates = found.debug.candidates.filter((one) => one.score_vector !== null || one.score_lexical !== null);
  if (!candidates.length) return null;
  const { operating_point: line } = found.debug.calibration;
  const vectors = candidates.map((one) => one.score_vector ?? 0);
  const low = Math.max(0, Math.min(...vectors.filter(Boolean), line ?? 1) - 0.08);
  const high = Math.min(1, Math.max(...vectors, line ?? 0) + 0.08);
  const x = (value) => EDGE.left + Math.max(0, (value - low) / (high - low || 1)) * (WIDTH - EDGE.left - EDGE.right);
  const y = (value) => HEIGHT - EDGE.bottom - value * (HEIGHT - EDGE.top - EDGE.bottom);
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  const kept = candidates.filter((one) => one.kept).length;
  const label = t("why.scatter.label", { count: number(candidates.length), kept: number(kept) });
  const text = (at, content, more) => svg("text", { x: at[0], y: at[1], ...more }, content);
  return h("figure", { class: "scatter", "data-scatter": true }, svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
    ticks.map((tick) => [svg("line", { class: "grid", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: y(tick), y2: y(tick) }),
      text([EDGE.left - 6, y(tick) + 4], number(tick), { "text-anchor": "end" })]),
    ticks.map((tick) => low + tick * (high - low)).map((value) => text([x(value), HEIGHT - EDGE.bottom + 16], number(value, { maximumFractionDigits: 2 }), { "text-anchor": "middle" })),
    text([(WIDTH + EDGE.left) / 2, HEIGHT - 6], t("why.vector"), { "text-anchor": "middle", class: "axis" }),
    text([0, 0], t("why.lexical"), { "text-anchor": "middle", class: "axis", transform: `translate(11 ${(HEIGHT - EDGE.bottom) / 2}) rotate(-90)` }),
    line >= low && line <= high && [svg("line", { class: "threshold", "data-threshold": true, x1: x(line), x2: x(line), y1: EDGE.top - 6, y2: HEIGHT - EDGE.bottom }),
      text([x(line) + (x(line) > WIDTH * 0.6 ? -6 : 6), EDGE.top + 4], t("why.threshold", { value: number(line, { maximumFractionDigits: 3 }) }), { class: "axis", "text-anchor": x(line) > WIDTH * 0.6 ? "end" : "start" })],
    [...candidates].reverse().map((one) => svg("circle", { class: one.kept ? "point kept" : "point", cx: x(one.score_vector ?? low), cy: y(one.score_lexical ?? 0), r: one.kept ? 5.5 : 4 },
      svg("title", {}, `${one.vault}/${one.path}: ${one.reason}`)))),
  h("figcaption", { class: "muted small" }, h("span", { class: "key kept", "aria-hidden": "true" }), ` ${t("why.kept")}  `, h("span", { class: "key", "aria-hidden": "true" }), ` ${t("why.dropped")} `, t("why.scatter.hint")));
}

function stages(candidates) {
  const counts = new Map(STAGES.map(([name]) => [name, 0]));
  for (const one of candidates) counts.set(stageOf(one), counts.get(stageOf(one)) + 1);
  let left = candidates.length;
  const rows = [[t("why.stage.found"), left, null]];
  for (const name of ["live", "noise", "threshold", "limit", "chunks"]) {
    if (!counts.get(name)) continue;
    left -= counts.get(name);
    rows.push([t(`why.stage.${name}`), left, counts.get(name)]);
  }
  return h("section", {}, h("h3", {}, t("why.stages")), h("ol", { class: "stages", "data-stages": true }, rows.map(([name, count, dropped]) => h("li", {},
    h("span", {}, name), meter(count / candidates.length), h("span", { class: "number" }, dropped === null ? number(count) : t("why.left", { count: number(count), dropped: number(dropped) }))))));
}

function meter(share) {
  const fill = h("span", { class: "meter-fill" });
  fill.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return h("span", { class: "meter", "aria-hidden": "true" }, fill);
}

function table(candidates, left) {
  const body = h("tbody", {});
  const score = (value) => h("td", { class: "number" }, value === null ? "–" : number(value, { minimumFractionDigits: 3, maximumFractionDigits: 3 }));
  let shown = 0;
  const more = h("button", { class: "button", type: "button", onclick: () => add(200) }, t("common.more"));
  const add = (count) => {
    body.append(...candidates.slice(shown, shown + count).map((one) => h("tr", {},
      h("td", { class: "number" }, one.rank ?? "–"),
      h("td", {}, h("a", { href: `#${documentPath(one.vault, one.path)}` }, `${one.vault}/${one.path}`), h("div", { class: "muted small" }, one.heading_path.join(" › "))),
      score(one.score_vector), score(one.score_lexical), score(one.score_final), score(one.relevance),
      h("td", {}, h("span", { class: one.kept ? "status status-verified" : "muted" }, one.kept ? "✓ " : "– ", t(`why.reason.${stageOf(one)}`))))));
    shown += count;
    more.hidden = shown >= candidates.length;
  };
  add(ROWS);
  return h("details", { class: "disclosure" }, h("summary", {}, plural("why.table", candidates.length)),
    h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": t("why.candidates") }, h("table", { class: "table", "data-candidates": true },
      h("thead", {}, h("tr", {}, ["rank", "document", "vector", "lexical", "fused", "relevance", "reason"].map((name) =>
        h("th", { scope: "col", class: ["document", "reason"].includes(name) ? null : "number" }, t(`why.column.${name}`))))), body)),
    more, left > 0 && h("p", { class: "muted small" }, plural("why.left_out", left)));
}

// Stages one after the other, as one bar and as a list.
export function timings(stagesMs, answer = null) {
  const entries = Object.entries(stagesMs).filter(([, ms]) => typeof ms === "number");
  const total = entries.reduce((sum, [, ms]) => sum + ms, 0);
  if (!entries.length || !total) return null;
  const bar = h("div", { class: "timebar", "aria-hidden": "true" }, entries.map(([, ms], place) => {
    const part = h("span", { class: `part-${place % 6}` });
    part.style.flexGrow = String(ms);
    return part;
  }));
  return h("section", {}, h("h3", {}, t("why.timings")), bar, h("ul", { class: "timings", "data-timings": true }, entries.map(([name, ms], place) => h("li", {},
    h("span", { class: `key part-${place % 6}`, "aria-hidden": "true" }), stageName(name), " ", h("span", { class: "muted" }, duration(ms))))),
  answer?.latency_ms && h("p", { class: "muted small" }, t("why.latency", { time: duration(answer.latency_ms) })));
}

function stageName(name) {
  const text = t(`why.time.${name}`);
  return text.startsWith("why.time.") ? name : text;
}

function settings({ settings: held, calibration, scopes, folders }) {
  const said = (value) => (value === null || value === undefined ? t("common.none") : typeof value === "object" ? JSON.stringify(value) : String(value));
  const row = ([name, value]) => {
    const origin = value && typeof value === "object" && "origin" in value ? value.origin : null;
    return h("tr", {}, h("th", { scope: "row", class: "mono" }, name), h("td", { class: "mono" }, said(origin === null ? value : value.value)), h("td", {}, origin ?? "–"));
  };
  const rows = [...Object.entries(held), ...Object.entries(calibration).map(([name, value]) => [`calibration.${name}`, value])];
  return h("details", { class: "disclosure" }, h("summary", {}, t("why.settings")),
    h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": t("why.settings") }, h("table", { class: "table", "data-settings": true },
      h("thead", {}, h("tr", {}, ["setting", "value", "origin"].map((name) => h("th", { scope: "col" }, t(`why.column.${name}`))))), h("tbody", {}, rows.map(row)))),
    scopes.length > 0 && h("p", { class: "muted small" }, t("why.scopes"), " ", h("span", { class: "mono" }, JSON.stringify(scopes))),
    folders.selected.length > 0 && h("p", { class: "muted small" }, t("why.folders"), " ", folders.selected.join(", ")));
}
