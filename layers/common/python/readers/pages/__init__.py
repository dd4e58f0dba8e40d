"""Pages: PDFs, and the text of pages that show pictures."""
