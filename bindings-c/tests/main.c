#include "check.h"

const char *running = "";
int failures = 0;
int tests = 0;

int main(void) {
  printf("  sizeof: policy %zu, call %zu, retry %zu, step %zu, failure %zu, options %zu, problem %zu, schedule %zu\n",
         sizeof(holdoff_policy), sizeof(holdoff_call), sizeof(holdoff_retry), sizeof(holdoff_step),
         sizeof(holdoff_failure), sizeof(holdoff_options), sizeof(holdoff_problem), sizeof(holdoff_schedule));
  policy_tests();
  call_tests();
  misuse_tests();
  pieces_tests();
  loop_tests();
  real_time_tests();
  printf("  %d C tests, %d failures\n", tests, failures);
  return failures != 0;
}
