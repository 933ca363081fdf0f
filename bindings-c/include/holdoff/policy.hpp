/*
 * The values of holdoff.hpp: times, errors, policies, failures, cancellation, the budget of retries.
 */
#ifndef HOLDOFF_POLICY_HPP
#define HOLDOFF_POLICY_HPP

#include "../holdoff_loop.h"
#include "document.h"
#include "fields.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#if __cplusplus >= 202002L && __has_include(<version>)
#include <version>
#endif
#ifdef __cpp_lib_jthread
#include <stop_token>
#endif

namespace holdoff {

/** The monotonic clock that holdoff_now reads. */
struct clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<clock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept { return time_point(duration(static_cast<rep>(holdoff_now()))); }
};

/** A time of the monotonic clock; time_point::max() is never. */
using time_point = clock::time_point;

/** Returns a time of the C library as a time_point. */
inline time_point to_time(std::uint64_t ns) noexcept {
  return ns > HOLDOFF_LONGEST_NS ? time_point::max() : time_point(clock::duration(static_cast<clock::rep>(ns)));
}

/** Returns the nanoseconds of a duration: 0 for a negative one and for NaN, at most HOLDOFF_LONGEST_NS. */
template <class Rep, class Period>
std::uint64_t to_ns(std::chrono::duration<Rep, Period> length) noexcept {
  const std::chrono::duration<long double, std::nano> ns = length;
  if (!(ns.count() > 0)) {
    return 0;
  }
  if (ns.count() >= static_cast<long double>(HOLDOFF_LONGEST_NS)) {
    return HOLDOFF_LONGEST_NS;
  }
  return static_cast<std::uint64_t>(std::chrono::duration_cast<clock::duration>(length).count());
}

/** Returns the nanoseconds of a time for the C library; HOLDOFF_NEVER for time_point::max(). */
inline std::uint64_t to_ns(time_point time) noexcept {
  return time == time_point::max() ? HOLDOFF_NEVER : to_ns(time.time_since_epoch());
}

/** A wrong configuration: what() is a line such as `atempts = 3: is not a field of a policy; did you mean "attempts"?`. */
class config_error : public std::invalid_argument {
 public:
  explicit config_error(const holdoff_problem &problem) : std::invalid_argument(text_of(problem)), problem_(problem) {}

  /** Makes an error of a number alone. */
  explicit config_error(std::uint32_t code) : config_error(problem_of(code)) {}

  /** Returns the HOLDOFF_ERROR_ number. */
  std::uint32_t code() const noexcept { return problem_.code; }
  /** Returns the field, such as "backoff.max". */
  const char *path() const noexcept { return problem_.path; }
  /** Returns the value as it was given, texts in quotes; empty when the rule is not about one value. */
  const char *value() const noexcept { return problem_.value; }
  /** Returns the rule that the value breaks. */
  const char *rule() const noexcept { return problem_.rule; }
  /** Returns the valid name nearest to an unknown one; empty when none is near. */
  const char *nearest() const noexcept { return problem_.nearest; }

  /** Throws the problem unless the code is HOLDOFF_OK. */
  static void check(int code, const holdoff_problem &problem) {
    if (code != HOLDOFF_OK) {
      throw config_error(problem);
    }
  }

 private:
  static holdoff_problem problem_of(std::uint32_t code) {
    holdoff_problem problem = {};
    problem.code = code;
    std::snprintf(problem.rule, sizeof problem.rule, "%s", holdoff_word(HOLDOFF_WORD_ERROR_RULE, code));
    return problem;
  }
  static std::string text_of(const holdoff_problem &problem) {
    char line[512];
    holdoff_problem_text(&problem, line, sizeof line);
    return line;
  }

  holdoff_problem problem_;
};

/** A field of a policy or a guard by its path in a policy document, and its value: a text, a number, a duration or a bool. */
class field {
 public:
  field(std::string path, const char *text) : path_(std::move(path)), value_(std::string(text)) {}
  field(std::string path, std::string text) : path_(std::move(path)), value_(std::move(text)) {}
  template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
  field(std::string path, Number number) : path_(std::move(path)), value_(value_of(number)) {}
  template <class Rep, class Period>
  field(std::string path, std::chrono::duration<Rep, Period> length) : path_(std::move(path)), value_(value_of(length)) {}

 private:
  friend class options;
  using value = std::variant<std::string, double, std::uint64_t, bool>;

  template <class Number>
  static value value_of(Number number) {
    return static_cast<double>(number);
  }
  static value value_of(bool flag) { return flag; }
  template <class Rep, class Period>
  static value value_of(std::chrono::duration<Rep, Period> length) {
    const double seconds = std::chrono::duration<double>(length).count();
    if (seconds >= 0) {
      return to_ns(length);
    }
    /* As text, so that the error shows it. */
    return std::to_string(seconds) + "s";
  }

