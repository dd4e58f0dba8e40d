// Elements without markup: every string becomes a text node, so a document can never become code.

// An element: h("a.quiet[rel=next]", {href: "#/x", onclick: go}, "text", other).  The first string is written as in CSS and
// never made of data.  Properties may be left out; `on*` are listeners, the others attributes: true is an empty one;
// null, undefined and false leave out properties and children.
export const h = (name, ...rest) => filled((tag) => document.createElement(tag), name, rest);

// The same for SVG.
export const svg = (name, ...rest) => filled((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag), name, rest);

const absent = (value) => value === null || value === undefined || value === false;

function filled(make, selector, [properties, ...children]) {
  const [tag] = /^\w+/.exec(selector);
  const element = make(tag);
  for (const [, name, attribute, value] of selector.matchAll(/\.([\w-]+)|\[([\w-]+)=?([^\]]*)\]/g)) {
    if (name) element.classList.add(name);
    else element.setAttribute(attribute, value);
  }
  const given = properties?.constructor === Object;
  for (const [name, value] of Object.entries(given ? properties : {})) {
    if (absent(value)) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else if (name === "class") element.classList.add(...value.split(" ").filter(Boolean));
    else element.setAttribute(name, name === "href" ? safeLink(value) : value === true ? "" : value);
  }
  element.append(...nodes(given ? children : [properties, ...children]));
  return element;
}

const nodes = (children) => children.flat(Infinity).filter((child) => !absent(child) && child !== true)
  .map((child) => (child instanceof Node ? child : document.createTextNode(child)));

// Links lead to this page or to the web, never to a script.
const safeLink = (value) => (/^(#|https?:\/\/|blob:)/.test(value) ? value : "#");

// Put *children* in the place of what *element* holds.
export function show(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

// A button; *where* adds to its selector.
export const button = (where, label, onclick, more = {}) => h(`button.button[type=button]${where}`, { onclick, ...more }, label);

// A table that scrolls by itself: *heads*, and *rows* of what their cells hold.
export const table = (label, where, heads, rows) => h("div.scroll-x[tabindex=0][role=region]", { "aria-label": label }, h(`table.table${where}`,
  h("thead", h("tr", heads.map((head) => h("th[scope=col]", head)))), h("tbody", rows.map((cells) => h("tr", cells.map((cell) => (cell instanceof Node && cell.matches("th") ? cell : h("td", cell))))))));

// Hand *parts* of a text over as a file.
export function download(parts, type, name) {
  const href = URL.createObjectURL(new Blob(parts, { type: `${type};charset=utf-8` }));
  h("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}

// Tell people who do not see the screen.
export function announce(text) {
  const region = document.getElementById("announcements");
  region.textContent = "";
  requestAnimationFrame(() => { region.textContent = text; });
}
