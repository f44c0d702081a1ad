"""Parameter files: from YAML to one frozen record, or one clear error."""

from robocontrast_ros.configuration.errors import ConfigurationError
from robocontrast_ros.configuration.loading import (
    dump_record,
    load_record,
    parse_record,
    read_yaml,
    resolve_uri,
    write_yaml,
)
from robocontrast_ros.configuration.plugins import (
    find_configured,
    import_object,
    load_configured,
    load_plugin,
    make_configured,
    make_plugin,
    plugin_names,
)
from robocontrast_ros.configuration.record import record
from robocontrast_ros.configuration.settings import parse_settings, with_settings

__all__ = [
    "ConfigurationError",
    "dump_record",
    "find_configured",
    "import_object",
    "load_configured",
    "load_plugin",
    "load_record",
    "make_configured",
    "make_plugin",
    "parse_record",
    "parse_settings",
    "plugin_names",
    "read_yaml",
    "record",
    "resolve_uri",
    "with_settings",
    "write_yaml",
]
