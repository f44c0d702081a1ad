"""Observation filters, between the sensors and the policy in a trial (axis O).

A filter is a class that fits ``protocol.ObservationFilter`` and is found by its entry point.
"""
