// What waits in the stages of a vault, what its golden questions say of it, and letting it answer or removing it; the
// golden questions themselves.

import { call, documentPath, query } from "./api.js";
import { vaultChoice } from "./changes.js";
import { announce, button, h, show, table } from "./dom.js";
import { empty, loading, problem } from "./problems.js";
import { chip, failure, linkTo, quiet } from "./records.js";
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
        show(result, failed ? [h("p.notice.danger[data-refused]", t("stages.refused")), checked(failed)] : problem(error));
      }
      target.disabled = false;
    }, more);
    const check = act("check", async () => {
      const { checks } = await call(`${route}/check`, { signal });
      show(result, checks.length ? checked(checks) : h("p.muted", t("golden.none")));
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

  // Change the golden questions in the settings file of the vault, of which all else stays as it is.
  async function edit() {
    const where = documentPath(vault, ".ragdrop.json");
    show(golden, loading());
    const record = await call(where, { signal }).catch((error) => { if (error.status !== 404) throw error; });
    const exists = record && record.status !== "deleted";
    const settings = exists ? JSON.parse((await call(`${where}?content=1`, { signal })).text) : {};
    const [holder, name] = settings.admission?.questions ? [settings.admission, "questions"] : [settings, "golden_questions"];
    const list = h("div.stack");
    const trouble = h("div[role=status]");
    const add = (one = { question: "", text: "" }) => list.append(row(one));
    (holder[name] ?? [undefined]).forEach((one) => add(one));
    const save = h("button.button.primary[data-action=save-golden]", t("thread.save"));
    show(golden, h("h2", t("golden.title")), h("p.muted", t("golden.edit.text")), h("form.card.stack[data-edit-golden]", { onsubmit: async (event) => {
      event.preventDefault();
      save.disabled = true;
      show(trouble, loading());
      try {
        await store();
      } catch (error) {
        if (!signal.aborted) show(trouble, problem(error));
      }
      save.disabled = false;
    } }, list, trouble, h("div.row", save, button("[data-action=add-golden]", t("golden.add"), () => { add(); list.lastChild.querySelector("input").focus(); }), button("", t("common.cancel"), load))));
    list.querySelector("input").focus();

    function row(one) {
      const input = (label, value) => h("input[required][maxlength=1000]", { value, "aria-label": label, placeholder: label });
      const question = input(t("golden.question"), one.question);
      const kind = h("select", { "aria-label": t("golden.kind") }, ["text", "document"].map((value) => h("option", { value, selected: value in one }, t(`golden.${value}`))));
      const expected = input(t("golden.expected"), one.text ?? one.document);
      const line = h("div.filters.field[data-golden-row]", question, kind, expected, button("[data-action=remove]", t("remove.delete"), () => line.remove(), { "aria-label": t("golden.remove", { question: one.question }) }));
      line.made = () => ({ question: question.value.trim(), [kind.value]: expected.value.trim() });
      return line;
    }

    async function store() {
      const questions = [...list.children].map((line) => line.made());
      if (questions.length) holder[name] = questions; else delete holder[name];
      const put = { method: "PUT", body: JSON.stringify(settings, null, 2), headers: { "content-type": "application/json", ...(exists ? { "if-match": `"${record.etag}"` } : { "if-none-match": "*" }) }, signal };
      const { version_id: version } = await call(where, put);
      let now;
      do {
        await new Promise((resolve) => { setTimeout(resolve, 500); });
        now = await call(where + query({ version }), { signal });
      } while (now.status === "pending");
      if (now.error) return show(trouble, failure(now.error));
      await load();
    }
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
    const change = me.role === "admin" && button("[data-action=edit-golden]", t("golden.edit"), () => edit().catch((error) => signal.aborted || show(golden, problem(error, load))));
    const head = h("div.row.spread", h("h2", t("golden.title")), h("div.row", run && ask, change));
    if (!run?.questions) return [head, h("p.muted[data-no-golden]", t("golden.none"))];
    return [head, quiet(t("golden.result", { answered: number(run.answered), count: number(run.questions) }), run.measured_at && ` · ${when(run.measured_at)}`),
      run.not_measured && h("p.notice.warning", t("golden.not_measured"), " ", h("code", run.not_measured)),
      grid("[data-golden]", ["now"], run.outcomes.map((one) => [one.question, one.expected, [sign(one.answered), run.dropped.includes(one.question) && ` ${t("golden.dropped")}`]]))];
  }
}

const grid = (where, heads, rows) => table(t("golden.title"), where, ["question", "expected", ...heads].map((head) => t(`golden.${head}`)), rows);
const checked = (checks) => grid("[data-checks]", ["now", "staged"], checks.map((one) => [one.question, one.expected, sign(one.live), sign(one.staged)]));
