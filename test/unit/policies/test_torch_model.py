"""The policy `torch`: networks in files of every kind, and every way in which file and network do not fit."""

from __future__ import annotations

import io
import logging
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers
from torch_networks import (
    CHUNK,
    IMAGE,
    PUSHING,
    READING,
    STATE_ONLY,
    Aside,
    Drawing,
    Faulty,
    Reading,
    Recurrent,
    RunsCode,
    array,
    examples,
    pushing,
    write_class,
    write_exported,
    write_policy,
    write_traced,
    write_weights,
)

from robocontrast_ros.configuration import ConfigurationError, load_configured
from robocontrast_ros.contracts.policy import PolicyContract
from robocontrast_ros.domain import Fault, Pose
from robocontrast_ros.policies.adapters.packing import pack_image
from robocontrast_ros.policies.adapters.torch_model.parameters import load_parameters
from robocontrast_ros.policies.adapters.torch_model.policy import WARM_UP_CALLS, TorchPolicy
from robocontrast_ros.policies.protocol import Observation, PolicyFault
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")

STATE = Observation(100_000_000, {}, (), (), Pose((0.3, -0.2, 0.0)))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with the same network in every kind of file; exporting takes seconds."""
    folder = tmp_path_factory.mktemp("networks")
    inputs = examples()
    write_exported(folder / "positional.pt2", pushing(), tuple(inputs.values()))
    write_exported(folder / "named.pt2", pushing(), (), **inputs)
    write_traced(folder / "traced.pt")
    write_weights(folder / "weights.pt", pushing())
    save_file(pushing().state_dict(), folder / "weights.safetensors")
    return folder


def made(path):
    policy = TorchPolicy.from_file(path)
    policy.warm_up()
    return policy


def refused(path):
    with pytest.raises(ConfigurationError) as error:
        made(path)
    return error.value


def seen(seed=5):
    image = np.random.default_rng(seed).integers(0, 256, (90, 160, 3), np.uint8)
    return replace(STATE, images={"board": image})


class Written(PolicyContract):
    """A policy whose files are written before each test."""

    @pytest.fixture(autouse=True)
    def _written(self, tmp_path, files):
        self.path = self.write(tmp_path, files)

    def make(self):
        return made(self.path)

    def parameter_file(self):
        return self.path


class TestAnExportedNetwork(Written):
    def write(self, folder, files):
        return write_policy(folder / "a.yaml", str(files / "positional.pt2"), "export", **PUSHING)


class TestANetworkWithAMemory(Written):
    def write(self, folder, files):
        return write_class(folder / "a.yaml", Recurrent(), STATE_ONLY)


class TestANetworkThatDraws(Written):
    def write(self, folder, files):
        return write_class(folder / "a.yaml", Drawing(), STATE_ONLY)

    def test_another_seed_gives_other_actions(self):
        assert not np.array_equal(self.acted(self.fresh(), 1, 7), self.acted(self.fresh(), 1, 8))

    def test_it_neither_sees_nor_moves_the_random_numbers_of_others(self):
        alone = self.acted(self.fresh(), 1, 7)
        policy = self.fresh()
        policy.reset(self.instruction(1), 7)
        answers = []
        for observation in self.observations(policy, 1):
            torch.manual_seed(1)
            before = torch.get_rng_state()
            answers.append(policy.act(observation))
            assert torch.equal(torch.get_rng_state(), before)
        assert np.array_equal(alone, answers)


def test_every_kind_of_file_gives_what_the_network_gives(files):
    observation, words = seen(), "push the red star to the blue cube"
    image = pack_image(observation.images["board"], load_parameters_of(files).input.images["image"])
    with torch.no_grad():
        wanted = array(
            pushing()(
                torch.from_numpy(image)[None],
                torch.from_numpy(SentenceEncoder.shipped().encode([words]).astype(np.float32)),
                torch.tensor([[0.3, -0.2]]),
            )[0]
        )
    model = {"class": "torch_networks:Pushing"}
    positional = {"style": "positional", "order": ["image", "language", "state"]}
    kinds = [
        ("positional.pt2", "export", {}),
        ("positional.pt2", "export", {"call": positional}),
        ("named.pt2", "export", {}),
        ("traced.pt", "torchscript", {}),
        ("traced.pt", "torchscript", {"call": positional}),
        ("weights.pt", "state_dict", {"model": model}),
        ("weights.safetensors", "state_dict", {"model": model}),
    ]
    for file, kind, changes in kinds:
        policy = TorchPolicy.from_file(write_policy(files / "a.yaml", file, kind, **{**PUSHING, **changes}))
        policy.reset(words, 0)
        answer = policy.act(observation)
        assert answer.shape == (CHUNK, 2)
        assert np.allclose(answer, wanted, rtol=0, atol=1e-7), (file, changes)


def load_parameters_of(folder):
    return load_parameters(write_policy(folder / "a.yaml", "positional.pt2", "export", **PUSHING))


def test_it_is_found_by_its_name(tmp_path):
    assert isinstance(
        load_configured("policies", write_class(tmp_path / "a.yaml", Recurrent(), STATE_ONLY)), TorchPolicy
    )


def test_a_memory_lasts_through_a_trial_and_not_into_the_next(tmp_path):
    policy = made(write_class(tmp_path / "a.yaml", Recurrent(), STATE_ONLY))
    for _ in range(2):
        policy.reset("", 0)
        first, second = policy.act(STATE), policy.act(STATE)
        assert np.allclose(first, [[0.03, -0.02]]) and np.allclose(second, [[0.09, -0.06]])


def test_words_come_as_text_as_tokens_with_their_mask_or_not_at_all(tmp_path):
    said = made(write_class(tmp_path / "a.yaml", Reading(), READING))
    said.reset("push it", 0)
    assert np.allclose(said.act(STATE), [[0.07, 0.07]])
    tokenizer = Tokenizer(models.WordLevel({"[PAD]": 0, "[UNK]": 1, "push": 2, "it": 6}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    words = {"encode": "tokens", "tokenizer": "tokenizer.json", "length": 4, "mask": "mask"}
    tokens = made(write_class(tmp_path / "b.yaml", Reading(), {**READING, "instruction": words}))
    tokens.reset("push it", 0)
    assert np.allclose(tokens.act(STATE), [[0.02, 0.02]]), "mean of the ids 2, 6, 0, 0; two of them count"
    tokens.reset("push it push it push it", 0)
    assert np.allclose(tokens.act(STATE), [[0.04, 0.04]]), "cut off after four"
    described = tokens.describe()
    assert (described.max_tokens, described.tokenizer) == (4, str(tmp_path / "tokenizer.json"))
    assert (said.describe().max_tokens, said.describe().tokenizer) == (None, "")


def test_a_state_dict_is_found_inside_a_checkpoint_and_under_a_prefix(tmp_path):
    weights = {f"module.{name}": value for name, value in pushing().state_dict().items()}
    torch.save({"epoch": 3, "model": {"best": weights}}, tmp_path / "w.pt")
    model = {"class": "torch_networks:Pushing", "entry": ["model", "best"], "prefix": "module."}
    made(write_policy(tmp_path / "a.yaml", "w.pt", model=model, **PUSHING))
    message = str(refused(write_policy(tmp_path / "a.yaml", "w.pt", model={**model, "entry": ["modle"]}, **PUSHING)))
    assert "`model.entry`: got 'modle', expected a known key of the file: epoch, model." in message
    message = str(refused(write_policy(tmp_path / "a.yaml", "w.pt", model={**model, "entry": []}, **PUSHING)))
    assert "a state dict: names and tensors, not epoch, model. Name by `model.entry`" in message


@pytest.mark.parametrize("core", ["numpy._core", "numpy.core"])
def test_a_checkpoint_with_numbers_of_numpy_beside_the_weights_is_loaded_whichever_numpy_wrote_it(tmp_path, core):
    scalars = {"loss": np.float64(0.5), "epoch": np.int64(3), "best": np.bool_(True), "rate": np.float32(0.1)}
    torch.save({**scalars, "model": pushing().state_dict()}, tmp_path / "new.pt")

    def renamed(name, content):
        old, new = (f"c{module}.multiarray\nscalar\n".encode() for module in ("numpy._core", core))
        return content.replace(old, new) if name.endswith("data.pkl") else content

    copied(tmp_path / "new.pt", tmp_path / "w.pt", renamed)
    with zipfile.ZipFile(tmp_path / "w.pt") as archive:
        assert f"c{core}.multiarray\nscalar".encode() in archive.read("w/data.pkl")
    model = {"class": "torch_networks:Pushing", "entry": ["model"]}
    made(write_policy(tmp_path / "a.yaml", "w.pt", model=model, **PUSHING))


def test_an_entry_of_a_tuple_is_taken_by_its_number_and_half_precision_is_kept_to(tmp_path):
    half = {**STATE_ONLY, "output": {"key": "1"}, "dtype": "float16"}
    policy = made(write_class(tmp_path / "a.yaml", Aside(), half))
    policy.reset("", 0)
    assert np.array_equal(policy.act(STATE), array(torch.tensor([[0.3, -0.2]]).half()))


def test_the_number_of_threads_is_its_own(tmp_path):
    before = torch.get_num_threads()
    more = {**STATE_ONLY, "output": {"key": "0"}, "threads": before + 1}
    policy = made(write_class(tmp_path / "a.yaml", Aside(), more))
    policy.reset("", 0)
    assert policy.act(STATE)[0, 0] == before + 1
    assert torch.get_num_threads() == before


def test_act_before_reset_and_after_close_say_so(tmp_path):
    policy = made(write_class(tmp_path / "a.yaml", Recurrent(), STATE_ONLY))
    with pytest.raises(ValueError, match="act before reset"):
        policy.act(STATE)
    policy.close()
    with pytest.raises(ValueError, match="was closed"):
        policy.reset("", 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"device": "gpu"}, "`device`: got 'gpu', expected auto, cpu, cuda, or cuda:1 for the second GPU"),
        (
            {"model": {"class": "a:B"}},
            "`model.class`: got 'a:B', expected nothing, except with `state_dict`. Leave it",
        ),
        (
            {"model": {"clas": 1}},
            "`model.clas`: got 'clas', expected a known key: arguments, class, entry, file",
        ),
        (
            {"instruction": {"encode": "text"}},
            "`instruction.encode`: got 'text', expected minilm, tokens or none",
        ),
        ({"instruction": {"encode": "tokens"}}, "expected `tokenizer` and `length` with `encode: tokens`"),
        (
            {"instruction": {"encode": "tokens", "tokenizer": "nowhere.json", "length": 4}},
            "`instruction.tokenizer`: got 'nowhere.json', expected a file tokenizer.json",
        ),
        (
            {"call": {"style": "positional", "order": ["image", "state"]}},
            "`call.order`: got ['image', 'state'], expected each of language, image, state once",
        ),
        (
            {"input": {"images": {"image": {"camera": "board"}}}},
            "`input.images.image.width`: got 'nothing', expected `width` and `height` of the images",
        ),
        (
            {"input": {"state": {"joints": {"parts": ["joint_positions"]}}}},
            "`input.state.joints.joints`: got 'nothing', expected the number of joints",
        ),
        (
            {"input": {"state": {"state": {"parts": ["tool_xy"], "mean": [0.1]}}}},
            "`input.state.state.mean`: got [0.1], expected 2 numbers, or none",
        ),
        (
            {"input": {"images": {"image": IMAGE}, "state": {"image": {"parts": ["tool_xy"]}}}},
            "`input.state.image`: got 'image', expected one name for each input",
        ),
        (
            {"input": {"instruction": "image", "images": {"image": IMAGE}}},
            "`input.instruction`: got 'image', expected a name that no other input has",
        ),
        ({"output": {"scale": [1.0]}}, "`output.scale`: got [1.0], expected 2 numbers, or none"),
    ],
)
def test_a_parameter_file_whose_parts_do_not_fit_is_refused(files, changes, message):
    path = write_policy(files / "a.yaml", "positional.pt2", "export", **{**PUSHING, **changes})
    assert message in str(refused(path))


def test_a_state_dict_needs_a_class_that_can_be_made(files):
    def said(**model):
        return str(refused(write_policy(files / "a.yaml", "weights.pt", model=model, **PUSHING)))

    assert "`model.class`: got 'nothing', expected `module:Class`" in said()
    assert "PYTHONPATH" in said(**{"class": "nobodys_networks:Net"})
    assert "expected `module:Class` of a torch.nn.Module" in said(**{"class": "pushing"})
    assert "expected the class of a torch.nn.Module" in said(**{"class": "torch_networks:examples"})
    unknown = said(**{"class": "torch_networks:Pushing", "arguments": {"chanels": 3}})
    assert "`model.arguments`: got {'chanels': 3}" in unknown and "unexpected keyword argument" in unknown


def test_a_state_dict_of_another_class_is_told_by_the_first_few_names(files):
    def said(name, **arguments):
        model = {"class": f"torch_networks:{name}", "arguments": arguments}
        return str(refused(write_policy(files / "a.yaml", "weights.pt", model=model, **PUSHING)))

    other = said("Recurrent")
    assert (
        "It lacks scale, hidden. It has, and the class has not, see.weight, see.bias, decide.weight and 1 more."
        in other
    )
    assert "see.bias (3,) instead of (5,)" in said("Pushing", channels=5)


def test_a_file_of_another_kind_is_named_with_what_to_write(files):
    for file, kind, right in [
        ("traced.pt", "export", "torchscript"),
        ("weights.safetensors", "torchscript", "state_dict"),
        ("positional.pt2", "state_dict", "export"),
    ]:
        model = {"class": "torch_networks:Pushing"} if kind == "state_dict" else {}
        error = refused(write_policy(files / "a.yaml", file, kind, model=model, **PUSHING))
        assert (error.key, error.got) == ("model.format", kind)
        assert f"Write `format: {right}`" in error.cure


def test_a_file_that_is_missing_or_broken_is_named_without_a_traceback(files, caplog):
    whole = (files / "positional.pt2").read_bytes()
    (files / "cut.pt2").write_bytes(whole[: len(whole) // 2])
    (files / "junk.pt").write_bytes(b"junk" * 100)
    (files / "empty.pt").touch()
    broken = whole.replace(b"schema_version", b"schemaaversion")
    assert broken != whole
    (files / "broken.pt2").write_bytes(broken)
    model = {"class": "torch_networks:Pushing"}
    missing = refused(write_policy(files / "a.yaml", "no.pt2", "export", **PUSHING))
    assert missing.key == "model.file" and f"There is none at {files / 'no.pt2'}" in missing.cure
    for file, kind in [
        ("cut.pt2", "export"),
        ("broken.pt2", "export"),
        ("junk.pt", "torchscript"),
        ("junk.pt", "state_dict"),
        ("empty.pt", "state_dict"),
    ]:
        extra = {"model": model} if kind == "state_dict" else {}
        error = refused(write_policy(files / "a.yaml", file, kind, **extra, **PUSHING))
        assert (error.key, error.got) == ("model.file", file)
        assert "\n" not in str(error)
    assert [record for record in caplog.records if record.levelno < logging.CRITICAL] == []


def copied(source, target, changed):
    """Copy an exported network, its parts changed."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = changed(name, old.read(name))
            new.writestr(name.replace(source.stem, target.stem, 1), content)


