// The state of the service: dependencies, what questions get now, the queue, and figures of the last day or month.

import { ApiError, base, call, credential } from "./api.js";
import { chart } from "./charts.js";
import { announce, h, show } from "./dom.js";
import { loading, problem } from "./problems.js";
import { button, chip, patiently, poll, styled } from "./records.js";
import { duration, number, percent, t, when } from "./strings.js";

const EVERY_MS = 15_000;
const HOUR_MS = 3_600_000;
const RANGES = { "24h": 25, "30d": 721 };  // hours in each: the first one is not whole

export async function view(main, { me, signal }) {
  await styled;
  let range = "24h";
  let moving = false;
  const part = (name) => h("section", { "data-part": name });
  const state = part("state");
  const queue = part("queue");
  const figures = part("figures");
  const checked = h("p", { class: "muted small" });
  const deep = button("deep", t("health.deep"), () => look(true), "small");
  const ranges = Object.keys(RANGES).map((name) => button("range", t(`health.${name}`), () => choose(name), "small", { "data-range": name }));
  show(main, h("div", { class: "records", "data-page": "health" },
    h("div", { class: "row spread" }, h("h1", {}, t("nav.health")), h("div", { class: "row" }, checked, deep)), state, queue,
    h("div", { class: "row spread" }, h("h2", {}, t("health.figures")), h("div", { class: "row", role: "group", "aria-label": t("health.range") }, ranges)), figures));
  show(state, loading());
  show(figures, loading());
  pressed();
  await Promise.all([look(), stats()]);
  poll(() => Promise.all([look(), stats()]).then(() => "changed"), signal, EVERY_MS)();

  function pressed() {
    for (const each of ranges) each.setAttribute("aria-pressed", String(each.dataset.range === range));
  }

  async function choose(name) {
    range = name;
    pressed();
    show(figures, loading());
    await stats();
    announce(t(`health.${name}`));
  }

  // Here a 503 is an answer too: it says what is down.
  async function look(isDeep = false) {
    deep.disabled = isDeep;
    try {
      const response = await fetch(`${base}/health${isDeep ? "?deep=1" : ""}`, { headers: { "x-api-key": credential.get() }, signal, cache: "no-store" })
        .catch((error) => { throw signal.aborted ? error : new ApiError(0, null); });
      const found = await response.json().catch(() => null);
      if (!found?.dependencies) throw new ApiError(response.status, found);
      drawState(found);
      drawQueue(found.queue);
      checked.textContent = t("health.checked", { time: when(Date.now(), { timeStyle: "medium" }) });
      if (isDeep) announce(t(`health.${found.status}`));
    } catch (error) {
      if (!signal.aborted) show(state, problem(error, look));
    }
    deep.disabled = false;
  }

  function drawState({ status, dependencies }) {
    const level = levelOf(dependencies, me.index);
    show(state, h("div", { class: `state-card state-${status}`, "data-health": status },
      h("p", { class: "state-line" }, chip(status), " ", t(`health.${status}`)),
      h("p", { "data-level": level }, t("health.level", { level }), " ", t(`health.level.${level}`),
        dependencies.chat.status === "unavailable" ? ` ${t("health.no_chat")}` : null)),
    h("h2", {}, t("health.dependencies")),
    h("ul", { class: "dependencies" }, Object.entries(dependencies).map(([name, each]) =>
      h("li", { "data-dependency": name, "data-state": each.status }, h("h3", {}, t(`health.${name}`)), chip(each.status),
        h("span", { class: "muted" }, each.latency_ms === null ? "–" : duration(each.latency_ms)),
        h("p", { class: "muted small" }, t(each.circuit_breaker_open ? "health.open" : "health.closed")),
        each.detail && h("p", { class: "small detail" }, each.detail)))));
  }

  function drawQueue(found) {
    if (moving) return;
    if (!queue.firstChild) show(queue, h("h2", {}, t("health.queue")), h("div"), h("div", { class: "row" }));
    const [, body, actions] = queue.children;
    show(body, found ? h("dl", { class: "figures" }, ["waiting", "in_flight", "delayed", "dead_letters"].map((name) => figure(name, number(found[name]))))
      : h("p", { class: "muted" }, t("health.no_queue")));
    const letters = found?.dead_letters > 0;
    const isAdmin = me.role === "admin";
    if (letters !== Boolean(actions.firstChild)) show(actions, letters && [isAdmin && button("redrive", t("health.redrive"), redrive), h("p", { class: "muted small", role: "status" }, t(isAdmin ? "health.letters" : "health.letters_admin"))]);
  }

  async function redrive() {
    const [pushed, line] = queue.lastChild.children;
    moving = pushed.disabled = true;
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
    pushed.disabled = moving = false;
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

  let last = "";
  function drawFigures(found) {
    const looks = JSON.stringify({ ...found, request_id: null, hour: Math.floor(Date.now() / HOUR_MS), language: document.documentElement.lang });
    if (looks === last && figures.querySelector("figure")) return;
    last = looks;
    const focus = figures.contains(document.activeElement) && document.activeElement.closest("[data-chart]")?.dataset.chart;
    const points = series(found.hours, range);
    const share = (value) => (value === null ? "–" : percent(value, 1));
    const perhaps = (value, form) => (value === null ? "–" : form(value));
    const cost = (value) => number(value, { maximumSignificantDigits: 3 });
    const asOf = range === "30d" ? t("health.folded") : null;
    const of = (name) => ({ key: name, text: t(`figure.${name}`) });
    const has = (name) => found.hours.some((hour) => typeof hour[name] === "number");
    show(figures, h("dl", { class: "figures" },
      figure("queries", number(found.total_queries)), figure("p50_latency_ms", perhaps(found.p50_latency_ms, duration)), figure("p95_latency_ms", perhaps(found.p95_latency_ms, duration)),
      figure("abstention_rate", share(found.abstention_rate)), figure("error_rate", share(found.error_rate)), figure("fallback_rate", share(found.fallback_rate)),
      figure("cache_hit_rate", share(found.cache_hit_rate)), figure("tokens", perhaps(found.tokens.total, number)), figure("cost", perhaps(found.cost, cost)),
      figure("documents", perhaps(found.total_documents, number))),
    h("div", { class: "charts" },
      chart({ id: "latency", title: t("figure.latency"), points, series: [of("p50_latency_ms"), of("p95_latency_ms")], form: duration, note: asOf }),
      chart({ id: "questions", title: t("figure.queries"), points, series: [of("queries"), of("failed")], bars: true, form: number }),
      chart({ id: "fallbacks", title: t(has("abstained") ? "figure.abstained" : "figure.fallbacks"), points, series: [...(has("abstained") ? [of("abstained")] : []), of("fallbacks")], bars: true, form: number }),
      has("tokens") && chart({ id: "tokens", title: t("figure.tokens"), points, series: [of("tokens")], bars: true, form: number }),
      has("cost") && chart({ id: "cost", title: t("figure.cost"), points, series: [of("cost")], bars: true, form: cost }),
      h("section", { class: "chart", "data-errors": true }, h("h3", {}, t("figure.errors")), found.errors.length ? h("div", { class: "scroll-x", tabindex: 0, role: "region", "aria-label": t("figure.errors") },
        h("table", { class: "table small" }, h("thead", {}, h("tr", {}, ["code", "stage", "count"].map((name) => h("th", { scope: "col" }, t(`health.${name}`))))),
          h("tbody", {}, found.errors.slice(0, 50).map((each) => h("tr", {}, h("th", { scope: "row" }, h("code", {}, each.code)),
            h("td", {}, [each.component, each.operation, each.stage].filter(Boolean).join(" / ")), h("td", {}, number(each.count)))))))
        : h("p", { class: "muted" }, t("health.no_errors")))));
    if (focus) figures.querySelector(`[data-chart="${focus}"] summary`)?.focus();
  }
}

const figure = (name, value) => h("div", { "data-figure": name }, h("dt", { class: "muted small" }, t(`figure.${name}`)), h("dd", {}, value));

// The fallback level that a question would be answered by.
function levelOf(dependencies, engine) {
  const down = (name) => dependencies[name]?.status === "unavailable";
  if (Object.values(dependencies).every((each) => each.circuit_breaker_open)) return 4;
  if (down("registry") || down("index") && (engine === "bucket" || down("object_store"))) return 3;
  return down("embedding") || down("index") ? 2 : 1;
}

// The hours of a range, or its days, with nothing where nothing was asked.
function series(hours, range) {
  const isMonth = range === "30d";
  const now = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  const byHour = new Map(hours.map((each) => [Date.parse(`${each.hour}:00:00Z`), each]));
  const points = new Map();
  for (let at = now - (RANGES[range] - 1) * HOUR_MS; at <= now; at += HOUR_MS) {
    const name = when(at, isMonth ? { dateStyle: "medium" } : { weekday: "short", hour: "numeric", minute: "2-digit" });
    const label = when(at, isMonth ? { day: "numeric", month: "short" } : { hour: "numeric" });
    points.set(name, [...(points.get(name) ?? [{ name, label }]), ...(byHour.has(at) ? [byHour.get(at)] : [])]);
  }
  return [...points.values()].map(([point, ...found]) => {
    const sum = (form) => found.reduce((total, hour) => total + (form(hour) ?? 0), 0);
    const mean = (key) => {
      const weight = sum((hour) => hour[key] !== null && hour.queries);
      return weight ? sum((hour) => hour[key] * hour.queries) / weight : null;
    };
    const counts = ["queries", "failed", "fallbacks", "abstained", "tokens", "cost"].map((key) => [key, sum((hour) => hour[key])]);
    return { ...point, ...Object.fromEntries(counts), p50_latency_ms: mean("p50_latency_ms"), p95_latency_ms: mean("p95_latency_ms") };
  });
}
