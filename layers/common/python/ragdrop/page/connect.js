// Connecting a language model: which ones this machine has, whether an endpoint takes a key, what to start the stack with.

import { call } from "./api.js";
import { button, h, show } from "./dom.js";
import { loading, problem } from "./problems.js";
import { chip, field, quiet } from "./records.js";
import { duration, t } from "./strings.js";
import { copy } from "./turn.js";

const QUOTES = "ragdrop-extractive"; // answers by quotations alone
const LOCAL = /^https?:\/\/(localhost|127\.|\[::1\])/;
// A word of a command line that a shell reads as it is.
const word = (text) => (/^[\w.:/@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

// Whether answers are quotations, as no language model is connected.
export const quotesOnly = ({ models }) => models.length > 0 && models.every((name) => name === QUOTES);

export async function view(main, { me, signal }) {
  const found = h("section.card.stack[data-near]", h("h2", t("connect.near")));
  const input = (selector, more = {}) => h(`input[spellcheck=false][autocomplete=off]${selector}`, { oninput: draw, ...more });
  const address = input("[type=url][required][data-url]", { pattern: "https?://.+" });
  const model = input("[required][maxlength=200][data-model]");
  const key = input("[type=password][data-key]");
  const result = h("div[role=status][data-tested]");
  const test = h("button.button.primary[data-action=test]", t("connect.test"));
  const commands = h("section.card.stack[data-commands]");
  show(main, h("div.records[data-page=connect]", h("h1", t("connect.title")), h("p.muted", t(quotesOnly(me) ? "connect.quotes" : "connect.now", { models: me.models.join(", ") })), me.role !== "admin" && h("p.notice[data-read-only]", t("connect.admin")),
    me.role === "admin" && [found, h("form.card.stack", { onsubmit: tried }, h("h2", t("connect.any")), h("div.filters", field("model-url", t("connect.url"), address), field("model-name", t("ask.model"), model), field("model-key", t("connect.key"), key)), quiet(t("connect.key.text")), h("div.row", test), result)], commands));
  draw();
  if (me.role === "admin") await look();

  async function look() {
    const place = h("div", loading());
    show(found, h("div.row.spread", h("h2", t("connect.near")), button("[data-action=look]", t("connect.look"), look)), place);
    try {
      const { servers } = await call("/models/near", { signal });
      show(place, servers.map((server) => h("article.part", { "data-server": server.name }, h("h3", chip("found"), " ", server.name), quiet(server.url), h("div.row", server.models.map((name) => button(".small[data-choose]", name, () => {
        [address.value, model.value, key.value] = [server.url, name, ""];
        draw();
        test.focus();
      }))))), !servers.length && h("p[data-none]", t("connect.none")));
    } catch (error) {
      if (!signal.aborted) show(place, error.status === 404 ? h("p[data-elsewhere]", t("connect.elsewhere")) : problem(error, look));
      if (error.status === 404) test.disabled = true;
    }
  }

  // The key is sent once and forgotten at once: the box is emptied, and nothing else has it.
  async function tried(event) {
    event.preventDefault();
    const body = { url: address.value.trim(), model: model.value.trim(), ...(key.value && { api_key: key.value }) };
    key.value = "";
    test.disabled = true;
    show(result, loading(t("connect.testing")));
    try {
      const { works, problem: why, latency_ms: took } = await call("/models/test", { method: "POST", body, signal });
      show(result, h("p.notice", { class: works ? "" : "warning", "data-works": String(works) }, works ? t("connect.works", { model: body.model, time: duration(took) }) : [t("connect.fails"), " ", why]));
    } catch (error) {
      if (!signal.aborted) show(result, problem(error));
    }
    test.disabled = false;
  }

  function draw() {
    const [url, name] = [address.value.trim() || "https://…/v1", model.value.trim() || "…"];
    const local = LOCAL.test(url);
    const line = (title, text, about) => [h("h3", title), about && quiet(about), h("pre.scroll-x[tabindex=0]", { "data-command": title }, text), h("div", button(".small", t("connect.copy"), () => copy(text), { "aria-label": `${t("connect.copy")}: ${title}` }))];
    show(commands, h("h2", t("connect.commands")), line(t("connect.laptop"), `CHAT_URL=${word(url)} CHAT_MODELS=${word(name)} ${local ? "" : "CHAT_API_KEY=… "}make up`),
      line("AWS", local ? "ChatUrl=bedrock ChatModels=amazon.nova-lite-v1:0" : `ChatUrl=${word(url)} ChatModels=${word(name)} ChatApiKey=ssm:/ragdrop/chat`, t(local ? "connect.aws.local" : "connect.aws")));
  }
}
