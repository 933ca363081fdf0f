#include "check.h"

const char *running = "";
int failures = 0;
int tests = 0;

int main(void) {
  printf("  sizeof: policy %zu, call %zu, retry %zu, step %zu, failure %zu, options %zu, problem %zu, schedule %zu,\n"
         "          rules %zu, headers %zu, saved %zu, wait_backoff %zu, loop_backoff %zu, periodic %zu, layers %zu, layered %zu,\n"
         "          gate %zu, bucket %zu, guarded %zu, budget %zu, breaker %zu, limiter %zu, adaptive %zu,\n"
         "          bulkhead %zu, stretch %zu, hedge %zu, recorder %zu, event %zu, events %zu, divergence %zu\n",
         sizeof(holdoff_policy), sizeof(holdoff_call), sizeof(holdoff_retry), sizeof(holdoff_step),
         sizeof(holdoff_failure), sizeof(holdoff_options), sizeof(holdoff_problem), sizeof(holdoff_schedule),
         sizeof(holdoff_rules), sizeof(holdoff_headers), sizeof(holdoff_saved), sizeof(holdoff_wait_backoff),
         sizeof(holdoff_loop_backoff), sizeof(holdoff_periodic), sizeof(holdoff_layers), sizeof(holdoff_layered),
         sizeof(holdoff_gate), sizeof(holdoff_bucket), sizeof(holdoff_guarded_call), sizeof(holdoff_budget),
         sizeof(holdoff_breaker), sizeof(holdoff_limiter), sizeof(holdoff_adaptive), sizeof(holdoff_bulkhead),
         sizeof(holdoff_stretch), sizeof(holdoff_hedge), sizeof(holdoff_recorder), sizeof(holdoff_event),
         sizeof(holdoff_events), sizeof(holdoff_divergence));
  policy_tests();
  call_tests();
  misuse_tests();
  pieces_tests();
  document_tests();
  headers_tests();
  rules_tests();
  saved_tests();
  explain_tests();
  machines_tests();
  keyed_tests();
  linear_tests();
  loop_tests();
  guards_tests();
  guarded_tests();
  log_tests();
  wheel_tests();
  real_time_tests();
  printf("  %d C tests, %d failures\n", tests, failures);
  return failures != 0;
}
