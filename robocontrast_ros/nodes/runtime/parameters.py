"""A node's parameters: declared from its record, read once, and refused by name if they do not fit."""

from __future__ import annotations

import math
import typing
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from robocontrast_ros.configuration import ConfigurationError, parse_record

Record = TypeVar("Record")

# Every node of ROS 2 has these.
_OF_ROS = ("use_sim_time", "start_type_description_service", "qos_overrides.")

_TYPES: dict[Any, Parameter.Type] = {
    bool: Parameter.Type.BOOL,
    int: Parameter.Type.INTEGER,
    float: Parameter.Type.DOUBLE,
    str: Parameter.Type.STRING,
    Path: Parameter.Type.STRING,
    tuple[str, ...]: Parameter.Type.STRING_ARRAY,
    tuple[float, ...]: Parameter.Type.DOUBLE_ARRAY,
    tuple[int, ...]: Parameter.Type.INTEGER_ARRAY,
}


def declare_record(node: Node, cls: type[Record]) -> Record:
    """Declare each field of a record as a read-only parameter and return the record of their values.

    Names, types, defaults, descriptions and ranges come from the record's fields.

    Raises:
        ConfigurationError: a parameter is missing, unknown, of another type or out of range.
    """
    source = f"parameters of node '{node.get_name()}'"
    hints = typing.get_type_hints(cls)
    infos = cls.__pydantic_fields__
    known = {f.name for f in fields(cls)}
    for name in node._parameter_overrides:
        if name not in known and not name.startswith(_OF_ROS):
            raise ConfigurationError.unknown(source, name, name, known, "parameter")
    values: dict[str, Any] = {}
    for name in known:
        info, kind = infos[name], _type_of(hints[name])
        try:
            parameter = _declare(node, name, kind, info)
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            got = node._parameter_overrides[name].value
            raise ConfigurationError(source, name, got, f"{kind.name.lower()}: {error}") from None
        if parameter.type_ is not Parameter.Type.NOT_SET:
            values[name] = parameter.value
    return parse_record(cls, values, source)


def _declare(node: Node, name: str, kind: Parameter.Type, info: Any) -> Parameter:
    """Declare a parameter with its default, so that ROS's tools also show the value if none was given."""
    descriptor = _descriptor(info, kind)
    if info.is_required():
        return node.declare_parameter(name, kind, descriptor)
    default = info.get_default(call_default_factory=True)
    if default != ():
        return node.declare_parameter(name, _plain(default), descriptor)
    # rclpy takes the type from the default, and an empty list has none: set it, then make it read-only.
    parameter = node.declare_parameter(name, kind, ParameterDescriptor())
    if parameter.type_ is Parameter.Type.NOT_SET:
        node.set_parameters([Parameter(name, kind, [])])
    descriptor.name, descriptor.type = name, kind.value
    node.set_descriptor(name, descriptor)
    return node.get_parameter(name)


def _plain(default: Any) -> Any:
    if isinstance(default, Path):
        return str(default)
    return list(default) if isinstance(default, tuple) else default


def _type_of(annotation: Any) -> Parameter.Type:
    if typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    if typing.get_origin(annotation) is typing.Literal:
        annotation = str
    return _TYPES[annotation]


def _descriptor(info: Any, kind: Parameter.Type) -> ParameterDescriptor:
    bounds = {type(m).__name__.lower(): getattr(m, type(m).__name__.lower()) for m in info.metadata if _bound(m)}
    low, high = bounds.get("ge", bounds.get("gt")), bounds.get("le", bounds.get("lt"))
    default = "required" if info.is_required() else f"default {info.get_default(call_default_factory=True)!r}"
    strict = ", ".join(f"{op} {bounds[op]}" for op in ("gt", "lt") if op in bounds)
    descriptor = ParameterDescriptor(
        description=info.description or "",
        additional_constraints="; ".join(part for part in (default, strict) if part),
        read_only=True,
    )
    if low is None and high is None:
        return descriptor
    if kind is Parameter.Type.DOUBLE:
        descriptor.floating_point_range = [
            FloatingPointRange(
                from_value=float(-math.inf if low is None else low),
                to_value=float(math.inf if high is None else high),
            )
        ]
    elif kind is Parameter.Type.INTEGER:
        descriptor.integer_range = [
            IntegerRange(
                from_value=int(-(2**63) if low is None else low),
                to_value=int(2**63 - 1 if high is None else high),
                step=1,
            )
        ]
    return descriptor


def _bound(metadata: Any) -> bool:
    return type(metadata).__name__ in ("Ge", "Gt", "Le", "Lt")
