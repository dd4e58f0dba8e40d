// The evidence of a citation: the document's text around the quote, read back from S3 and compared while one looks.

import { call, documentPath, query } from "./api.js";
import { h, show } from "./dom.js";
import { judged, moveMark, placeOf } from "./marks.js";
import { loading, problem } from "./problems.js";
import { number, percent, t, when } from "./strings.js";

const AROUND = 1500; // code points before and after the quote at first
const SLICE = 20000; // code points of each further slice
const SIGNS = { identical: "✓", differs: "≠", gone: "⌫" };
const wide = matchMedia("(min-width: 62rem)");

// Give *page* an evidence panel: beside its content, below the answer where there is no room.  Arrows go through the
// citations of the answer, of *latest()* at first; Escape closes.  The function that is returned opens evidence.
export function host(page, signal, latest) {
  const panel = h("aside", { class: "evidence", hidden: true, tabindex: "-1", "aria-label": t("evidence.title"), "data-evidence": true });
  let now = null; // what is open: {turn, at, citation}
  let browsing = false; // arrows open evidence and keep the focus
  const markAt = () => now?.turn.answer.querySelector(`[data-at="${now.at}"]`);
  const expanded = () => {
    for (const mark of page.querySelectorAll("[data-mark][aria-expanded]")) mark.removeAttribute("aria-expanded");
    markAt()?.setAttribute("aria-expanded", "true");
  };
  const place = () => (wide.matches ? page : now.turn.evidence).append(panel);

  function close() {
    const mark = markAt();
    panel.hidden = true;
    page.classList.remove("with-evidence");
    now = null;
    expanded();
    mark?.focus();
  }

  function open(turn, sentence, citation, button) {
    now = { turn, citation, at: button.dataset.at };
    expanded();
    panel.hidden = false;
    page.classList.add("with-evidence");
    place();
    const mine = now;
    fill(panel, { sentence, citation, close, current: () => mine === now && panel.isConnected, stated: (state) => {
      if ((turn.states.get(citation) ?? null) === state) return;
      const held = document.activeElement === markAt();
      if (state) turn.states.set(citation, state); else turn.states.delete(citation);
      turn.drawAnswer();
      expanded();
      if (held) markAt()?.focus();
    } });
    if (!browsing) panel.focus({ preventScroll: wide.matches });
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && now) return close();
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const turn = now?.turn ?? latest();
    if (!step || !turn || event.target.matches("input, textarea, select, .scroll-x, pre")) return;
    event.preventDefault();
    const mark = moveMark(turn.answer, step, markAt());
    browsing = true;
    if (mark && now) mark.click();
    browsing = false;
  }, { signal });
  wide.addEventListener("change", () => now && place(), { signal });
  return open;
}

// What became of a cited document: null (its version is live), "changed" or "gone"; and its record.
export async function sourceState(citation) {
  const { vault, path } = placeOf(citation);
  const record = await call(documentPath(vault, path)).catch((error) => {
    if (error.status === 404) return null;
    throw error;
  });
  const gone = !record?.live_version_id || record.status === "deleted";
  return { record, state: gone ? "gone" : record.live_version_id === citation.version_id ? null : "changed" };
}

const read = (citation, start, end) => {
  const { vault, path } = placeOf(citation);
  return call(`${documentPath(vault, path)}${query({ span: `${start}-${end}`, version: citation.version_id })}`);
};

