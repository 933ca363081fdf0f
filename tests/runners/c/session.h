/* Guards that calls share, made of a case's policy. */
#ifndef SESSION_H
#define SESSION_H

#include "runner.h"

enum { CALLS = 64, PLACES = 1024 };

/* Calls and the guards that they share. */
typedef struct session {
  holdoff_policy policy;
  holdoff_guard_memory memory;
  holdoff_guards guards;
  holdoff_options options;
  uint64_t *room;
  size_t length;
  uint64_t places[PLACES];
  holdoff_guarded_call calls[CALLS];
} session;

/*
 * Makes a session of the item's policy, its guards on a clock that reads `start`; false, and a failure, when it has a problem.
 * Its room is to be freed either way.
 */
bool session_begin(session *all, const cJSON *item, uint64_t seed, uint64_t start);

#endif
