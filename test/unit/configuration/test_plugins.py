"""What a file names is a plug-in of the kind that is wanted, or is refused by what it lacks."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from robocontrast_ros.configuration import ConfigurationError, load_configured, load_plugin


class Maker:
    """Makes something that is no policy."""

    @classmethod
    def from_file(cls, path):
        return SimpleNamespace(describe=print)


def test_what_a_plug_in_makes_and_that_is_no_policy_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "makers", SimpleNamespace(Maker=Maker))
    path = tmp_path / "policy.yaml"
    path.write_text("policy: makers:Maker\n")
    with pytest.raises(ConfigurationError) as caught:
        load_configured("policies", path)
    assert str(caught.value) == (
        f"{path}: `policy`: got 'SimpleNamespace, made by its `from_file`', expected a policy, which has the methods "
        "describe, reset, act. It lacks reset, act."
    )


@pytest.mark.parametrize("name", [":x", "os:", "os:nothing", "nowhere:At", ".x:y"])
def test_a_name_that_cannot_be_imported_is_refused_in_one_line(name):
    with pytest.raises(
        ConfigurationError, match=r"expected an importable `module:Object`\. (Python says|It raises)"
    ) as caught:
        load_plugin("policies", name, "file", "policy")
    assert "\n" not in str(caught.value)
