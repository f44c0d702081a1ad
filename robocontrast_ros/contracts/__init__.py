"""Contracts of the extensions, as classes that a test inherits, each in its own file (docs/extending.md).

``class TestMine(StrategyContract)`` with one method that returns the extension is a complete test: pytest runs the
contract's own test methods. The package imports no pytest; a broken promise is an AssertionError in words.
"""
