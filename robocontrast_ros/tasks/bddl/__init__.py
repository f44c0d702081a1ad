"""Kitchen problems as text: LIBERO's BDDL, our YAML, and the operators of skills in PDDL."""

from robocontrast_ros.tasks.bddl.kitchen import Kitchen, read_types
from robocontrast_ros.tasks.bddl.libero import parse_bddl, read_bddl
from robocontrast_ros.tasks.bddl.operators import Domain, Literal, Operator, Parameter, parse_domain, read_domain
from robocontrast_ros.tasks.bddl.problem import Atom, Flaw, Problem, Region, done_at_start, first_flaw, remarks
from robocontrast_ros.tasks.bddl.reading import error_at, problem_files, read_problem
from robocontrast_ros.tasks.bddl.skills import skills_for
from robocontrast_ros.tasks.bddl.yaml_form import parse_yaml_problem, read_yaml_problem, write_yaml_problem

__all__ = [
    "Atom",
    "Domain",
    "Flaw",
    "Kitchen",
    "Literal",
    "Operator",
    "Parameter",
    "Problem",
    "Region",
    "done_at_start",
    "error_at",
    "first_flaw",
    "parse_bddl",
    "parse_domain",
    "parse_yaml_problem",
    "problem_files",
    "read_bddl",
    "read_domain",
    "read_problem",
    "read_types",
    "read_yaml_problem",
    "remarks",
    "skills_for",
    "write_yaml_problem",
]
