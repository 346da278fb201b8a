"""Passes: gather what is known, decide without side effects, apply what differs."""
