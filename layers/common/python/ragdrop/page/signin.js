// The sign-in, as a dialog over any view: a key, an identity provider's token, or the code of a one-time link.

import { call, credential } from "./api.js";
import { h, show } from "./dom.js";
import { problem } from "./problems.js";
import { t } from "./strings.js";

let open = null;

// Show the dialog; the promise ends with GET /me of the new credential, or null when it was closed.  *reason* is the key
// of a text.
export function signIn(reason = null) {
  open ??= new Promise((resolve) => dialog(reason, resolve)).finally(() => { open = null; });
  return open;
}

// Trade the code of a one-time link for its key, and ask who that is.
export async function redeem(code) {
  credential.set((await call("/app/sign-in", { method: "POST", body: { code } })).key);
  return call("/me");
}

function dialog(reason, resolve) {
  const field = h("input.mono[id=key][type=password][autocomplete=off][spellcheck=false][aria-describedby=key-problem][data-key]");
  const failed = h("div[id=key-problem][role=alert]");
  const submit = h("button.button.primary[data-sign-in]", t("account.sign_in"));
  const refuse = (...told) => {
    field.setAttribute("aria-invalid", "true");
    show(failed, told);
    field.focus();
  };
  const element = h("dialog.dialog[aria-labelledby=sign-in-title][data-sign-in-dialog]", { onclose: () => { element.remove(); resolve(null); } },
    h("form.stack[data-sign-in-form]", { onsubmit: async (event) => {
      event.preventDefault();
      const before = credential.get();
      submit.disabled = true;
      credential.set(field.value.trim());
      try {
        resolve(await call("/me"));
        element.close();
      } catch (error) {
        if (before) credential.set(before); else credential.forget();
        refuse(error.kind === "signed_out" ? h("p.notice.danger", t("signin.unknown")) : problem(error));
      }
      submit.disabled = false;
    } }, h("h2[id=sign-in-title]", t("account.sign_in")), reason && h("p.notice.warning", t(reason)), h("p", t("signin.intro")),
    h("div.field", h("label[for=key]", t("signin.label")), field), failed, submit, h("p.muted.small", t("signin.help"))));
  document.body.append(element);
  element.showModal();
  field.focus();
}
