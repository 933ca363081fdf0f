/* Reading vectors. cJSON keeps numbers as doubles, so that long whole ones are read as text that begins with a #. */
#include "runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The length of a whole number with more digits than a double keeps; 0 for anything else. */
static size_t long_whole(const char *text) {
  size_t length = strspn(text + (*text == '-'), "0123456789") + (*text == '-');
  return length > 15 && (text[length] == 0 || strchr(".eE", text[length]) == NULL) ? length : 0;
}

cJSON *read_json(char *text) {
  char *copy = malloc(2 * strlen(text) + 1), *out = copy;
  const char *in = text;
  bool quoted = false, digits = false;
  cJSON *read;
  if (copy == NULL) {
    return NULL;
  }
  while (*in != 0) {
    bool number = *in == '-' || (*in >= '0' && *in <= '9');
    size_t length = !quoted && !digits && number ? long_whole(in) : 0;
    if (length > 0) {
      out += sprintf(out, "\"#%.*s\"", (int)length, in);
      in += length;
      continue;
    }
    digits = number || (digits && strchr(".eE+", *in) != NULL);
    if (quoted && *in == '\\') {
      *out++ = *in++;
    } else if (*in == '"') {
      quoted = !quoted;
    }
    *out++ = *in++;
  }
  *out = 0;
  read = cJSON_Parse(copy);
  free(copy);
  return read;
}

const cJSON *get(const cJSON *object, const char *key) { return cJSON_GetObjectItemCaseSensitive(object, key); }

const cJSON *first(const cJSON *list) { return list != NULL ? list->child : NULL; }

bool steps_of(const cJSON *item, const cJSON **input, const cJSON **expected) {
  const cJSON *inputs = get(item, "inputs"), *results = get(item, "expected");
  *input = first(inputs);
  *expected = first(results);
  if (cJSON_GetArraySize(inputs) != cJSON_GetArraySize(results)) {
    fail("as many results as inputs", "another number", -1);
    return false;
  }
  return true;
}

const char *word(const cJSON *object, const char *key) {
  const char *text = cJSON_GetStringValue(get(object, key));
  return text != NULL ? text : "";
}

bool truth(const cJSON *object, const char *key) { return cJSON_IsTrue(get(object, key)); }

uint64_t number_of(const cJSON *item) {
  const char *text = cJSON_GetStringValue(item);
  if (text == NULL) {
    return cJSON_IsNumber(item) && item->valuedouble >= 0 ? (uint64_t)item->valuedouble : 0;
  }
  return strcmp(text, "never") == 0 ? HOLDOFF_NEVER : strtoull(text + (*text == '#'), NULL, 10);
}

uint64_t number(const cJSON *object, const char *key) { return number_of(get(object, key)); }

int64_t whole_of(const cJSON *item) {
  const char *text = cJSON_GetStringValue(item);
  char *end;
  int64_t value;
  if (text == NULL) {
    return cJSON_IsNumber(item) ? (int64_t)item->valuedouble : 0;
  }
  value = strtoll(text + (*text == '#'), &end, 10);
  if (*end != 0) {
    fail("a whole number", text, -1);
  }
  return value;
}

int64_t whole(const cJSON *object, const char *key) { return whole_of(get(object, key)); }

double real_of(const cJSON *item) {
  const char *text = cJSON_GetStringValue(item);
  char *end;
  double value;
  if (text == NULL) {
    return cJSON_IsNumber(item) ? item->valuedouble : 0.0;
  }
  value = strtod(text + (*text == '#'), &end);
  if (*end != 0) {
    fail("a number", text, -1);
  }
  return value;
}

double real(const cJSON *object, const char *key) { return real_of(get(object, key)); }

cJSON *made(int64_t value) {
  char text[24];
  sprintf(text, "#%" PRId64, value);
  return long_whole(text + 1) > 0 ? cJSON_CreateString(text) : cJSON_CreateNumber((double)value);
}

const char *time_text(uint64_t time, char *buffer) {
  if (time == HOLDOFF_NEVER) {
    return "never";
  }
  sprintf(buffer, "%" PRIu64, time);
  return buffer;
}

void hex(const char *bytes, size_t count, char *out) {
  size_t at;
  for (at = 0; at < count; at++) {
    sprintf(out + 2 * at, "%02x", (unsigned)(unsigned char)bytes[at]);
  }
  out[2 * count] = 0;
}

size_t unhex(const char *text, char *out, size_t size) {
  size_t count = 0;
  char pair[3] = {0, 0, 0};
  while (count < size && text[0] != 0 && text[1] != 0) {
    memcpy(pair, text, 2);
    out[count++] = (char)strtol(pair, NULL, 16);
    text += 2;
  }
  return count;
}

char *json_text(const cJSON *item) {
  char *text = cJSON_PrintUnformatted(item), *in = text, *out = text;
  while (in != NULL && *in != 0) {
    size_t length = in[0] == '"' && in[1] == '#' ? long_whole(in + 2) : 0;
    if (length > 0 && in[2 + length] == '"') {
      memmove(out, in + 2, length);
      out += length;
      in += length + 3;
    } else {
      *out++ = *in++;
    }
  }
  if (out != NULL) {
    *out = 0;
  }
  return text;
}
