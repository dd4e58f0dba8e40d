// The versions of a document: what changed between two of them, and taking one back; the undoing of a deletion.

import { call, documentPath, query } from "./api.js";
import { announce, button, h, show } from "./dom.js";
import { lineDifference } from "./difference.js";
import { empty, loading, problem } from "./problems.js";
import { chip, linkTo, nameOf, patiently, quiet } from "./records.js";
import { bytes, number, t, when } from "./strings.js";

const COMPARED = 300_000; // code points of each version
const AROUND = 3;         // lines shown before and after a change
const PARTS = 1_000;      // of a difference, shown at once
const PASSAGES = 20;      // versions whose changed passages the API gives at once

// The view of a document's versions; *chosen* may name two of them.
export const versionsLink = (vault, path, chosen = {}) => `#/versions${documentPath(vault, path).slice("/documents".length)}${query(chosen)}`;

// Let what a change brought be live again; the step of the rollback that was made.
export async function restore({ vault, path }, changeId) {
  const { steps } = await call(`/vaults/${encodeURIComponent(vault)}/rollback`, { method: "POST", body: { to: changeId, path } });
  return steps[0]?.action ?? "done";
}

// Let a deleted document be live again, as it was before; "lost" where its version is no longer stored.
export async function undelete(document) {
  const { versions } = await call(`${documentPath(document.vault, document.path)}/history`);
  const last = versions.find(({ status, change_id: id }) => id && ["live", "replaced"].includes(status));
  return last ? restore(document, last.change_id) : "lost";
}

// A button that takes *document* back from its deletion and then calls *done*.
export function undoing(document, done, where = "") {
  const undo = button(`[data-action=undo]${where}`, t("past.undo"), async () => {
    undo.disabled = true;
    try {
      const action = await undelete(document);
      announce(t(`past.action.${action}`));
      undo.replaceWith(h("span.small[role=status]", { "data-restored": action }, t(`past.action.${action}`)));
      if (action !== "lost") done();
    } catch (error) {
      undo.disabled = false;
      undo.after(problem(error));
    }
  }, { "aria-label": `${t("past.undo")}: ${nameOf(document.path)}` });
  return undo;
}

