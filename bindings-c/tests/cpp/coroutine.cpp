/* retry_async under a coroutine type and timers of a host, in virtual time. */
#include <holdoff.hpp>

#ifdef __cpp_lib_coroutine

#include "../check.h"
#include "virtual_time.hpp"

#include <map>

void coroutine_tests();

namespace {

using namespace std::chrono_literals;
using holdoff::policy;

/* The smallest coroutine type there is: it starts when it is awaited, and resumes its awaiter at its end. */
template <class T>
struct result_of {
  std::optional<T> value;
  void return_value(T given) { value = std::move(given); }
};
template <>
struct result_of<void> {
  void return_void() {}
};

template <class T>
class task {
 public:
  struct promise_type : result_of<T> {
    std::exception_ptr error;
    std::coroutine_handle<> awaiter = std::noop_coroutine();

    task get_return_object() { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct resume_awaiter : std::suspend_always {
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) const noexcept {
          return self.promise().awaiter;
        }
      };
      return resume_awaiter{};
    }
    void unhandled_exception() { error = std::current_exception(); }
  };

  explicit task(std::coroutine_handle<promise_type> self) : self_(self) {}
  task(task &&other) noexcept : self_(std::exchange(other.self_, nullptr)) {}
  ~task() {
    if (self_) {
      self_.destroy();
    }
  }
  bool await_ready() const { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiter) {
    self_.promise().awaiter = awaiter;
    return self_;
  }
  T await_resume() {
    if (self_.promise().error) {
      std::rethrow_exception(self_.promise().error);
    }
    if constexpr (!std::is_void_v<T>) {
      return std::move(*self_.promise().value);
    }
  }
  void start() { self_.resume(); }
  bool done() const { return self_.done(); }

 private:
  std::coroutine_handle<promise_type> self_;
};

/* An event loop: its timers, and a clock that jumps to the next of them. */
struct event_loop {
  virtual_time time;
  std::multimap<holdoff::time_point, std::coroutine_handle<>> timers;

  auto sleep() {
    struct awaitable {
      event_loop *loop;
      holdoff::time_point until;
      bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> sleeper) { loop->timers.emplace(until, sleeper); }
      void await_resume() {}
    };
    return [this](holdoff::time_point until) { return awaitable{this, until}; };
  }
  template <class T>
  T run(task<T> task) {
    task.start();
    while (!task.done()) {
      const auto next = timers.begin();
      time.pass(next->first - time.now());
      const auto sleeper = next->second;
      timers.erase(next);
      sleeper.resume();
    }
    return task.await_resume();
  }
};

policy constant(int attempts) {
  return policy{{"backoff", "constant"}, {"backoff.delay", 1s}, {"jitter", "none"}, {"attempts", attempts}};
}

task<int> fail_until(int attempt, const holdoff::attempt &now) {
  if (static_cast<int>(now.number()) < attempt) {
    throw std::runtime_error("lost");
  }
  co_return static_cast<int>(now.number());
}

void a_coroutine_sleeps_by_the_timer_of_the_host() {
  event_loop loop;
  auto fetch = [](const holdoff::attempt &now) { return fail_until(3, now); };
  CHECK_NUMBER(loop.run(holdoff::retry_async<task<int>>(constant(3), fetch, loop.sleep(), loop.time.host())), 3);
  CHECK(loop.time.now() == holdoff::time_point(2s + 1000ns));
}

void a_coroutine_throws_its_last_error() {
  event_loop loop;
  holdoff::outcome outcome;
  holdoff::host host = loop.time.host();
  host.outcome = &outcome;
  auto fetch = [](const holdoff::attempt &now) { return fail_until(9, now); };
  CHECK(throws<std::runtime_error>(
      [&] { loop.run(holdoff::retry_async<task<int>>(constant(3), fetch, loop.sleep(), host)); }));
  CHECK_NUMBER(outcome.reason, HOLDOFF_REASON_ATTEMPTS);
  CHECK_NUMBER(outcome.attempts, 3);
}

task<void> count(int *calls) {
  if (++*calls < 2) {
    throw std::runtime_error("lost");
  }
  co_return;
}

void a_coroutine_may_have_no_result() {
  event_loop loop;
  holdoff::outcome outcome;
  holdoff::host host = loop.time.host();
  host.outcome = &outcome;
  int calls = 0;
  loop.run(holdoff::retry_async<task<void>>(constant(3), [&] { return count(&calls); }, loop.sleep(), host));
  CHECK_NUMBER(calls, 2);
  CHECK_NUMBER(outcome.ended, HOLDOFF_SUCCEEDED);
}

