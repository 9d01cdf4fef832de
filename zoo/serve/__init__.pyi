"""Public names of the server."""

from zoo.serve.routes import application as application
from zoo.serve.limits import Limits as Limits
from zoo.serve.sockets import running as running
