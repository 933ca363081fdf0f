/*
 * holdoff for C++17 and later, header-only over holdoff_loop.h: policies, retries and guards as classes, std::chrono for times,
 * exceptions for errors. Every decision is the C library's.
 *
 * Units: any std::chrono::duration, counted in nanoseconds; times are of holdoff::clock, the monotonic one. A length above
 * 292 years reads as 292 years.
 *
 * Errors: a wrong configuration throws config_error; an operation that gives up throws its own last error, or a `stopped` when
 * there is none.
 *
 * Threads: a policy is only read, so threads may share it. Guards lock themselves. Everything else belongs to one thread at a time.
 */
#ifndef HOLDOFF_HPP
#define HOLDOFF_HPP

#include "holdoff/policy.hpp"

#include <exception>
#include <functional>
#include <mutex>

#ifdef __GLIBCXX__
#include <cxxabi.h>
#endif
#ifdef __cpp_lib_coroutine
#include <coroutine>
#endif

namespace holdoff {

/** The guards that many calls share, from the fields in the sections of guards, or from a preset. Locks itself; stays where it is. */
class guards {
 public:
  /** Throws config_error. */
  guards(std::initializer_list<field> fields) : guards(options(fields)) {}
  /** Throws config_error. `seed` is for guards that draw, `now` is the time of the host's clock. */
  explicit guards(const options &options, std::uint64_t seed = holdoff_os_seed(), time_point now = clock::now())
      : words_(holdoff_guards_words(options.get())) {
    holdoff_problem problem;
    const int code =
        holdoff_guards_init(&guards_, options.get(), seed, to_ns(now), words_.data(), words_.size(), &problem);
    config_error::check(code, problem);
  }
  guards(const guards &) = delete;
  guards &operator=(const guards &) = delete;

  /** Calls `use(holdoff_guards &)` under the lock, for all functions of single guards; returns what it returns. A guard that does
   * not exist is a NULL pointer. Wakes threads that wait for a place in the bulkhead or the breaker when there is one. */
  template <class Use>
  auto with(Use &&use) -> decltype(use(std::declval<holdoff_guards &>())) {
    struct wake_at_end {
      guards *self;
      ~wake_at_end() { holdoff_shared_wake(&self->shared_, &self->guards_); }
    };
    const std::lock_guard<std::mutex> held(mutex_);
    const wake_at_end woken{this};
    return use(guards_);
  }

  /** Returns the C library's guards and their lock, for a holdoff_host of one's own. */
  const holdoff_guards *get() const noexcept { return &guards_; }
  holdoff_shared *shared() noexcept { return &shared_; }

 private:
  std::mutex mutex_;
  std::vector<std::uint64_t> words_;
  holdoff_guard_memory memory_;
  holdoff_guards guards_ = holdoff_guards_in(&memory_);
  holdoff_shared shared_{[](void *mutex) { static_cast<std::mutex *>(mutex)->lock(); },
                         [](void *mutex) { static_cast<std::mutex *>(mutex)->unlock(); }, &mutex_, nullptr};
};

/** A retry that is about to be slept for. */
struct retrying {
  /** The attempt that failed, from 1; 0 when guards let the first one wait. */
  std::uint32_t attempt;
  /** A HOLDOFF_CAUSE_ number. */
  std::uint32_t cause;
  /** How the attempt failed; of kind 0 when none did. */
  failure how;
  clock::duration delay;
  time_point until;
  /** The error of the attempt; null for a result that was refused. */
  std::exception_ptr error;
};

/** How an operation ended. */
struct outcome {
  /** HOLDOFF_SUCCEEDED, HOLDOFF_GAVE_UP, HOLDOFF_CANCELLED or HOLDOFF_INVALID. */
  std::uint8_t ended = HOLDOFF_INVALID;
  /** Gave up, cancelled: a HOLDOFF_REASON_ number. Invalid: a HOLDOFF_ERROR_ number. */
  std::uint8_t reason = 0;
  /** How many attempts were begun. */
  std::uint32_t attempts = 0;
  /** Gave up: when another try might succeed; time_point::max() when nobody knows. */
  time_point retry_at = time_point::max();
};

/** Thrown when an operation ends without a result and without an error of its own. */
class stopped : public std::runtime_error {
 public:
  explicit stopped(const outcome &outcome, std::exception_ptr last = nullptr)
      : std::runtime_error(holdoff_word(HOLDOFF_WORD_REASON_TEXT, outcome.reason)), outcome_(outcome), last_(std::move(last)) {}
  const struct outcome &outcome() const noexcept { return outcome_; }
  /** Returns the error of the last attempt; null when no attempt threw one. */
  std::exception_ptr last() const noexcept { return last_; }

