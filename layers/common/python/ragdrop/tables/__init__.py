"""Tables of documents as typed columns, and answers that are computed from their cells."""

from ragdrop.tables.answer_tables import TableAnswer
from ragdrop.tables.answer_tables import answer_from_tables as answer
from ragdrop.tables.typed import TypedColumn, TypedTable, tables_of

__all__ = ["TableAnswer", "TypedColumn", "TypedTable", "answer", "tables_of"]
