// What differs between two texts, by words or by lines.

const MAX_CELLS = 4e6; // pieces of both texts multiplied; beyond it a text counts as rewritten

// [["del" | "ins" | null, text] …] that makes *after* of *before*, two lists of pieces, by their longest common ones.
function difference(before, after) {
  let head = 0;
  while (head < before.length && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(before.length, after.length) - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const [a, b] = [before, after].map((all) => all.slice(head, all.length - tail));
  const parts = [];
  const add = (kind, text) => text && (parts.at(-1)?.[0] === kind ? parts.at(-1)[1] += text : parts.push([kind, text]));
  add(null, before.slice(0, head).join(""));
  if (a.length * b.length > MAX_CELLS) [["del", a], ["ins", b]].forEach(([kind, all]) => add(kind, all.join("")));
  else {
    const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1)); // of a from x and b from y on
    for (let x = a.length - 1; x >= 0; x -= 1) {
      for (let y = b.length - 1; y >= 0; y -= 1) common[x][y] = a[x] === b[y] ? common[x + 1][y + 1] + 1 : Math.max(common[x + 1][y], common[x][y + 1]);
    }
    for (let x = 0, y = 0; x < a.length || y < b.length;) {
      if (x < a.length && a[x] === b[y]) { add(null, a[x]); x += 1; y += 1; }
      else if (x < a.length && (y === b.length || common[x + 1][y] >= common[x][y + 1])) { add("del", a[x]); x += 1; }
      else { add("ins", b[y]); y += 1; }
    }
  }
  add(null, before.slice(before.length - tail).join(""));
  return parts;
}

export const wordDifference = (before, after) => difference(...[before, after].map((text) => text.match(/\s+|\S+/g) ?? []));

// The same by lines; where lines took the place of others, by the words of both.
export function lineDifference(before, after) {
  const parts = difference(...[before, after].map((text) => text.match(/[^\n]*\n|[^\n]+/g) ?? []));
  return parts.flatMap((part, place) => {
    if (part[0] === "ins" && parts[place - 1]?.[0] === "del") return [];
    return part[0] === "del" && parts[place + 1]?.[0] === "ins" ? wordDifference(part[1], parts[place + 1][1]) : [part];
  });
}
