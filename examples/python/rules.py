"""The policy says which failures are retried: a job that is not ready answers 409, and a payment may not run twice."""

import holdoff

policy = holdoff.Policy(
    attempts=4,
    backoff={"initial": "2ms"},
    rules=[
        {"if": {"idempotent": False, "http": [503]}, "retry": True},
        {"if": {"idempotent": False}, "retry": False},
        {"if": [{"http": [409, "5xx"]}, {"patterns": ["connection reset"]}], "retry": True},
        {"if": {}, "retry": False},
    ],
)


class Answer(Exception):
    """As HTTP clients raise it: a status and headers."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.headers = {"Retry-After": "0"}


answers = iter((Answer(409), ConnectionResetError("connection reset by peer"), "done"))


def job() -> str:
    answer = next(answers)
    if isinstance(answer, Exception):
        raise answer
    return answer


def pay() -> str:
    raise ConnectionResetError("connection reset by peer")


print(policy.call(job))
try:
    policy.retrying(idempotent=False).call(pay)
except ConnectionResetError as error:
    print(f"not again: {holdoff.outcome_of(error)}")
