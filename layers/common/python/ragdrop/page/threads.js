// Threads: the list of one's own, and what can be done with one: open, name, share, export, delete.

import { base, call, query } from "./api.js";
import { announce, button, download, h, show } from "./dom.js";
import { empty, loading, problem } from "./problems.js";
import { number, t, when } from "./strings.js";
import { copy, toast } from "./turn.js";

const path = (thread, more = "") => `/threads/${encodeURIComponent(thread.thread_id)}${more}`;

// The name of a thread; others than its owner may be told none.
export const nameOfThread = (thread) => thread.name || t("thread.unnamed");

// Share a thread or stop it; the link is copied when it begins.
export async function share(thread, shared = !thread.shared) {
  const changed = await call(path(thread), { method: "PATCH", body: { shared } });
  if (shared) await copy(`${base}/app#/threads/${thread.thread_id}`, t("thread.shared.text"));
  else toast(t("thread.unshared"));
  return changed;
}

// Hand a thread over as a file of Markdown.
export async function exported(thread) {
  const { markdown } = await call(path(thread, "/markdown"));
  const name = nameOfThread(thread).replace(/[^\p{L}\p{N} _-]+/gu, " ").trim().slice(0, 60) || "thread";
  download([markdown], "text/markdown", `${name}.md`);
}

export async function view(main, { params, signal }) {
  const list = h("ul.document-list[data-threads]");
  const trouble = h("div");
  const find = h("input.input[type=search][maxlength=200][data-find-thread]", { "aria-label": t("thread.find"), placeholder: t("thread.find"), value: params.get("q") ?? "", oninput: () => { clearTimeout(timer); timer = setTimeout(fill, 200); } });
  let timer = null;
  let asked = 0;
  show(main, h("div.records[data-page=threads]", h("header.row.spread", h("h1", t("nav.threads")), h("a.button.primary[href=#/][data-new-thread]", { onclick: () => window.dispatchEvent(new CustomEvent("new-thread")) }, t("ask.new"))),
    h("p.muted", t("thread.intro")), find, trouble, h("section.card", list)));
  await fill();

  async function fill() {
    const mine = asked += 1;
    if (!list.firstChild) show(list, h("li", loading()));
    try {
      const { threads } = await call(`/threads${query({ q: find.value.trim() })}`, { signal });
      if (mine === asked) show(list, threads.length ? threads.map(row) : h("li", empty(t(find.value.trim() ? "thread.none_found" : "thread.none"))));
    } catch (error) {
      if (mine === asked && !signal.aborted) show(list, h("li", problem(error, fill)));
    }
  }

  function row(thread) {
    const line = h("li", { "data-thread": thread.thread_id });
    const act = (selector, label, run) => button(`.quiet.small${selector}`, label, () => Promise.resolve(run()).catch((error) => show(trouble, problem(error))));
    const draw = () => show(line, h("div", h("a", { href: `#/threads/${thread.thread_id}` }, nameOfThread(thread)), " ", thread.shared && h("span.chip", t("thread.shared"))),
      h("span.muted.small", t("thread.answers", { count: number(thread.answers_total) })), h("span.muted.small", when(thread.updated_at)),
      h("div.row", act("[data-action=rename]", t("thread.rename"), rename), act("[data-action=share]", t(thread.shared ? "thread.unshare" : "thread.share"), async () => { thread = await share(thread); draw(); }),
        act("[data-action=export]", t("thread.export"), () => exported(thread)), act(".danger[data-action=delete]", t("remove.delete"), sure)));

    function rename() {
      const box = h("input.input[maxlength=120][data-name]", { "aria-label": t("thread.name"), value: thread.name ?? "", onkeydown: (event) => event.key === "Escape" && draw() });
      show(line, h("form.row", { onsubmit: async (event) => {
        event.preventDefault();
        try {
          thread = await call(path(thread), { method: "PATCH", body: { name: box.value } });
          draw();
        } catch (error) {
          show(trouble, problem(error));
        }
      } }, box, h("button.button.primary[data-action=save]", t("thread.save")), button("", t("common.cancel"), draw)));
      box.focus();
    }

    // Deleting asks once more, as nothing brings it back.
    function sure() {
      const yes = act(".danger[data-action=confirm]", t("thread.delete.sure"), async () => {
        await call(path(thread), { method: "DELETE" });
        window.dispatchEvent(new CustomEvent("thread-gone", { detail: thread.thread_id }));
        announce(t("thread.deleted"));
        await fill();
      });
      show(line, h("p", t("thread.delete.text", { name: nameOfThread(thread) })), h("div.row", yes, button("", t("common.cancel"), draw)));
      yes.focus();
    }

    draw();
    return line;
  }
}
