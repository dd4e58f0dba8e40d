// One question and its answer: the stream, the marked text, its sources, and what can be done with it.

import { ApiError, documentPath, stream } from "./api.js";
import { announce, h, show } from "./dom.js";
import { cited, footnotes, legend, plainText, showAnswer } from "./marks.js";
import { problem } from "./problems.js";
import { known, number, percent, plural, t } from "./strings.js";

const RENDER_MS = 90; // between two renderings of a growing answer; tokens between them are appended as text
const EMPTY = { text: "", sentences: [], citations: [], found: null, done: null, error: null };

export class Turn {
  // *fields* are those of POST /ask; *open(turn, sentence, citation, button)* shows evidence, *changed()* hears of states.
  constructor(fields, history, open, changed = () => {}) {
    Object.assign(this, EMPTY, { fields, history, open, changed, state: "searching", states: new Map() });
    this.element = h("article", { class: "turn", "data-turn": true });
    this.build();
  }

  // The answer that a receipt holds.  One of before sentences were kept has only those without evidence.
  static of(receipt, open) {
    const turn = new Turn({ query: receipt.question, ...receipt.request }, [], open);
    const group = (linked) => receipt.documents.filter((one) => (one.group === "linked") === linked).map((one) => ({ ...one, title: one.path, relevance_score: one.score }));
    const sentences = receipt.sentences ?? receipt.unsupported.map((one) => ({ ...one, status: "unsupported", markers: [] }));
    const done = { nearest: [], sources: group(false), linked_docs: group(true), excluded: [], ...receipt };
    Object.assign(turn, { text: receipt.answer, sentences, citations: receipt.citations, found: done, done, state: "done" });
    turn.build();
    return turn;
  }

  // Make all elements, again after a change of language.
  build() {
    const part = (name, more = {}) => { this[name] = h("div", { class: `turn-${name}`, ...more }); return this[name]; };
    show(this.element, h("h2", { class: "turn-question" }, this.fields.query),
      ["notices", "answer", "progress", "below", "evidence", "sources"].map((name) => part(name, name === "answer" ? { "data-answer": true } : {})));
    this.answer.classList.add("answer");
    this.drawAnswer();
    this.draw();
  }

  async run() {
    Object.assign(this, EMPTY, { sentences: [], citations: [], state: "searching", stopping: new AbortController() });
    this.build();
    const history = this.history.length ? { history: this.history } : {};
    try {
      for await (const event of stream("/ask", { ...this.fields, ...history, stream: true }, this.stopping.signal)) this.take(...event);
      if (!this.done) throw new ApiError(0, null);
    } catch (error) {
      this.error = error;
      this.state = error.name === "AbortError" ? "stopped" : this.text ? "broken" : "failed";
    }
    this.drawAnswer();
    this.draw();
    announce(t(this.done?.abstained ? `abstained.${this.done.abstain_reason}` : `turn.${this.state}`));
  }

  take(name, data) {
    if (name === "token") this.append(data.text);
    else if (name === "citation") this.citations.push(data);
    else if (name === "sentence") {
      this.sentences.push(data);
      this.later();
    } else if (name === "retrieval") {
      Object.assign(this, { found: data, state: "writing" });
      this.draw();
    } else if (name === "done") Object.assign(this, { done: data, found: data, text: data.answer, sentences: data.sentences, citations: data.citations, state: "done" });
  }

  // Text is there at once, as it came; its marks and markdown follow.
  append(text) {
    this.text += text;
    if (performance.now() - this.rendered > RENDER_MS) return this.drawAnswer();
    if (!this.tail) {
      let last = this.answer;
      while (last.lastElementChild?.matches("ul, ol, li, p, h3, h4, blockquote, pre, code, strong, em, .sentence")) last = last.lastElementChild;
      this.tail = document.createTextNode("");
      last.append(this.tail);
    }
    this.tail.data += text;
    this.later();
  }

  later() {
    this.timer ??= setTimeout(() => this.drawAnswer(), RENDER_MS);
  }

  drawAnswer() {
    clearTimeout(this.timer);
    this.timer = null;
    this.tail?.remove();
    this.tail = null;
    if (this.done?.abstained) show(this.answer, this.abstention());
    else showAnswer(this.answer, this.text, cited(this.text, this.sentences, this.citations), this.states, (...evidence) => this.open(this, ...evidence));
    this.rendered = performance.now();
  }

  get running() { return this.state === "searching" || this.state === "writing"; }

  get answered() { return this.state === "done" && !this.done.abstained; }

  stop() { this.stopping?.abort(); }