export async function view(main, { me, parts: [vault, ...segments], params, signal }) {
  const path = segments.join("/");
  const where = documentPath(vault, path);
  const writes = me.role !== "reader";
  let versions = [];
  let cursor = null;
  let asked = 0; // an older comparison that ends later does not count
  const chosen = { from: params.get("from"), to: params.get("to") };
  // Versions have an id of S3, deletions that of their change alone.
  const idOf = (version) => version.version_id ?? version.change_id;
  const at = (name) => versions.findIndex((each) => idOf(each) === chosen[name]);
  const list = h("ol.links[data-versions]");
  const more = button("[data-action=more]", t("common.more"), () => load().catch(failed));
  const trouble = h("div");
  const difference = h("section.card[data-compared][aria-live=polite]");
  const failed = (error) => signal.aborted || show(trouble, problem(error));
  show(main, h("div.records[data-page=versions]", { "data-document": `${vault}/${path}` },
    h("nav.small.muted", { "aria-label": t("doc.place") }, h("a[href=#/documents]", t("nav.documents")), " / ", h("a", { href: linkTo(vault, path) }, `${vault}/${path}`)),
    h("h1", t("past.title", { name: nameOf(path) })), h("p.muted", t("past.intro")), trouble, h("div.versions-grid", h("section", list, more), difference)));
  document.title = `${t("past.title", { name: nameOf(path) })} · ${t("app.name")}`;
  await load();

  async function load() {
    const found = await call(`${where}/history${query({ cursor, limit: 50 })}`, { signal });
    versions = [...versions, ...found.versions];
    cursor = found.cursor;
    more.hidden = !cursor;
    draw();
    await compare();
  }

  function draw() {
    if (at("to") < 0) chosen.to = versions[0] && idOf(versions[0]);
    if (at("from") < 0) chosen.from = versions[at("to") + 1] ? idOf(versions[at("to") + 1]) : chosen.to;
    const held = document.activeElement?.dataset.choose;
    show(list, versions.map((version) => {
      const id = idOf(version);
      const name = `${when(version.modified_at, { dateStyle: "medium", timeStyle: "medium" })}, ${t(`state.${version.status}`)}`;
      const pick = (side) => h("label.check", h("input[type=radio]", { name: side, checked: chosen[side] === id, "data-choose": `${side} ${id}`, "aria-label": `${t(`past.${side}`)}: ${name}`,
        onchange: () => { chosen[side] = id; draw(); compare(); } }), t(`past.${side}`));
      return h("li.row", { "data-version": id }, pick("from"), pick("to"), h("span", when(version.modified_at), " ", chip(version.status)),
        quiet([version.size_bytes && bytes(version.size_bytes), version.written_by].filter(Boolean).join(" · ")),
        writes && version.status === "replaced" && version.change_id && button(".small[data-action=restore]", t("past.restore"), ({ target }) => back(version, target), { "aria-label": `${t("past.restore")}: ${name}` }));
    }));
    if (held) list.querySelector(`[data-choose="${CSS.escape(held)}"]`)?.focus();
  }

  async function back(version, pressed) {
    pressed.disabled = true;
    try {
      const action = await restore({ vault, path }, version.change_id);
      announce(t(`past.action.${action}`));
      show(trouble, h("p.notice", { "data-restored": action }, t(`past.action.${action}`), " ", h("a", { href: linkTo(vault, path) }, t("common.open_document"))));
    } catch (error) {
      failed(error);
    }
    pressed.disabled = false;
  }

  async function compare() {
    const mine = asked += 1;
    const [from, to] = [at("from"), at("to")].map((place) => versions[place]);
    if (!to) return show(difference, empty(t("doc.none")));
    history.replaceState(null, "", versionsLink(vault, path, { from: idOf(from), to: idOf(to) }));
    show(difference, loading());
    let body;
    try {
      body = await compared(from, to);
    } catch (error) {
      body = problem(error, compare);
    }
    if (mine === asked && !signal.aborted) show(difference, h("h2", t("past.what")), quiet(when(from.modified_at), " → ", when(to.modified_at)), body);
  }

  // Whole texts where both are stored; else the passages that the record of the past has of the later version.
  async function compared(from, to) {
    const whole = from.version_id && to.version_id;
    const texts = whole && await Promise.all([from, to].map((version) => patiently(() => call(where + query({ version: version.version_id, span: `0-${COMPARED}` }), { signal }), signal)))
      .catch((error) => { if (error.status !== 404) throw error; });
    if (texts) return [texts.some(({ end }) => end >= COMPARED) && quiet(t("past.cut", { count: number(COMPARED) })), lines(...texts.map(({ text }) => text))];
    const { versions: some } = await call(`${where}/history${query({ changes: 1, limit: PASSAGES })}`, { signal });
    const found = some.find((each) => idOf(each) === idOf(to));
    if (!found) return h("p.muted", t("doc.version_gone"));
    return [quiet(t("past.passages")), h("div.diff", [["del", found.removed], ["ins", found.added]].map(([kind, passages]) => passages.map((passage) => h("p", h(kind, passage))))), found.cut && quiet(t("past.more"))];
  }
}

// The difference of two texts; what is the same is folded to some lines around it.
function lines(before, after) {
  const parts = lineDifference(before, after);
  if (parts.every(([kind]) => kind === null)) return h("p.muted[data-same]", t("past.same"));
  let shown = 0;
  const body = h("div.diff[tabindex=0][role=region]", { "aria-label": t("past.what") });
  const more = button(".quiet[data-action=more-parts]", t("common.more"), add);
  add();
  return [body, more];

  function add() {
    body.append(...parts.slice(shown, shown + PARTS).flatMap(([kind, text], at) => part(kind, text, shown + at)));
    shown += PARTS;
    more.hidden = shown >= parts.length;
  }

  function part(kind, text, place) {
    if (kind) return h(kind, h("span.visually-hidden", t(`past.${kind}`), " "), text);
    const all = text.split("\n");
    const [first, last] = [place > 0 ? AROUND : 0, place < parts.length - 1 ? AROUND + 1 : 1];
    const folded = all.length - first - last;
    if (folded < 2) return text;
    return [all.slice(0, first).map((line) => `${line}\n`), h("span.muted[data-folded]", t("past.folded", { count: number(folded) })), "\n", all.slice(all.length - last).join("\n")].flat();
  }
}
