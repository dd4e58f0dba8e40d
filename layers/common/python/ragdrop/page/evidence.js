// The evidence of a citation: the document's text around the quote, read back from S3 and compared while one looks.

import { call, documentPath, query } from "./api.js";
import { button, h, show } from "./dom.js";
import { judged, moveMark, placeOf } from "./marks.js";
import { loading, problem } from "./problems.js";
import { number, percent, t, when } from "./strings.js";

const AROUND = 1500; // code points before and after the quote at first
const SLICE = 20000; // code points of each further slice

// Give *page* an evidence panel: beside its content, a sheet at the bottom where there is no room.  Arrows go through the
// citations of the answer, of *latest()* at first; Escape closes.  The function that is returned opens evidence.
export function host(page, signal, latest) {
  const panel = h("aside.evidence[hidden][tabindex=-1][data-evidence]", { "aria-label": t("evidence.title") });
  let now = null; // what is open: {turn, at}
  let browsing = false; // arrows open evidence and keep the focus
  const markOf = () => now?.turn.answer.querySelector(`[data-at="${now.at}"]`);
  const expanded = () => {
    for (const mark of page.querySelectorAll("[data-mark][aria-expanded]")) mark.removeAttribute("aria-expanded");
    markOf()?.setAttribute("aria-expanded", "true");
  };

  function close() {
    const mark = markOf();
    panel.hidden = true;
    page.classList.remove("with-evidence");
    now = null;
    expanded();
    mark?.focus();
  }

  function open(turn, sentence, citation, mark) {
    const mine = now = { turn, at: mark.dataset.at };
    expanded();
    panel.hidden = false;
    page.classList.add("with-evidence");
    page.append(panel);
    fill(panel, sentence, citation, close, () => mine === now && panel.isConnected, (state) => {
      if ((turn.states.get(citation) ?? null) === state) return;
      const held = document.activeElement === markOf();
      turn.states.set(citation, state);
      turn.drawAnswer();
      expanded();
      if (held) markOf()?.focus();
    });
    if (getComputedStyle(panel).position === "fixed") mark.scrollIntoView(); // above the sheet
    if (!browsing) panel.focus({ preventScroll: true });
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && now) return close();
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const turn = now?.turn ?? latest();
    if (!step || !turn || event.target.matches("input, textarea, select, .scroll-x, pre")) return;
    event.preventDefault();
    browsing = true;
    if (moveMark(turn.answer, step, markOf()) && now) document.activeElement.click();
    browsing = false;
  }, { signal });
  return open;
}

const path = (citation, more = "") => documentPath(placeOf(citation).vault, placeOf(citation).path) + more;
const span = (citation, start, end) => path(citation, query({ span: `${start}-${end}`, version: citation.version_id }));
// What a request gives; null where there is nothing.
const found = (asked) => asked.catch((error) => {
  if (error.status === 404) return null;
  throw error;
});

// What became of a cited document: null (its version is live), "changed" or "gone"; and its record.
export async function sourceState(citation) {
  const record = await found(call(path(citation)));
  const gone = !record?.live_version_id || record.status === "deleted";
  return { record, state: gone ? "gone" : record.live_version_id === citation.version_id ? null : "changed" };
}

