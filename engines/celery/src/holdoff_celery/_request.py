"""A message in a worker's main process, which sees the death of the pool process that ran it."""

from __future__ import annotations

from copy import copy
from typing import Any

from billiard.exceptions import WorkerLostError
from celery.exceptions import Reject, Retry as CeleryRetry
from celery.worker import state
from celery.worker.request import Request


class LostRequest(Request):
    """Counts the death of a pool process against the only task that it ran."""

    def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> Any:
        """Sends the task again if its process died, unless the worker is stopping: then the message comes back."""
        # An error of a pool process is in a wrapper with its traceback.
        error: Any = getattr(exc_info.exception, "exc", exc_info.exception)
        is_stopping = state.should_stop is not None or state.should_terminate is not None
        if isinstance(error, WorkerLostError) and not is_stopping and self._was_sent():
            state.task_ready(self)
            self.acknowledge()
            return None
        return super().on_failure(exc_info, send_failed_event, return_ok)

    def _was_sent(self) -> bool:
        """True if another message has taken the place of this one."""
        this: Any = self
        context, task = copy(this._context), this.task
        context.called_directly = False
        task.request_stack.push(context)
        try:
            task.send_after_death()
        except CeleryRetry:
            return True
        except (Reject, ValueError):
            # The broker refused the message, or a header is invalid: the message comes back.
            return False
        finally:
            task.request_stack.pop()
        return False