 private:
  struct outcome outcome_;
  std::exception_ptr last_;
};
/** Thrown when a guard refuses the first attempt: outcome() has the guard and when to come back. */
class refused : public stopped {
  using stopped::stopped;
};
/** Thrown when the caller cancelled. */
class cancelled : public stopped {
  using stopped::stopped;
};

/** The program around a call. Set the members that you need. */
struct host {
  /** Cancels the call; NULL for not at all. A std::stop_token by a stop_cancel. */
  const cancel_token *cancel = nullptr;
  /** The guards that the call shares; NULL for none. */
  ::holdoff::guards *guards = nullptr;
  /** The budget for retries that all calls to this server share; NULL for none. Calls of several threads that share it share their
   * guards, too, or have none: the lock is that of the guards. A budget among the guards takes its place. */
  retry_budget *budget = nullptr;
  /** Says how an error is a failure; nothing for the default: a `failed` says it itself, a std::logic_error is a mistake of the
   * program and not retried, any other error is transient. An error that it throws ends the operation. */
  std::function<std::optional<failure>(const std::exception &)> classify;
  /** Called before each sleep. An error that it throws ends the operation. */
  std::function<void(const retrying &)> on_retry;
  /** Gets how the call ended, also when it throws; NULL for nobody. */
  struct outcome *outcome = nullptr;
  /** False if the operation may not run twice: then only throttled and unsent failures are retried, and failures that a rule
   * names with "idempotent". */
  bool idempotent = true;
  /** A seed that makes the jitter of this call repeatable. */
  std::optional<std::uint64_t> seed;
  /** Another clock, for tests; NULL for the monotonic one. */
  const holdoff_clock *clock = nullptr;
  /** The rule for a retry inside another one, and the attempt around (attempt::get) or its token out of a header; see
   * holdoff_host. */
  const holdoff_nesting *nesting = nullptr;
  const holdoff_attempt *around = nullptr;
  const holdoff_token *token = nullptr;
};

/** The facts about an attempt, for its operation. */
class attempt {
 public:
  explicit attempt(const holdoff_attempt &facts) noexcept : attempt_(&facts) {}

  /** Returns its number, from 1. */
  std::uint32_t number() const noexcept { return attempt_->number; }
  /** Returns when it has to be over: the operation sees to it. time_point::max() without a limit. */
  time_point abort_at() const noexcept { return to_time(attempt_->abort_at); }
  /** Returns the time left by the host's clock: 0 when it is over, duration::max() without a limit. */
  clock::duration left() const noexcept {
    const time_point now = to_time(holdoff_host_now(attempt_->host));
    if (abort_at() == time_point::max()) {
      return clock::duration::max();
    }
    return abort_at() > now ? abort_at() - now : clock::duration::zero();
  }
  /** Tells whether it is to end early because the call was cancelled. */
  bool cancelled() const noexcept { return holdoff_attempt_cancelled(attempt_); }
  /** Tells the policy's rules the HTTP status or the gRPC code of an answer. */
  void http(std::uint32_t status) const noexcept { attempt_->facts->http = status; }
  void grpc(std::uint32_t code) const noexcept {
    attempt_->facts->grpc = code;
    attempt_->facts->has_grpc = 1;
  }
  /** Tells the policy's rules codes of the error, or names of its type, each list with a null pointer behind the last one. The
   * texts stay where they are until the attempt has been judged. */
  void codes(const char *const *names) const noexcept { attempt_->facts->codes = names; }
  void types(const char *const *names) const noexcept { attempt_->facts->types = names; }
  /** Tells that the request was never sent. A std::system_error of a refused connection says so itself. */
  void unsent() const noexcept { attempt_->facts->unsent = 1; }
  /** Tells what the header x-should-retry of an answer says. */
  void headers(const holdoff_headers &read) const noexcept {
    attempt_->facts->should_retry = holdoff_headers_should_retry(&read);
  }
  /** Returns the token to send to another program; perhaps NULL. */
  const holdoff_token *token() const noexcept { return attempt_->token; }
  /** Tells whether the latest retry inside this attempt that named it as `around` has given up. */
  bool given_up() const noexcept { return holdoff_given_up(attempt_); }
  /** Returns the C library's attempt, for the `around` of a retry inside this attempt. */
  const holdoff_attempt *get() const noexcept { return attempt_; }

