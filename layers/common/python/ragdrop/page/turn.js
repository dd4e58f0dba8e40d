// One question and its answer: the stream, the marked text, its sources, and what can be done with it.

import { ApiError, call, documentPath, stream } from "./api.js";
import { announce, button, h, show } from "./dom.js";
import { cited, footnotes, legend, placeOf, plainText, rendered, showAnswer } from "./marks.js";
import { loading, problem } from "./problems.js";
import { known, number, percent, t } from "./strings.js";

const RENDER_MS = 90; // between two renderings of a growing answer; tokens between them are appended as text
const QUOTES = "ragdrop-extractive"; // the model's name where no language model is connected
const empty = () => ({ text: "", sentences: [], citations: [], found: null, done: null, state: "searching", states: new Map() });
const warning = (text) => h("p.notice.warning[data-warning]", text);
const link = (one) => h("a", { href: `#${documentPath(one.vault, one.path)}` }, one.title || `${one.vault}/${one.path}`);

export class Turn {
  // *fields* are those of POST /ask; *open(turn, sentence, citation, button)* shows evidence, *changed()* hears of states.
  constructor(fields, history, open, changed = () => {}) {
    Object.assign(this, empty(), { fields, history, open, changed });
    this.element = h("article.answered[data-turn]");
    this.build();
  }

  // The answer that a receipt holds.
  static of(receipt, open) {
    const turn = new Turn({ query: receipt.typed ?? receipt.question, ...receipt.request }, [], open);
    const group = (linked) => receipt.documents.filter((one) => (one.group === "linked") === linked);
    const done = { sources: group(false), linked_docs: group(true), excluded: [], asked: receipt.question, ...receipt };
    Object.assign(turn, { text: receipt.answer, sentences: receipt.sentences ?? [], citations: receipt.citations, found: done, done, state: "done" });
    turn.build();
    return turn;
  }

  // Make all elements, again after a change of language.
  build() {
    this.answer = h("div.answer[data-answer]");
    for (const name of ["notices", "progress", "below", "sources"]) this[name] = h("div.part");
    show(this.element, h("h2", this.fields.query), this.notices, this.answer, this.progress, this.below, this.sources);
    this.drawAnswer();
    this.draw();
  }

  async run() {
    Object.assign(this, empty(), { said: null, stopping: new AbortController() });
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
      while (last.lastElementChild?.matches("ul, ol, li, p, h3, blockquote, pre, code, strong, em, .sentence")) last = last.lastElementChild;
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
    this.tail?.remove();
    this.timer = this.tail = null;
    if (this.done?.abstained) show(this.answer, this.abstention());
    else showAnswer(this.answer, this.text, cited(this.text, this.sentences, this.citations), this.states, (...evidence) => this.open(this, ...evidence));
    this.rendered = performance.now();
  }

  get running() { return this.state === "searching" || this.state === "writing"; }

  get answered() { return this.state === "done" && !this.done.abstained; }

  stop() { this.stopping?.abort(); }

  draw() {
    const { found, state, text, citations, running } = this;
    this.element.dataset.state = state;
    this.answer.setAttribute("aria-busy", running);
    show(this.notices, found && [found.asked && found.asked !== this.fields.query && h("p.muted.small[data-asked]", t("turn.asked", { question: found.asked }), " ",
        button(".quiet.small[data-edit]", t("turn.edit"), () => window.dispatchEvent(new CustomEvent("edit-question", { detail: found.asked })))),
      (found.degraded || found.fallback_level > 1) && warning(t("turn.degraded")), found.finish_reason === "length" && warning(t("turn.cut")), found.warnings.map(warning)]);
    const told = (state === "stopped" || state === "broken") && h("p.notice.warning", { [`data-${state}`]: true }, t(`turn.${state}`));
    show(this.progress, running && loading([t(`turn.${state}`), found && ` ${read(found)}`]), told, state === "stopped" ? button("[data-again]", t("turn.again"), () => this.run())
      : (state === "broken" || state === "failed") && problem(this.error, () => this.run()));
    show(this.below, text && !running && [this.answered && legend(this.sentences), this.answered && this.done.model === QUOTES && h("p.muted.small[data-quotes]", t("turn.quotes")), verdict(this.done?.answers_question), this.answered && this.done.table && this.table(), this.actions(),
      citations.length > 0 && h("section.print-only", h("h3", t("evidence.title")), footnotes(citations).map((note) => h("p", note)))]);
    show(this.sources, found && !running && [sourcesOf(found, citations), this.why()]);
    this.changed();
  }

  actions() {
    const id = this.done?.answer_id;
    const said = this.said ?? this.done?.feedback?.find((each) => each.own)?.kind;
    return h("div.row", button(".quiet[data-copy]", t("turn.copy"), () => copy(plainText(this.text, this.sentences, this.citations))), button(".quiet[data-print]", t("turn.print"), () => print(this.element)),
      id && h("a.button.quiet", { href: `#/answers/${id}`, "data-receipt": id }, t("turn.receipt")),
      id && ["right", "wrong", "missing"].map((kind) => button(`.quiet[data-say=${kind}]`, t(`say.${kind}`), () => (kind === "right" ? this.say(kind) : this.words(kind)), { "aria-pressed": String(kind === said) })), this.saying = h("div.stack"));
  }

