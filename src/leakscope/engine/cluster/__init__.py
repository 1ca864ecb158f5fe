"""Stages on a Ray cluster."""
