// What changed in a vault within a week, by day, the newest first.

import { call, query } from "./api.js";
import { button, h, show } from "./dom.js";
import { empty, loading, problem } from "./problems.js";
import { chip, field, linkTo, quiet } from "./records.js";
import { endOf, number, t, today, when } from "./strings.js";
import { undoing, versionsLink } from "./versions.js";

const WEEK_MS = 7 * 86_400_000;
const STATES = { activated: "live", failed: "failed", deleted: "deleted" };

// A choice of one of the vaults that the key sees; *chosen* hears of it.
export function vaultChoice(me, now, chosen) {
  const names = [...new Set([now, ...me.vaults])].filter(Boolean).sort();
  return field("which-vault", t("docs.by.vault"), h("select", { onchange: ({ target }) => chosen(target.value) }, names.map((value) => h("option", { value, selected: value === now }, value))));
}

export async function view(main, { me, params, signal }) {
  let vault = params.get("vault") || me.vaults[0] || "";
  let cursor = null;
  let loads = 0; // an older load that ends later does not count
  const list = h("div.stack[data-changes]");
  const line = h("p.muted.small[role=status]");
  const more = button("[data-action=more]", t("common.more"), () => load());
  const then = h("div.stack[role=status][data-then]");
  const day = h("input[type=date]", { max: today(), onchange: () => day.value && back(true) });
  show(main, h("div.records[data-page=changes]", h("h1", t("changes.title")), h("p.muted", t("changes.intro")), vaultChoice(me, vault, (name) => {
    [vault, cursor] = [name, null];
    history.replaceState(null, "", `#/changes${query({ vault })}`);
    show(list);
    show(then);
    day.value = "";
    load();
  }), me.role !== "reader" && field("then-day", t("then.day"), day), then, line, list, more));
  await load();

  // What differs from the end of a day; the vault is taken back to it unless this is *dry*.
  async function back(dry) {
    const steps = [];
    const body = { to: endOf(day.value) || new Date(Date.now() - 1000).toISOString(), dry_run: dry };
    show(then, loading());
    try {
      for (let cursor = null, first = true; first || cursor; first = false) {
        const found = await call(`/vaults/${encodeURIComponent(vault)}/rollback`, { method: "POST", body: { ...body, cursor }, signal });
        steps.push(...found.steps.filter(({ action }) => action !== "done"));
        cursor = found.cursor;
      }
      const sure = button(".danger[data-action=take-back]", t("then.back"), () => {
        const no = button("", t("common.cancel"), () => back(true));
        sure.replaceWith(h("div.row", no, button(".danger[data-action=confirm]", t("then.sure"), () => back(false))));
        no.focus();
      });
      show(then, h("p", t(dry ? "then.differs" : "then.done", { count: number(steps.length) })), h("ul.links", steps.slice(0, 200).map((step) => h("li.row", { "data-step": step.action }, h("a", { href: linkTo(vault, step.path) }, step.path), quiet(t(`then.${step.action}`))))), dry && steps.length > 0 && sure);
    } catch (error) {
      if (!signal.aborted) show(then, problem(error));
    }
  }

  async function load() {
    const mine = loads += 1;
    more.hidden = true;
    if (!vault) return show(list, empty(t("docs.none")));
    const wait = h("div", loading());
    list.append(wait);
    try {
      const found = await call(`/changes${query({ vault, order: "newest", since: new Date(Date.now() - WEEK_MS).toISOString(), cursor, limit: 100 })}`, { signal });
      if (mine !== loads) return;
      wait.remove();
      found.changes.forEach(add);
      cursor = found.cursor;
      more.hidden = !found.more;
      const count = list.querySelectorAll("[data-change]").length;
      line.textContent = t("changes.count", { count: number(count) });
      if (!count) show(list, empty(t("changes.none")));
    } catch (error) {
      if (mine === loads && !signal.aborted) show(wait, problem(error, () => { wait.remove(); return load(); }));
    }
  }

  function add(change) {
    const day = when(change.at, { dateStyle: "full" });
    let part = list.querySelector("section:last-of-type");
    if (part?.dataset.day !== day) list.append(part = h("section.card", { "data-day": day }, h("h2", day), h("ul.links")));
    const { vault: of, path, version_id: to, previous_version_id: from, id } = change;
    const compared = change.kind !== "failed" && (to || from);
    part.lastElementChild.append(h("li.row", { "data-change": id, "data-kind": change.kind }, h("span.muted.small", when(change.at, { timeStyle: "short" })), chip(STATES[change.kind]), h("a", { href: linkTo(of, path) }, path),
      quiet(change.written_by), compared && h("a.small[data-compare]", { href: versionsLink(of, path, to ? { from, to } : { to: id }), "aria-label": `${t("past.what")}: ${path}` }, t(from && to ? "past.what" : "doc.versions")),
      change.kind === "deleted" && me.role !== "reader" && undoing(change, () => null, ".small")));
  }
}