  std::string path_;
  value value_;
};

/** The fields of a policy, its rules and its guards before they are checked. */
class options {
 public:
  options() { holdoff_options_init(&options_); }
  options(std::initializer_list<field> fields) : options() {
    for (const field &each : fields) {
      set(each);
    }
  }

  options(const options &other) : options_(other.options_), patterns_(other.patterns_) {
    options_.patterns = patterns_.data();
  }
  options &operator=(const options &other) {
    options_ = other.options_;
    patterns_ = other.patterns_;
    options_.patterns = patterns_.data();
    return *this;
  }

  /** Reads a policy document, with its guards. Fields that are set afterwards change it. */
  static options from_json(std::string_view text) {
    options read;
    read.keep_patterns(2 * text.size());
    holdoff_options_read_json(&read.options_, text.data(), text.size());
    return read;
  }

  /** Sets a field. A wrong one is an error when a policy or guards are made of the options. */
  options &set(const field &field) {
    const char *path = field.path_.c_str();
    if (const auto *text = std::get_if<std::string>(&field.value_)) {
      if (patterns_.empty() && field.path_.find("rules[") == 0) {
        keep_patterns(4096);
      }
      holdoff_options_set_text(&options_, path, text->c_str());
    } else if (const auto *number = std::get_if<double>(&field.value_)) {
      holdoff_options_set_number(&options_, path, *number);
    } else if (const auto *ns = std::get_if<std::uint64_t>(&field.value_)) {
      holdoff_options_set_ns(&options_, path, *ns);
    } else {
      holdoff_options_set_value(&options_, path, std::get<bool>(field.value_) ? HOLDOFF_VALUE_TRUE : HOLDOFF_VALUE_FALSE);
    }
    return *this;
  }

  /** Returns the options of the C library, for its other functions. */
  const holdoff_options *get() const noexcept { return &options_; }

 private:
  void keep_patterns(std::size_t size) {
    patterns_.resize(size + 1);
    holdoff_options_keep_patterns(&options_, patterns_.data(), patterns_.size());
  }

  holdoff_options options_;
  std::vector<char> patterns_;
};

/** A checked policy with its rules: `policy{{"attempts", 5}, {"deadline", 30s}}`. May be copied, and shared by
 * threads. Guards are an object of their own. */
class policy {
 public:
  /** Makes the default policy: 3 attempts, full jitter, 100 ms by 2 up to 5 s. */
  policy() : policy(options()) {}
  /** Throws config_error. */
  policy(std::initializer_list<field> fields) : policy(options(fields)) {}
  /** Throws config_error. */
  explicit policy(const options &options) {
    holdoff_problem problem;
    config_error::check(holdoff_policy_build(&policy_, options.get(), &problem), problem);
    config_error::check(holdoff_rules_build(&rules_, options.get(), &problem), problem);
    patterns_ = std::make_shared<const std::string>(rules_.patterns_used != 0 ? rules_.patterns : "", rules_.patterns_used);
    rules_.patterns = patterns_->data();
  }

  /** Makes a policy of plain numbers, without rules. A program that makes all its policies so links no names of fields. Throws
   * config_error, with a code and a rule. */
  explicit policy(const holdoff_policy_fields &fields) : rules_() {
    if (const int code = holdoff_policy_init(&policy_, &fields); code != HOLDOFF_OK) {
      throw config_error(static_cast<std::uint32_t>(code));
    }
  }

  /** Returns the number of attempts, the first one included; UINT32_MAX for no limit. */
  std::uint32_t attempts() const noexcept { return holdoff_policy_attempts(&policy_); }
  /** Returns the policy and the rules of the C library, for its other functions; NULL for no rules. */
  const holdoff_policy *get() const noexcept { return &policy_; }
  const holdoff_rules *rules() const noexcept { return rules_.magic != 0 ? &rules_ : nullptr; }

 private:
  holdoff_policy policy_;
  holdoff_rules rules_;
  std::shared_ptr<const std::string> patterns_;
};

/** How an attempt failed: a kind (HOLDOFF_TRANSIENT, HOLDOFF_THROTTLED, HOLDOFF_TIMEOUT, HOLDOFF_PERMANENT; or HOLDOFF_FAULT, a
 * mistake of the program itself, which guards ignore) and what the server said about when to come back. */
struct failure : holdoff_failure {
  failure(std::uint32_t number = HOLDOFF_TRANSIENT) noexcept : holdoff_failure{number, HOLDOFF_HINT_NONE, 0, 0} {}
  failure(const holdoff_failure &other) noexcept : holdoff_failure(other) {}

