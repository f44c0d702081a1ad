"""Nothing that a trial or its scores depend on leaves the order of its sums to the processor's BLAS."""

import ast
from pathlib import Path

import pytest

import robocontrast_ros

PACKAGE = Path(robocontrast_ros.__path__[0])
LAYERS = ("domain", "episodes", "policies", "robots", "runs", "sessions", "strategies", "tasks", "worlds")
ROUNDED = {"policies/sentence_encoder.py"}
"""Files whose products are in double precision, and rounded before anything moves."""
CALLS = {"dot", "vdot", "inner", "matmul", "tensordot", "cov", "corrcoef", "polyfit"}


def files():
    return sorted(file for layer in LAYERS for file in (PACKAGE / layer).rglob("*.py"))


def products(tree):
    """Yield the line of each product that NumPy hands to BLAS or LAPACK, and what it is."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.MatMult):
            yield node.lineno, "@"
        elif isinstance(node, ast.Attribute) and ast.unparse(node).startswith(("np.linalg", "scipy.linalg")):
            yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CALLS:
            yield node.lineno, ast.unparse(node.func)


@pytest.mark.parametrize("file", files(), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_what_a_trial_depends_on_has_products_of_its_own(file):
    found = list(products(ast.parse(file.read_text(encoding="utf-8"))))
    if str(file.relative_to(PACKAGE)) in ROUNDED:
        assert found
    else:
        assert not found, f"{file}: use robocontrast_ros.domain.products in place of {found}"


@pytest.mark.parametrize("line", ["a @ b", "a @= b", "np.linalg.norm(a)", "a.dot(b)", "np.dot(a, b)"])
def test_each_kind_of_product_is_found(line):
    assert list(products(ast.parse(line)))
