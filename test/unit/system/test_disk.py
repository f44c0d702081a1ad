"""What the system refuses to write is one line, and a file that was there stays."""

from __future__ import annotations

import errno
import os
import pickle
from pathlib import Path

import pytest

from robocontrast_ros.system.disk import DiskError, GoneError, OpenPath, make_folder, new_file, write_file


def test_a_file_takes_its_place_when_it_is_whole(tmp_path):
    file = tmp_path / "trials.csv"
    write_file(file, "ä")
    write_file(file, b"new")
    assert file.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "No space left on device. The disk is full: free some space, then do the same again."),
        (errno.EROFS, "Read-only file system. The disk is mounted read-only"),
        (errno.EIO, "Input/output error. The disk has a fault"),
    ],
)
def test_what_the_system_refuses_is_one_line_and_the_file_stays(tmp_path, number, words):
    file = tmp_path / "map.png"
    file.write_text("old")

    def half():
        with new_file(file) as part:
            assert part.suffix == ".png"
            part.write_text("half")
            raise OSError(number, os.strerror(number))

    with pytest.raises(DiskError) as refusal:
        half()
    assert str(refusal.value).startswith(f"{file}: cannot be written: {words}")
    assert file.read_text() == "old" and list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("error", [DiskError(Path("a"), OSError(28, "full")), GoneError(Path("a"), "is gone.")])
def test_the_error_of_a_worker_process_reaches_the_one_that_waits(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.errno) == (type(error), str(error), error.errno)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DiskError, match=r"file/maps: cannot be written: Not a directory"):
        make_folder(tmp_path / "file" / "maps")


def test_a_place_that_cannot_be_looked_at_any_more_is_another(tmp_path):
    file, elsewhere = tmp_path / "file", tmp_path / "elsewhere"
    file.write_text("")
    place = OpenPath(file)
    file.rename(elsewhere)
    file.symlink_to(file)
    assert not place.in_place() and place.present() == elsewhere
    place.close()
