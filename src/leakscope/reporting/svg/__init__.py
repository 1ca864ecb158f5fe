"""Figures as static SVG."""
