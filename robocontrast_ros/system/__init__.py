"""The machine: files on disk, processes, numeric libraries."""
