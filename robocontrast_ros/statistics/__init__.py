"""Estimates with intervals, decisions between policies, and how much more it takes: arrays in, numbers out."""
