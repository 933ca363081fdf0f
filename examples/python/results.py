"""An answer that is no good is retried without being raised, and the last one comes back when there is no more time."""

import holdoff


class Response:
    """As HTTP clients return it: a status and headers."""

    def __init__(self, status: int) -> None:
        self.status_code = status
        self.headers = {"retry-after-ms": "3"}


policy = holdoff.Policy(attempts=3, backoff={"initial": "2ms"}, rules=[{"if": {"http": [202, "5xx"]}, "retry": True}])
answers = iter((202, 503, 200))
later = policy.retrying(on_result=True, on_retry=lambda event: print(f"{event.value.status_code}: not yet"))


def get() -> Response:
    return Response(next(answers))


print(later.call(get).status_code)

states = iter(("queued", "running", "running", "done"))
patient = policy.retrying(
    on_result=lambda state: state != "done",
    on_give_up=lambda event: print(f"{event.outcome.description} ({event.attempt})"),
)
print(patient.call(next, states))
