"""Readers: one for each format that user text comes in."""
