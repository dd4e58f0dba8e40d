"""Source code: unchanged, with its functions and classes as headings."""

from __future__ import annotations

import pytest

from tests.reading import parse


def test_source_code_is_unchanged_and_its_functions_are_headings() -> None:
    code = "import os\n\n\nclass Pump:\n    @slow\n    def start(self):\n        return os.name\n"

    document = parse(code, "pump.py")

    assert document.text == code
    assert document.content_type == "code"
    assert document.heading_path(code.index("return")) == ("Pump", "start")


@pytest.mark.parametrize(
    ("name", "code", "found"),
    [
        ("a.go", "func (s *Pump) Start() {}\ntype Valve struct {}\n", ["Start", "Valve"]),
        ("a.ts", "export async function start(a: number) { call(a) }\nexport class Pump {}\n", ["start", "Pump"]),
        ("a.rs", "pub fn start() { call(); }\nstruct Pump;\n", ["start", "Pump"]),
        ("a.java", "class Pump {\n  public int start() { return call(); }\n}\n", ["Pump", "start"]),
    ],
)
def test_definitions_are_found_in_many_languages(name: str, code: str, found: list[str]) -> None:
    assert [heading.text for heading in parse(code, name).headings] == found