  // What is wrong or missing is asked for first.
  words(kind) {
    const box = h("textarea.input[maxlength=2000][data-words]", { "aria-label": t("say.text"), placeholder: t("say.text") });
    show(this.saying, box, button("[data-tell]", t("say.send"), () => this.say(kind, box.value)));
    box.focus();
  }

  async say(kind, text = "") {
    const sent = await call(`/answers/${this.done.answer_id}/feedback`, { method: "POST", body: { kind, text } }).then(() => true, () => false);
    toast(t(sent ? "say.sent" : "say.failed"));
    if (!sent) return;
    this.said = kind;
    this.draw();
  }

  // How an answer over a table was computed.
  table() {
    const { table, citations: [citation] } = this.done;
    const body = h("div.part");
    return h("details.disclosure[data-table-proof]", { ontoggle: async ({ target }) => {
      if (!target.open || body.childElementCount) return;
      const [{ tableProof }, { sourceState }] = await Promise.all([import("./original.js"), import("./evidence.js")]);
      const place = table.path && citation ? placeOf(citation) : {};
      const state = place.path && (await sourceState(citation).catch(() => ({}))).state;
      await tableProof(body, place, table, state);
    } }, h("summary", t("table.title", { used: number(table.rows_used), total: number(table.rows_total), range: table.range })), body);
  }

  why() {
    const body = h("div.part");
    return h("details.disclosure[data-why]", { ontoggle: async ({ target }) => {
      if (!target.open || body.childElementCount) return;
      try {
        const { why } = await import("./why.js");
        why(body, { ...this.fields, query: this.found.asked ?? this.fields.query }, this.done);
      } catch (error) {
        show(body, problem(error));
      }
    } }, h("summary", t("why.title")), body);
  }

  abstention() {
    const { abstain_reason: reason, closest = [], total_indexed: indexed } = this.done;
    const title = indexed === 0 ? "ask.empty" : `abstained.${reason}`;
    return h("section.abstention", { "data-abstained": reason }, h("h3", "∅ ", t(title)), h("p", t(`${title}.text`)), closest.length > 0 && [h("h4", t("abstained.closest")),
      closest.map((one) => h("blockquote.stack[data-closest]", rendered(one.quote), link(one))), !this.fields.answer_anyway && button("[data-anyway]", t("abstained.anyway"), () => this.run(this.fields.answer_anyway = true))]);
  }
}

// Whether it answers, not whether it holds.
const verdict = (found) => found && found.status !== "unchecked" && h("p.small", { "data-answers": found.status }, t(`answers.${found.status}`));

const relevance = (score) => typeof score === "number" && t("sources.relevance", { score: percent(score) });

const documents = (name, all, about) => all.length > 0 && h("ul.documents", { [`data-${name}`]: true }, all.map((one) => h("li", link(one),
  !["standard", undefined].includes(one.promotion_level) && h("span.chip", `★ ${t(`level.${one.promotion_level}`)}`),
  h("div.muted.small", [one.title && `${one.vault}/${one.path}`, ...about(one)].filter(Boolean).join(" · ")))));

// The documents that the model was shown: cited ones first, then those it read, critical and linked ones, each with its
// reason; and those that it was not shown.  They come with the whole answer: below one that
// grows they would jump.
const read = ({ sources, linked_docs: linked }) => t("sources.title", { count: number(sources.length + linked.length) });
function sourcesOf(found, citations) {
  const { sources, linked_docs: linked, excluded } = found;
  const markers = (one) => [...new Set(citations.filter((each) => placeOf(each).place === `${one.vault}/${one.path}`).map((each) => `[${each.marker}]`))].join(" ");
  const about = (one) => [markers(one) ? t("sources.cited", { markers: markers(one) }) : one.linked_from ? t("sources.linked", { path: one.linked_from }) : t(`sources.${one.promotion_level === "critical" ? "critical" : "read"}`), relevance(one.relevance_score ?? one.score)];
  const isCritical = (one) => one.promotion_level === "critical";
  const others = sources.filter((one) => !markers(one));
  return sources.length + linked.length + excluded.length > 0 && h("details.disclosure[open][data-sources]", h("summary", read(found)),
    documents("cited", [...sources, ...linked].filter(markers), about), documents("relevant", others.filter((one) => !isCritical(one)), about), documents("critical", others.filter(isCritical), about),
    documents("linked", linked.filter((one) => !markers(one)), about), excluded.length > 0 && h("h3", t("sources.excluded")), documents("excluded", excluded, (one) => [known("excluded", one.reason)]));
}

export async function copy(text, done = t("common.copied")) {
  const copied = await navigator.clipboard?.writeText(text).then(() => true, () => false);
  toast(copied ? done : t("common.copy_failed"));
}

export function toast(text) {
  const said = h("div.toast", text);
  announce(said.textContent);
  document.body.append(said);
  setTimeout(() => said.remove(), 2500);
}

// Print one answer with its evidence.
function print(element) {
  element.classList.add("printing");
  window.print();
  element.classList.remove("printing");
}
