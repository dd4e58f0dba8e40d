"""Office documents: Word, sheets, slides, OpenDocument, RTF."""
