/* Requests of libcurl through holdoff_curl.h, as a program makes them. */

#include <holdoff_curl.h>

/* A request. */
struct front_case {
  const char *url, *method, *body;
  uint64_t deadline_ms;
  bool writes, rewinds, idempotent, upload, reader, aborts, multi;
};

/* How it ended, and the body that the program has got. */
struct front_end {
  uint32_t code, status, outcome, reason, attempts, length, rewound;
  char got[4096];
};

struct program {
  struct front_end *end;
  const char *body;
  size_t sent;
};

static size_t front_write(char *data, size_t size, size_t count, void *user) {
  struct front_end *end = (struct front_end *)user;
  size_t length = size * count, room = end->length < sizeof end->got ? sizeof end->got - end->length : 0;
  memcpy(end->got + end->length, data, length < room ? length : room);
  end->length += (uint32_t)length;
  return length;
}

static size_t front_read(char *data, size_t size, size_t count, void *user) {
  struct program *program = (struct program *)user;
  size_t left = strlen(program->body) - program->sent;
  size_t length = left < size * count ? left : size * count;
  memcpy(data, program->body + program->sent, length);
  program->sent += length;
  return length;
}

/* Ends a transfer as soon as a part of its body is here. */
static int front_progress(void *user, curl_off_t total, curl_off_t now, curl_off_t to_send, curl_off_t sent) {
  (void)user, (void)total, (void)to_send, (void)sent;
  return now > 0;
}

static bool front_rewind(void *user) {
  struct program *program = (struct program *)user;
  program->end->length = 0;
  program->end->rewound++;
  program->sent = 0;
  return true;
}

/* The loop of a program with a multi handle, for one transfer. */
static CURLcode front_multi(CURL *curl, const holdoff_policy *policy, const holdoff_curl_options *options, holdoff_result *result) {
  holdoff_curl_transfer transfer;
  CURLM *multi = curl_multi_init();
  holdoff_curl_multi_add(multi, &transfer, curl, policy, options);
  while (!transfer.is_over) {
    CURLMsg *message;
    int running, left;
    curl_multi_poll(multi, NULL, 0, holdoff_curl_multi_wait(multi, &transfer, 1, 1000), NULL);
    curl_multi_perform(multi, &running);
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
      if (message->msg == CURLMSG_DONE) holdoff_curl_multi_done(multi, &transfer, message->data.result);
    }
  }
  curl_multi_cleanup(multi);
  *result = transfer.result;
  return transfer.code;
}

void curl_front_play(const struct front_case *given, struct front_end *end) {
  CURL *curl = curl_easy_init();
  holdoff_curl_options options;
  holdoff_options described;
  holdoff_policy policy;
  holdoff_result result;
  struct program program;
  long status = 0;
  memset(end, 0, sizeof *end);
  memset(&options, 0, sizeof options);
  program.end = end;
  program.body = given->body;
  program.sent = 0;
  holdoff_options_init(&described);
  holdoff_options_set_text(&described, "backoff", "constant");
  holdoff_options_set_text(&described, "backoff.initial", "1ms");
  if (given->deadline_ms != 0) holdoff_options_set_ns(&described, "deadline", given->deadline_ms * 1000000);
  holdoff_options_set_number(&described, "attempts", 3);
  holdoff_policy_build(&policy, &described, NULL);
  curl_easy_setopt(curl, CURLOPT_URL, given->url);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
  if (given->upload || given->reader) {
    curl_easy_setopt(curl, given->upload ? CURLOPT_UPLOAD : CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE, (long)strlen(given->body));
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, front_read);
    curl_easy_setopt(curl, CURLOPT_READDATA, &program);
  } else if (given->body != NULL) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, given->body);
  }
  if (given->method != NULL) curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, given->method);
  if (given->aborts) {
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, front_progress);
  }
  if (given->writes) {
    options.write = front_write;
    options.write_data = end;
  } else {
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, front_write);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, end);
  }
  options.rewind = given->rewinds ? front_rewind : NULL;
  options.context = &program;
  options.idempotent = given->idempotent;
  if (given->multi) {
    end->code = (uint32_t)front_multi(curl, &policy, &options, &result);
  } else {
    end->code = (uint32_t)holdoff_curl_perform_with(curl, &policy, &options, &result);
  }
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  end->status = (uint32_t)status;
  end->outcome = result.outcome;
  end->reason = result.reason;
  end->attempts = result.attempts;
  curl_easy_cleanup(curl);
}

