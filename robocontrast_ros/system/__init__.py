"""What the machine gives: files on disk, processes, numeric libraries."""
