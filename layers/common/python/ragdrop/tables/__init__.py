"""Tables of documents as typed columns, and answers that are computed from their cells."""
