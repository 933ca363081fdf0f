/* holdoff.hpp in virtual time: no test here waits. */
#include <holdoff.hpp>

#include "../check.h"
#include "virtual_time.hpp"

#include <thread>

const char *running = "";
int failures = 0;
int tests = 0;

namespace {

using namespace std::chrono_literals;
using holdoff::failure;
using holdoff::policy;

/* In braces a number that does not fit its type does not compile. */
constexpr std::uint8_t small[]{HOLDOFF_REASON_HINT, HOLDOFF_CAUSE_BACKOFF, HOLDOFF_SLEEP, HOLDOFF_GAVE_UP};
constexpr std::uint32_t kinds[]{HOLDOFF_TRANSIENT, HOLDOFF_FAULT, HOLDOFF_NO_RULE, HOLDOFF_ERROR_UNKNOWN_FIELD};
constexpr std::uint64_t times[]{HOLDOFF_NEVER, HOLDOFF_LONGEST_NS, HOLDOFF_FIRST_TICKET, HOLDOFF_POLICY_MAGIC};
static_assert(sizeof small + sizeof kinds + sizeof times == 4 + 16 + 32, "numbers of the headers");

struct lost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/* Fails so many times before it succeeds. */
struct flaky {
  int fail_first;
  int calls = 0;

