"""The files of all formats."""

from __future__ import annotations

from tests.outcomes import documents, mails, office, records, texts
from tests.outcomes.case import Case

CASES: dict[str, list[Case]] = {
    "Markdown": texts.MARKDOWN,
    "text": texts.TEXT,
    "HTML": texts.HTML,
    "PDF": documents.PDF,
    "DOCX": documents.DOCX,
    "XLSX": office.XLSX,
    "XLS": office.XLS,
    "ODS": office.ODS,
    "PPTX": office.PPTX,
    "ODP": office.ODP,
    "ODT": documents.ODT,
    "RTF": documents.RTF,
    "EPUB": documents.EPUB,
    "EML": mails.EML,
    "MBOX": mails.MBOX,
    "MSG": mails.MSG,
    "VTT": records.VTT,
    "SRT": records.SRT,
    "RSS and Atom": records.FEED,
    "source code": texts.CODE,
    "JSON": records.JSON,
    "JSON Lines": records.JSON_LINES,
    "CSV": records.CSV,
}
