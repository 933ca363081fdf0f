/*
 * Requests of libcurl, retried: by curl_easy_perform, and as transfers of a multi handle.
 *
 * Everything here is inline. C99 and C++17, with libcurl 7.72 or later; from 7.84 on all headers that say when to retry are read,
 * before only Retry-After. Pointers are not NULL where nothing else is said.
 */
#ifndef HOLDOFF_CURL_H
#define HOLDOFF_CURL_H

#include "holdoff_loop.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How a request is retried. Zeroed, or NULL in its place: as the functions below say. */
typedef struct holdoff_curl_options {
  /** The program around the call: its budget, guards, hooks, and the way to cancel its sleeps; NULL for none. Its `non_idempotent` is not
   * read. Calls of a multi handle use its clock, seeds and rules. */
  const holdoff_host *host;
  /** True if the request may run twice whatever its method: a POST with an Idempotency-Key. */
  bool idempotent;
  /** Called before each attempt but the first: puts the body that CURLOPT_READFUNCTION reads back to its start, and drops what
   * an attempt has already handed to the program. Returns false if it cannot; then the call ends. NULL if there is nothing to do. */
  bool (*rewind)(void *context);
  /** For `rewind`, and for the hooks of the host. */
  void *context;
  /** Gets the body of the last answer, and is CURLOPT_WRITEFUNCTION afterwards. A refused answer is handed over only when no attempt
   * follows it, and is cut off behind a megabyte. NULL: then the body of a refused answer is not read (CURLOPT_FAILONERROR). */
  curl_write_callback write;
  void *write_data;
} holdoff_curl_options;

/* A request and its latest answer. */
typedef struct holdoff_curl_request {
  CURL *curl;
  const holdoff_curl_options *options;
  CURLcode code;
  long status;
  /* The body of a refused answer, and whether the program has got any of this answer. */
  char *kept;
  size_t used, room;
  bool handed;
  /* Nothing can be sent again: by `rewind`, or because of what the program has got. */
  bool is_stuck, cannot_rewind;
  /* A body was sent; another attempt may not read it from the program; CURLOPT_TIMEOUT_MS was set. */
  bool has_uploaded, is_guarded, is_limited;
} holdoff_curl_request;

/* The most that is kept of a refused answer, in bytes. */
enum { HOLDOFF_CURL_KEPT = 1 << 20 };

/* Hands over what was kept. */
static inline bool holdoff_curl_hand_over(holdoff_curl_request *request) {
  size_t used = request->used;
  request->used = 0;
  return used == 0 || request->options->write(request->kept, 1, used, request->options->write_data) == used;
}

/* Takes a part of a body: keeps that of a refused answer, at most a megabyte, and hands over every other. */
static inline size_t holdoff_curl_body(char *data, size_t size, size_t count, void *user) {
  holdoff_curl_request *request = (holdoff_curl_request *)user;
  size_t taken = size * count, needed;
  long status = 0;
  curl_easy_getinfo(request->curl, CURLINFO_RESPONSE_CODE, &status);
  if (status < 400) {
    request->handed = true;
    return request->options->write(data, size, count, request->options->write_data);
  }
  taken = taken < HOLDOFF_CURL_KEPT - request->used ? taken : HOLDOFF_CURL_KEPT - request->used;
  needed = request->used + taken;
  if (needed > request->room) {
    char *larger = (char *)realloc(request->kept, 2 * needed);
    if (larger == NULL) {
      return 0;
    }
    request->kept = larger;
    request->room = 2 * needed;
  }
  memcpy(request->kept + request->used, data, taken);
  request->used = needed;
  return taken;
}

/* In the place of CURLOPT_READFUNCTION, which would go on reading behind the body that was sent. */
static inline size_t holdoff_curl_no_body(char *data, size_t size, size_t count, void *user) {
  (void)data, (void)size, (void)count;
  if (user != NULL) {
    ((holdoff_curl_request *)user)->cannot_rewind = true;
  }
  return CURL_READFUNC_ABORT;
}

