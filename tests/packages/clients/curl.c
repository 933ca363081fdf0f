/* The easy interface of libcurl as a program would use it with holdoff. */

#include <curl/curl.h>
#include <holdoff/classify.h>
#include <string.h>
#include <time.h>

/* A request. */
struct curl_case {
  const char *url, *proxy, *authority;
  long connect_ms, total_ms;
  bool first, abort;
};

/* Its judgement: the kinds for an operation that can and one that cannot run twice, 0 for a success. */
struct curl_judgement {
  uint32_t code, status, kind, kind_once, hint;
  uint64_t hint_ns;
};

static size_t header(char *line, size_t size, size_t count, void *headers) {
  size_t length = size * count;
  /* An answer of a proxy or before a redirect is over. */
  if (length > 5 && memcmp(line, "HTTP/", 5) == 0) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    holdoff_headers_begin(headers, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
  }
  holdoff_headers_add_line(headers, line, length);
  return length;
}

static size_t ignore(char *data, size_t size, size_t count, void *user) {
  (void)data, (void)user;
  return size * count;
}

/* Aborts once the request is on its way. */
static int progress(void *curl, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
  long sent = 0;
  (void)a, (void)b, (void)c, (void)d;
  curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &sent);
  return sent > 0;
}

void curl_client_play(const struct curl_case *given, struct curl_judgement *judgement) {
  CURL *curl = curl_easy_init();
  holdoff_headers headers;
  holdoff_failure failure = holdoff_failure_of(HOLDOFF_TRANSIENT);
  holdoff_facts facts;
  CURLcode code;
  long status = 0;
  curl_off_t pretransfer = 0;

  memset(judgement, 0, sizeof *judgement);
  memset(&facts, 0, sizeof facts);
  holdoff_headers_begin(&headers, HOLDOFF_NEVER);
  curl_easy_setopt(curl, CURLOPT_URL, given->url);
  curl_easy_setopt(curl, CURLOPT_CAINFO, given->authority);
  curl_easy_setopt(curl, CURLOPT_PROXY, given->proxy ? given->proxy : "");
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, given->connect_ms);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, given->total_ms);
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "gzip");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &headers);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore);
  if (given->abort) {
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, curl);
  }
  if (given->first) curl_easy_perform(curl);
  code = curl_easy_perform(curl);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(curl, CURLINFO_PRETRANSFER_TIME_T, &pretransfer);
  judgement->code = (uint32_t)code;
  judgement->status = (uint32_t)status;

  if (holdoff_failure_from_curl((uint32_t)code, (uint32_t)status, &headers, &failure)) {
    facts.http = (uint32_t)status;
    facts.should_retry = holdoff_headers_should_retry(&headers);
    facts.unsent = holdoff_curl_is_unsent((uint32_t)code) || (code != CURLE_OK && pretransfer == 0);
    failure = holdoff_rules_judge(NULL, &facts, failure);
    judgement->kind = failure.kind;
    judgement->hint = failure.hint;
    judgement->hint_ns = failure.hint_ns;
    holdoff_failure_from_curl((uint32_t)code, (uint32_t)status, &headers, &failure);
    facts.non_idempotent = 1;
    judgement->kind_once = holdoff_rules_judge(NULL, &facts, failure).kind;
  }
  curl_easy_cleanup(curl);
}
