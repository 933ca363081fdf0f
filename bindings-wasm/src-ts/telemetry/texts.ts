/** Texts of errors for people: cut, in one line, and without the secrets that are known by their names. */

/** How many characters of a text are shown. */
const SHOWN = 200;
/** How many characters are looked at: a secret may begin in the text that is shown and end after it. */
const LOOKED_AT = 4000;

const NAMES = "pass(?:word|wd|phrase)?|pwd|token|key|secret|auth|authorization|signature|sig|credentials?";
const SECRETS = new RegExp(
  [
    // The user and the password in a URL.
    `(://)[^\\s/@?#'"<>]*@`,
    `((?:^|[^\\w.-])[\\w.-]{0,40}?(?:${NAMES})['"]?\\s?[=:]\\s?['"]?(?:(?:Bearer|Basic|Token)\\s)?)[^&;,\\s'"<>#]+`,
    `((?:^|\\W)(?:Bearer|Basic)\\s)[\\w.~+/=-]+`,
  ].join("|"),
  "gi",
);
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/**
 * The text, with `***` in the place of the user information of URLs, of the values of fields such as `password`, `token` or `api_key`,
 * and of credentials behind `Bearer` or `Basic`.
 */
export const masked = (text: string): string =>
  text.replace(SECRETS, (_, url, field, scheme) => (url ? "://***@" : `${field ?? scheme}***`));

/** The beginning of a text in one line, masked. */
export function shownText(text: string): string {
  const cut = masked(text.slice(0, LOOKED_AT));
  const escaped = (one: string) => `\\u{${one.codePointAt(0)?.toString(16)}}`;
  return cut.slice(0, SHOWN).replace(UNPRINTABLE, escaped) + (cut.length > SHOWN ? "..." : "");
}
