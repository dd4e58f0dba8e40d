// The state of the service: dependencies, what questions get now, the queue, and figures of the last day or month.

import { ApiError, base, call, credential } from "./api.js";
import { chart } from "./charts.js";
import { announce, button, h, show } from "./dom.js";
import { loading, problem } from "./problems.js";
import { chip, patiently, poll, quiet } from "./records.js";
import { duration, number, percent, t, when } from "./strings.js";

const EVERY_MS = 15_000;
const HOUR_MS = 3_600_000;
const HOURS = { "24h": 25, "30d": 721 };  // in each range: the first one is not whole
const perhaps = (form) => (value) => (value === null ? "–" : form(value));
const share = perhaps((value) => percent(value, 1));
const cost = perhaps((value) => number(value, { maximumSignificantDigits: 3 }));
const figure = (name, value) => h("div", { "data-figure": name }, h("dt.muted.small", t(`fig.${name}`)), h("dd", value));

export async function view(main, { me, signal }) {
  let range = "24h";
  let moving = false;
  let drawn = "";  // the figures that are drawn
  const state = h("section[data-part=state]", loading());
  const depth = h("dl.figures");
  const line = h("span.muted.small[role=status]");
  const redrive = button("[data-action=redrive]", t("health.redrive"), move);
  const letters = h("div.row[hidden]", me.role === "admin" && redrive, line);
  const figures = h("section[data-part=figures]", loading());
  const checked = h("span.muted.small");
  const deep = button(".small[data-action=deep]", t("health.deep"), () => look(true));
  const ranges = Object.keys(HOURS).map((name) => button(".small", t(`health.${name}`), () => choose(name), { "data-range": name }));
  show(main, h("div.records[data-page=health]", h("div.row.spread", h("h1", t("nav.health")), h("div.row", checked, deep)), state,
    h("section[data-part=queue]", h("h2", t("health.queue")), depth, letters), h("div.row.spread", h("h2", t("fig.queries")), h("div.row", ranges)), figures));
  await choose(range);
  poll(() => Promise.all([look(), stats()]).then(() => "changed"), signal, EVERY_MS)();

  async function choose(name) {
    range = name;
    for (const each of ranges) each.setAttribute("aria-pressed", each.dataset.range === range);
    await Promise.all([look(), stats()]);
  }

  // Here a 503 is an answer too: it says what is down.
  async function look(isDeep = false) {
    deep.disabled = isDeep;
    call("/queue", { signal }).then(drawQueue, () => drawQueue({}));
    try {
      const response = await fetch(`${base}/health${isDeep ? "?deep=1" : ""}`, { headers: { "x-api-key": credential.get() }, signal, cache: "no-store" }).catch(() => { throw new ApiError(0, null); });
      const found = await response.json().catch(() => null);
      if (!found?.dependencies) throw new ApiError(response.status, found);
      drawState(found);
      checked.textContent = t("health.checked", { time: when(Date.now(), { timeStyle: "medium" }) });
      if (isDeep) announce(t(`health.${found.status}`));
    } catch (error) {
      if (!signal.aborted) show(state, problem(error, look));
    }
    deep.disabled = false;
  }

  function drawState({ status, dependencies }) {
    const level = levelOf(dependencies, me.index);
    show(state, h("div.state-card.card", { class: `status-${status}`, "data-health": status }, h("p", chip(status), " ", h("b", t(`health.${status}`))),
      h("p", { "data-level": level }, t(`health.level.${level}`), level < 3 && dependencies.chat.status === "unavailable" && ` ${t("health.no_chat")}`)),
    h("h2", t("health.dependencies")), h("ul.dependencies", Object.entries(dependencies).map(([name, each]) => h("li.card", { "data-dependency": name, "data-state": each.status }, h("h3", t(`health.${name}`)),
      h("div.row.spread", chip(each.status), perhaps(duration)(each.latency_ms)), quiet(t(each.circuit_breaker_open ? "health.open" : "health.closed")), each.detail && h("p.small", each.detail)))));
  }

  function drawQueue(found) {
    if (moving || signal.aborted) return;
    show(depth, ["waiting", "in_flight", "delayed", "dead_letters"].map((name) => figure(name, perhaps(number)(found[name] ?? null))));
    letters.hidden = !found.dead_letters;
    line.textContent = me.role === "admin" ? "" : t("health.letters");
  }

  // Ten dead letters go back at a time.
  async function move() {
    moving = redrive.disabled = true;
    let total = 0;
    try {
      for (let moved = 1; moved;) {
        ({ moved } = await patiently(() => call("/queue/redrive", { method: "POST", signal }), signal));
        total += moved;
        line.textContent = t("health.moved", { count: number(total) });
      }
    } catch (error) {
      if (!signal.aborted) show(line, problem(error));
    }
    moving = redrive.disabled = false;
  }

  async function stats() {
    const asked = range;
    try {
      const found = await call(`/stats?time_range=${range}&detail=1`, { signal });
      if (asked === range) drawFigures(found);
    } catch (error) {
      if (!signal.aborted) show(figures, problem(error, stats));
    }
  }

  function drawFigures(found) {
    const looks = JSON.stringify([{ ...found, request_id: null }, Math.floor(Date.now() / HOUR_MS)]);
    if (looks === drawn && figures.querySelector("figure")) return;
    drawn = looks;
    const { hours, tokens, errors } = found;
    const focus = figures.contains(document.activeElement) && document.activeElement.closest("[data-chart]")?.dataset.chart;
    const points = pointsOf(hours, range);
    const plot = (id, keys, form, more) => (id in points[0] || id === "latency") && chart({ id, title: t(`fig.${id}`), points, series: keys.map((key) => ({ key, text: t(`fig.${key}`) })), form, ...more });
    const bars = { bars: true, least: 2 };
    show(figures, h("dl.figures", figure("queries", number(found.total_queries)), figure("p50_latency_ms", perhaps(duration)(found.p50_latency_ms)),
      figure("p95_latency_ms", perhaps(duration)(found.p95_latency_ms)), figure("abstained", share(found.abstention_rate)), figure("failed", share(found.error_rate)),
      figure("fallbacks", share(found.fallback_rate)), figure("tokens", perhaps(number)(tokens.total)), figure("cost", cost(found.cost)), figure("documents", perhaps(number)(found.total_documents))),
    h("div.charts", plot("latency", ["p50_latency_ms", "p95_latency_ms"], duration, { note: range === "30d" && t("health.folded") }), plot("queries", ["queries", "failed"], number, bars),
      plot("abstained", ["abstained"], number, bars), plot("fallbacks", ["fallbacks"], number, bars), plot("tokens", ["tokens"], number, bars), plot("cost", ["cost"], cost, { bars: true }),
      h("section.card[data-errors]", h("h3", t("fig.errors")), errors.length ? h("dl.facts", errors.slice(0, 30).map((each) => [h("dt", number(each.count)),
        h("dd", h("code", each.code), quiet([each.component, each.operation, each.stage].filter(Boolean).join(" / ")))])) : quiet(t("doc.none")))));
    if (focus) figures.querySelector(`[data-chart="${focus}"] summary`)?.focus();
  }
}

