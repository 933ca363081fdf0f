/*
 * One gate a host: a host that has failed lately is left alone, whichever request asks. The table is the program's own.
 *
 *     cc gates.c $(pkg-config --cflags --libs holdoff) && ./a.out
 */
#include <holdoff/machines.h>

#include <stdio.h>
#include <string.h>

#define HOSTS 16
#define SECOND UINT64_C(1000000000)

/* Zeroed is a table without hosts, and zeroed gates are new ones. */
static struct {
  char host[32];
  holdoff_gate gate;
} table[HOSTS];

/* The gate of a host; takes a place whose gate is worth nothing any more when it is new. NULL when there is none. */
static holdoff_gate *gate_of(const char *host, const holdoff_gate_config *config, uint64_t now) {
  int at, free_place = -1;
  for (at = 0; at < HOSTS; at++) {
    if (strcmp(table[at].host, host) == 0) {
      return &table[at].gate;
    }
    if (free_place < 0 && (*table[at].host == 0 || holdoff_gate_is_discardable(&table[at].gate, config, now))) {
      free_place = at;
    }
  }
  if (free_place < 0) {
    return NULL;
  }
  memset(&table[free_place], 0, sizeof table[free_place]);
  strncat(table[free_place].host, host, sizeof table[free_place].host - 1);
  return &table[free_place].gate;
}

int main(void) {
  holdoff_gate_options options = holdoff_gate_options_default();
  holdoff_gate_config config;
  uint64_t now = 0, seed = 42;
  int request, sent = 0;

  options.jitter = 0.2;
  if (holdoff_gate_config_build(&config, &options) != HOLDOFF_OK) {
    return 2;
  }
  for (request = 0; request < 20; request++, now += SECOND / 2) {
    holdoff_gate *gate = gate_of("db.example.com", &config, now);
    double u;
    if (!holdoff_gate_is_open(gate, now)) {
      continue;
    }
    /* It fails each time. Drawn only where the gate draws, it closes for as long as in every other language. */
    sent++;
    u = holdoff_gate_draws(gate, &config, now) ? holdoff_uniform(&seed) : 0;
    printf("%4.1f s: failed, closed for %.2f s\n", (double)now / 1e9,
           (double)holdoff_gate_failure(gate, &config, now, u) / 1e9);
  }
  printf("%d of 20 requests sent\n", sent);
  return sent != 4;
}