static inline void holdoff_curl_setup(holdoff_curl_request *request, CURL *curl, const holdoff_curl_options *options) {
  static holdoff_curl_options none;
  memset(request, 0, sizeof *request);
  request->curl = curl;
  request->options = options != NULL ? options : &none;
  request->code = CURLE_ABORTED_BY_CALLBACK;
  if (request->options->write != NULL) {
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, holdoff_curl_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, (void *)request);
  } else {
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  }
}

/* Before an attempt: returns false if it cannot be made. */
static inline bool holdoff_curl_prepare(holdoff_curl_request *request, uint32_t number, int left_ms) {
  const holdoff_curl_options *options = request->options;
  request->cannot_rewind = number > 1 && options->rewind != NULL && !options->rewind(options->context);
  if (left_ms == 0 || request->cannot_rewind) {
    return false;
  }
  if (left_ms > 0) {
    curl_easy_setopt(request->curl, CURLOPT_TIMEOUT_MS, (long)left_ms);
    request->is_limited = true;
  }
  if (number > 1 && request->has_uploaded && options->rewind == NULL) {
    curl_easy_setopt(request->curl, CURLOPT_READFUNCTION, holdoff_curl_no_body);
    curl_easy_setopt(request->curl, CURLOPT_READDATA, (void *)request);
    request->is_guarded = true;
  }
  request->used = 0;
  request->handed = false;
  return true;
}

/* True if the method of the request may run twice. After a redirect the first method is not known any more. */
static inline bool holdoff_curl_is_idempotent(const holdoff_curl_request *request) {
  static const char *const safe[] = {"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"};
  const char *method = NULL;
  long redirects = 0;
  size_t at;
  curl_easy_getinfo(request->curl, CURLINFO_EFFECTIVE_METHOD, &method);
  curl_easy_getinfo(request->curl, CURLINFO_REDIRECT_COUNT, &redirects);
  for (at = 0; method != NULL && redirects == 0 && at < sizeof safe / sizeof *safe; at++) {
    if (strcmp(method, safe[at]) == 0) {
      return true;
    }
  }
  return request->options->idempotent;
}

/* After an attempt: returns whether it succeeded; else writes its failure and the facts about it. */
static inline bool holdoff_curl_judge(holdoff_curl_request *request, CURLcode code, holdoff_failure *failure,
                                      holdoff_facts *facts) {
  CURL *curl = request->curl;
  holdoff_headers headers;
  const char *method = NULL;
  curl_off_t downloaded = 0, uploaded = 0;
  long sent = 0;
  request->code = code;
  request->status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &request->status);
  if (code == CURLE_ABORTED_BY_CALLBACK) {
    /* The program wants no other answer, whatever the status of this one is. */
    *failure = holdoff_failure_of(HOLDOFF_PERMANENT);
    return false;
  }
  curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &sent);
  curl_easy_getinfo(curl, CURLINFO_SIZE_DOWNLOAD_T, &downloaded);
  curl_easy_getinfo(curl, CURLINFO_SIZE_UPLOAD_T, &uploaded);
  curl_easy_getinfo(curl, CURLINFO_EFFECTIVE_METHOD, &method);
  holdoff_headers_begin(&headers, holdoff_wall());
#if LIBCURL_VERSION_NUM >= 0x075400
  struct curl_header *header = NULL;
  while ((header = curl_easy_nextheader(curl, CURLH_HEADER, -1, header)) != NULL) {
    holdoff_headers_add(&headers, header->name, header->value);
  }
#else
  curl_off_t after = 0;
  char seconds[24];
  curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &after);
  curl_msnprintf(seconds, sizeof seconds, "%" CURL_FORMAT_CURL_OFF_T, after);
  if (after > 0) {
    holdoff_headers_add(&headers, "retry-after", seconds);
  }