 private:
  const holdoff_attempt *attempt_;
};

/** Takes every result for a success. */
struct accept {
  template <class T>
  bool operator()(const T &) const noexcept {
    return false;
  }
};

namespace detail {

/* The host of the C library for a host here. */
inline holdoff_host host_of(const policy &policy, const host &host) noexcept {
  holdoff_host c = {};
  c.cancel = host.cancel != nullptr ? host.cancel->get() : nullptr;
  c.rules = policy.rules();
  c.non_idempotent = !host.idempotent;
  c.seed = host.seed ? &*host.seed : nullptr;
  c.clock = host.clock;
  c.guards = host.guards != nullptr ? host.guards->get() : nullptr;
  c.budget = host.budget != nullptr ? host.budget->get() : nullptr;
  c.shared = host.guards != nullptr ? host.guards->shared() : host.budget != nullptr ? host.budget->shared() : nullptr;
  c.nesting = host.nesting;
  c.around = host.around;
  c.token = host.token;
  return c;
}

/* Returns the name of a system's error code, with a null pointer behind it; nullptr for a code that is not common. */
inline const char *const *code_names(const std::error_code &code) noexcept {
  static const struct {
    std::errc number;
    const char *names[2];
  } known[] = {
      {std::errc::address_in_use, {"EADDRINUSE", nullptr}},
      {std::errc::address_not_available, {"EADDRNOTAVAIL", nullptr}},
      {std::errc::broken_pipe, {"EPIPE", nullptr}},
      {std::errc::connection_aborted, {"ECONNABORTED", nullptr}},
      {std::errc::connection_refused, {"ECONNREFUSED", nullptr}},
      {std::errc::connection_reset, {"ECONNRESET", nullptr}},
      {std::errc::device_or_resource_busy, {"EBUSY", nullptr}},
      {std::errc::host_unreachable, {"EHOSTUNREACH", nullptr}},
      {std::errc::interrupted, {"EINTR", nullptr}},
      {std::errc::network_down, {"ENETDOWN", nullptr}},
      {std::errc::network_unreachable, {"ENETUNREACH", nullptr}},
      {std::errc::no_such_file_or_directory, {"ENOENT", nullptr}},
      {std::errc::not_connected, {"ENOTCONN", nullptr}},
      {std::errc::permission_denied, {"EACCES", nullptr}},
      {std::errc::resource_unavailable_try_again, {"EAGAIN", nullptr}},
      {std::errc::timed_out, {"ETIMEDOUT", nullptr}},
  };
  for (const auto &each : known) {
    if (code == each.number) {
      return each.names;
    }
  }
  return nullptr;
}

/* Says how the error in flight is a failure; for a catch block. The caller keeps the error, and with it the text. */
inline failure failure_in_flight(const host &host, holdoff_facts &facts) {
  try {
    throw;
  } catch (const std::exception &error) {
    facts.message = error.what();
    if (const auto *system = dynamic_cast<const std::system_error *>(&error)) {
      facts.codes = facts.codes != nullptr ? facts.codes : code_names(system->code());
      facts.unsent = facts.unsent != 0 || system->code() == std::errc::connection_refused;
    }
    if (std::optional<failure> how = host.classify ? host.classify(error) : std::nullopt) {
      return *how;
    }
    if (const auto *own = dynamic_cast<const failed *>(&error)) {
      facts.http = own->http() != 0 ? own->http() : facts.http;
      return own->how();
    }
    return failure(dynamic_cast<const std::logic_error *>(&error) != nullptr ? HOLDOFF_FAULT : HOLDOFF_TRANSIENT);
  }
#ifdef __GLIBCXX__
  catch (abi::__forced_unwind &) {  // the thread is being cancelled
    throw;
  }
#endif
  catch (...) {
    return failure();
  }
}

/* Says whether a result is a failure. */
template <class Judge, class T>
std::optional<failure> refusal(Judge &when_result, const T &value) {
  if constexpr (std::is_same_v<decltype(when_result(value)), bool>) {
    return when_result(value) ? std::optional<failure>(failure()) : std::nullopt;
  } else {
    return when_result(value);
  }
}

template <class F>
decltype(auto) invoke(F &f, const attempt &attempt) {
  if constexpr (std::is_invocable_v<F &, const class attempt &>) {
    return f(attempt);
  } else {
    return f();
  }
}

/* Throws what an operation without a result throws. */
[[noreturn]] inline void give_up(const outcome &outcome, const std::exception_ptr &last) {
  if (outcome.ended == HOLDOFF_INVALID) {
    throw config_error(outcome.reason);
  }
  if (outcome.ended == HOLDOFF_CANCELLED) {
    throw cancelled(outcome, last);
  }
  if (last != nullptr) {
    std::rethrow_exception(last);
  }
  throw refused(outcome);
}

inline retrying retrying_of(const holdoff_retrying &next, const std::exception_ptr &error) {
  return {next.attempt, next.cause, next.failure, clock::duration(static_cast<clock::rep>(next.delay_ns)),
          to_time(next.until), error};
}

/* An operation in holdoff_run: an exception passes through it only if it ends the call. */
template <class F, class Judge>
struct running {
  using result = std::decay_t<decltype(invoke(std::declval<F &>(), std::declval<const attempt &>()))>;
  using value_type = std::conditional_t<std::is_void_v<result>, std::monostate, result>;

