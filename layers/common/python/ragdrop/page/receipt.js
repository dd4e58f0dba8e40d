// The receipt of an answer: what was asked, said and shown; asked again, what differs.

import { call, documentPath } from "./api.js";
import { h, show } from "./dom.js";
import { host, sourceState } from "./evidence.js";
import { placeOf } from "./marks.js";
import { loading, problem } from "./problems.js";
import { number, t, when } from "./strings.js";
import { Turn } from "./turn.js";

const MAX_EDITS = 1500; // beyond them a text counts as rewritten

export async function view(main, { parts, signal }) {
  show(main, loading());
  const receipt = await call(`/answers/${encodeURIComponent(parts[0] ?? "")}`, { signal });
  let open;
  const turn = Turn.of(receipt, (...evidence) => open(...evidence));
  const replayed = h("div", { class: "replay" });
  const again = h("button", { class: "button primary", type: "button", "data-replay": true, onclick: () => replay(receipt, replayed, again, (...evidence) => open(...evidence)) }, t("receipt.replay"));
  const fact = (name, value) => value !== null && value !== undefined && value !== "" && [h("dt", {}, t(`receipt.${name}`)), h("dd", {}, value)];
  const { prompt_tokens: read, completion_tokens: wrote } = receipt.usage;
  const page = h("div", { class: "ask" }, h("div", { class: "conversation" },
    h("header", { class: "row spread" }, h("h1", {}, t("receipt.title")), again),
    receipt.shortened && h("p", { class: "notice warning" }, t("receipt.shortened")),
    h("dl", { class: "facts", "data-receipt-facts": true }, fact("created", when(receipt.created_at)), fact("expires", when(receipt.expires_at)), fact("model", receipt.model), fact("prompt", receipt.prompt_version),
      fact("tokens", read === null ? null : `${number(read)} + ${number(wrote ?? 0)}`), fact("cost", receipt.cost), fact("request", Object.keys(receipt.request).length ? JSON.stringify(receipt.request) : null), fact("id", receipt.answer_id)),
    turn.element, replayed));
  show(main, page);
  open = host(page, signal, () => turn);
  // What became of the cited documents since then.
  const documents = Object.groupBy(receipt.citations, (one) => one.key);
  await Promise.all(Object.values(documents).slice(0, 20).map(async (citations) => {
    const { record, state } = await sourceState(citations[0]).catch(() => ({ state: null }));
    for (const one of citations) if (state === "gone" || (record && record.live_version_id !== one.version_id)) turn.states.set(one, state ?? "changed");
  }));
  if (turn.states.size) turn.drawAnswer();
}

async function replay(receipt, element, button, open) {
  const { session, ...fields } = receipt.request; // links that a session has followed are not followed twice
  const turn = new Turn({ query: receipt.question, ...fields }, [], open);
  const difference = h("div", {});
  show(element, h("h2", {}, t("receipt.now")), turn.element, difference);
  button.disabled = true;
  await turn.run();
  button.disabled = false;
  if (!turn.done) return;
  try {
    show(difference, differences(receipt, turn.done, await Promise.all(receipt.documents.map(async (one) => ({ ...one, now: (await sourceState(one)).record?.live_version_id ?? null })))));
  } catch (error) {
    show(difference, problem(error));
  }
}

function differences(receipt, now, documents) {
  const quoted = (among) => new Set(among.map((one) => `${one.key}\n${one.quote}`));
  const missing = (of, among) => of.filter((one) => !quoted(among).has(`${one.key}\n${one.quote}`));
  const gone = missing(receipt.citations, now.citations);
  const added = missing(now.citations, receipt.citations);
  const changed = documents.filter((one) => one.now !== one.version_id);
  const same = receipt.answer === now.answer && !gone.length && !added.length;
  const list = (name, items, row) => items.length > 0 && [h("h3", {}, t(`receipt.${name}`)), h("ul", { class: "documents", [`data-${name}`]: true }, items.map((one) => h("li", {}, row(one))))];
  const quote = (one) => [h("q", {}, one.quote), h("div", { class: "muted small" }, Object.values(placeOf(one)).join("/"))];
  return h("section", { class: "card stack", "data-difference": same ? "same" : "differs" },
    h("h2", {}, t(same ? "receipt.same" : "receipt.differs")),
    receipt.answer !== now.answer && h("p", { class: "diff" }, wordDifference(receipt.answer, now.answer).map(([kind, text]) => (kind ? h(kind, {}, text) : text))),
    list("citations_gone", gone, quote), list("citations_new", added, quote),
    list("documents_changed", changed, (one) => [h("a", { href: `#${documentPath(one.vault, one.path)}` }, `${one.vault}/${one.path}`), h("div", { class: "muted small mono" }, `${one.version_id} → ${one.now ?? t("source.gone")}`)]),
    ["model", "prompt_version"].filter((name) => receipt[name] !== now[name]).map((name) => h("p", {}, `${name}: ${receipt[name]} → ${now[name]}`)));
}

// [["del" | "ins" | null, text] …] that makes *after* of *before*, word by word (Myers, "An O(ND) Difference Algorithm",
// 1986).
export function wordDifference(before, after) {
  const a = before.match(/\s+|\S+/g) ?? [];
  const b = after.match(/\s+|\S+/g) ?? [];
  const trace = [];
  const ends = new Map([[1, 0]]);
  const reach = (edits) => {
    for (let k = -edits; k <= edits; k += 2) {
      let x = k === -edits || (k !== edits && ends.get(k - 1) < ends.get(k + 1)) ? ends.get(k + 1) : ends.get(k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      ends.set(k, x);
      if (x >= a.length && x - k >= b.length) return true;
    }
    return false;
  };
  for (let edits = 0; ; edits += 1) {
    if (edits > MAX_EDITS) return [["del", before], ["ins", after]];
    trace.push(new Map(ends));
    if (reach(edits)) break;
  }
  const parts = [];
  const add = (kind, text) => (parts[0]?.[0] === kind ? parts[0][1] = text + parts[0][1] : parts.unshift([kind, text]));
  for (let x = a.length, y = b.length, edits = trace.length - 1; edits >= 0; edits -= 1) {
    const held = trace[edits];
    const k = x - y;
    const from = k === -edits || (k !== edits && held.get(k - 1) < held.get(k + 1)) ? k + 1 : k - 1;
    const startX = edits ? held.get(from) : 0;
    const startY = edits ? startX - from : 0;
    while (x > startX && y > startY) { x -= 1; y -= 1; add(null, a[x]); }
    if (edits) {
      if (x > startX) add("del", a[startX]);
      else add("ins", b[startY]);
    }
    x = startX;
    y = startY;
  }
  return parts;
}
