"""litellm's own retries around the client's, under stamina: 3 (3 + 2)."""

import litellm
import stamina

litellm.suppress_debug_info = True


@stamina.retry(on=Exception, attempts=3)
def ask() -> object:
    hi = [{"role": "user", "content": "hi"}]
    url = "https://api.example/v1"
    return litellm.completion(model="openai/m", api_base=url, api_key="key", messages=hi, num_retries=2)


ask()
