"""The walkthrough: one script in seven scenes, a stage that plays it, and the tellers that show it."""
