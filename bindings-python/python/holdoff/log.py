"""Logs of operations: a recorder writes the events of a call, and a replay makes the call again from them."""

from ._errors import EventError, ReplayError
from ._holdoff import Event, Recorder, replay

__all__ = ["Event", "EventError", "Recorder", "ReplayError", "replay"]
