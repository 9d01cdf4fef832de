"""`zoo list attention=` and `zoo info attention=NAME`."""

import json

import pytest

from zoo import Registry
from zoo.cli.models import attention_listing, listing
from zoo.errors import ConfigError
from zoo.registry.lookup import using


def test_it_lists_all_names_and_describes_what_a_mechanism_can_do(capsys: pytest.CaptureFixture[str]) -> None:
    with using(Registry(plugins=["zoo.registry.builtin"], autoload=False)):
        listing.list_("attention=")
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].split() == ["name", "description", "plugin"]
        assert len(lines) == 1 + len(attention_listing.described())
        assert any(line.startswith("window:LEFT[,RIGHT[,DILATION]] ") for line in lines)
        listing.info("attention=gated-delta")
        told = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
        assert (told["layer"], told["causal"], told["streams"]) == ("GatedDeltaAttention", "yes", "yes")
        listing.info("attention=window:3 & causal", as_json=True)
        assert json.loads(capsys.readouterr().out)["pattern"] == "window:3 & causal"
        with pytest.raises(ConfigError, match=r"Unknown attention \(glu\). Did you mean 'gla'"):
            listing.info("attention=glu")


def test_an_ability_that_is_missing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    listing._print_facts({"any_length": False, "weights": True, "nothing": ""})
    assert [line.split() for line in capsys.readouterr().out.splitlines()[1:]] == [
        ["any", "length", "no"],
        ["weights", "yes"],
    ]
