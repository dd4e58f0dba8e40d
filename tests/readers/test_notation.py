"""Formulas of Office documents on one line."""

from __future__ import annotations

import pytest

from readers.office.notation import FORMS
from tests import document_files
from tests.reading import parse


def formula(inner: str) -> str:
    return f"<w:p><w:r><w:t>It is </w:t></w:r><m:oMath>{inner}</m:oMath></w:p>"


def text(name: str, inner: str) -> str:
    return f"<m:{name}><m:r><m:t>{inner}</m:t></m:r></m:{name}>"


@pytest.mark.parametrize(
    ("inner", "read"),
    [
        ("<m:r><m:t>E=m</m:t></m:r>" + f"<m:sSup>{text('e', 'c')}{text('sup', '2')}</m:sSup>", "It is E=mc^2"),
        (f"<m:f>{text('num', 'a+b')}{text('den', '2')}</m:f>", "It is (a+b)/2"),
        (f"<m:rad>{text('e', 'x')}</m:rad>", "It is √(x)"),
    ],
)
def test_a_formula_of_a_word_document_is_read_on_one_line(inner: str, read: str) -> None:
    assert parse(document_files.docx(formula(inner)), "a.docx").text.strip() == read


def test_a_formula_in_its_own_paragraph_is_read() -> None:
    body = f"<w:p><m:oMathPara><m:oMath>{text('r', 'x')}</m:oMath></m:oMathPara></w:p>"
    body = body.replace("<m:r><m:r>", "<m:r>").replace("</m:r></m:r>", "</m:r>")

    assert parse(document_files.docx(body), "a.docx").text.strip() == "x"


def test_a_formula_is_read_whatever_prefix_its_names_have() -> None:
    body = f'<w:p><n:oMath xmlns:n="{document_files.MATH}"><n:r><n:t>x+1</n:t></n:r></n:oMath></w:p>'

    assert parse(document_files.docx(body), "a.docx").text.strip() == "x+1"


@pytest.mark.parametrize(
    ("inner", "read"),
    [
        (f"<m:m><m:mr>{text('e', '1')}{text('e', '2')}</m:mr><m:mr>{text('e', '3')}{text('e', '4')}</m:mr></m:m>",
         "It is [1, 2; 3, 4]"),
        (f'<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/></m:dPr>{text("e", "x")}</m:d>', "It is [x]"),
        (f"<m:sPre>{text('sub', '2')}{text('sup', '3')}{text('e', 'H')}</m:sPre>", "It is _2^3 H"),
        (f"<m:limLow>{text('e', 'lim')}{text('lim', 'n→∞')}</m:limLow>", "It is lim_(n→∞)"),
        (f"<m:eqArr>{text('e', 'x=1')}{text('e', 'y=2')}</m:eqArr>", "It is x=1; y=2"),
    ],
    ids=["matrix", "brackets", "marks before", "limit", "lines"],
)  # fmt: skip
def test_the_parts_of_a_formula_stay_apart(inner: str, read: str) -> None:
    assert parse(document_files.docx(formula(inner)), "a.docx").text.strip() == read


@pytest.mark.parametrize(
    ("form", "number", "written"),
    [
        ("lowerRoman", 1_994, "mcmxciv"),
        ("lowerLetter", 2, "b"),
        ("upperLetter", 28, "BB"),
        ("chineseCounting", 12, "十二"),
        ("chineseCounting", 40, "四十"),
        ("ordinal", 2, "2nd"),
        ("ordinal", 13, "13th"),
    ],
)
def test_numbers_have_the_forms_of_office_documents(form: str, number: int, written: str) -> None:
    assert FORMS[form](number) == written
