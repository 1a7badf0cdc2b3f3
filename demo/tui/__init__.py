"""The walkthrough and the explorer as a program for the terminal (Textual). `run.run_tui` starts it.

It stands on the stage's events and plays no script by itself. Nothing outside this package imports Textual.
"""
