"""The failure drill: real processes behind fault proxies, cut off, hung, slowed and garbled one by one and in pairs."""
