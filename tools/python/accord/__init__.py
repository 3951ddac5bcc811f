"""Accord in Python."""
