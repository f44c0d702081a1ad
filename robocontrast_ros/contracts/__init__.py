"""What every extension promises, as classes that a test inherits: one contract a file (docs/extending.md).

``class TestMine(StrategyContract)`` with one method that returns what is tested is a complete test: pytest runs the
contract's own test methods. The package imports no pytest; a broken promise is an AssertionError in words.
"""