  int operator()() {
    if (++calls <= fail_first) {
      throw lost("lost");
    }
    return calls;
  }
};

policy constant(int attempts) {
  return policy{{"backoff", "constant"}, {"backoff.delay", 1s}, {"jitter", "none"}, {"attempts", attempts}};
}

void a_success_is_returned() {
  CHECK_NUMBER(holdoff::retry(policy(), [] { return 7u; }), 7);
  CHECK(holdoff::retry(policy(), [] { return std::make_unique<int>(7); }) != nullptr);
  int calls = 0;
  holdoff::retry(policy(), [&] { calls++; });
  CHECK_NUMBER(calls, 1);
}

void an_error_is_retried_after_a_sleep() {
  virtual_time time;
  flaky fetch{2};
  CHECK_NUMBER(holdoff::retry(constant(3), fetch, time.host()), 3);
  CHECK(time.slept() == 2s);
}

void giving_up_throws_the_last_error() {
  virtual_time time;
  holdoff::outcome outcome;
  holdoff::host host = time.host();
  host.outcome = &outcome;
  flaky fetch{9};
  CHECK(throws<lost>([&] { holdoff::retry(constant(3), fetch, host); }));
  CHECK_NUMBER(fetch.calls, 3);
  CHECK_NUMBER(outcome.ended, HOLDOFF_GAVE_UP);
  CHECK_NUMBER(outcome.reason, HOLDOFF_REASON_ATTEMPTS);
  CHECK_NUMBER(outcome.attempts, 3);
}

void a_mistake_of_the_program_is_not_retried() {
  virtual_time time;
  int calls = 0;
  auto mistake = [&]() -> int { calls++; throw std::out_of_range("at"); };
  CHECK(throws<std::out_of_range>([&] { holdoff::retry(constant(3), mistake, time.host()); }));
  CHECK_NUMBER(calls, 1);
}

void an_operation_says_how_it_failed() {
  virtual_time time;
  int calls = 0;
  holdoff::retry(
      constant(3), [&] { if (++calls == 1) throw holdoff::failed(failure(HOLDOFF_THROTTLED).after(5s)); }, time.host());
  CHECK(time.slept() == 5s);
  CHECK(throws<holdoff::failed>([&] {
    holdoff::retry(constant(3), [] { throw holdoff::failed(*failure::of_http(404), "not found", 404); }, time.host());
  }));
  CHECK(time.slept() == 5s);
}

void classify_says_what_an_error_is() {
  virtual_time time;
  holdoff::host host = time.host();
  host.classify = [](const std::exception &error) -> std::optional<failure> {
    return dynamic_cast<const lost *>(&error) != nullptr ? std::optional<failure>(HOLDOFF_PERMANENT) : std::nullopt;
  };
  flaky fetch{9};
  CHECK(throws<lost>([&] { holdoff::retry(constant(3), fetch, host); }));
  CHECK_NUMBER(fetch.calls, 1);
  host.classify = [](const std::exception &) -> std::optional<failure> { throw 7; };
  CHECK(throws<int>([&] { holdoff::retry(constant(3), fetch, host); }));
  CHECK_NUMBER(fetch.calls, 2);
}

void the_rules_of_the_policy_judge_errors() {
  virtual_time time;
  policy only_resets{{"rules[0].if[0].patterns[0]", "connection reset"}, {"rules[0].if[1].http[0]", 404},
                     {"rules[0].retry", true}, {"rules[1].retry", false}};
  policy copy = only_resets;
  int calls = 0;
  auto fail = [&](const char *text, unsigned http) {
    calls = 0;
    try {
      holdoff::retry(copy, [&] { calls++; throw holdoff::failed(failure(), text, http); }, time.host());
    } catch (const holdoff::failed &) {
    }
    return calls;
  };
  CHECK_NUMBER(fail("connection reset by peer", 0), 3);
  CHECK_NUMBER(fail("no route", 0), 1);
  CHECK_NUMBER(fail("not yet", 404), 3);
  CHECK_NUMBER(fail("not ever", 410), 1);
}

void an_error_of_the_system_has_a_code() {
  virtual_time time;
  policy resets{{"rules[0].if.codes[0]", "ECONNRESET"}, {"rules[0].retry", true}, {"rules[1].retry", false}};
  auto calls_of = [&](const policy &policy, std::errc number, bool idempotent) {
    int calls = 0;
    holdoff::host host = time.host();
    host.idempotent = idempotent;
    auto fails = [&] { calls++; throw std::system_error(std::make_error_code(number)); };
    CHECK(throws<std::system_error>([&] { holdoff::retry(policy, fails, host); }));
    return calls;
  };
  CHECK_NUMBER(calls_of(resets, std::errc::connection_reset, true), 3);
  CHECK_NUMBER(calls_of(resets, std::errc::timed_out, true), 1);
  CHECK_NUMBER(calls_of(constant(3), std::errc::connection_refused, false), 3);
  CHECK_NUMBER(calls_of(constant(3), std::errc::connection_reset, false), 1);
}

void a_policy_stays_as_it_was_built() {
  virtual_time time;
  holdoff::options fields{{"rules[0].if.patterns[0]", "reset"}, {"rules[0].retry", true}, {"rules[1].retry", false}};
  const policy before(fields);
  holdoff::options changed = fields;
  changed.set({"rules[0].if.patterns[0]", "other"});
  fields = holdoff::options{{"rules[0].if.patterns[0]", "mine!"}, {"rules[0].retry", true}, {"rules[1].retry", false}};
  auto calls_of = [&](const policy &policy) {
    int calls = 0;
    CHECK(throws<lost>([&] { holdoff::retry(policy, [&] { calls++; throw lost("reset"); }, time.host()); }));
    return calls;
  };
  CHECK_NUMBER(calls_of(before), 3);
  CHECK_NUMBER(calls_of(policy(changed)), 1);
  CHECK_NUMBER(calls_of(policy(fields)), 1);
}

void a_result_may_be_a_failure() {
  virtual_time time;
  holdoff::outcome outcome;
  holdoff::host host = time.host();
  host.outcome = &outcome;
  int calls = 0;
  auto status = [&] { return ++calls < 3 ? 503u : 200u; };
  auto when = [](unsigned status) { return failure::of_http(status); };
  CHECK_NUMBER(holdoff::retry(constant(5), status, host, when), 200);
  CHECK_NUMBER(calls, 3);
  CHECK_NUMBER(outcome.ended, HOLDOFF_SUCCEEDED);
  CHECK_NUMBER(holdoff::retry(constant(2), [] { return 503u; }, host, when), 503);
  CHECK_NUMBER(outcome.ended, HOLDOFF_GAVE_UP);
  CHECK_NUMBER(holdoff::retry(constant(5), [&] { return ++calls; }, host, [](int n) { return n < 6; }), 6);
}

void a_wrong_field_says_what_is_wrong() {
  CHECK_TEXT(error_of([] { policy{{"atempts", 3}}; }).path(), "atempts");
  CHECK_TEXT(error_of([] { policy{{"atempts", 3}}; }).nearest(), "attempts");
  CHECK_NUMBER(error_of([] { policy{{"attempts", 0}}; }).code(), HOLDOFF_ERROR_ATTEMPTS_RANGE);
  CHECK_NUMBER(error_of([] { policy{{"attempts", true}}; }).code(), HOLDOFF_ERROR_WRONG_TYPE);
  CHECK_NUMBER(error_of([] { policy{{"backoff.factor", 0.0 / 0.0}}; }).code(), HOLDOFF_ERROR_FACTOR_RANGE);
  for (const holdoff::field &length :
       {holdoff::field("deadline", -5s),
        holdoff::field("deadline", std::chrono::duration<double>(0.0 / 0.0))}) {
    const holdoff::config_error error = error_of([&] { policy{length}; });
    CHECK_NUMBER(error.code(), HOLDOFF_ERROR_NOT_A_DURATION);
    CHECK_TEXT(error.path(), "deadline");
  }
  CHECK(std::string(error_of([] { policy{{"deadline", -5s}}; }).value()).find("-5.0") != std::string::npos);
  CHECK(std::string(error_of([] { policy{{"atempts", 3}}; }).what()).find("did you mean \"attempts\"?") != std::string::npos);
  CHECK_TEXT(error_of([] { holdoff::guards{{"breaker.failures", -1}}; }).path(), "breaker.failures");
}

void a_document_is_read() {
  const policy read(holdoff::options::from_json(R"({"attempts": 7, "rules": [{"if": {"patterns": ["reset"]}}]})"));
  CHECK_NUMBER(read.attempts(), 7);
  CHECK_NUMBER(error_of([] { policy(holdoff::options::from_json("{")); }).code(), HOLDOFF_ERROR_NOT_JSON);
  CHECK_NUMBER(policy(holdoff::options::from_json("{}").set({"attempts", "forever"})).attempts(), UINT32_MAX);
}

void plain_numbers_are_a_policy() {
  virtual_time time;
  holdoff_policy_fields fields;
  holdoff_policy_fields_init(&fields);
  fields.attempts = 7;
  fields.jitter = HOLDOFF_JITTER_NONE;
  CHECK_NUMBER(policy(fields).attempts(), 7);
  CHECK_NUMBER(holdoff::retry(policy(fields), flaky{2}, time.host()), 3);
  CHECK(time.slept() == 300ms);
  fields.attempts = 0;
  CHECK_NUMBER(error_of([&] { policy{fields}; }).code(), HOLDOFF_ERROR_ATTEMPTS_RANGE);
  CHECK(error_of([&] { policy{fields}; }).rule()[0] != '\0');
}

void an_attempt_knows_its_limits() {
  virtual_time time;
  policy limited{{"attempt_timeout", 2s}, {"attempts", 1}};
  holdoff::retry(
      limited,
      [&](const holdoff::attempt &attempt) {
        CHECK_NUMBER(attempt.number(), 1);
        CHECK(attempt.left() == 2s);
        time.pass(3s);
        CHECK(attempt.left() == 0s);
        CHECK(!attempt.cancelled());
      },
      time.host());
  holdoff::retry(policy(), [](const holdoff::attempt &attempt) {
    CHECK(attempt.left() == holdoff::clock::duration::max());
    CHECK(attempt.abort_at() == holdoff::time_point::max());
  });
}

void the_hook_is_called_before_a_sleep() {
  virtual_time time;
  holdoff::host host = time.host();
  int seen = 0;
  host.on_retry = [&](const holdoff::retrying &next) {
    seen++;
    CHECK_NUMBER(next.attempt, static_cast<unsigned>(seen));
    CHECK_NUMBER(next.cause, HOLDOFF_CAUSE_BACKOFF);
    CHECK(next.delay == 1s);
    CHECK(throws<lost>([&] { std::rethrow_exception(next.error); }));
  };
  holdoff::retry(constant(3), flaky{2}, host);
  CHECK_NUMBER(seen, 2);
  host.on_retry = [](const holdoff::retrying &) { throw 7; };
  CHECK(throws<int>([&] { holdoff::retry(constant(3), flaky{2}, host); }));
}

void a_length_above_292_years_is_292_years() {
  const holdoff::policy longest{{"deadline", std::chrono::hours::max()}, {"backoff.initial", std::chrono::hours::max()}};
  CHECK_NUMBER(holdoff_policy_first_limit(longest.get()), HOLDOFF_LONGEST_NS);
}

void an_inner_retry_that_gave_up_is_not_repeated() {
  virtual_time time;
  int requests = 0;
  const holdoff_nesting innermost = {HOLDOFF_NESTED_INNERMOST, 0};
  holdoff::host outer = time.host();
  outer.nesting = &innermost;
  const auto call = [&](const holdoff::attempt &around) -> int {
    holdoff::host inner = time.host();
    inner.around = around.get();
    try {
      return holdoff::retry(constant(3), [&]() -> int { requests++; throw lost("unavailable"); }, inner);
    } catch (const lost &) {
      CHECK(around.given_up());
      throw std::runtime_error("no page");
    }
  };
  CHECK(throws<std::runtime_error>([&] { holdoff::retry(constant(3), call, outer); }));
  CHECK_NUMBER(requests, 3);
}

void a_cancelled_call_throws_cancelled_with_the_last_error() {
  virtual_time time;
  holdoff::cancel_token token;
  holdoff::host host = time.host();
  host.cancel = &token;
  host.on_retry = [&](const holdoff::retrying &) { token.cancel(); };
  try {
    holdoff::retry(constant(3), flaky{2}, host);
    CHECK(!"cancelled");
  } catch (const holdoff::cancelled &end) {
    CHECK(throws<lost>([&] { std::rethrow_exception(end.last()); }));
    CHECK_NUMBER(end.outcome().attempts, 1);
    CHECK_NUMBER(end.outcome().reason, HOLDOFF_REASON_CANCELLED);
  }
}

#ifdef __cpp_lib_jthread
void a_stop_token_cancels() {
  std::stop_source source;
  holdoff::stop_cancel token(source.get_token());
  holdoff::host host;
  host.cancel = &token;
  auto stop = [&] { source.request_stop(); throw lost("stopped meanwhile"); };
  CHECK(throws<holdoff::cancelled>([&] { holdoff::retry(constant(3), stop, host); }));
}
#endif

void a_spent_budget_says_when_there_is_more() {
  virtual_time time;
  holdoff::outcome outcome;
  holdoff::host host = time.host();
  holdoff::retry_budget budget(time.now());
  host.budget = &budget;
  host.outcome = &outcome;
  CHECK(budget.shortage(HOLDOFF_TRANSIENT, time.now()).empty());
  for (int call = 0; call < 40 && outcome.reason != HOLDOFF_REASON_BUDGET; call++) {
    flaky fetch{9};
    CHECK(throws<lost>([&] { holdoff::retry(constant(3), fetch, host); }));
  }
  CHECK_NUMBER(outcome.reason, HOLDOFF_REASON_BUDGET);
  const std::string why = budget.shortage(HOLDOFF_TRANSIENT, time.now());
  CHECK(why.find(" of 20 tokens; a retry costs 1, there are enough again in ") != std::string::npos);
}

void an_open_breaker_refuses() {
  virtual_time time;
  const holdoff::options fields{{"breaker.failures", 1}, {"breaker.open_for", 30s}, {"attempts", 1}};
  holdoff::guards guards(fields, 1, time.now());
  holdoff::host host = time.host();
  host.guards = &guards;
  CHECK(throws<lost>([&] { holdoff::retry(policy(fields), flaky{9}, host); }));
  try {
    holdoff::retry(policy(fields), flaky{0}, host);
    CHECK(!"refused");
  } catch (const holdoff::refused &end) {
    CHECK_NUMBER(end.outcome().reason, HOLDOFF_REASON_BREAKER);
    CHECK_NUMBER(end.outcome().attempts, 0);
    CHECK(end.outcome().retry_at == time.now() + 30s);
    CHECK(end.last() == nullptr);
  }
  CHECK_NUMBER(guards.with([&](holdoff_guards &all) { return holdoff_breaker_state(all.breaker, to_ns(time.now())); }),
               HOLDOFF_BREAKER_OPEN);
}

unsigned running_in(holdoff::guards &guards) {
  return guards.with([](holdoff_guards &all) { return holdoff_bulkhead_running(all.bulkhead); });
}

void an_error_gives_the_place_in_a_bulkhead_back() {
  virtual_time time;
  holdoff::guards guards({{"bulkhead", 1}});
  holdoff::host host = time.host();
  host.guards = &guards;
  CHECK(throws<lost>([&] {
    holdoff::retry(constant(2), [&]() -> int {
      CHECK_NUMBER(running_in(guards), 1);
      throw lost("lost");
    }, host);
  }));
  CHECK_NUMBER(running_in(guards), 0);
  host.classify = [](const std::exception &) -> std::optional<failure> { throw 7; };
  CHECK(throws<int>([&] { holdoff::retry(constant(2), flaky{9}, host); }));
  CHECK_NUMBER(running_in(guards), 0);
  CHECK(throws<int>([&] { holdoff::retry(constant(2), flaky{0}, host, [](int) -> bool { throw 7; }); }));
  CHECK_NUMBER(running_in(guards), 0);
}

bool throw_in_c(void *, const holdoff_attempt *, holdoff_failure *) {
  throw lost("through the loop of C");
}

void an_exception_through_the_loop_of_c_gives_the_place_back() {
  holdoff::guards guards({{"bulkhead", 1}});
  holdoff_host host = {};
  host.guards = guards.get();
  host.shared = guards.shared();
  for (int round = 0; round < 3; round++) {
    CHECK(throws<lost>([&] { holdoff_run(policy().get(), &host, throw_in_c, nullptr, nullptr); }));
    CHECK_NUMBER(running_in(guards), 0);
  }
}

/* glibc and libc++ unwind a cancelled thread in two ways that do not fit together. */
#ifdef __GLIBCXX__
void a_cancelled_thread_gives_the_place_back() {
  holdoff::guards guards({{"bulkhead", 1}});
  holdoff::host host;
  host.guards = &guards;
  std::thread worker([&] {
    holdoff::retry(policy(), [] {
      for (;;) {
        pause();
      }
    }, host);
  });
  while (running_in(guards) == 0) {
    std::this_thread::yield();
  }
  pthread_cancel(worker.native_handle());
  worker.join();
  CHECK_NUMBER(running_in(guards), 0);
}
#endif

void guards_with_a_hedge_are_an_error() {
  holdoff::guards guards({{"hedge.delay", 1s}});
  holdoff::host host;
  host.guards = &guards;
  CHECK_NUMBER(error_of([&] { holdoff::retry(policy(), flaky{0}, host); }).code(), HOLDOFF_ERROR_NOT_SUPPORTED);
  CHECK_NUMBER(error_of([&] { holdoff::call(policy(), host); }).code(), HOLDOFF_ERROR_NOT_SUPPORTED);
}

void a_call_is_driven_by_hand() {
  virtual_time time;
  holdoff::guards guards({{"bulkhead", 1}});
  holdoff::host host = time.host();
  host.guards = &guards;
  {
    holdoff::call call(constant(2), host);
    CHECK_NUMBER(call.step().kind, HOLDOFF_ATTEMPT);
    CHECK_NUMBER(running_in(guards), 1);
    call.fail(failure());
    CHECK_NUMBER(call.step().kind, HOLDOFF_SLEEP);
    CHECK(call.wait_until() == time.now() + 1s);
    call.tick();
    CHECK_NUMBER(call.step().kind, HOLDOFF_SLEEP);
    time.pass(1s);
    call.tick();
    CHECK_NUMBER(call.current().number(), 2);
    CHECK_NUMBER(running_in(guards), 1);
  }
  CHECK_NUMBER(running_in(guards), 0);
}

}  // namespace

