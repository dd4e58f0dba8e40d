// The sign-in, as a dialog over any view: a key, an identity provider's token, or the code of a one-time link.

import { call, credential } from "./api.js";
import { announce, h, show } from "./dom.js";
import { problem } from "./problems.js";
import { t } from "./strings.js";

let open = null;

// Show the dialog; the promise ends with GET /me of the new credential, or null when it was closed.  *reason* is "expired", "code_used" or null.
export function signIn(reason = null) {
  open ??= new Promise((resolve) => dialog(reason, resolve)).finally(() => { open = null; });
  return open;
}

// Trade the code of a one-time link for its key, and ask who that is.
export async function redeem(code) {
  const { key } = await call("/app/sign-in", { method: "POST", body: { code } });
  credential.set(key);
  return call("/me");
}

function dialog(reason, resolve) {
  const field = h("input", {
    id: "key", class: "input mono", type: "password", autocomplete: "off", spellcheck: "false", autocapitalize: "none",
    "data-key": true, "aria-describedby": "key-problem", autofocus: true,
  });
  const reveal = h("button", { class: "button quiet", type: "button", "aria-controls": "key", onclick: () => {
    field.type = field.type === "password" ? "text" : "password";
    reveal.textContent = t(field.type === "password" ? "signin.show" : "signin.hide");
  } }, t("signin.show"));
  const failed = h("div", { id: "key-problem", "aria-live": "assertive" });
  const submit = h("button", { class: "button primary", type: "submit", "data-sign-in": true }, t("signin.submit"));
  const why = { expired: "problem.signed_out.text", code_used: "signin.code_used" }[reason];

  const form = h("form", { class: "stack", "data-sign-in-form": true, onsubmit: async (event) => {
    event.preventDefault();
    const key = field.value.trim();
    field.removeAttribute("aria-invalid");
    if (!key) return refuse(t("signin.empty"));
    submit.disabled = true;
    submit.textContent = t("signin.checking");
    const before = credential.get();
    credential.set(key);
    try {
      const me = await call("/me");
      resolve(me);
      element.close();
      return announce(t("signin.done", { role: t(`role.${me.role}`), tenant: me.tenant }));
    } catch (error) {
      if (before) credential.set(before); else credential.forget();
      if (error.kind === "signed_out") return refuse(t("signin.unknown"));
      return show(failed, problem(error));
    } finally {
      submit.disabled = false;
      submit.textContent = t("signin.submit");
    }
  } },
  h("h2", { id: "sign-in-title" }, t("signin.title")),
  why ? h("p", { class: "notice warning" }, t(why)) : null,
  h("p", {}, t("signin.intro")),
  h("div", { class: "field" }, h("label", { for: "key" }, t("signin.label")), h("div", { class: "joined" }, field, reveal)),
  failed, submit,
  h("p", { class: "muted small" }, t("signin.help")));

  function refuse(text) {
    field.setAttribute("aria-invalid", "true");
    show(failed, h("p", { class: "notice danger" }, text));
    field.focus();
  }

  const element = h("dialog", { class: "dialog", "aria-labelledby": "sign-in-title", "data-sign-in-dialog": true,
    onclose: () => { element.remove(); resolve(null); } }, form);
  document.body.append(element);
  element.showModal();
  field.focus();
}
