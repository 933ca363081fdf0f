/* What an answer's headers and a gRPC status say. */
#include "check.h"
#include <time.h>

/* 2026-11-21T00:00:00Z */
#define WALL UINT64_C(1795219200000000000)

static void headers_are_read_whatever_their_order(void) {
  holdoff_headers headers;
  holdoff_failure failure;
  uint64_t ns = 7;
  CHECK_NUMBER(holdoff_headers_begin(&headers, WALL), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_headers_hint(&headers, 503, &ns), HOLDOFF_HINT_NONE);
  CHECK_NUMBER(ns, 0);
  CHECK_NUMBER(holdoff_headers_add(&headers, "Content-Type", "text/plain"), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_headers_add(&headers, "Retry-After", "Sat, 21 Nov 2026 00:00:30 GMT"), HOLDOFF_OK);
  CHECK(holdoff_failure_from_headers(503, &headers, &failure));
  CHECK_NUMBER(failure.kind, HOLDOFF_TRANSIENT);
  CHECK_NUMBER(failure.hint, HOLDOFF_HINT_AFTER);
  CHECK_NUMBER(failure.hint_ns, 30 * SECOND);
  CHECK(!holdoff_failure_from_headers(200, &headers, &failure));
  CHECK(holdoff_failure_from_headers(429, NULL, &failure));
  CHECK_NUMBER(failure.kind, HOLDOFF_THROTTLED);
  CHECK_NUMBER(failure.hint, HOLDOFF_HINT_NONE);
}

static void lines_are_taken_as_they_come_over_the_wire(void) {
  const char *const lines[] = {"HTTP/1.1 503 Service Unavailable\r\n", "retry-after-ms: 250\r\n", "\r\n"};
  holdoff_headers headers;
  uint64_t ns = 0;
  int at;
  holdoff_headers_begin(&headers, HOLDOFF_NEVER);
  for (at = 0; at < 3; at++) {
    CHECK_NUMBER(holdoff_headers_add_line(&headers, lines[at], strlen(lines[at])), HOLDOFF_OK);
  }
  CHECK_NUMBER(holdoff_headers_hint(&headers, 0, &ns), HOLDOFF_HINT_AFTER);
  CHECK_NUMBER(ns, 250 * MS);
}

static void a_date_without_a_clock_says_nothing(void) {
  holdoff_headers headers;
  holdoff_headers_begin(&headers, HOLDOFF_NEVER);
  holdoff_headers_add(&headers, "retry-after", "Sat, 21 Nov 2026 00:00:30 GMT");
  CHECK_NUMBER(holdoff_headers_hint(&headers, 503, NULL), HOLDOFF_HINT_NONE);
}

/* Of ten megabytes the end is read, in less time of the processor than it takes to write them a hundred times. */
static void a_header_of_any_length_is_read_from_its_end(void) {
  static const char *const pieces[] = {",", "1,", "Mon,", "x", " "};
  static char value[10000000];
  size_t at;
  for (at = 0; at < sizeof pieces / sizeof *pieces; at++) {
    const size_t length = strlen(pieces[at]);
    const clock_t began = clock();
    clock_t written;
    holdoff_headers headers;
    uint64_t ns = 0;
    size_t byte;
    for (byte = 0; byte < sizeof value; byte++) {
      value[byte] = pieces[at][byte % length];
    }
    memcpy(value + sizeof value - 4, ", 7", 4);
    written = clock();
    holdoff_headers_begin(&headers, WALL);
    holdoff_headers_add(&headers, "Retry-After", value);
    CHECK_NUMBER(holdoff_headers_hint(&headers, 503, &ns), HOLDOFF_HINT_AFTER);
    CHECK_NUMBER(ns, 7 * SECOND);
    value[sizeof value - 2] = 'x';
    holdoff_headers_begin(&headers, WALL);
    holdoff_headers_add(&headers, "Retry-After", value);
    holdoff_headers_add(&headers, "RateLimit", value);
    (void)holdoff_headers_hint(&headers, 503, &ns);
    CHECK(clock() - written <= 100 * (written - began));
  }
}

static void wrong_use_of_headers_is_an_error(void) {
  holdoff_headers headers;
  memset(&headers, 0, sizeof headers);
  CHECK_NUMBER(holdoff_headers_begin(NULL, 0), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_headers_add(&headers, "a", "b"), HOLDOFF_ERROR_NOT_A_CALL);
  CHECK_NUMBER(holdoff_headers_add_line(&headers, "a: b", 4), HOLDOFF_ERROR_NOT_A_CALL);
  CHECK_NUMBER(holdoff_headers_hint(&headers, 0, NULL), HOLDOFF_HINT_NONE);
  holdoff_headers_begin(&headers, 0);
  CHECK_NUMBER(holdoff_headers_add(&headers, NULL, "b"), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_headers_add(&headers, "a", NULL), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_headers_add_line(&headers, NULL, 4), HOLDOFF_ERROR_NULL_POINTER);
}

static void a_grpc_status_becomes_a_failure(void) {
  holdoff_failure failure;
  CHECK(!holdoff_failure_from_grpc(0, NULL, &failure));
  CHECK(holdoff_failure_from_grpc(14, "5", &failure));
  CHECK_NUMBER(failure.kind, HOLDOFF_TRANSIENT);
  CHECK_NUMBER(failure.hint_ns, 5 * MS);
  CHECK(holdoff_failure_from_grpc(8, "-1", &failure));
  CHECK_NUMBER(failure.kind, HOLDOFF_THROTTLED);
  CHECK_NUMBER(failure.hint, HOLDOFF_HINT_NEVER);
  CHECK(holdoff_failure_from_grpc(99, NULL, &failure));
  CHECK_NUMBER(failure.kind, HOLDOFF_PERMANENT);
}

void headers_tests(void) {
  RUN(headers_are_read_whatever_their_order);
  RUN(lines_are_taken_as_they_come_over_the_wire);
  RUN(a_date_without_a_clock_says_nothing);
  RUN(a_header_of_any_length_is_read_from_its_end);
  RUN(wrong_use_of_headers_is_an_error);
  RUN(a_grpc_status_becomes_a_failure);
}
