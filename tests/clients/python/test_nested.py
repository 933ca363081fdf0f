"""A retry around an SDK and a retry in its transport: `innermost` holds through the SDK's own errors (spec 30.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import adapters
import anthropic
import holdoff
import httpx2
import openai
import pytest
from holdoff.testing import virtual_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Flaky

POLICY = holdoff.Policy(attempts=3, budget="none")
OUTER = holdoff.Policy(attempts=3, budget="none", nested="innermost")


class Retrying(httpx2.HTTPTransport):
    """A transport that repeats requests itself, and answers with the last 503."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        send = super().handle_request
        answer: httpx2.Response = POLICY.retrying(on_result=True).call(send, request)
        return answer


def ask_openai(url: str, client: httpx2.Client) -> Any:
    sdk = openai.OpenAI(base_url=url, api_key="key", max_retries=0, http_client=client)
    return sdk.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])


def ask_anthropic(url: str, client: httpx2.Client) -> Any:
    sdk = anthropic.Anthropic(base_url=url, api_key="key", max_retries=0, http_client=client)
    return adapters.ask_anthropic(sdk)


def hidden(ask: Callable[[str, httpx2.Client], Any]) -> Callable[[str, httpx2.Client], Any]:
    def asks(url: str, client: httpx2.Client) -> Any:
        try:
            return ask(url, client)
        except (openai.APIError, anthropic.APIError):
            raise RuntimeError("no answer") from None

    return asks


@pytest.mark.parametrize("fault", ["status/503", "reset"])
@pytest.mark.parametrize("ask", [ask_openai, ask_anthropic, hidden(ask_openai), hidden(ask_anthropic)])
def test_requests_do_not_multiply(flaky: Flaky, ask: Callable[[str, httpx2.Client], Any], fault: str) -> None:
    url, name = flaky.address(f"{{http}}/{fault}/;times=99/")
    with virtual_time(), httpx2.Client(transport=Retrying()) as client:
        with pytest.raises((openai.APIError, anthropic.APIError, RuntimeError)) as raised:
            OUTER.call(ask, url, client)
        outcome = holdoff.outcome_of(raised.value)
        assert outcome is not None
        assert (outcome.reason, outcome.attempts) == ("permanent", 1)
    assert flaky.seen(name) == 3


def test_without_a_retry_in_the_transport_the_one_around_retries(flaky: Flaky) -> None:
    url, name = flaky.address("{http}/status/503/;times=99/")
    with virtual_time(), httpx2.Client() as client, pytest.raises(openai.APIError):
        OUTER.call(ask_openai, url, client)
    assert flaky.seen(name) == 3
