/*
 * A flaky operation under a policy and guards in C++: results, errors, a trace, and a refusal.
 *
 *     c++ -std=c++17 retry.cpp $(pkg-config --cflags --libs holdoff) && ./a.out
 */
#include <holdoff.hpp>

#include <cstdio>

using namespace std::chrono_literals;

struct page {
  unsigned status;
  std::string text;
};

/* A server that is down for a while. A real operation calls one here, for at most attempt.left(). */
struct server {
  int down_for;

  page get(const holdoff::attempt &attempt) {
    if (attempt.number() == 1 && down_for > 0) {
      down_for--;
      throw std::runtime_error("connection reset");
    }
    return down_for-- > 0 ? page{503, ""} : page{200, "hello"};
  }
};

int main() {
  const holdoff::policy policy{{"attempts", 4}, {"backoff.initial", 20ms}, {"deadline", 10s}};
  holdoff::guards guards{{"breaker.failures", 3}, {"breaker.open_for", 30s}};

  holdoff::outcome outcome;
  holdoff::host host;
  host.guards = &guards;
  host.outcome = &outcome;
  host.on_retry = [](const holdoff::retrying &next) {
    std::printf("attempt %u failed, next one in %.1f ms\n", next.attempt,
                std::chrono::duration<double, std::milli>(next.delay).count());
  };
  const auto status = [](const page &page) { return holdoff::failure::of_http(page.status); };

  server flaky{2};
  const auto get = [&](const holdoff::attempt &attempt) { return flaky.get(attempt); };
  const page answer = holdoff::retry(policy, get, host, status);
  std::printf("%u %s after %u attempts\n", answer.status, answer.text.c_str(), outcome.attempts);

  flaky.down_for = 100;
  const page last = holdoff::retry(policy, get, host, status);
  std::printf("%u: %s\n", last.status, holdoff_word(HOLDOFF_WORD_REASON_TEXT, outcome.reason));
  try {
    holdoff::retry(policy, get, host, status);
  } catch (const holdoff::refused &refused) {
    const auto wait = refused.outcome().retry_at - holdoff::clock::now();
    std::printf("refused: %s, ask again in %.0f s\n", refused.what(), std::chrono::duration<double>(wait).count());
    return answer.status == 200 && last.status == 503 ? 0 : 1;
  }
  return 1;
}
