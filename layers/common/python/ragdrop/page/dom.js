// Elements without markup: every string becomes a text node, so a document can never become code.

const SVG = "http://www.w3.org/2000/svg";

// An element: h("a", {href: "#/x", class: "quiet", onclick: go}, "text", other).  `class`, `for`, `aria-*` and `data-*`
// are attributes, `on*` are listeners, `true` is an empty attribute; null and false leave it out.
export function h(name, properties = {}, ...children) {
  return filled(document.createElement(name), properties, children);
}

// The same for SVG.
export function svg(name, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, name), properties, children);
}

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else if (name === "href") element.setAttribute(name, safeLink(value));
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...nodes(children));
  return element;
}

function nodes(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}

// Links lead to this page or to the web, never to a script.
function safeLink(value) {
  return /^(#|https?:\/\/|blob:)/.test(value) ? value : "#";
}

// Put *children* in the place of what *element* holds.
export function show(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

// Code points *start* to *end* of *text*: the API counts code points, JavaScript counts UTF-16 units.
export function codePoints(text, start, end) {
  return Array.from(text).slice(start, end).join("");
}

// Tell people who do not see the screen.
export function announce(text) {
  const region = document.getElementById("announcements");
  region.textContent = "";
  requestAnimationFrame(() => { region.textContent = text; });
}
