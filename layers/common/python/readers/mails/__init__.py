"""Mails: EML, MBOX and MSG."""
