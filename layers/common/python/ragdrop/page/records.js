// What the views of documents and of health share.

import { call, documentPath } from "./api.js";
import { announce, button, h, show } from "./dom.js";
import { problem } from "./problems.js";
import { known, number, t, when } from "./strings.js";

const SIGNS = { indexed: "✓", live: "✓", healthy: "✓", found: "✓", pending: "◌", staged: "◷", waiting: "·", sending: "↑", failed: "✕", broken: "✕", unavailable: "✕",
  degraded: "!", left_out: "⊘", replaced: "↺", web: "↗" };
const TRIES = 6;
const LONGEST_WAIT_S = 90;  // a daily limit is not waited for

export const quiet = (...said) => h("p.muted.small", said);

export function field(id, label, control) {
  control.id = id;
  return h("div.field", h("label", { for: id }, label), control);
}

// A state as a sign and a word.
export const chip = (state) => h("span.chip", { class: `status-${state}`, "data-status": state }, h("span[aria-hidden=true]", SIGNS[state] ?? "–"), t(`state.${state}`));

// "48 indexed, 2 failed" of the counts that are not zero.
export const tally = (counts) => Object.entries(counts).filter(([, count]) => count).map(([state, count]) => `${number(count)} ${t(`state.${state}`).toLowerCase()}`).join(", ");

// Why a document failed: in plain words, with the code and what the server said.
export function failure({ code, message }) {
  const words = known("reason", code);
  return h("div.failure", { "data-failure": code }, h("p", words === code ? message : words), quiet(h("code", code), words !== code && ` ${message ?? ""}`));
}

export const linkTo = (vault, path, parameters = "") => `#${documentPath(vault, path)}${parameters}`;
export const nameOf = (path) => path.slice(path.lastIndexOf("/") + 1);
export const passes = (error) => ["limited", "unavailable", "offline"].includes(error.kind);
export const retry = ({ vault, path }) => call(`${documentPath(vault, path)}/retry`, { method: "POST" });

// The result of *work*, tried again after what may pass.
export async function patiently(work, signal) {
  for (let tried = 1; ; tried++) {
    try {
      return await work();
    } catch (error) {
      if (tried === TRIES || !passes(error) || error.retryAfter > LONGEST_WAIT_S) throw error;
      await new Promise((resolve) => { setTimeout(resolve, 1000 * (error.retryAfter ?? 2 ** tried)); });
      signal.throwIfAborted();
    }
  }
}

// Call *work* until it returns "done": soon after something "changed", more rarely otherwise, never while the tab is
// hidden.  Returns what starts it over.
export function poll(work, signal, first = 1_500, most = 20_000) {
  let delay = first;
  let timer = 0;
  let due = Infinity;
  let busy = false;
  function plan(wait) {
    delay = wait;
    due = Date.now() + wait;
    clearTimeout(timer);
    timer = setTimeout(run, wait);
  }
  async function run() {
    if (busy || document.hidden || signal.aborted) return;
    busy = true;
    due = Infinity;
    const outcome = await work().catch((error) => { delay = Math.max(delay, 1000 * error.retryAfter || 0); });
    busy = false;
    if (outcome !== "done" && due === Infinity) plan(outcome === "changed" ? first : Math.max(delay, Math.min(most, delay * 1.5)));
  }
  document.addEventListener("visibilitychange", () => { if (due < Infinity) run(); }, { signal });
  return () => { if (due > Date.now() + first) plan(first); };
}

// Let *parent* hold *elements* in this order; those in their place are not touched and keep the focus.
export function arrange(parent, elements) {
  const kept = new Set(elements);
  for (const old of [...parent.children]) if (!kept.has(old)) old.remove();
  elements.forEach((element, place) => { if (parent.children[place] !== element) parent.insertBefore(element, parent.children[place] ?? null); });
}

// A dialog that deletes a document, or purges it for good; the receipt, null where people thought better of it.
export function remove({ vault, path }, kind = "delete") {
  const name = nameOf(path);
  let receipt = null;
  const typed = kind === "purge" && h("input[autocomplete=off][spellcheck=false]", { oninput: () => { sure.disabled = typed.value.trim() !== name; } });
  const sure = button(".danger[data-action=confirm]", t(`remove.${kind}`), act, { disabled: Boolean(typed) });
  const cancel = button("[data-action=cancel]", t("common.cancel"), () => dialog.close());
  const failed = h("div");
  const title = h("h2[id=remove-title]", t(`remove.${kind}.title`, { name }));
  const body = h("div.stack", title, h("p", `${vault}/${path}`), h("p", t(`remove.${kind}.text`)), typed && field("remove-name", t("remove.type", { name }), typed), failed, h("div.row", sure, cancel));
  const dialog = h("dialog.dialog[aria-labelledby=remove-title]", { "data-remove": kind }, body);

  async function act() {
    sure.disabled = true;
    try {
      receipt = await call(documentPath(vault, path) + (typed ? "?purge=1" : ""), { method: "DELETE" });
      const { restorable_until: until, version_id: version, purged } = receipt;
      const close = button(".primary[data-action=close]", t("common.close"), () => dialog.close());
      const undo = h("span");
      if (!typed) import("./versions.js").then(({ undoing }) => show(undo, undoing({ vault, path }, () => { receipt.undone = true; })));
      title.textContent = t(`remove.${kind}.done`, { name });
      show(body, title, h("dl.facts[data-receipt]", h("dt", t("remove.until")), h("dd", until ? when(until) : t("remove.never")),
        version && [h("dt", t("remove.version")), h("dd.mono", version)], purged && [h("dt", t("remove.purged")), h("dd", t("remove.counts", purged))]), h("div.row", close, undo));
      close.focus();
      announce(title.textContent);
    } catch (error) {
      show(failed, problem(error));
      sure.disabled = false;
    }
  }

  document.body.append(dialog);
  dialog.showModal();
  (typed || cancel).focus();
  return new Promise((resolve) => dialog.addEventListener("close", () => {
    dialog.remove();
    resolve(receipt);
  }));
}