/* A policy of three attempts, with that delay. */
static void front_policy(holdoff_policy *policy, const char *delay) {
  holdoff_options described;
  holdoff_options_init(&described);
  holdoff_options_set_text(&described, "backoff", "constant");
  holdoff_options_set_text(&described, "backoff.initial", delay);
  holdoff_options_set_text(&described, "jitter", "none");
  holdoff_options_set_number(&described, "attempts", 3);
  holdoff_policy_build(policy, &described, NULL);
}

/* A handle that is used again: by `write`, then by libcurl alone, then without options. The body is that of all three. */
void curl_front_again(const char *url, struct front_end *end) {
  CURL *curl = curl_easy_init();
  holdoff_curl_options options;
  holdoff_policy policy;
  memset(end, 0, sizeof *end);
  memset(&options, 0, sizeof options);
  front_policy(&policy, "1ms");
  options.write = front_write;
  options.write_data = end;
  curl_easy_setopt(curl, CURLOPT_URL, url);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  end->code = (uint32_t)holdoff_curl_perform_with(curl, &policy, &options, NULL);
  end->code |= (uint32_t)curl_easy_perform(curl);
  end->code |= (uint32_t)holdoff_curl_perform(curl, &policy, NULL);
  curl_easy_cleanup(curl);
}

/* Two POST requests by one handle: on the kept connection, or each on its own. */
void curl_front_kept(const char *url, bool fresh, struct front_end *end) {
  CURL *curl = curl_easy_init();
  holdoff_policy policy;
  memset(end, 0, sizeof *end);
  front_policy(&policy, "1ms");
  curl_easy_setopt(curl, CURLOPT_URL, url);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, "paid");
  curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, (long)fresh);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, front_write);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, end);
  end->code = (uint32_t)holdoff_curl_perform(curl, &policy, NULL);
  end->code |= (uint32_t)holdoff_curl_perform(curl, &policy, NULL);
  curl_easy_cleanup(curl);
}

/* A transfer that the program gives up: in its attempt, or in the delay behind it. Then the handle is cleaned up. */
void curl_front_cancel(const char *url, bool in_delay, struct front_end *end) {
  CURL *curl = curl_easy_init();
  CURLM *multi = curl_multi_init();
  holdoff_curl_transfer transfer, other;
  holdoff_curl_options options;
  holdoff_policy policy;
  memset(end, 0, sizeof *end);
  memset(&options, 0, sizeof options);
  front_policy(&policy, "1h");
  options.write = front_write;
  options.write_data = end;
  curl_easy_setopt(curl, CURLOPT_URL, url);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  holdoff_curl_multi_add(multi, &transfer, curl, &policy, &options);
  /* A handle is in one transfer at a time. */
  holdoff_curl_multi_add(multi, &other, curl, &policy, NULL);
  end->rewound = other.is_over;
  while (in_delay && transfer.due == HOLDOFF_NEVER) {
    CURLMsg *message;
    int running, left;
    curl_multi_poll(multi, NULL, 0, holdoff_curl_multi_wait(multi, &transfer, 1, 1000), NULL);
    curl_multi_perform(multi, &running);
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
      if (message->msg == CURLMSG_DONE) holdoff_curl_multi_done(multi, &transfer, message->data.result);
    }
  }
  holdoff_curl_multi_cancel(multi, &transfer);
  holdoff_curl_multi_cancel(multi, &transfer);
  curl_easy_cleanup(curl);
  end->outcome = transfer.result.outcome;
  end->attempts = transfer.result.attempts;
  end->code = transfer.code;
  holdoff_curl_multi_wait(multi, &transfer, 1, 1000);
  curl_multi_cleanup(multi);
}
