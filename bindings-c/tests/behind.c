/* Behind a header of another library, which under -std=c99 hides POSIX: <curl/curl.h> comes first in most programs. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <holdoff_loop.h>

#include "check.h"

/* Returns the time of the clock that the header has found. */
uint64_t now_behind_other_headers(void) { return holdoff_now(); }
