"""Packages of plugin authors, written from templates: `zoo new plugin`, `zoo new model`, `zoo new attention`."""