// The fallback level that a question would be answered by.
function levelOf(dependencies, engine) {
  const down = (name) => dependencies[name].status === "unavailable";
  if (Object.values(dependencies).every((each) => each.circuit_breaker_open)) return 4;
  if (down("registry") || down("index") && (engine === "bucket" || down("object_store"))) return 3;
  return down("embedding") || down("index") ? 2 : 1;
}

// The hours of a range, or its days, with nothing where nothing was asked; a day's latency is the mean of its hours.
function pointsOf(hours, range) {
  const isMonth = range === "30d";
  const now = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  const byHour = new Map(hours.map((each) => [Date.parse(`${each.hour}:00:00Z`), each]));
  const points = new Map();
  for (let at = now - (HOURS[range] - 1) * HOUR_MS; at <= now; at += HOUR_MS) {
    const name = when(at, isMonth ? { dateStyle: "medium" } : { weekday: "short", hour: "numeric", minute: "2-digit" });
    if (!points.has(name)) points.set(name, [when(at, isMonth ? { day: "numeric", month: "short" } : { hour: "numeric" })]);
    if (byHour.has(at)) points.get(name).push(byHour.get(at));
  }
  const keys = ["queries", "failed", "fallbacks", ...["abstained", "tokens", "cost"].filter((key) => hours.some((hour) => key in hour))];
  return [...points].map(([name, [label, ...found]]) => {
    const sum = (form) => found.reduce((total, hour) => total + (form(hour) ?? 0), 0);
    const mean = (key) => (sum((hour) => hour.queries) ? sum((hour) => hour[key] * hour.queries) / sum((hour) => hour.queries) : null);
    return { name, label, ...Object.fromEntries(keys.map((key) => [key, sum((hour) => hour[key])])), p50_latency_ms: mean("p50_latency_ms"), p95_latency_ms: mean("p95_latency_ms") };
  });
}