#ifdef __cpp_lib_coroutine
void coroutine_tests();
#endif

int main() {
  RUN(a_success_is_returned);
  RUN(an_error_is_retried_after_a_sleep);
  RUN(giving_up_throws_the_last_error);
  RUN(a_mistake_of_the_program_is_not_retried);
  RUN(an_operation_says_how_it_failed);
  RUN(classify_says_what_an_error_is);
  RUN(the_rules_of_the_policy_judge_errors);
  RUN(an_error_of_the_system_has_a_code);
  RUN(a_policy_stays_as_it_was_built);
  RUN(a_result_may_be_a_failure);
  RUN(a_wrong_field_says_what_is_wrong);
  RUN(a_length_above_292_years_is_292_years);
  RUN(an_inner_retry_that_gave_up_is_not_repeated);
  RUN(a_document_is_read);
  RUN(plain_numbers_are_a_policy);
  RUN(an_attempt_knows_its_limits);
  RUN(the_hook_is_called_before_a_sleep);
  RUN(a_cancelled_call_throws_cancelled_with_the_last_error);
#ifdef __cpp_lib_jthread
  RUN(a_stop_token_cancels);
#endif
  RUN(a_spent_budget_says_when_there_is_more);
  RUN(an_open_breaker_refuses);
  RUN(an_error_gives_the_place_in_a_bulkhead_back);
  RUN(an_exception_through_the_loop_of_c_gives_the_place_back);
#ifdef __GLIBCXX__
  RUN(a_cancelled_thread_gives_the_place_back);
#endif
  RUN(guards_with_a_hedge_are_an_error);
  RUN(a_call_is_driven_by_hand);
#ifdef __cpp_lib_coroutine
  coroutine_tests();
#endif
  std::printf("  %d C++ tests, %d failures\n", tests, failures);
  return failures != 0;
}
