"""The suite's scenes and tasks: drawn from the object library by templates, and kept as files."""