void a_coroutine_retries_results() {
  event_loop loop;
  auto fetch = [](const holdoff::attempt &now) { return fail_until(1, now); };
  auto below = [](int least) { return [least](int n) { return n < least; }; };
  CHECK_NUMBER(
      loop.run(holdoff::retry_async<task<int>>(constant(5), fetch, loop.sleep(), loop.time.host(), below(4))), 4);
  CHECK_NUMBER(
      loop.run(holdoff::retry_async<task<int>>(constant(2), fetch, loop.sleep(), loop.time.host(), below(4))), 2);
  auto wrong = [](int) -> bool { throw 7; };
  CHECK(throws<int>(
      [&] { loop.run(holdoff::retry_async<task<int>>(constant(2), fetch, loop.sleep(), loop.time.host(), wrong)); }));
}

unsigned running_in(holdoff::guards &guards) {
  return guards.with([](holdoff_guards &all) { return holdoff_bulkhead_running(all.bulkhead); });
}

task<int> sleep_long(event_loop &loop) {
  co_await loop.sleep()(loop.time.now() + 1h);
  co_return 1;
}

void a_dropped_coroutine_gives_its_place_back() {
  event_loop loop;
  holdoff::guards guards({{"bulkhead", 1}});
  holdoff::host host = loop.time.host();
  host.guards = &guards;
  {
    auto dropped = holdoff::retry_async<task<int>>(constant(3), [&] { return sleep_long(loop); }, loop.sleep(), host);
    dropped.start();
    CHECK_NUMBER(running_in(guards), 1);
  }
  CHECK_NUMBER(running_in(guards), 0);
}

void coroutines_wait_for_a_place() {
  event_loop loop;
  const holdoff::options fields{{"bulkhead", 1}, {"bulkhead.queue", 4}, {"bulkhead.max_wait", 2h}};
  holdoff::guards guards(fields);
  holdoff::host host = loop.time.host();
  host.guards = &guards;
  auto first = holdoff::retry_async<task<int>>(constant(1), [&] { return sleep_long(loop); }, loop.sleep(), host);
  first.start();
  CHECK_NUMBER(loop.run(holdoff::retry_async<task<int>>(
                   constant(1), [](const holdoff::attempt &now) { return fail_until(1, now); }, loop.sleep(), host)),
               1);
  CHECK(first.done());
  CHECK(loop.time.now() < holdoff::time_point(1h + 10ms));
  CHECK_NUMBER(running_in(guards), 0);
}

void coroutines_wait_behind_a_probe() {
  event_loop loop;
  holdoff::guards guards(holdoff::options{{"breaker.failures", 1}, {"breaker.open_for", 2h}, {"breaker.refusal", "wait"}},
                         1, loop.time.now());
  holdoff::host host = loop.time.host();
  host.guards = &guards;
  guards.with([&](holdoff_guards &all) {
    std::uint32_t permit = 0;
    holdoff_breaker_acquire_closed(all.breaker, &permit);
    return holdoff_breaker_record(all.breaker, permit, holdoff::to_ns(loop.time.now()), true, 0);
  });
  std::size_t waits = 0;
  auto sleep = [&, timer = loop.sleep()](holdoff::time_point until) { return ++waits, timer(until); };
  auto early = holdoff::retry_async<task<int>>(
      constant(1), [](const holdoff::attempt &now) { return fail_until(1, now); }, sleep, host);
  early.start();
  loop.time.pass(2h);
  auto probe = holdoff::retry_async<task<int>>(constant(1), [&] { return sleep_long(loop); }, loop.sleep(), host);
  probe.start();
  CHECK_NUMBER(waits, 1);
  CHECK_NUMBER(loop.run(holdoff::retry_async<task<int>>(
                   constant(1), [](const holdoff::attempt &now) { return fail_until(1, now); }, loop.sleep(), host)),
               1);
  CHECK(probe.done());
  CHECK(loop.time.now() < holdoff::time_point(3h + 10ms));
}

void a_cancelled_coroutine_throws_cancelled() {
  event_loop loop;
  holdoff::cancel_token token;
  holdoff::host host = loop.time.host();
  host.cancel = &token;
  host.on_retry = [&](const holdoff::retrying &) { token.cancel(); };
  auto fetch = [](const holdoff::attempt &now) { return fail_until(9, now); };
  CHECK(throws<holdoff::cancelled>(
      [&] { loop.run(holdoff::retry_async<task<int>>(constant(3), fetch, loop.sleep(), host)); }));
}

}  // namespace

void coroutine_tests() {
  RUN(a_coroutine_sleeps_by_the_timer_of_the_host);
  RUN(a_coroutine_throws_its_last_error);
  RUN(a_coroutine_may_have_no_result);
  RUN(a_coroutine_retries_results);
  RUN(a_dropped_coroutine_gives_its_place_back);
  RUN(coroutines_wait_for_a_place);
  RUN(coroutines_wait_behind_a_probe);
  RUN(a_cancelled_coroutine_throws_cancelled);
}

#endif
