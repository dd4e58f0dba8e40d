// The receipt of an answer: what was asked, said and shown; asked again, what differs.

import { call, documentPath } from "./api.js";
import { wordDifference } from "./difference.js";
import { button, h, show } from "./dom.js";
import { host, sourceState } from "./evidence.js";
import { placeOf } from "./marks.js";
import { loading, problem } from "./problems.js";
import { number, t, when } from "./strings.js";
import { Turn } from "./turn.js";
import { versionsLink } from "./versions.js";

export async function view(main, { parts, signal }) {
  show(main, loading());
  const receipt = await call(`/answers/${encodeURIComponent(parts[0] ?? "")}`, { signal });
  let open;
  const turn = Turn.of(receipt, (...evidence) => open(...evidence));
  const replayed = h("div.part");
  const again = button(".primary[data-replay]", t("receipt.replay"), () => replay(receipt, replayed, again, (...evidence) => open(...evidence)));
  const { prompt_tokens: read, completion_tokens: wrote } = receipt.usage;
  const facts = { created: when(receipt.created_at), expires: when(receipt.expires_at), model: receipt.model, prompt: receipt.prompt_version, tokens: read && `${number(read)} + ${number(wrote ?? 0)}`, cost: receipt.cost,
    request: JSON.stringify(receipt.request), id: receipt.answer_id };
  const page = h("div.ask", h("div.conversation", h("header.row.spread", h("h1", t("receipt.title")), again), receipt.shortened && h("p.notice.warning", t("receipt.shortened")),
    h("dl.facts[data-receipt-facts]", Object.entries(facts).map(([name, value]) => value && value !== "{}" && [h("dt", t(`receipt.${name}`)), h("dd", value)])), turn.element, replayed));
  show(main, page);
  open = host(page, signal, () => turn);
  // What became of the cited documents since then.
  const keys = [...new Set(receipt.citations.map((one) => one.key))].slice(0, 20);
  await Promise.all(keys.map(async (key) => {
    const citations = receipt.citations.filter((one) => one.key === key);
    const { state } = await sourceState(citations[0]).catch(() => ({}));
    for (const one of citations) turn.states.set(one, state);
  }));
  turn.drawAnswer();
}

async function replay(receipt, element, again, open) {
  const { session, ...fields } = receipt.request; // links that a session has followed are not followed twice
  const turn = new Turn({ query: receipt.question, ...fields }, [], open);
  const difference = h("div.part");
  show(element, difference, h("h2", t("receipt.now")), turn.element);
  element.scrollIntoView();
  again.disabled = true;
  await turn.run();
  again.disabled = false;
  if (!turn.done) return;
  try {
    const now = await Promise.all(receipt.documents.map(async (one) => ({ ...one, now: (await sourceState(one)).record?.live_version_id })));
    show(difference, differences(receipt, turn.done, now.filter((one) => one.now !== one.version_id)));
  } catch (error) {
    show(difference, problem(error));
  }
}

function differences(receipt, now, changed) {
  const missing = (of, among) => of.filter((one) => !among.some((other) => other.key === one.key && other.quote === one.quote));
  const gone = missing(receipt.citations, now.citations);
  const added = missing(now.citations, receipt.citations);
  const others = [...now.sources, ...now.linked_docs].filter((one) => !receipt.documents.some((each) => each.key === one.key));
  const why = changed.length ? "versions" : receipt.model !== now.model ? "model" : receipt.prompt_version !== now.prompt_version ? "prompt" : others.length ? "others" : "chance";
  const same = receipt.answer === now.answer && !gone.length && !added.length;
  const list = (name, items, row) => items.length > 0 && [h("h3", t(`receipt.${name}`)), h("ul.documents", { [`data-${name}`]: true }, items.map((one) => h("li", row(one))))];
  const quote = (one) => [h("q", one.quote), h("div.muted.small", placeOf(one).place)];
  return h("section.card.part", { "data-difference": same ? "same" : "differs" }, h("h2", t(same ? "receipt.same" : "receipt.differs")), !same && h("p", { "data-because": why }, t(`receipt.because.${why}`)),
    !same && h("p.diff", wordDifference(receipt.answer, now.answer).map(([kind, text]) => (kind ? h(kind, text) : text))), list("gone", gone, quote), list("added", added, quote),
    list("versions", changed, (one) => [h("a", { href: `#${documentPath(one.vault, one.path)}` }, `${one.vault}/${one.path}`), h("div.muted.small", `${one.version_id} → ${one.now ?? t("source.gone")}`), h("a.small[data-compare]", { href: versionsLink(one.vault, one.path, { from: one.version_id, to: one.now }) }, t("past.what"))]),
    list("others", others, (one) => h("a", { href: `#${documentPath(one.vault, one.path)}` }, `${one.vault}/${one.path}`)),
    ["model", "prompt_version"].map((name) => receipt[name] !== now[name] && h("p", `${name}: ${receipt[name]} → ${now[name]}`)));
}