  F &f;
  Judge &when_result;
  const struct host &host;
  holdoff_host c;
  std::optional<value_type> value{};
  std::exception_ptr error{};

  bool attempt_once(const holdoff_attempt &facts, holdoff_failure &how) {
    value.reset();
    error = nullptr;
    try {
      if constexpr (std::is_void_v<result>) {
        invoke(f, attempt(facts));
        value.emplace();
        return true;
      } else {
        value.emplace(invoke(f, attempt(facts)));
      }
    } catch (...) {
      error = std::current_exception();
      how = failure_in_flight(host, *facts.facts);
      return false;
    }
    if constexpr (!std::is_void_v<result>) {
      const std::optional<failure> refused = refusal(when_result, *value);
      if (refused) {
        how = *refused;
      }
      return !refused;
    }
  }

  static bool operate(void *self, const holdoff_attempt *attempt, holdoff_failure *how) {
    return static_cast<running *>(self)->attempt_once(*attempt, *how);
  }

  static void on_retry(void *context, const holdoff_retrying *next) {
    const auto *self = static_cast<running *>(context);
    self->host.on_retry(retrying_of(*next, self->error));
  }
};

}  // namespace detail

/**
 * Runs `f()` or `f(const attempt &)` until it succeeds, the policy gives up, or the host cancels; sleeps on the calling thread.
 *
 * An attempt fails when `f` throws, or when `when_result(result)` says so: it returns true for "try again", or an optional
 * failure. Returns the result of `f`; when the policy gives up after a refused result, that result: host::outcome tells them apart.
 *
 * Throws the error of the last attempt when the policy gives up after one; `refused` when a guard lets no attempt begin;
 * `cancelled`; and config_error for guards with a hedge, which takes two attempts at once.
 */
template <class F, class Judge = accept>
auto retry(const policy &policy, F &&f, const host &host = {}, Judge &&when_result = {}) {
  using running = detail::running<std::remove_reference_t<F>, std::remove_reference_t<Judge>>;
  running state{f, when_result, host, detail::host_of(policy, host)};
  state.c.on_retry = host.on_retry ? running::on_retry : nullptr;
  holdoff_result result;
  const bool succeeded = holdoff_run(policy.get(), &state.c, running::operate, &state, &result);
  const outcome ended{result.outcome, result.reason, result.attempts, to_time(result.retry_at)};
  if (host.outcome != nullptr) {
    *host.outcome = ended;
  }
  if (!succeeded && (ended.ended != HOLDOFF_GAVE_UP || !state.value)) {
    detail::give_up(ended, state.error);
  }
  if constexpr (!std::is_void_v<typename running::result>) {
    return std::move(*state.value);
  }
}

/**
 * A call as a machine, for loops that wait in their own way: look at step(), do it, tell how it went. HOLDOFF_ATTEMPT: run the
 * operation, then succeed() or fail(). HOLDOFF_SLEEP: wait until wait_until(), then tick(). HOLDOFF_STOP is the end.
 *
 * Gives back what it holds of its guards when it is destroyed. Stays where it is; so do its host and what that points to.
 */
class call {
 public:
  /** Begins. Throws config_error for guards with a hedge. */
  call(const policy &policy, const host &host) : policy_(policy), limited_(*policy.get()), host_(host) {
    if (c_.guards != nullptr && c_.guards->hedge != nullptr) {
      detail::give_up({HOLDOFF_INVALID, HOLDOFF_ERROR_NOT_SUPPORTED}, nullptr);
    }
    if (c_.nesting != nullptr) {
      const std::uint32_t attempts = holdoff_nesting_attempts(c_.nesting, holdoff_host_token(&c_), policy.attempts());
      holdoff_policy_set_attempts(&limited_, attempts);
    }
    if (c_.budget != nullptr) {
      guards_ = c_.guards != nullptr ? *c_.guards : holdoff_guards{};
      guards_.budget = guards_.budget != nullptr ? guards_.budget : &c_.budget->budget;
      c_.guards = &guards_;
    }
    loop_.policy = &limited_;
    loop_.host = &c_;
    loop_.waiter.wake[0] = loop_.waiter.wake[1] = -1;
    attempt_.host = &c_;
    attempt_.facts = &facts_;
    put(HOLDOFF_PUT_BEGIN);
  }
  call(const call &) = delete;
  call &operator=(const call &) = delete;
  ~call() { put(HOLDOFF_PUT_CANCEL); }

