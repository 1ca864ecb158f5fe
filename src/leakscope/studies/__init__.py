"""Whole comparisons: many trainings and measurements, each kept under what it is made from."""
