"""Formats of result files, one a module: the plug-ins of the kind `result_formats`."""
