"""The demo server: three agents, six tools, three tokens, both wires. `python -m server` runs it."""
