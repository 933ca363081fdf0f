import holdoff = require("holdoff");

const policy: holdoff.Policy = new holdoff.Policy({ attempts: 2, backoff: { initial: 0 } });
policy
  .retry(({ attempt }) => {
    if (attempt < 2) throw new Error("not yet");
    return attempt;
  })
  .then((attempt: number) => {
    if (attempt !== 2) throw new Error("wrong");
  });