#endif
  if (!holdoff_failure_from_curl((uint32_t)code, (uint32_t)request->status, &headers, failure)) {
    return true;
  }
  facts->http = (uint32_t)request->status;
  facts->should_retry = holdoff_headers_should_retry(&headers);
  facts->unsent = holdoff_curl_is_unsent((uint32_t)code) || (code != CURLE_OK && sent == 0);
  facts->non_idempotent = !holdoff_curl_is_idempotent(request);
  if (request->options->write == NULL && request->status < 400) {
    request->handed = downloaded > 0;
  }
  /* The program would read another answer behind a part of this one as one with it, and libcurl would go on reading a PUT's body. */
  request->has_uploaded = uploaded > 0;
  request->is_stuck = request->options->rewind == NULL &&
                      (request->handed || (request->has_uploaded && method != NULL && strcmp(method, "PUT") == 0));
  failure->hint = request->is_stuck ? HOLDOFF_HINT_NEVER : failure->hint;
  return false;
}

/* The end of a call: hands over the last answer, and takes back what was set. */
static inline CURLcode holdoff_curl_finish(holdoff_curl_request *request) {
  if (request->is_limited) {
    curl_easy_setopt(request->curl, CURLOPT_TIMEOUT_MS, 0L);
  }
  if (request->is_guarded) {
    curl_easy_setopt(request->curl, CURLOPT_READDATA, NULL);
  }
  if (request->options->write == NULL) {
    curl_easy_setopt(request->curl, CURLOPT_FAILONERROR, 0L);
  } else {
    if (!holdoff_curl_hand_over(request)) {
      request->code = CURLE_WRITE_ERROR;
    }
    curl_easy_setopt(request->curl, CURLOPT_WRITEFUNCTION, request->options->write);
    curl_easy_setopt(request->curl, CURLOPT_WRITEDATA, request->options->write_data);
  }
  free(request->kept);
  request->kept = NULL;
  return request->code;
}

/* One attempt in the loop. */
static inline bool holdoff_curl_attempt(void *context, const holdoff_attempt *attempt, holdoff_failure *failure) {
  holdoff_curl_request *request = (holdoff_curl_request *)context;
  if (!holdoff_curl_prepare(request, attempt->number, holdoff_attempt_left_ms(attempt))) {
    *failure = holdoff_failure_of(request->cannot_rewind ? HOLDOFF_PERMANENT : HOLDOFF_TIMEOUT);
    return false;
  }
  return holdoff_curl_judge(request, curl_easy_perform(request->curl), failure, attempt->facts);
}

/* The hooks of the host, with the context that they expect. */
static inline void holdoff_curl_on_retry(void *context, const holdoff_retrying *retrying) {
  const holdoff_curl_options *options = ((holdoff_curl_request *)context)->options;
  options->host->on_retry(options->context, retrying);
}

static inline bool holdoff_curl_delay(void *context, const holdoff_retrying *failed, uint64_t *delay_ns) {
  const holdoff_curl_options *options = ((holdoff_curl_request *)context)->options;
  return options->host->delay(options->context, failed, delay_ns);
}

/* Corrects a result by what only this front knows. */
static inline void holdoff_curl_explain(const holdoff_curl_request *request, holdoff_result *result) {
  if (result->outcome == HOLDOFF_GAVE_UP && (request->is_stuck || request->cannot_rewind)) {
    result->reason = HOLDOFF_REASON_BODY;
    result->attempts -= request->cannot_rewind;
  }
}