def test_code_in_a_file_is_refused_and_never_run(files, capfd):
    model = {"class": "torch_networks:Pushing"}
    torch.save({"weights": RunsCode(print, "it ran")}, files / "code.pt")
    torch.save(pushing(), files / "whole.pt")
    torch.save({"weights": np.array([RunsCode(print, "it ran")], dtype=object)}, files / "array.pt")
    buffer = io.BytesIO()
    torch.save(((RunsCode(print, "it ran"),), {}), buffer)
    copied(
        files / "named.pt2",
        files / "code.pt2",
        lambda name, content: buffer.getvalue() if "sample_inputs" in name else content,
    )
    for file, kind, wanted in [
        ("code.pt", "state_dict", "print"),
        ("whole.pt", "state_dict", "torch_networks.Pushing"),
        ("array.pt", "state_dict", "numpy._core.multiarray._reconstruct"),
        ("code.pt2", "export", "print"),
    ]:
        extra = {"model": model} if kind == "state_dict" else {}
        error = refused(write_policy(files / "a.yaml", file, kind, **extra, **PUSHING))
        assert f"it wants code to be run ({wanted})" in error.expected
    assert "it ran" not in "".join(capfd.readouterr())


def test_a_network_of_another_kind_is_refused_without_advice_to_load_it_unsafely(files):
    torch.jit.script(torch.nn.Linear(1, 1)).save(str(files / "scripted.pt"))
    (files / "junk.pt").write_bytes(b"junk")
    for file in ("scripted.pt", "junk.pt"):
        model = {"class": "torch_networks:Pushing"}
        error = refused(write_policy(files / "a.yaml", file, "state_dict", model=model, **PUSHING))
        assert "weights_only" not in str(error) and "\n" not in str(error)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_network_that_was_exported_on_a_gpu_is_told_how_to_be_exported_for_both(files):
    copied(files / "named.pt2", files / "gpu.pt2", lambda name, content: content.replace(b'"cpu"', b'"cuda"'))
    error = refused(write_policy(files / "a.yaml", "gpu.pt2", "export", **PUSHING))
    assert "was exported on one" in error.expected and "network.cpu()" in error.cure


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_told_with_what_is(files):
    policy = write_policy(files / "a.yaml", "traced.pt", "torchscript", **{**PUSHING, "device": "cuda:1"})
    assert "`device`: got 'cuda:1', expected auto, or what PyTorch finds here: cpu." in str(refused(policy))


