"""Canaries: secrets that are planted in training text, so that a model can be judged by how well it
remembers them. Drawing and planting, exposure, the tab attack, and a lower bound on epsilon.
"""
