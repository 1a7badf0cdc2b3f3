"""Measurements, run by hand with `just bench`; no test depends on a time."""