  draw() {
    const { found, state, text, citations } = this;
    this.element.dataset.state = state;
    this.answer.setAttribute("aria-busy", String(this.running));
    show(this.notices, found && noticesOf(found, this.fields.query));
    show(this.progress, this.running ? h("p", { class: "loading" }, h("span", { class: "spinner", "aria-hidden": "true" }), t(`turn.${state}`)) : null,
      state === "stopped" || state === "broken" ? h("p", { class: "notice warning", [`data-${state}`]: true }, t(`turn.${state}`)) : null,
      state === "stopped" ? h("button", { class: "button", type: "button", "data-again": true, onclick: () => this.run() }, t("turn.again")) : null,
      state === "broken" || state === "failed" ? problem(this.error, () => this.run()) : null);
    show(this.below, text && !this.running ? [this.answered && legend(this.sentences), this.actions(),
      citations.length > 0 && h("section", { class: "print-only" }, h("h3", {}, t("evidence.title")), footnotes(citations).map((note) => h("p", {}, note)))] : null);
    show(this.sources, found && sourcesOf(found), found && !this.running && this.why());
    this.changed();
  }

  actions() {
    const id = this.done?.answer_id;
    const quiet = (name, onclick) => h("button", { class: "button quiet", type: "button", [`data-${name}`]: true, onclick }, t(`turn.${name}`));
    return h("div", { class: "row actions" }, quiet("copy", () => copy(plainText(this.text, this.sentences, this.citations))), quiet("print", () => print(this.element)),
      id && h("a", { class: "button quiet", href: `#/answers/${id}`, "data-receipt": id }, t("turn.receipt")));
  }

  why() {
    const body = h("div", {});
    return h("details", { class: "disclosure", "data-why": true, ontoggle: async ({ target }) => {
      if (target.open && !body.childElementCount) (await import("./why.js")).why(body, { ...this.fields, query: this.found.asked ?? this.fields.query }, this.done);
    } }, h("summary", {}, t("why.title")), body);
  }

  abstention() {
    const { abstain_reason: reason, nearest, total_indexed: indexed } = this.done;
    const about = (one) => [`${one.vault}/${one.path}`, ...one.heading_path, one.score !== null && t("sources.relevance", { score: percent(one.score) })].filter(Boolean).join(" · ");
    return h("section", { class: "abstention", "data-abstained": reason }, h("h3", {}, "∅ ", t(indexed === 0 ? "ask.empty.title" : `abstained.${reason}`)),
      h("p", {}, t(indexed === 0 ? "ask.empty.text" : `abstained.${reason}.text`)),
      nearest.length > 0 && [h("h4", {}, t("abstained.nearest")), h("ul", { class: "documents", "data-nearest": true }, nearest.map((one) => h("li", {}, link(one), h("div", { class: "muted small" }, about(one)))))]);
  }
}

const link = (one) => h("a", { href: `#${documentPath(one.vault, one.path)}` }, one.title || `${one.vault}/${one.path}`);

function noticesOf(found, question) {
  const notice = (text) => h("p", { class: "notice warning", "data-warning": true }, text);
  return [
    found.asked && found.asked !== question && h("p", { class: "muted small", "data-asked": true }, t("turn.asked", { question: found.asked })),
    (found.degraded || found.fallback_level > 1) && notice(t("turn.degraded")),
    found.finish_reason === "length" && notice(t("turn.cut")), found.warnings.map(notice),
  ];
}

// The documents that the model was shown, and those that it was not, with reasons.
function sourcesOf({ sources, linked_docs: linked, excluded }) {
  const row = (one, ...about) => h("li", {}, link(one), one.promotion_level && one.promotion_level !== "standard" && h("span", { class: "chip", "data-level": one.promotion_level }, "★ ", t(`level.${one.promotion_level}`)),
    h("div", { class: "muted small" }, [`${one.vault}/${one.path}`, ...about].filter(Boolean).join(" · ")));
  const relevance = (one) => typeof one.relevance_score === "number" && t("sources.relevance", { score: percent(one.relevance_score) });
  if (!sources.length && !linked.length && !excluded.length) return null;
  return h("details", { class: "disclosure", open: true, "data-sources": true }, h("summary", {}, plural("sources.title", sources.length + linked.length)),
    h("ul", { class: "documents" }, sources.map((one) => row(one, relevance(one))), linked.map((one) => row(one, one.linked_from ? t("sources.linked", { path: one.linked_from }) : t("sources.link")))),
    excluded.length > 0 && [h("h3", {}, t("sources.excluded")), h("ul", { class: "documents", "data-excluded": true }, excluded.map((one) => row(one, known("excluded", one.reason))))]);
}

async function copy(text) {
  const copied = await navigator.clipboard?.writeText(text).then(() => true, () => false);
  const said = h("div", { class: "toast" }, t(copied ? "common.copied" : "common.copy_failed"));
  announce(said.textContent);
  document.body.append(said);
  setTimeout(() => said.remove(), 2500);
}

// Print one answer with its evidence.
function print(element) {
  element.classList.add("printing");
  document.documentElement.dataset.printing = "one";
  window.print();
  element.classList.remove("printing");
  delete document.documentElement.dataset.printing;
}
