"""botocore and boto3: each call of an operation is retried as a whole, so that each attempt is signed anew."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from .rules import Body, Exchange, Front, is_file, is_plain, origin_of_url, replace

_READS = ("BatchGet", "Describe", "Get", "Head", "List", "Query", "Scan")
"""The beginnings of the names of operations that change nothing."""


class _Front(Front):
    errors, refusal, timeout = "botocore.exceptions", "BotoCoreError", "BotoCoreError"


class _Parameters(Body):
    """The parameters of an operation; those that are files are sent from their positions."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        values = parameters.values()
        super().__init__([value for value in values if is_file(value)])
        self._used = any(hasattr(value, "read") and not is_file(value) and not is_plain(value) for value in values)


def wrap(client: Any, policy: Any, options: Any) -> Any:
    """Retry the operations of a client; the function that is returned takes it back."""
    front = _Front(policy, **options)
    call, close, events = client._make_api_call, client.close, client.meta.events
    service, origin = client.meta.service_model, origin_of_url(client.meta.endpoint_url)

    def called(operation_name: str, api_params: dict[str, Any]) -> Any:
        model = service.operation_model(operation_name)
        for name in model.idempotent_members:
            # botocore would make another token in each attempt.
            api_params.setdefault(name, str(uuid4()))
        is_safe = operation_name.startswith(_READS) or bool(model.idempotent_members)

        def attempt(exchange: Exchange) -> Any:
            # botocore puts files that are read into the parameters, in the place of bytes.
            return call(operation_name, dict(api_params))

        headers = ["idempotency-key"] if is_safe else []
        exchange = front.exchange(model.http.get("method", "POST"), origin, headers, _Parameters(api_params))
        return front.run(exchange, attempt)

    def closed() -> None:
        front.close()
        close()

    service_id = service.service_id.hyphenize()
    event, name = f"needs-retry.{service_id}", f"retry-config-{service_id}"
    own = getattr(events, "_emitter", events)._unique_id_handlers.get(name)
    if own is not None:
        events.unregister(event, unique_id=name)
    undo = replace(client, _make_api_call=called, close=closed)

    def undo_all(client: Any) -> None:
        undo(client)
        if own is not None:
            client.meta.events.register(event, own["handler"], unique_id=name)

    return undo_all
