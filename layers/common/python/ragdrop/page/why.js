// Why this answer: the debug view of the same search as a picture, with tables for those who want numbers.

import { call, documentPath } from "./api.js";
import { h, show, svg, table } from "./dom.js";
import { loading, problem } from "./problems.js";
import { duration, known, number, t } from "./strings.js";

const ONLY_ASK = ["style", "model", "max_context_tokens", "system_prompt", "prompt_template"];
const [WIDTH, HEIGHT, LEFT, BOTTOM] = [640, 310, 64, 52];
const ROWS = 200;
// The stage that dropped a candidate, by the reason that the API gives.
const STAGES = { live: /not the live/, noise: /noise floor/, threshold: /under min_relevance/, limit: /beyond the limit/, chunks: /beyond the best/ };
const stageOf = ({ reason }) => Object.keys(STAGES).find((name) => STAGES[name].test(reason));

// Search with the *fields* of a question and show why; *answer* is the response that it got.
export async function why(element, fields, answer) {
  show(element, loading());
  const body = { ...fields, debug: true };
  for (const name of ONLY_ASK) delete body[name];
  try {
    const found = await call("/search", { method: "POST", body });
    const { candidates, candidates_left_out: left } = found.debug;
    show(element, h("p.muted.small", t("why.intro")), candidates.length ? [scatter(found.debug), stages(candidates), ranked(candidates, left)] : h("p", t("why.nothing")),
      timings(answer?.timings_ms ?? found.timings_ms), settings(found.debug));
  } catch (error) {
    show(element, problem(error, () => why(element, fields, answer)));
  }
}

// The vector score that alone is worth *relevance*.  The curve is logistic, through 0.7 at the operating point and 0.05
// at the noise floor.
function scoreAt(relevance, { operating_point: point, noise_floor: floor }) {
  const odds = (value) => Math.log(value / (1 - value));
  return point + ((odds(relevance) - odds(0.7)) * (point - floor)) / (odds(0.7) - odds(0.05));
}

function scatter({ candidates, calibration, settings: held }) {
  const points = candidates.filter((one) => one.score_vector !== null || one.score_lexical !== null);
  const threshold = held.min_relevance?.value;
  const relevance = threshold || 0.7;
  const line = scoreAt(Math.min(relevance, 0.99), calibration);
  const vectors = [line, ...points.map((one) => one.score_vector ?? line)];
  const low = Math.max(0, Math.min(...vectors) - 0.05);
  const high = Math.max(...vectors) + 0.05;
  const x = (value) => LEFT + ((value - low) / (high - low)) * (WIDTH - LEFT - 12);
  const y = (value) => HEIGHT - BOTTOM - value * (HEIGHT - BOTTOM - 24);
  const text = (x, y, said, more = {}) => svg("text[text-anchor=middle]", { x, y, ...more }, said);
  const right = x(line) > WIDTH / 2;
  return h("figure[data-scatter]", svg("svg[role=img]", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-label": t("why.scatter", { count: points.length, kept: points.filter((one) => one.kept).length }) },
    [0, 0.25, 0.5, 0.75, 1].map((tick) => [svg("line", { x1: LEFT, x2: WIDTH - 12, y1: y(tick), y2: y(tick) }), text(LEFT - 6, y(tick) + 4, number(tick), { "text-anchor": "end" }),
      text(x(low + tick * (high - low)), HEIGHT - BOTTOM + 20, number(low + tick * (high - low), { maximumFractionDigits: 2 }))]),
    text(WIDTH / 2, HEIGHT - 6, t("why.vector")), text(0, 0, t("why.lexical"), { transform: `translate(11 ${HEIGHT / 2 - 10}) rotate(-90)` }),
    svg("line.threshold[data-threshold]", { x1: x(line), x2: x(line), y1: 8, y2: HEIGHT - BOTTOM }),
    text(x(line) + (right ? -6 : 6), 14, t(threshold === 0 ? "why.no_threshold" : "why.threshold", { value: number(relevance) }), { "text-anchor": right ? "end" : "start" }),
    points.toReversed().map((one) => svg("circle", { class: one.kept ? "kept" : "", cx: x(one.score_vector ?? low), cy: y(one.score_lexical ?? 0), r: one.kept ? 5.5 : 4 }, svg("title", `${one.vault}/${one.path}: ${one.reason}`)))),
  h("figcaption.muted.small", `● ${t("why.kept")} · ○ ${t("why.dropped")} · ${t("why.hint")}`));
}

// Rows of [name, value, text], each with a bar for its share of the greatest value.
function bars(title, rows, more) {
  const most = Math.max(...rows.map(([, value]) => value), 1);
  return [h("h3", t(title)), h("ol.bars", more, rows.map(([name, value, said]) => {
    const bar = h("span.share");
    bar.style.setProperty("--share", value / most);
    return h("li", h("span", name), bar, h("span", said));
  }))];
}

function stages(candidates) {
  let left = candidates.length;
  const rows = [[t("why.stage.found"), left, number(left)]];
  for (const name of Object.keys(STAGES)) {
    const dropped = candidates.filter((one) => stageOf(one) === name).length;
    left -= dropped;
    rows.push([t(`why.stage.${name}`), left, number(left) + (dropped ? ` (−${number(dropped)})` : "")]);
  }
  return bars("why.stages", rows, { "data-stages": true });
}

const timings = (stagesMs) => bars("why.timings", Object.entries(stagesMs).map(([name, ms]) => [known("time", name), ms, duration(ms)]), { "data-timings": true });

const ranked = (candidates, left) => details("why.table", "data-candidates", ["rank", "document", "vector", "lexical", "fused", "relevance", "result"], candidates.slice(0, ROWS).map((one) => [
  one.rank ?? "–", [h("a", { href: `#${documentPath(one.vault, one.path)}` }, `${one.vault}/${one.path}`), h("div.muted.small", one.heading_path.join(" › "))],
  ...[one.score_vector, one.score_lexical, one.score_final, one.relevance].map((score) => (score === null ? "–" : number(score, { minimumFractionDigits: 3, maximumFractionDigits: 3 }))),
  one.kept ? `✓ ${t("why.kept")}` : h("span", { title: one.reason }, `${t("why.dropped")}: ${t(`why.stage.${stageOf(one) ?? "limit"}`)}`)]),
left + candidates.length > ROWS && h("p.muted.small", t("why.left_out", { count: number(left + Math.max(0, candidates.length - ROWS)) })));

function settings({ settings: held, calibration }) {
  const said = (value) => (value === null ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value));
  const rows = [...Object.entries(held), ...Object.entries(calibration).map(([name, value]) => [name, { value, from: "calibration" }])];
  return details("why.settings", "data-settings", ["setting", "value", "origin"], rows.map(([name, { value, from }]) => [name, said(value), from]));
}

const details = (title, mark, head, rows, more) => h("details.disclosure", { [mark]: true }, h("summary", t(title)), 
  table(t(title), "", head.map((one) => t(`why.${one}`)), rows), more);
