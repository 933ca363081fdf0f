/* What others wrote is read in linear time. The work is the time of the processor, held against that of a harmless text. */
#include "check.h"
#include <time.h>

enum { LENGTH = 32768, TIMES = 1000, ROOM = LENGTH + 256, DOCUMENT = 100, STATE, EVENT, BYTES, DURATION };

/* A text of so many pieces between a beginning and an end; a '%' in the piece is its number. */
typedef struct {
  const char *before, *piece, *after;
} repeated;

static char text[ROOM];

static size_t make(const repeated *of) {
  size_t length = strlen(strcpy(text, of->before)), number = 0;
  while (length < LENGTH) {
    const char *at;
    for (at = of->piece; *at != 0; at++) {
      if (*at == '%') {
        length += (size_t)sprintf(text + length, "%u", (unsigned)number++);
      } else {
        text[length++] = *at;
      }
    }
  }
  return length + strlen(strcpy(text + length, of->after));
}

static clock_t work(uint32_t reader, size_t length) {
  static char patterns[1024], task[64], failure[64];
  holdoff_options options, guards;
  holdoff_policy policy;
  holdoff_rules rules;
  holdoff_saved saved;
  holdoff_event event;
  uint64_t ns;
  const clock_t began = clock();
  holdoff_options_init(&options);
  if (reader == DOCUMENT) {
    (void)holdoff_options_read_json(&options, text, length);
  } else if (reader == STATE) {
    (void)holdoff_saved_from_json(&saved, text, length, NULL);
  } else if (reader == EVENT) {
    (void)holdoff_event_from_json(&event, text, length, task, sizeof task, failure, sizeof failure, NULL);
  } else if (reader == BYTES) {
    (void)holdoff_event_from_bytes(&event, text, length, NULL, NULL, NULL, NULL);
  } else if (reader == DURATION) {
    (void)holdoff_parse_duration(text, &ns);
  } else {
    (void)holdoff_form_read_json(reader, text, length, &policy, &rules, patterns, sizeof patterns, &guards, NULL);
  }
  return clock() - began;
}

static void texts_of_others_are_read_in_linear_time(void) {
  static const repeated harmless = {"\"", "x", "\""};
  static const repeated texts[] = {
      {"", "[", ""},
      {"", "{\"a\":", ""},
      {"", "9", ""},
      {"1.", "9", "s"},
      {"", " ", "{}"},
      {"", "1s", ""},
      {"[", "0,", "0]"},
      {"{\"", "\\\"", "\":1}"},
      {"{\"", "a", "\":1}"},
      {"{", "\"a%\":0,", "\"z\":0}"},
      {"{", "\"attempts\":3,", "\"attempts\":3}"},
      {"{\"rules\":[", "{\"if\":{\"http\":[%]},\"retry\":true},", "{}]}"},
      {"{\"rules\":[{\"if\":{\"patterns\":[", "\"%\",", "\"x\"]}}]}"},
      {"{\"rules\":[{\"if\":{\"http\":[", "%,", "500]}}]}"},
      {"{\"backoff\":{\"delays\":[", "\"%s\",", "\"1s\"]}}"},
      {"{\"deadline\":\"", "1", "s\"}"},
      {"{\"seed\":\"", "1", "\"}"},
      {"{\"Retry\":[{\"ErrorEquals\":[", "\"%\",", "\"x\"]}]}"},
      {"{\"retries\":{\"attempts\":2,\"retryOn\":\"", "reset,", "503\"}}"},
      {"{\"matching\":{\"httpStatusCodes\":\"", "501-503,", "500\"}}"},
      {"{\"delay\":\"P", "1D", "\"}"},
      {"{\"methodConfig\":[", "{\"retryPolicy\":{\"maxAttempts\":%}},", "{}]}"},
      {"{\"resilience4j\":{\"retry\":{\"instances\":{", "\"a%\":{},", "\"z\":{}}}}}"},
      {"{\"payload\":{", "\"a%\":\"b\",", "\"reason\":\"x\"}}"},
      {"{\"failureReason\":\"", "\\u00e9", "\"}"},
  };
  size_t at;
  uint32_t reader;
  for (at = 0; at < sizeof texts / sizeof *texts; at++) {
    for (reader = 1; reader <= DURATION; reader = reader == 13 ? (uint32_t)DOCUMENT : reader + 1) {
      clock_t most, took, again;
      size_t length = make(&harmless);
      most = work(DOCUMENT, length);
      most = TIMES * most + CLOCKS_PER_SEC / 50;
      length = make(&texts[at]);
      took = work(reader, length);
      if (took > most && (again = work(reader, length)) < took) took = again;
      if (took > most) printf("  reader %u, %.40s: %ld\n", (unsigned)reader, texts[at].before, (long)took);
      CHECK(took <= most);
    }
  }
}

void linear_tests(void) {
  RUN(texts_of_others_are_read_in_linear_time);
}