  const holdoff_step &step() const noexcept { return step_; }
  /** Returns the facts about the attempt that runs. */
  attempt current() const noexcept { return attempt(attempt_); }
  /** Returns how the call ended, once the step is HOLDOFF_STOP. */
  struct outcome outcome() const noexcept {
    const std::uint8_t reason = step_.outcome == HOLDOFF_CANCELLED ? HOLDOFF_REASON_CANCELLED : step_.reason;
    return {step_.outcome, reason, attempt_.number, to_time(step_.at)};
  }

  /** Tells that the attempt succeeded. */
  void succeed() { put(HOLDOFF_PUT_SUCCEED); }
  /** Tells that the attempt failed; the policy's rules judge it. */
  void fail(holdoff_failure how) {
    const bool mistake = how.kind == HOLDOFF_FAULT;
    holdoff_judge(&c_, &attempt_, &how, holdoff_host_now(&c_));
    const bool fault = mistake && how.kind == HOLDOFF_PERMANENT;
    loop_.last = how;
    loop_.told_cause = 0;
    put(fault ? HOLDOFF_PUT_ABANDON : HOLDOFF_PUT_FAIL);
  }
  /** Tells that the attempt ended with the error in flight; for a catch block. Keeps it as the last error. */
  void fail_in_flight() {
    error_ = std::current_exception();
    fail(detail::failure_in_flight(host_, facts_));
  }
  /** Tells that a sleep is over; too early changes nothing. */
  void tick() { put(HOLDOFF_PUT_TICK); }
  /** Ends the call. */
  void cancel() { put(HOLDOFF_PUT_CANCEL); }

  /** Returns until when to wait before tick(), and calls on_retry, once for each sleep. In a bulkhead's queue and behind other
   * calls at a breaker the wait is short, to look again whether there is a place. */
  time_point wait_until() {
    const std::uint64_t now = holdoff_host_now(&c_);
    if (host_.on_retry && (step_.at != loop_.told_at || step_.cause != loop_.told_cause)) {
      loop_.told_at = step_.at;
      loop_.told_cause = step_.cause;
      const std::uint64_t delay = step_.at > now ? step_.at - now : 0;
      host_.on_retry(detail::retrying_of({attempt_.number, step_.cause, loop_.last, delay, step_.at}, error_));
    }
    const std::uint64_t look = now + 5000000;
    return to_time(is_for_place() && look < step_.at ? look : step_.at);
  }
  /** Throws what retry() throws, once the step is HOLDOFF_STOP without a success. */
  [[noreturn]] void give_up() const { detail::give_up(outcome(), error_); }