function fill(panel, sentence, citation, close, current, stated) {
  const title = t("evidence.title");
  const head = [h("header.row.spread", h("h2", title, citation && ` ${citation.marker}`), button(".quiet[data-close-evidence]", "✕", close, { "aria-label": t("common.close") })),
    h("div.judgement", judged(sentence, citation), h("p.small", sentence.text), citation && h("p.muted.small", t("evidence.support", { share: percent(citation.support) })))];
  if (!citation) return show(panel, head, h("p", t("evidence.none")));
  const verdict = h("p.verdict[role=status]");
  const source = h("div");
  let files;
  const facts = h("dl.facts");
  const look = h("div.part");
  const text = h("div.source[tabindex=0][role=region]", { "aria-label": t("evidence.text") });
  show(panel, head, verdict, source, h("h3.mono", placeOf(citation).place), facts, look, text,
    h("div.row", h("a.button[data-open-document]", { href: `#${path(citation, query({ span: `${citation.start}-${citation.end}`, version: citation.version_id, page: citation.page }))}` }, t("common.open_document")), files = h("span")));
  import("./original.js").then(({ excerptOf, isMarkup, lookOf, openFile }) => {
    const place = { ...placeOf(citation), version: citation.version_id, start: citation.start, end: citation.end, page: citation.page };
    show(look, lookOf(place, current) ?? (isMarkup(place.path) && excerptOf(place, current)));
    show(files, openFile(place, (error) => show(source, problem(error))));
  });
  const drawFacts = (date) => show(facts, Object.entries({ heading: citation.heading_path.join(" › "), page: citation.page, span: `${number(citation.start)}–${number(citation.end)}`, version: citation.version_id, date: date && when(date) })
    .map(([name, value]) => value && [h("dt", t(`evidence.${name}`)), h("dd", value)]));

  async function check() {
    const say = (state, ...nodes) => {
      verdict.dataset.readBack = state;
      show(verdict, nodes);
    };
    say("checking", loading(t("verdict.checking")));
    try {
      const now = await found(call(span(citation, citation.start, citation.end)));
      const state = now === null ? "gone" : now.text === citation.quote ? "identical" : "differs";
      if (current()) say(state, { identical: "✓ ", differs: "≠ ", gone: "⌫ " }[state], h("strong", t(`verdict.${state}`)), " ", t(`verdict.${state}.text`, { time: when(new Date(), { timeStyle: "medium" }) }));
    } catch {
      say("failed", t("verdict.failed"), button(".quiet", t("common.retry"), check));
    }
  }

  async function compare() {
    const { state, record } = await sourceState(citation);
    if (!current()) return;
    stated(state);
    if (state) show(source, h("p.notice.warning", { "data-source-state": state }, h("strong", t(`source.${state}`)), ". ", t(`source.${state}.text`)));
    const past = state === "changed" ? (await call(path(citation, "/history"))).versions.find((one) => one.version_id === citation.version_id) : null;
    if (current()) drawFacts(state ? past?.modified_at : record.indexed_at);
  }

  async function around() {
    show(text, loading());
    try {
      await excerpt(text, citation, current);
    } catch (error) {
      if (!current()) return;
      show(text, error.status === 404 ? [h("p.muted", t("evidence.stored")), h("blockquote[data-stored-quote]", citation.quote)] : problem(error, around));
    }
  }
  drawFacts();
  check();
  compare().catch(() => {}); // the verdict and the text say what is wrong
  around();
}

// The text around the quote, which is marked; buttons load what comes before and after.
async function excerpt(element, citation, current) {
  const read = (start, end) => call(span(citation, start, end));
  let from = Math.max(0, citation.start - AROUND);
  const first = await read(from, citation.end + AROUND);
  if (!current()) return;
  let to = first.end;
  const points = Array.from(first.text);
  const part = (name, start, end) => h(name, points.slice(start - from, end - from).join(""));
  const before = part("span", from, citation.start);
  const quote = part("mark[data-quote]", citation.start, citation.end);
  const after = part("span", citation.end, to);
  // *load* gives whether there is nothing more.
  const more = (name, ended, load) => {
    const made = button(`.quiet[data-${name}]`, t(`evidence.${name}`), () => load().then((end) => { made.hidden = end; }, (error) => made.replaceWith(problem(error))));
    made.hidden = ended;
    return made;
  };
  const earlier = more("earlier", from === 0, async () => {
    const got = await read(Math.max(0, from - SLICE), from);
    const height = element.scrollHeight;
    before.prepend(got.text);
    element.scrollTop += element.scrollHeight - height;
    from = got.start;
    return from === 0;
  });
  const later = more("later", to < citation.end + AROUND, async () => {
    const got = await read(to, to + SLICE);
    after.append(got.text);
    to += SLICE;
    return got.end < to;
  });
  show(element, earlier, before, quote, after, later);
  element.scrollTop = quote.offsetTop - element.clientHeight / 3;
}
