/** Forms of events, and the error about a log. */
import { eventFromJson, eventsFromBytes, eventToBytes } from "./core.js";
import type { Event as AnyEvent } from "./types.js";

/** An event: the names and values of one line of a log. */
export type Event = AnyEvent;

/** Forms of events. */
export const Event = Object.freeze({
  /** One event from its JSON form: text, or the object read from it. Throws a `ReplayError` about the field that is wrong. */
  fromJson: eventFromJson,
  /**
   * An event as bytes: a log is one after the other. Its failure's text is its own unless another is given; text of more than
   * 65535 bytes is cut.
   */
  toBytes: eventToBytes,
  /** The events of a log's bytes. Throws a `ReplayError` with the number of the event that cannot be read. */
  readAll: eventsFromBytes,
});
