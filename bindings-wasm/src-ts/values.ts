/** Values of fields, taken out of objects and lists one by one, as the core reads them. */

// The types of values, as the core numbers them.
export const OTHER = 0;
export const TEXT = 1;
export const NUMBER = 2;
export const NOTHING = 3;
export const EMPTY = 4;
export const UNITLESS = 5;
export const NO_ITEMS = 6;
/** A list with items, which goes to the core one by one. */
export const LIST = 7;
export const FLAG = 8;

export const camel = (name: string) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
export const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A field with its path as it was given. */
export interface FieldValue {
  readonly path: string;
  readonly value: unknown;
  readonly kind: number;
}

/** No field lies deeper, and an object may hold itself. */
const DEPTH = 8;

/** spec 15.8: the longest name in the paths of a document, where each value below a name has the whole path. */
export const LONGEST_NAME = 256;

/** Every field of an object or a list, those in it with their paths. Longer names than `longest` are cut. */
export function collect(
  values: FieldValue[],
  path: string,
  value: unknown,
  number: number,
  longest: number,
  depth = 0,
): void {
  const before = values.length;
  if (depth > DEPTH) {
    values.push({ path, value, kind: OTHER });
  } else if (Array.isArray(value)) {
    values.push({ path, value, kind: value.length === 0 ? NO_ITEMS : LIST });
    for (const [index, item] of value.entries()) collect(values, `${path}[${index}]`, item, number, longest, depth + 1);
  } else if (isFields(value)) {
    for (const name of Object.keys(value)) {
      // spec 15.7: the schema that editors read.
      if (depth === 0 && name === "$schema" && typeof (value[name] ?? "") === "string") continue;
      const short = name.length > longest ? `${name.slice(0, longest)}…` : name;
      collect(values, depth === 0 ? short : `${path}.${short}`, value[name], number, longest, depth + 1);
    }
    if (values.length === before && depth > 0) values.push({ path, value, kind: EMPTY });
  } else {
    values.push({ path, value, kind: kindOf(value, number) });
  }
}

function kindOf(value: unknown, number: number): number {
  if (value === undefined || value === null) return NOTHING;
  if (typeof value === "string") return TEXT;
  return typeof value === "number" ? number : typeof value === "boolean" ? FLAG : OTHER;
}

/** A copy of an object of fields, without null and undefined. */
export function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (!isFields(value)) return value;
  const given = Object.entries(value).filter(([, inner]) => inner !== undefined && inner !== null);
  return Object.fromEntries(given.map(([name, inner]) => [name, copyOf(inner)]));
}

/** A field of a guard by the name that the core has for it, or a preset with the numbers of its guards. */
export interface GuardField extends FieldValue {
  readonly numbers: Readonly<Record<number, number>> | undefined;
}

/** The fields of guards. */
export type GuardFields = readonly GuardField[];

/** Inherits nothing: objects made of it are quicker to read than those without a prototype. */
export const BARE = Object.freeze(Object.create(null));

/** An object's own fields, in an object that inherits none from `Object.prototype`. */
export const bareCopy = <T extends object>(object: T): T => Object.assign(Object.create(BARE), object);

/** True for an object, which may be a function. */
export const isObject = (value: unknown): value is object => Object(value) === value;

const CLEAN: ProxyHandler<object> = {
  get(object, name) {
    for (let at: object | null = object; at && at !== Object.prototype; at = Object.getPrototypeOf(at))
      if (Object.hasOwn(at, name)) return object[name as never];
  },
};

/** An object without the properties that a program has added to `Object.prototype`; any other value as it is. */
export const clean = <T>(value: T): T => (isObject(value) ? (new Proxy(value, CLEAN) as T) : value);

/** True for an object of fields, and not a list, a date, a policy or another value. */
export function isFields(value: unknown): value is Record<string, unknown> {
  return {}.toString.call(value) === "[object Object]";
}