def test_an_input_that_the_network_does_not_take_or_lacks_is_found_before_any_trial(files):
    def error(file, kind, **images):
        inputs = {**PUSHING["input"], "images": images}
        return refused(write_policy(files / "a.yaml", file, kind, **{**PUSHING, "input": inputs}))

    for file, kind in [("positional.pt2", "export"), ("named.pt2", "export"), ("traced.pt", "torchscript")]:
        unknown = error(file, kind, imag=IMAGE)
        assert unknown.key == "input.images.imag" and "Did you mean 'image'?" in unknown.cure
        assert "Describe image" in error(file, kind).cure


def test_an_image_of_another_size_or_layout_is_told_with_the_shapes(files):
    def said(file, kind, **changes):
        inputs = {**PUSHING["input"], "images": {"image": {**IMAGE, **changes}}}
        return str(refused(write_policy(files / "a.yaml", file, kind, **{**PUSHING, "input": inputs})))

    small = said("positional.pt2", "export", width=32)
    assert "image float32 (1, 3, 48, 32)" in small and "takes: image float32 (1, 3, 48, 64)" in small
    assert "to have 3 channels, but got 48" in said("traced.pt", "torchscript", layout="hwc")


@pytest.mark.parametrize(
    ("kind", "key", "message"),
    [
        ("raises", "input", "It says: RuntimeError: the weights do not like"),
        ("out of memory", "device", "a device whose memory the network fits in"),
        ("wide", "action.size", "got shape (3,)"),
        ("text", "output.key", "`key: ''` takes the answer itself"),
        ("long", "chunk.length", "the number of actions in the network's answer, 9"),
    ],
)
def test_a_network_that_fails_is_told_by_its_first_answer(tmp_path, kind, key, message):
    error = refused(write_class(tmp_path / "a.yaml", Faulty(kind), STATE_ONLY, kind=kind))
    assert error.key == key and message in str(error) and "\n" not in str(error)


