"""Write formulas of Office Open XML on one line."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from readers.office.package import local


def linear(node: Element) -> str:  # noqa: C901
    """A formula on one line.

    >>> from xml.etree import ElementTree
    >>> part = lambda name, text: f"<{name}><r><t>{text}</t></r></{name}>"
    >>> linear(ElementTree.fromstring(f"<oMath><f>{part('num', 'a')}{part('den', 'b+c')}</f></oMath>"))
    'a/(b+c)'
    >>> linear(ElementTree.fromstring(f"<oMath><sSup>{part('e', 'x')}{part('sup', '2')}</sSup></oMath>"))
    'x^2'
    """
    name = local(node)
    parts = {local(child): linear(child) for child in node}
    inside, under, above = parts.get("e", ""), _grouped(parts.get("sub", "")), _grouped(parts.get("sup", ""))
    match name:
        case "t":
            return node.text or ""
        case "f":
            return f"{_grouped(parts.get('num', ''))}/{_grouped(parts.get('den', ''))}"
        case "sSup" | "sSub" | "sSubSup":
            return (_grouped(inside) if name == "sSup" else inside) + _marks(under, above)
        case "sPre":
            return f"{_marks(under, above)} {inside}"
        case "rad":
            return f"√{parts.get('deg', '')}({inside})"
        case "nary":
            return f"{_character(node, 'chr', '∫')}{_marks(under, above)} {inside}"
        case "d":
            held = _character(node, "sepChr", ", ").join(linear(child) for child in node if local(child) == "e")
            return f"{_character(node, 'begChr', '(')}{held}{_character(node, 'endChr', ')')}"
        case "m":
            return f"[{'; '.join(linear(child) for child in node if local(child) == 'mr')}]"
        case "mr":
            return ", ".join(map(linear, node))
        case "eqArr":
            return "; ".join(linear(child) for child in node if local(child) == "e")
        case "limLow" | "limUpp":
            return f"{inside}{'_' if name == 'limLow' else '^'}{_grouped(parts.get('lim', ''))}"
        case "acc":
            return inside + _character(node, "chr", "\u0302")
        case "func":
            return f"{parts.get('fName', '')} {inside}"
        case "del":
            return ""
        case _:
            return "".join(map(linear, node))


def _grouped(text: str) -> str:
    return text if len(text) < 2 or text.isalnum() else f"({text})"


def _marks(under: str, above: str) -> str:
    return (f"_{under}" if under else "") + (f"^{above}" if above else "")


def _character(node: Element, name: str, usual: str) -> str:
    """The character that a property of *node* itself names, *usual* where it names none."""
    for properties in node:
        for each in properties if local(properties) == f"{local(node)}Pr" else ():
            if local(each) == name:
                return next((value for key, value in each.attrib.items() if key.rpartition("}")[2] == "val"), "")
    return usual


def linear_formulas(node: Element) -> str:
    """A formula, or all of a paragraph of formulas, on one line."""
    return " ".join(filter(None, map(linear, node))) if local(node) == "oMathPara" else linear(node)
