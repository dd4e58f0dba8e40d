// What waits in the stages of a vault, what its golden questions say of it, and letting it answer or removing it.

import { call, query } from "./api.js";
import { vaultChoice } from "./changes.js";
import { announce, button, h, show } from "./dom.js";
import { empty, loading, problem } from "./problems.js";
import { chip, linkTo, quiet } from "./records.js";
import { number, t, when } from "./strings.js";

const PATHS = 50; // of a stage, on the page
const sign = (is) => h("span", { class: `status-${is ? "indexed" : "failed"}`, "data-passed": String(is) }, is ? "✓ " : "✕ ", t(is ? "golden.answered" : "golden.missed"));

export async function view(main, { me, params, signal }) {
  const writes = me.role !== "reader";
  let vault = params.get("vault") || me.vaults[0] || "";
  const trouble = h("div[role=status]");
  const stages = h("section");
  const golden = h("section");
  show(main, h("div.records[data-page=stages]", h("h1", t("stages.title")), h("p.muted", t("stages.intro")), vaultChoice(me, vault, (name) => {
    vault = name;
    history.replaceState(null, "", `#/stages${query({ vault })}`);
    load();
  }), trouble, stages, golden));
  await load();

  async function load() {
    show(trouble);
    if (!vault) return show(stages, empty(t("docs.none")));
    await Promise.all([fill(stages, `/stages${query({ vault })}`, ({ stages: all }) => [h("h2", t("stages.waiting")), all.map(stage), !all.length && h("p.muted[data-no-stages]", t("stages.none"))]),
      fill(golden, "/canaries", ({ canaries }) => questions(canaries.find((each) => each.vault === vault)))]);
  }

  async function fill(element, path, draw) {
    const mine = vault;
    show(element, loading());
    try {
      const found = await call(path, { signal });
      if (mine === vault) show(element, draw(found));
    } catch (error) {
      if (mine === vault && !signal.aborted) show(element, problem(error, () => fill(element, path, draw)));
    }
  }

  function stage({ name, waiting, total, pending, promoted }) {
    const route = `/stages/${encodeURIComponent(vault)}/${encodeURIComponent(name)}`;
    const result = h("div[role=status]");
    const act = (action, run, more = {}) => button(`[data-action=${action}]`, t(`stages.${action}`), async ({ target }) => {
      target.disabled = true;
      show(result, loading(t("stages.asking")));
      try {
        await run();
      } catch (error) {
        const failed = error.details?.failed;
        show(result, failed ? [h("p.notice.danger[data-refused]", t("stages.refused")), table(failed)] : problem(error));
      }
      target.disabled = false;
    }, more);
    const check = act("check", async () => {
      const { checks } = await call(`${route}/check`, { signal });
      show(result, checks.length ? table(checks) : h("p.muted", t("golden.none")));
    });
    const done = async (action) => {
      const { total: count } = await call(`${route}/${action}`, { method: "POST" });
      await load();
      show(trouble, h("p.notice", { "data-done": action }, t(`stages.${action}.done`, { count: number(count) })));
      announce(trouble.textContent);
    };
    const discard = button(".danger[data-action=discard]", t("stages.discard"), () => {
      const sure = act("discard", () => done("discard"));
      show(result, h("p", t("stages.discard.text", { name })), h("div.row", sure, button("", t("common.cancel"), () => { show(result); discard.focus(); })));
      sure.focus();
    });
    return h("article.card.stack", { "data-stage": name }, h("div.row.spread", h("h3", name), h("span.row", promoted && chip("live"), quiet(t("stages.count", { count: number(total) })), pending > 0 && quiet(t("stages.pending", { count: number(pending) })))),
      h("ul.links", waiting.slice(0, PATHS).map((path) => h("li", h("a", { href: linkTo(vault, path) }, path))), total > PATHS && h("li.muted", t("up.more", { count: number(total - PATHS) }))),
      h("div.row", check, writes && !promoted && [act("promote", () => done("promote"), { class: "primary" }), discard]), result);
  }

  function questions(run) {
    const ask = writes && button("[data-action=ask-golden]", t("golden.ask"), async () => {
      ask.disabled = true;
      try {
        show(golden, questions(await call(`/canaries/${encodeURIComponent(vault)}`, { method: "POST" })));
      } catch (error) {
        golden.append(problem(error));
        ask.disabled = false;
      }
    });
    const head = h("div.row.spread", h("h2", t("golden.title")), ask);
    if (!run?.questions) return [head, h("p.muted[data-no-golden]", t("golden.none"))];
    return [head, quiet(t("golden.result", { answered: number(run.answered), count: number(run.questions) }), run.measured_at && ` · ${when(run.measured_at)}`),
      run.not_measured && h("p.notice.warning", t("golden.not_measured"), " ", h("code", run.not_measured)),
      h("div.scroll-x", h("table.table[data-golden]", h("thead", h("tr", ["golden.question", "golden.expected", "golden.now"].map((key) => h("th[scope=col]", t(key))))),
        h("tbody", run.outcomes.map((one) => h("tr", h("td", one.question), h("td", one.expected), h("td", sign(one.answered), run.dropped.includes(one.question) && ` ${t("golden.dropped")}`))))))];
  }
}

const table = (checks) => h("div.scroll-x[tabindex=0][role=region]", { "aria-label": t("golden.title") }, h("table.table[data-checks]",
  h("thead", h("tr", ["golden.question", "golden.expected", "golden.now", "golden.staged"].map((key) => h("th[scope=col]", t(key))))),
  h("tbody", checks.map((one) => h("tr", h("td", one.question), h("td", one.expected), h("td", sign(one.live)), h("td", sign(one.staged)))))));