 private:
  /* Returns whether the sleep is for a place that may come free before its end. */
  bool is_for_place() const noexcept {
    const std::uint32_t turn = holdoff_guarded_call_turn(&loop_.call.guarded);
    return turn == HOLDOFF_TURN_BULKHEAD || turn == HOLDOFF_TURN_BREAKER;
  }

  void put(int input) {
    if (step_.kind == HOLDOFF_STOP) {
      return;
    }
    if (input != HOLDOFF_PUT_BEGIN && input != HOLDOFF_PUT_SUCCEED && holdoff_cancelled(c_.cancel)) {
      input = HOLDOFF_PUT_CANCEL;
    }
    const std::uint64_t ticket = attempt_.number == 0 ? HOLDOFF_FIRST_TICKET : ticket_;
    step_ = holdoff_put_guarded(&loop_, input, ticket, holdoff_host_now(&c_), loop_.last);
    if (step_.kind == HOLDOFF_ATTEMPT) {
      ticket_ = holdoff_step_ticket(step_);
      attempt_.number = step_.attempt;
      attempt_.abort_at = step_.at;
      error_ = nullptr;
      holdoff_attempt_nest(&limited_, &c_, &attempt_, &token_);
      holdoff_facts_clear(&c_, &facts_);
    } else if (step_.kind == HOLDOFF_STOP) {
      holdoff_host_ended(&c_, step_.outcome);
      if (host_.outcome != nullptr) {
        *host_.outcome = outcome();
      }
    }
  }

  policy policy_;
  holdoff_policy limited_;
  host host_;
  holdoff_host c_ = detail::host_of(policy_, host_);
  holdoff_guards guards_ = {};
  holdoff_loop loop_{};
  holdoff_step step_{};
  std::uint64_t ticket_ = HOLDOFF_FIRST_TICKET;
  holdoff_attempt attempt_{};
  holdoff_facts facts_{};
  holdoff_token token_{};
  std::exception_ptr error_;
};

#ifdef __cpp_lib_coroutine
/**
 * Retries in a coroutine: `co_await retry_async<task<page>>(policy, fetch, sleep)`, where task is any coroutine type of the host.
 *
 * `f()` or `f(const attempt &)` returns an awaitable; `sleep(time_point)` returns an awaitable that ends at that time, or
 * as soon as the host's token is cancelled. Results and errors are those of retry(). A coroutine that is destroyed gives back what it
 * holds of its guards. Objects that the host and `f` refer to must outlive the coroutine.
 */
template <class Task, class F, class Sleep, class Judge = accept>
Task retry_async(policy policy, F f, Sleep sleep, host host = {}, Judge when_result = {}) {
  using promise = typename std::coroutine_traits<Task, class policy, F, Sleep, struct host, Judge>::promise_type;
  call call(policy, host);
  while (call.step().kind != HOLDOFF_STOP) {
    if (call.step().kind != HOLDOFF_ATTEMPT) {
      co_await sleep(call.wait_until());
      call.tick();
      continue;
    }
    bool returned = false;
    try {
      if constexpr (requires(promise & self) { self.return_void(); }) {
        co_await detail::invoke(f, call.current());
        returned = true;
        call.succeed();
        co_return;
      } else {
        auto value = co_await detail::invoke(f, call.current());
        returned = true;
        const std::optional<failure> refused = detail::refusal(when_result, value);
        refused ? call.fail(*refused) : call.succeed();
        if (call.step().kind == HOLDOFF_STOP && call.outcome().ended != HOLDOFF_CANCELLED) {
          co_return value;
        }
      }
    } catch (...) {
      if (returned) {  // an error of when_result
        throw;
      }
      call.fail_in_flight();
    }
  }
  call.give_up();
}
#endif

}  // namespace holdoff

#endif
