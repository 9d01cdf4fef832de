"""The name of the study; nothing heavy is imported."""

from zoo import StudySpec, hookimpl

ZOO_PLUGIN_API = 1


@hookimpl
def zoo_studies() -> list[StudySpec]:
    """Name the study, so that `zoo bench window-error` runs it."""
    return [StudySpec(name="window-error", entry="zoo_study.window_error:STUDY", description="Error of a window.")]
