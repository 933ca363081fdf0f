/* A clock that passes only when it is told to, and checks of errors. */
#ifndef VIRTUAL_TIME_HPP
#define VIRTUAL_TIME_HPP

#include <holdoff.hpp>

class virtual_time {
 public:
  virtual_time() = default;
  virtual_time(const virtual_time &) = delete;

  holdoff::time_point now() const { return holdoff::to_time(now_); }
  holdoff::clock::duration slept() const { return std::chrono::nanoseconds(slept_); }
  void pass(holdoff::clock::duration length) { now_ += holdoff::to_ns(length); }
  void sleep_until(std::uint64_t until) {
    slept_ += until - now_;
    now_ = until;
  }
  /* A host with this clock and a fixed seed. */
  holdoff::host host() {
    holdoff::host host;
    host.clock = &clock_;
    host.seed = 42;
    return host;
  }

 private:
  std::uint64_t now_ = 1000, slept_ = 0;
  holdoff_clock clock_{[](void *self) { return static_cast<virtual_time *>(self)->now_; },
                       [](void *self, std::uint64_t until, const holdoff_cancel *) {
                         static_cast<virtual_time *>(self)->sleep_until(until);
                       },
                       this};
};

/* Tells whether something throws an error of a type. */
template <class Error, class F>
bool throws(F f) {
  try {
    f();
  } catch (const Error &) {
    return true;
  }
  return false;
}

/* The config_error that something throws; one of code 0 if it throws none. */
template <class F>
holdoff::config_error error_of(F f) {
  try {
    f();
  } catch (const holdoff::config_error &error) {
    return error;
  }
  return holdoff::config_error(holdoff_problem{});
}

#endif
