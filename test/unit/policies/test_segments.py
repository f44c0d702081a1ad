"""What of an instruction a policy is given: text, or segments with pictures and masks, never what they are about."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from language_table_instances import EIGHT, instance

from robocontrast_ros.domain import Crop, Segment, SegmentKind, plain_text, segments_digest
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.policies.segments import as_told, to_send

TEXT_ALONE = PolicyDescription("text", "planar_delta", 2)
texts = st.sampled_from(["push ", "the", " red moon", "", "é\ud800"])
pixels = arrays(np.uint8, array_shapes(min_dims=2, max_dims=2, max_side=4).map(lambda shape: (*shape, 3)))
segments = st.lists(
    st.builds(
        Segment,
        st.sampled_from(SegmentKind),
        texts,
        st.sampled_from(["", "referent_1", "referent_2"]),
        st.booleans(),
        st.sampled_from(["", "red_moon"]),
        st.none() | pixels.map(Crop.of),
    ),
    max_size=4,
).map(tuple)
descriptions = st.builds(
    lambda referents, mask: replace(TEXT_ALONE, referents=referents, mask=mask),
    st.sampled_from(["none", "crop"]),
    st.sampled_from(["omit", "native"]),
)


@given(pixels)
def test_a_picture_has_the_pixels_that_it_was_made_of(image):
    crop = Crop.of(image)
    np.testing.assert_array_equal(crop.pixels, image, strict=True)
    assert (crop.height, crop.width) == image.shape[:2]
    assert crop == Crop.of(crop.pixels) and hash(crop) == hash(Crop.of(image.copy()))


@pytest.mark.parametrize("wrong", [np.zeros((2, 2), np.uint8), np.zeros((2, 2, 4), np.uint8), np.zeros((2, 2, 3))])
def test_other_arrays_are_no_picture(wrong):
    with pytest.raises(ValueError, match=r"expected uint8 of \(height, width, 3\)"):
        Crop.of(wrong)


@pytest.mark.parametrize(("width", "height", "count"), [(2, 2, 11), (0, 2, 0), (2, 2, 13)])
def test_a_picture_has_three_bytes_for_each_pixel(width, height, count):
    with pytest.raises(ValueError, match="expected 3 for each pixel"):
        Crop(width, height, bytes(count))


@given(segments, segments)
def test_a_digest_is_that_of_all_that_a_policy_receives_and_of_nothing_else(first, second):
    received = [[replace(segment, entity="") for segment in told] for told in (first, second)]
    assert (segments_digest(first) == segments_digest(second)) == (received[0] == received[1])


def test_a_digest_can_be_computed_by_anybody():
    told = [
        Segment(SegmentKind.OBJECT, "é", "n", False, "red_moon", Crop(1, 2, b"abcdef")),
        Segment(SegmentKind.TEXT, ""),
    ]
    four = [length.to_bytes(4, "little") for length in (0, 1, 2)]
    first = bytes([1, 0]) + four[2] + "é".encode() + four[1] + b"n" + four[1] + four[2] + b"abcdef"
    assert segments_digest(told) == hashlib.sha256(first + bytes([0, 1]) + 4 * four[0]).hexdigest()


@given(segments)
def test_a_policy_that_takes_text_alone_is_told_the_text(parts):
    told = as_told("push", parts, TEXT_ALONE)
    assert (told.text, told.segments) == ("push", None)
    assert (told.sent.instruction, told.sent.segments_digest) == ("push", "")


@given(segments, descriptions)
def test_others_are_given_segments_as_their_description_says(parts, description):
    text = plain_text(parts)
    told = as_told(text, parts, description)
    if not description.takes_segments:
        assert told.segments is None
        return
    whole = [Segment(SegmentKind.TEXT, text)] if text else []
    kept = [part for part in parts or whole if part.visible or description.mask == "native"]
    assert [(s.kind, s.name, s.visible) for s in told.segments] == [(s.kind, s.name, s.visible) for s in kept]
    for given_one, part in zip(told.segments, kept, strict=True):
        pictured = part.crop is not None and description.referents == "crop"
        assert given_one.crop == (part.crop if pictured else None)
        assert given_one.text == ("" if pictured else part.text), "a picture in place of the words"
    assert told.text == plain_text(told.segments)
    assert told.sent.segments_digest == segments_digest(told.segments)


@given(segments, descriptions)
def test_what_is_told_is_told_again_in_the_same_way(parts, description):
    told = as_told(plain_text(parts), parts, description)
    if told.segments:
        assert as_told(told.text, told.segments, description) == told


def test_an_instruction_is_taken_apart_for_policies_that_take_segments_and_nobody_learns_what_it_is_about():
    base, seeing = instance(3).instruction, replace(TEXT_ALONE, referents="crop")
    assert to_send(base, EIGHT, TEXT_ALONE) == to_send(base, EIGHT, None) == ()
    parts = to_send(base, EIGHT, seeing)
    assert "".join(part.text for part in parts) == base.text and any(part.refers for part in parts)
    assert all(part.entity == "" for part in parts)
    nonsense = replace(base, text="xqz", meant=base.text)
    assert to_send(nonsense, EIGHT, seeing) == ()
    assert as_told("xqz", (), seeing).segments == (Segment(SegmentKind.TEXT, "xqz"),)
    assert as_told("", (), seeing).segments == ()
