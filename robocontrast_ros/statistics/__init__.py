"""Estimates with intervals, decisions between policies, and sample sizes: arrays in, numbers out."""
