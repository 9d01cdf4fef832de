"""Public names for commands of plugins: arguments that commands share."""

from zoo.cli.arguments import (
    Device as Device,
    Int8 as Int8,
    Model as Model,
    ReadWorkers as ReadWorkers,
    check_not_empty as check_not_empty,
    check_out as check_out,
    read_inputs as read_inputs,
)
