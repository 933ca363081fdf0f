/*
 * A retry on a microcontroller: no heap, no operating system, no C library. The board's tick counter is the clock.
 *
 * It is built for a Cortex-M3 (thumbv7m) and runs in QEMU's board lm3s6965evb, which it tells by semihosting how it ended.
 */
#include <holdoff/fields.h>

/* The time in nanoseconds; a real board counts the interrupts of its timer. */
static uint64_t ticks_ns;

/* A sensor that answers at the third time. */
static bool read_sensor(uint32_t attempt) {
  ticks_ns += 1000000;
  return attempt == 3;
}

static void sleep_until(uint64_t at) {
  ticks_ns = at > ticks_ns ? at : ticks_ns;
}

static uint32_t read_with_retries(const holdoff_policy *policy, uint64_t seed) {
  holdoff_call call;
  holdoff_step step = holdoff_call_begin(&call, policy, seed, ticks_ns);
  while (step.kind != HOLDOFF_STOP) {
    if (step.kind == HOLDOFF_ATTEMPT) {
      uint64_t ticket = holdoff_step_ticket(step);
      holdoff_failure timeout = {HOLDOFF_TIMEOUT, HOLDOFF_HINT_NONE, 0, 0};
      step = read_sensor(step.attempt) ? holdoff_call_succeed(&call, ticket, ticks_ns)
                                       : holdoff_call_fail(&call, policy, ticket, ticks_ns, timeout);
    } else {
      sleep_until(step.at);
      step = holdoff_call_tick(&call, policy, ticks_ns);
    }
  }
  return step.outcome == HOLDOFF_SUCCEEDED ? holdoff_call_attempt(&call) : 0;
}

/* Ends the emulation: 0x18 is SYS_EXIT, 0x20026 a program that ended well. */
static void leave(bool well) {
  register uint32_t operation __asm__("r0") = 0x18;
  register uint32_t reason __asm__("r1") = well ? 0x20026 : 0x20023;
  __asm__ volatile("bkpt 0xAB" : : "r"(operation), "r"(reason) : "memory");
}

void reset(void) {
  holdoff_policy_fields fields;
  holdoff_policy policy;
  holdoff_policy_fields_init(&fields);
  fields.attempts = 5;
  fields.initial_ns = 10000000;
  fields.jitter = HOLDOFF_JITTER_EQUAL;
  leave(holdoff_policy_init(&policy, &fields) == HOLDOFF_OK && read_with_retries(&policy, 42) == 3 && ticks_ns >= 18000000);
  for (;;) {
  }
}

/* The first words of the flash: the end of the stack, and where to begin. */
extern uint32_t stack_end[];
typedef void (*entry)(void);
const struct {
  uint32_t *stack;
  entry reset;
} vectors __attribute__((section(".vectors"), used)) = {stack_end, reset};
