// How fetch makes a request, in Node and in a page.

/** How long a client waits in situations with a limit, in milliseconds. */
export const SHORT = 150;

/** The caller's signal, or one that aborts at the client's limit. */
export const signalOf = ({ signal, limit }) => (limit === "read" ? AbortSignal.timeout(SHORT) : signal);

/** Does `request` once before, where the situation wants a kept connection. */
export async function afterFirst({ first }, request) {
  if (first) await request();
  return request();
}

async function ask(request) {
  const response = await fetch(request.url, { signal: signalOf(request) });
  if (response.ok) await response.text();
  return response;
}

const consumed = new Request("http://127.0.0.1/", { method: "POST", body: "read" });
await consumed.text();

export default {
  answers: true,
  play: (request) => (request.name === "consumed-body" ? fetch(consumed) : afterFirst(request, () => ask(request))),
};
