import zoo_timeseries.plugin

from zoo.testing import JoiningConformance, PluginConformance


class TestTimeseries(PluginConformance):
    plugin = zoo_timeseries.plugin


class TestJoined(JoiningConformance):
    """A series, with the padding behind it, is read by a decoder that could not read and by one that could."""

    plugin = zoo_timeseries.plugin
    encoders = {"series-tiny": {"dim": 16, "depth": 1}}  # noqa: RUF012
    decoders = {  # noqa: RUF012
        "decoder-tiny": {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16, "vocab_size": 12},
        "rnn-attention-tiny": {"dim": 16, "vocab_size": 12},
    }