@pytest.mark.parametrize(
    ("kind", "fault", "detail"),
    [
        ("raises", Fault.POLICY_RAISED, "RuntimeError: the weights do not like"),
        (
            "out of memory",
            Fault.POLICY_RAISED,
            "OutOfMemoryError: CUDA out of memory. Tried to allocate 20 GiB.",
        ),
        ("wide", Fault.POLICY_WRONG_SHAPE, "got shape (3,), expected n actions, 2 numbers each"),
        ("text", Fault.POLICY_UNREADABLE, "got texts, expected numbers in 'the answer'"),
        ("complex", Fault.POLICY_UNREADABLE, "got complex numbers, expected numbers in 'the answer'"),
    ],
)
def test_a_network_that_fails_in_a_trial_is_a_fault_of_its_own(tmp_path, kind, fault, detail):
    policy = made(
        write_class(
            tmp_path / "a.yaml",
            Faulty(kind, WARM_UP_CALLS + 2),
            STATE_ONLY,
            kind=kind,
            call=WARM_UP_CALLS + 2,
        )
    )
    policy.reset("", 0)
    policy.act(STATE)
    with pytest.raises(PolicyFault) as caught:
        policy.act(STATE)
    assert (caught.value.fault, caught.value.detail) == (fault, detail)


def test_without_pytorch_it_is_described_and_loading_it_says_what_to_install(tmp_path):
    path = write_class(tmp_path / "a.yaml", Recurrent(), STATE_ONLY)
    program = f"""
import json, pathlib, sys
sys.modules["torch"] = None
from robocontrast_ros.configuration import ConfigurationError, find_configured
path = pathlib.Path({str(path)!r})
policy = find_configured("policies", path)
print(policy.describe_file(path).action_space)
try:
    policy.from_file(path)
except ConfigurationError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    space, refusal = done.stdout.splitlines()
    assert space == "planar_delta"
    assert "expected PyTorch, which this policy needs. Install `robocontrast_ros[torch]`" in refusal


def test_the_example_of_the_documentation_works_as_it_stands(tmp_path, monkeypatch):
    text = (Path(__file__).parents[3] / "docs" / "torch_policies.md").read_text()
    blocks = dict(re.findall(r"```\w+\n# ([\w.]+)\n(.*?)```", text, flags=re.DOTALL))
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks["export.py"], "export.py", "exec"), {"__name__": "export"})
    (tmp_path / "pusher.yaml").write_text(blocks["pusher.yaml"])
    policy = made(tmp_path / "pusher.yaml")
    policy.reset("push the red star to the blue cube", 0)
    assert policy.act(seen()).shape == (4, 2)
    assert policy.describe().executed == 2
