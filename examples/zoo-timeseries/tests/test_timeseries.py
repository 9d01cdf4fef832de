import zoo_timeseries.plugin

from zoo.testing import PluginConformance


class TestTimeseries(PluginConformance):
    plugin = zoo_timeseries.plugin