  /** Adds the server's wish to be left alone for so long. */
  template <class Rep, class Period>
  failure after(std::chrono::duration<Rep, Period> length) const noexcept {
    return holdoff_failure{kind, HOLDOFF_HINT_AFTER, 0, to_ns(length)};
  }
  /** Adds the server's wish that there be no retry. */
  failure never() const noexcept { return holdoff_failure{kind, HOLDOFF_HINT_NEVER, 0, 0}; }

  /** Reads an HTTP status, and Retry-After in seconds unless it is NULL; nothing for a status below 400. */
  static std::optional<failure> of_http(std::uint32_t status, const char *retry_after = nullptr) noexcept {
    holdoff_failure read;
    return holdoff_failure_from_http(status, retry_after, &read) ? std::optional<failure>(read) : std::nullopt;
  }
  /** Reads a gRPC code, and its grpc-retry-pushback-ms unless it is NULL; nothing for OK. */
  static std::optional<failure> of_grpc(std::uint32_t code, const char *pushback = nullptr) noexcept {
    holdoff_failure read;
    return holdoff_failure_from_grpc(code, pushback, &read) ? std::optional<failure>(read) : std::nullopt;
  }
};

/** An error for operations to throw: with a failure, and perhaps an HTTP status for the policy's rules. */
class failed : public std::runtime_error {
 public:
  explicit failed(failure how, const std::string &message = "the attempt failed", std::uint32_t http = 0)
      : std::runtime_error(message), how_(how), http_(http) {}
  const failure &how() const noexcept { return how_; }
  std::uint32_t http() const noexcept { return http_; }

 private:
  failure how_;
  std::uint32_t http_;
};

/** Cancels any number of running calls, from any thread and from signal handlers. Stays where it is until no call uses it. */
class cancel_token {
 public:
  /** Throws std::system_error when the process has no descriptors left. */
  cancel_token() {
    if (const int error = holdoff_cancel_init(&cancel_); error != 0) {
      throw std::system_error(error, std::generic_category(), "holdoff::cancel_token");
    }
  }
  cancel_token(const cancel_token &) = delete;
  cancel_token &operator=(const cancel_token &) = delete;
  ~cancel_token() { holdoff_cancel_close(&cancel_); }

  /** Cancels at once and for good. */
  void cancel() noexcept { holdoff_cancel_fire(&cancel_); }
  bool cancelled() const noexcept { return holdoff_cancelled(&cancel_); }
  const holdoff_cancel *get() const noexcept { return &cancel_; }

 private:
  holdoff_cancel cancel_;
};

#ifdef __cpp_lib_jthread
/** A cancel_token that a std::stop_token cancels. */
class stop_cancel : public cancel_token {
 public:
  explicit stop_cancel(std::stop_token token) : callback_(std::move(token), fire{this}) {}

 private:
  struct fire {
    cancel_token *token;
    void operator()() const noexcept { token->cancel(); }
  };
  std::stop_callback<fire> callback_;
};
#endif

/** The budget for the retries of all calls to one server, which the loops of other languages bring by themselves: docs/storm.md. Locks
 * itself; stays where it is. */
class retry_budget {
 public:
  /** Makes a full one. `now` is the time of the host's clock. */
  explicit retry_budget(time_point now = clock::now()) { holdoff_loop_budget_init(&budget_, to_ns(now)); }
  retry_budget(const retry_budget &) = delete;
  retry_budget &operator=(const retry_budget &) = delete;

  /** Returns the tokens that are left. */
  double balance(time_point now = clock::now()) {
    const std::lock_guard<std::mutex> held(mutex_);
    return holdoff_budget_balance(&budget_.budget, to_ns(now));
  }
  /**
   * Returns why it refuses a retry after a failure of this kind, as `19.9 of 20 tokens; a retry costs 1, there are enough again in 30s; a
   * larger budget allows more`; empty if it does not refuse.
   */
  std::string shortage(std::uint32_t kind = HOLDOFF_TRANSIENT, time_point now = clock::now()) {
    const std::lock_guard<std::mutex> held(mutex_);
    std::array<char, 256> text{};
    holdoff_budget_shortage(&budget_.budget, to_ns(now), kind, text.data(), text.size());
    return text.data();
  }
  /** Returns the C library's budget and its lock, for a holdoff_host of one's own. */
  holdoff_loop_budget *get() noexcept { return &budget_; }
  holdoff_shared *shared() noexcept { return &shared_; }

 private:
  std::mutex mutex_;
  holdoff_loop_budget budget_;
  holdoff_shared shared_{[](void *mutex) { static_cast<std::mutex *>(mutex)->lock(); },
                         [](void *mutex) { static_cast<std::mutex *>(mutex)->unlock(); }, &mutex_, nullptr};
};

}  // namespace holdoff

#endif