/**
 * Performs a request as curl_easy_perform does, until it succeeds or the policy gives up; sleeps on the calling thread. A status
 * from 400 on is a failure. `options` and `result` may be NULL.
 *
 * GET, HEAD, OPTIONS, PUT, DELETE and TRACE are retried after every failure that may pass; every other method, and a request that was
 * redirected, only after 425, 429 and a failure before anything was sent, unless the options say that it may run twice.
 * libcurl cannot rewind what CURLOPT_READFUNCTION reads. So a PUT with a body needs `rewind`, and so does an answer that breaks off
 * once a part of it is with the program: without `rewind` the call then ends with HOLDOFF_REASON_BODY. A POST with CURLOPT_POSTFIELDS or
 * CURLOPT_MIMEPOST is sent again as it is. One with CURLOPT_READFUNCTION needs `rewind`, too: without it the second attempt is aborted
 * before its body, with CURLE_ABORTED_BY_CALLBACK and HOLDOFF_REASON_BODY. A request with a body that was sent again without `rewind` leaves
 * CURLOPT_READFUNCTION and CURLOPT_READDATA to be set anew.
 *
 * If the policy has a deadline or an attempt timeout, CURLOPT_TIMEOUT_MS is set for each attempt, and is 0 afterwards: it
 * covers redirects and the body. CURLOPT_FAILONERROR is 0 afterwards, or CURLOPT_WRITEFUNCTION is `write`. A cancellation ends sleeps; a
 * transfer ends by your own CURLOPT_XFERINFOFUNCTION.
 *
 * Returns the code of the last transfer: CURLE_HTTP_RETURNED_ERROR for a refused answer without `write`, whose status is
 * CURLINFO_RESPONSE_CODE; CURLE_ABORTED_BY_CALLBACK if guards or a cancellation allowed no transfer.
 */
static inline CURLcode holdoff_curl_perform_with(CURL *curl, const holdoff_policy *policy, const holdoff_curl_options *options,
                                                 holdoff_result *result) {
  holdoff_curl_request request;
  holdoff_host host;
  holdoff_result own;
  result = result != NULL ? result : &own;
  holdoff_curl_setup(&request, curl, options);
  memset(&host, 0, sizeof host);
  if (request.options->host != NULL) {
    host = *request.options->host;
    host.on_retry = host.on_retry != NULL ? holdoff_curl_on_retry : NULL;
    host.delay = host.delay != NULL ? holdoff_curl_delay : NULL;
  }
  host.non_idempotent = true;
  holdoff_run(policy, &host, holdoff_curl_attempt, &request, result);
  holdoff_curl_explain(&request, result);
  return holdoff_curl_finish(&request);
}

/** Performs a request until it succeeds or the policy gives up: holdoff_curl_perform_with without options. */
static inline CURLcode holdoff_curl_perform(CURL *curl, const holdoff_policy *policy, holdoff_result *result) {
  return holdoff_curl_perform_with(curl, policy, NULL, result);
}

/** A transfer of a multi handle. The program keeps it where it is until holdoff_curl_multi_done has said that it is over. */
typedef struct holdoff_curl_transfer {
  /** How it ended, once it is over; the code is that of the last attempt. */
  holdoff_result result;
  CURLcode code;
  holdoff_curl_request request;
  const holdoff_policy *policy;
  holdoff_host host;
  holdoff_call call;
  uint64_t abort_at, due, ticket;
  uint32_t number;
  bool is_over;
} holdoff_curl_transfer;

/* Goes on by a step: begins the attempt, notes the time of the next one, or ends the transfer. */
static inline void holdoff_curl_multi_go_on(CURLM *multi, holdoff_curl_transfer *transfer, holdoff_step step) {
  holdoff_curl_request *request = &transfer->request;
  transfer->due = step.kind == HOLDOFF_SLEEP ? step.at : HOLDOFF_NEVER;
  if (step.kind == HOLDOFF_ATTEMPT) {
    uint64_t now = holdoff_host_now(&transfer->host);
    int left = step.at == HOLDOFF_NEVER ? -1 : holdoff_ms_until(step.at, now);
    transfer->number = step.attempt;
    transfer->abort_at = step.at;
    transfer->ticket = holdoff_step_ticket(step);
    if (holdoff_curl_prepare(request, step.attempt, left) && curl_multi_add_handle(multi, request->curl) == CURLM_OK) {
      return;
    }
    step = holdoff_call_fail(&transfer->call, transfer->policy, transfer->ticket, now, holdoff_failure_of(HOLDOFF_PERMANENT));
  }
  if (step.kind == HOLDOFF_STOP) {
    holdoff_failure last = transfer->result.failure;
    holdoff_result_set(&transfer->result, step.outcome, step.reason, transfer->number);
    transfer->result.retry_at = step.at;
    transfer->result.failure = last;
    holdoff_curl_explain(request, &transfer->result);
    transfer->is_over = true;
    transfer->code = holdoff_curl_finish(request);
  }
}

