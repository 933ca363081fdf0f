"""Logs of operations: a recorder writes the events of a call, and a replay makes the call again from them."""

from ._errors import EventError as EventError, ReplayError as ReplayError
from ._holdoff import Event as Event, Recorder as Recorder, replay as replay
