"""The web page at `/app`: its files, and how a browser signs in."""