/**
 * Adds a transfer to a multi handle: holdoff_curl_perform_with, whose rules hold here, without guards and budget. CURLOPT_PRIVATE
 * is the program's.
 */
static inline void holdoff_curl_multi_add(CURLM *multi, holdoff_curl_transfer *transfer, CURL *curl, const holdoff_policy *policy,
                                          const holdoff_curl_options *options) {
  memset(transfer, 0, sizeof *transfer);
  holdoff_curl_setup(&transfer->request, curl, options);
  if (transfer->request.options->host != NULL) {
    transfer->host = *transfer->request.options->host;
  }
  transfer->host.non_idempotent = true;
  transfer->policy = policy;
  holdoff_curl_multi_go_on(multi, transfer,
                           holdoff_call_begin(&transfer->call, policy, holdoff_host_seed(&transfer->host),
                                              holdoff_host_now(&transfer->host)));
}

/**
 * Takes the end of an attempt: the CURLMSG_DONE of its handle, which it removes from the multi handle.
 *
 * Returns true if the transfer is over; false if another attempt begins later, in holdoff_curl_multi_wait.
 */
static inline bool holdoff_curl_multi_done(CURLM *multi, holdoff_curl_transfer *transfer, CURLcode code) {
  uint64_t now = holdoff_host_now(&transfer->host);
  holdoff_failure failure = holdoff_failure_of(HOLDOFF_TRANSIENT);
  holdoff_attempt attempt;
  holdoff_facts facts;
  curl_multi_remove_handle(multi, transfer->request.curl);
  memset(&attempt, 0, sizeof attempt);
  memset(&facts, 0, sizeof facts);
  attempt.abort_at = transfer->abort_at;
  attempt.facts = &facts;
  if (holdoff_curl_judge(&transfer->request, code, &failure, &facts)) {
    holdoff_curl_multi_go_on(multi, transfer, holdoff_call_succeed(&transfer->call, transfer->ticket, now));
    return transfer->is_over;
  }
  holdoff_judge(&transfer->host, &attempt, &failure, now);
  transfer->result.failure = failure;
  holdoff_curl_multi_go_on(multi, transfer,
                           holdoff_call_fail(&transfer->call, transfer->policy, transfer->ticket, now, failure));
  return transfer->is_over;
}

/**
 * Ends a transfer at once, in an attempt or in a delay, with the outcome HOLDOFF_CANCELLED: call it before curl_easy_cleanup. Does
 * nothing to a transfer that is over.
 */
static inline void holdoff_curl_multi_cancel(CURLM *multi, holdoff_curl_transfer *transfer) {
  if (!transfer->is_over) {
    curl_multi_remove_handle(multi, transfer->request.curl);
    holdoff_curl_multi_go_on(multi, transfer, holdoff_call_cancel(&transfer->call, holdoff_host_now(&transfer->host)));
  }
}

/**
 * Begins the attempts of those of `count` transfers whose delay has passed; call it before each curl_multi_poll.
 *
 * Returns the milliseconds until the next delay ends, at most `most`: the timeout of curl_multi_poll.
 */
static inline int holdoff_curl_multi_wait(CURLM *multi, holdoff_curl_transfer *transfers, size_t count, int most) {
  size_t at;
  for (at = 0; at < count; at++) {
    holdoff_curl_transfer *transfer = &transfers[at];
    uint64_t now = holdoff_host_now(&transfer->host);
    if (transfer->due <= now) {
      holdoff_curl_multi_go_on(multi, transfer, holdoff_call_tick(&transfer->call, transfer->policy, now));
      /* An attempt that has begun moves at once. */
      most = 0;
    } else if (transfer->due != HOLDOFF_NEVER && holdoff_ms_until(transfer->due, now) < most) {
      most = holdoff_ms_until(transfer->due, now);
    }
  }
  return most;
}

#ifdef __cplusplus
}
#endif

#endif
