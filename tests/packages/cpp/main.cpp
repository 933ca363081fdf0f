/* Somebody else's C++ program: the installed header and library, nothing of this repository. */
#include <holdoff.hpp>

#include <cstdio>

using namespace std::chrono_literals;

int main() {
  const holdoff::policy policy{{"attempts", 3}, {"backoff.initial", 1ms}};
  const unsigned attempts = holdoff::retry(policy, [](const holdoff::attempt &attempt) {
    if (attempt.number() < 3) {
      throw std::runtime_error("not yet");
    }
    return attempt.number();
  });
  try {
    holdoff::policy{{"atempts", 3}};
    return 1;
  } catch (const holdoff::config_error &error) {
    std::printf("holdoff %s: %s\n", holdoff_version(), error.what());
  }
  return attempts == 3 ? 0 : 2;
}