function fill(panel, { sentence, citation, close, current, stated }) {
  const header = h("header", { class: "row spread" }, h("h2", {}, citation ? t("evidence.of", { marker: citation.marker }) : t("evidence.title")),
    h("button", { class: "button quiet icon", type: "button", "data-close-evidence": true, "aria-label": t("common.close"), onclick: close }, h("span", { "aria-hidden": "true" }, "✕")));
  const why = h("div", { class: "judgement" }, h("p", {}, judged(sentence, citation)), h("p", { class: "small" }, sentence.text),
    citation && h("p", { class: "muted small" }, t("evidence.support", { share: percent(citation.support) })));
  if (!citation) return show(panel, header, why, h("p", {}, t("evidence.none")));
  const { vault, path } = placeOf(citation);
  const verdict = h("p", { class: "verdict", role: "status" });
  const source = h("div", {});
  const facts = h("dl", { class: "facts" });
  const text = h("div", { class: "source", tabindex: "0", role: "region", "aria-label": t("evidence.text") });
  show(panel, header, why, verdict, source, h("h3", { class: "mono" }, `${vault}/${path}`), facts, text,
    h("p", {}, h("a", { class: "button", "data-open-document": true, href: `#${documentPath(vault, path)}${query({ span: `${citation.start}-${citation.end}`, version: citation.version_id })}` }, t("common.open_document"))));
  const drawFacts = (date = null) => show(facts, [["heading", citation.heading_path.join(" › ")], ["page", citation.page], ["span", `${number(citation.start)}–${number(citation.end)}`],
    ["version", citation.version_id], ["date", date && when(date)]].filter(([, value]) => value).map(([name, value]) => [h("dt", {}, t(`evidence.${name}`)), h("dd", {}, value)]));
  drawFacts();

  async function check() {
    const say = (state, ...nodes) => {
      verdict.dataset.readBack = state;
      show(verdict, nodes);
    };
    say("checking", h("span", { class: "spinner", "aria-hidden": "true" }), t("readback.checking"));
    try {
      const now = await read(citation, citation.start, citation.end).catch((error) => {
        if (error.status === 404) return null;
        throw error;
      });
      if (!current()) return;
      const state = now === null ? "gone" : now.text === citation.quote ? "identical" : "differs";
      say(state, h("span", { "aria-hidden": "true" }, SIGNS[state]), h("span", {}, h("strong", {}, t(`readback.${state}`)), " ", t(`readback.${state}.text`, { time: when(new Date(), { timeStyle: "medium" }) })));
    } catch {
      say("failed", t("readback.failed"), h("button", { class: "button quiet", type: "button", onclick: check }, t("common.retry")));
    }
  }

  async function compare() {
    const { state, record } = await sourceState(citation);
    if (!current()) return;
    stated(state);
    if (state) show(source, h("p", { class: "notice warning", "data-source-state": state }, h("strong", {}, t(`source.${state}`)), " ", t(`source.${state}.text`)));
    const past = state === "changed" ? (await call(`${documentPath(vault, path)}/history`)).versions : [];
    if (current()) drawFacts(state ? past.find((one) => one.version_id === citation.version_id)?.modified_at : record.indexed_at);
  }

  async function around() {
    show(text, loading());
    try {
      await excerpt(text, citation, current);
    } catch (error) {
      if (!current()) return;
      if (error.status === 404) show(text, h("p", { class: "muted" }, t("evidence.stored")), h("blockquote", { "data-stored-quote": true }, citation.quote));
      else show(text, problem(error, around));
    }
  }
  check();
  compare().catch(() => {}); // the verdict and the text say what is wrong
  around();
}

// The text around the quote, which is marked; buttons load what comes before and after.
async function excerpt(element, citation, current) {
  let from = Math.max(0, citation.start - AROUND);
  const first = await read(citation, from, citation.end + AROUND);
  if (!current()) return;
  let to = first.end;
  const points = Array.from(first.text);
  const part = (start, end) => points.slice(start - from, end - from).join("");
  const before = h("span", {}, part(from, citation.start));
  const quote = h("mark", { "data-quote": true }, part(citation.start, citation.end));
  const after = h("span", {}, part(citation.end, to));
  const more = (name, load) => {
    const button = h("button", { class: "button quiet", type: "button", [`data-${name}`]: true, onclick: () => load().catch((error) => button.replaceWith(problem(error))) }, t(`evidence.${name}`));
    return button;
  };
  const earlier = more("earlier", async () => {
    const got = await read(citation, Math.max(0, from - SLICE), from);
    const height = element.scrollHeight;
    before.prepend(got.text);
    from = got.start;
    earlier.hidden = from === 0;
    element.scrollTop += element.scrollHeight - height;
  });
  const later = more("later", async () => {
    const got = await read(citation, to, to + SLICE);
    after.append(got.text);
    later.hidden = got.end < to + SLICE;
    to = got.end;
  });
  earlier.hidden = from === 0;
  later.hidden = to < citation.end + AROUND;
  show(element, earlier, before, quote, after, later);
  element.scrollTop = quote.offsetTop - element.offsetTop - element.clientHeight / 3;
}
