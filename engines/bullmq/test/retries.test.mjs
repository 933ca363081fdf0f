import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Queue, Worker } from "bullmq";
import { ConfigError, classify, outcomeOf, Policy } from "holdoff";
import { Guards } from "holdoff/guards";
import { Recorder } from "holdoff/tools";
import { BullRetries } from "holdoff-bullmq";
import { COUNT, failuresOf, HANGING, policy } from "./jobs.mjs";
import { startRedis } from "./redis.mjs";

let redis;
before(async () => {
  redis = await startRedis();
});
after(() => redis.stop());

/** What was decided about a job: its failures, how long each sleep is, and the end. */
const decisionsOf = (events) =>
  events
    .filter(({ type }) => type !== "RESUMED" && type !== "STARTED")
    .map(({ type, attemptNumber, at, until, cause, failure, reason }) => ({
      type,
      attemptNumber,
      delay: until && BigInt(until) - BigInt(at),
      cause,
      failure,
      reason,
    }));

/** The same in one process without a queue. */
function alone(number) {
  const rules = new Policy(policy);
  let [recorder, { step, events }] = Recorder.begin(rules, number, 0n);
  const log = [...events];
  let now = 0n;
  while (step.kind !== "stop") {
    if (step.kind === "sleep") {
      ({ step, events } = recorder.tick((now = step.until)));
    } else {
      const failure = failuresOf(number)[step.attempt - 1];
      const { ticket } = step;
      ({ step, events } = failure
        ? recorder.fail(ticket, now, classify(Object.assign(new Error(), failure)))
        : recorder.succeed(ticket, now));
    }
    log.push(...events);
  }
  return decisionsOf(log);
}

test("jobs whose worker is killed are decided as in one process, and all end", async (t) => {
  const { connection } = redis;
  const queue = new Queue("killed", { connection });
  const retries = new BullRetries({ policy, queue });
  await queue.addBulk(
    Array.from({ length: COUNT }, (_, number) => ({ name: "job", data: { number }, opts: retries.jobOptions() })),
  );
  const start = (...more) => {
    const file = fileURLToPath(new URL("worker.mjs", import.meta.url));
    return spawn(process.execPath, [file, String(connection.port), ...more], { stdio: ["ignore", "pipe", "inherit"] });
  };
  const victim = start("victim");
  t.after(() => victim.kill("SIGKILL"));
  await once(victim.stdout, "data");
  const other = start();
  t.after(async () => {
    other.kill("SIGKILL");
    await queue.close();
  });
  victim.kill("SIGKILL");
  const ended = async () => {
    const { completed, failed } = await queue.getJobCounts("completed", "failed");
    return completed + failed === COUNT;
  };
  const patience = Date.now() + 20_000;
  while (!(await ended()) && Date.now() < patience) await new Promise((resolve) => setTimeout(resolve, 50));
  const jobs = await queue.getJobs(["completed", "failed", "active", "delayed", "waiting"]);
  assert.equal(jobs.length, COUNT);
  for (const job of jobs) {
    const { number } = job.data;
    const events = await retries.eventsOf(job);
    assert.deepEqual(decisionsOf(events), alone(number), `job ${number}`);
    assert.equal(await job.getState(), failuresOf(number).length < 5 ? "completed" : "failed");
    assert.deepEqual(job.data, { number });
    if (number === HANGING.number) {
      const runs = events.filter(({ type, attemptNumber }) => type === "RESUMED" && attemptNumber === HANGING.attempt);
      assert.equal(runs.length, 2);
      assert.equal(job.stalledCounter, 1);
    }
  }
  other.kill("SIGTERM");
  await once(other, "exit");
});

let count = 0;

/** Runs one job of a queue of its own to its end in this process. */
async function ran(t, work, { policy = { attempts: 3, backoff: { initial: "1ms" } }, opts, started, ...options } = {}) {
  const { connection } = redis;
  const name = `single${count++}`;
  const queue = new Queue(name, { connection });
  const retries = new BullRetries({ policy, queue, ...options });
  const job = await queue.add("job", { mine: 1 }, opts ? opts(retries) : retries.jobOptions());
  let error;
  const worker = new Worker(name, retries.processor(work), { connection, ...retries.workerOptions });
  t.after(async () => {
    await worker.close();
    await queue.close();
  });
  // The event comes before the work begins.
  if (started) worker.on("active", () => setTimeout(() => started(worker, job), 20));
  await new Promise((resolve) => {
    worker.on("completed", resolve);
    worker.on("failed", async (failed, raised) => {
      error = raised;
      if (await failed.isFailed()) resolve();
    });
  });
  const { logs } = await queue.getJobLogs(job.id);
  const again = await queue.getJob(job.id);
  const result = { job: again, state: await again.getState(), logs, events: await retries.eventsOf(again), error };
  return Object.assign(result, { retries, queue, worker });
}

const types = (events) => events.map(({ type }) => type);

test("what is the program's stays as it is", async (t) => {
  const work = async (job, { attempt }) => {
    await job.log("mine");
    await job.updateProgress(attempt);
    await job.updateData({ mine: attempt });
    if (attempt < 3) throw new Error("not yet");
    return "done";
  };
  const { job, state, logs, events } = await ran(t, work);
  assert.deepEqual([state, job.returnvalue, job.data, job.progress], ["completed", "done", { mine: 3 }, 3]);
  assert.deepEqual(logs, ["mine", "mine", "mine"]);
  assert.deepEqual(types(events), [
    "STARTED",
    ...Array(2).fill(["ATTEMPT_FAILED", "RETRY_SCHEDULED", "RESUMED"]).flat(),
    "SUCCEEDED",
  ]);
  assert.ok(events.every(({ payload }) => payload.taskId === job.id));
});

test("what is permanent fails the job at once, as unrecoverable", async (t) => {
  const cause = Object.assign(new Error("no such thing"), { status: 404 });
  const { job, state, events, error } = await ran(t, async () => {
    throw cause;
  });
  assert.deepEqual([state, job.attemptsMade, job.failedReason], ["failed", 1, "no such thing"]);
  assert.equal(error.name, "UnrecoverableError");
  assert.equal(error.cause, cause);
  assert.equal(outcomeOf(error).reason, "permanent");
  assert.deepEqual(types(events), ["STARTED", "ATTEMPT_FAILED", "GAVE_UP"]);
});

test("the policy's attempts are the job's, though it may have more", async (t) => {
  const opts = (retries) => ({ ...retries.jobOptions(), attempts: 50 });
  const { job, events, error } = await ran(t, () => Promise.reject(new Error("never")), { opts });
  assert.equal(job.attemptsMade, 3);
  assert.equal(events.at(-1).reason, "attempts");
  assert.equal(outcomeOf(error).attempts, 3);
});

test("a job that its policy cannot govern fails with what is wrong", async (t) => {
  const work = () => assert.fail("it runs");
  for (const [opts, said] of [
    [() => ({ attempts: 2, backoff: { type: "holdoff" } }), /may have 2 attempts, but its policy makes 3/],
    [() => ({ backoff: { type: "holdoff" } }), /may have 1 attempts, but/],
    [() => ({ attempts: 3, backoff: { type: "fixed", delay: 1 } }), /backoff of the job is not/],
    [() => ({ attempts: 3 }), /backoff of the job is not/],
  ]) {
    const { job, state } = await ran(t, work, { opts });
    assert.equal(state, "failed");
    assert.match(job.failedReason, said);
  }
});

test("a job may throw what is no error at all", { timeout: 10_000 }, async (t) => {
  for (const thrown of [null, undefined]) {
    const { job, state, events, error } = await ran(t, () => Promise.reject(thrown));
    assert.deepEqual([state, job.attemptsMade, job.failedReason], ["failed", 3, `the work threw ${thrown}`]);
    assert.equal(events[1].failureReason, String(thrown));
    assert.equal(outcomeOf(error).reason, "attempts");
  }
});

test("a server's hint is obeyed, and a predicate is asked", async (t) => {
  const busy = { status: 429, headers: { "retry-after-ms": "30" } };
  const work = async (_, { attempt }) => {
    if (attempt === 1) throw Object.assign(new Error("busy"), busy);
    if (attempt === 2) throw new RangeError("mine");
  };
  const { events, error } = await ran(t, work, { when: (error) => !(error instanceof RangeError) });
  assert.deepEqual(types(events), [
    "STARTED",
    "ATTEMPT_FAILED",
    "RETRY_SCHEDULED",
    "RESUMED",
    "ATTEMPT_FAILED",
    "GAVE_UP",
  ]);
  assert.deepEqual([events[1].failure, events[1].hint, events[2].cause], ["throttled", "30000000", "hint"]);
  assert.ok(BigInt(events[3].at) >= BigInt(events[2].until));
  assert.equal(error.message, "mine");
});

test("an attempt that takes too long is aborted and counts as a timeout", async (t) => {
  let reason;
  const work = async (_, { attempt, signal }) => {
    if (attempt === 2) return;
    signal.addEventListener("abort", () => (reason = signal.reason));
    await new Promise(() => {});
  };
  const { state, events } = await ran(t, work, {
    policy: { attempts: 3, attemptTimeout: 30, backoff: { initial: 1 } },
  });
  assert.equal(state, "completed");
  assert.equal(events[1].failure, "timeout");
  assert.equal(reason.name, "TimeoutError");
});

test("a job that its worker cancels is not retried", async (t) => {
  let reason;
  const work = async (_, { signal }) => {
    signal.addEventListener("abort", () => (reason = signal.reason));
    await new Promise(() => {});
  };
  const started = (worker, job) => worker.cancelJob(job.id, "no longer wanted");
  const { job, events, error } = await ran(t, work, { started });
  assert.deepEqual([job.failedReason, error.name], ["no longer wanted", "UnrecoverableError"]);
  assert.equal(outcomeOf(error).outcome, "cancelled");
  assert.match(String(reason), /no longer wanted/);
  assert.deepEqual(types(events), ["STARTED", "CANCELLED"]);
});

test("a job that is retried by hand makes a new call", async (t) => {
  let broken = true;
  const { job, retries, queue, worker } = await ran(t, async () => {
    if (broken) throw new Error("broken");
  });
  broken = false;
  const completed = once(worker, "completed");
  await job.retry("failed", { resetAttemptsMade: true, resetAttemptsStarted: true });
  await completed;
  assert.deepEqual(types(await retries.eventsOf(job)), ["STARTED", "SUCCEEDED"]);
  const fields = Object.keys(await (await queue.client).hgetall(queue.toKey(job.id)));
  assert.equal(fields.filter((name) => /^holdoff:\d+:\d+:1$/.test(name)).length, 2);
  await job.remove();
  assert.equal(await (await queue.client).hget(queue.toKey(job.id), "data"), null);
});

test("work that moves its job itself has not failed", async (t) => {
  let moves = 0;
  const work = async (job, { attempt, token }) => {
    if (moves++ < 5) {
      await job.moveToDelayed(Date.now() + 1, token);
      throw Object.assign(new Error("moved"), { name: "DelayedError" });
    }
    return attempt;
  };
  const { job, events } = await ran(t, work, { reruns: 1 });
  assert.equal(job.returnvalue, 1);
  assert.deepEqual(types(events), ["STARTED", ...Array(5).fill("RESUMED"), "SUCCEEDED"]);
});

test("a job that a breaker refuses waits for it without an attempt", async (t) => {
  const guards = new Guards({ breaker: { failures: 1, openFor: "500ms", refusal: "wait" } });
  guards.breaker.record(
    guards.breaker.acquire(BigInt(Date.now()) * 1_000_000n).permit,
    "failure",
    0,
    BigInt(Date.now()) * 1_000_000n,
  );
  const { job, events } = await ran(t, async (_, { attempt }) => attempt, { guards });
  assert.deepEqual([job.returnvalue, job.attemptsMade], [1, 1]);
  assert.deepEqual(types(events), ["STARTED", "RETRY_SCHEDULED", "RESUMED", "SUCCEEDED"]);
});

/** A clock that the test moves. */
function clock(t) {
  const clock = { now: 1_700_000_000_000, tick: (milliseconds) => t.mock.timers.setTime((clock.now += milliseconds)) };
  t.mock.timers.enable({ apis: ["Date"], now: clock.now });
  return clock;
}

test("an open breaker and a limiter delay a job and end none", async (t) => {
  const time = clock(t);
  for (const [options, wait] of [
    [{ breaker: { failures: 1, openFor: "1h" } }, 3_600_000],
    [{ limiter: { limit: 1, per: "1h" } }, 3_600_000],
  ]) {
    const queue = stored();
    const guards = new Guards(options);
    const policy = { attempts: 2, jitter: "none", backoff: { initial: 1 } };
    const retries = new BullRetries({ policy, queue, guards });
    let due;
    const job = (run) => ({ ...fake(run, retries), moveToDelayed: async (at) => (due = at) });
    await assert.rejects(retries.processor(() => Promise.reject(new Error("down")))(job(1)), { message: "down" });
    assert.deepEqual(types(await retries.eventsOf(job(1))), ["STARTED", "ATTEMPT_FAILED", "RETRY_SCHEDULED"]);
    time.tick(1);
    const written = Object.keys(queue.fields).length;
    await assert.rejects(retries.processor(() => assert.fail("it runs"))(job(2)), { name: "DelayedError" });
    assert.ok(Math.abs(due - time.now - wait) <= 2, `${due - time.now}`);
    assert.equal(Object.keys(queue.fields).length, written);
    time.tick(due - time.now);
    assert.equal(await retries.processor(async (_, { attempt }) => attempt)(job(3)), 2);
    // A job that has not begun waits, too, and an isolated breaker is asked again.
    if (guards.breaker === undefined) continue;
    guards.breaker.isolate();
    const other = new BullRetries({ policy, queue: stored(), guards });
    const fresh = { ...job(1), opts: other.jobOptions() };
    await assert.rejects(other.processor(() => assert.fail("it runs"))(fresh), { name: "DelayedError" });
    assert.deepEqual([due - time.now, await other.eventsOf(fresh)], [5000, []]);
  }
});

test("a deadline ends the wait for a guard", async (t) => {
  const time = clock(t);
  const queue = stored();
  const guards = new Guards({ breaker: { failures: 1, openFor: "1h" } });
  const retries = new BullRetries({ policy: { attempts: 9, deadline: "10m", backoff: { initial: 1 } }, queue, guards });
  let due;
  const job = (run) => ({ ...fake(run, retries), moveToDelayed: async (at) => (due = at) });
  const down = retries.processor(() => Promise.reject(new Error("down")));
  await assert.rejects(down(job(1)), { message: "down" });
  time.tick(1000);
  await assert.rejects(down(job(2)), { name: "DelayedError" });
  assert.equal(due, 1_700_000_600_000);
  time.tick(due - time.now);
  await assert.rejects(down(job(3)), { name: "UnrecoverableError", message: "no attempt: deadline" });
});

test("no text that a job logs, and no data of it, is read as its history", async (t) => {
  const at = "1700000000000000000";
  const line = { version: 1, sequence: 1, type: "STARTED", at, attemptNumber: 1, policy: "1", seed: "1" };
  const far = { ...line, sequence: 3, type: "RETRY_SCHEDULED", attemptNumber: 2, until: String(2n ** 63n - 2n) };
  const ended = { ...line, sequence: 2, type: "GAVE_UP", reason: "attempts" };
  const work = async (job) => {
    for (const event of [line, far, ended]) await job.log(`holdoff 999999999 ${JSON.stringify(event)}`);
    const fields = { "holdoff:9:1:1": JSON.stringify(line), "holdoff:9:1:3": JSON.stringify(far) };
    await job.updateData({ ...fields, holdoff: fields });
    await job.updateProgress(fields);
    throw new Error("503");
  };
  const { job, state, events } = await ran(t, work);
  assert.deepEqual([state, job.attemptsMade, job.failedReason], ["failed", 3, "503"]);
  assert.equal(events.filter(({ type }) => type === "ATTEMPT_FAILED").length, 3);
});

test("fields that are no events are no part of a history", async () => {
  const store = stored();
  const retries = new BullRetries({ policy: { attempts: 2 }, queue: store });
  const job = fake(1, retries);
  Object.assign(store.fields, {
    data: "{}",
    "holdoff:1:1:1": "no JSON",
    "holdoff:1:1:2": "{",
    [`holdoff:${"9".repeat(400)}:1:1`]: "{}",
    "holdoff:1:1": "{}",
  });
  assert.deepEqual(await retries.eventsOf(job), []);
  assert.equal(await retries.processor(async () => 1)(job), 1);
  assert.deepEqual(types(await retries.eventsOf(job)), ["STARTED", "SUCCEEDED"]);
});

/** A queue of one job, whose hash is an object. */
function stored() {
  const fields = {};
  const client = { hgetall: async () => fields, hset: async (_, more) => Object.assign(fields, more) };
  return { fields, toKey: (id) => `bull:${id}`, client: Promise.resolve(client) };
}

/** Its job. */
const fake = (attemptsStarted, retries) => ({ id: "1", attemptsStarted, opts: retries.jobOptions(), data: {} });

test("a worker that has lost its job does not spoil its log", async () => {
  const queue = stored();
  const retries = new BullRetries({ policy: { attempts: 5, backoff: { initial: "1ns" } }, queue });
  let wake;
  const slow = retries.processor(async () => {
    await new Promise((resolve) => (wake = resolve));
    throw new Error("late");
  });
  const lost = slow(fake(1, retries));
  while (wake === undefined) await new Promise((resolve) => setImmediate(resolve));
  const failing = retries.processor(() => Promise.reject(new Error("second")));
  await assert.rejects(failing(fake(2, retries)), /second/);
  wake();
  await assert.rejects(lost, /late/);
  assert.equal(JSON.parse(queue.fields["holdoff:1:1:2"]).type, "ATTEMPT_FAILED");
  assert.equal(JSON.parse(queue.fields["holdoff:1:2:2"]).type, "RESUMED");
  const last = retries.processor(async (_, { attempt }) => attempt);
  await new Promise((resolve) => setTimeout(resolve, 2));
  assert.equal(await last(fake(3, retries)), 2);
  assert.deepEqual(
    (await retries.eventsOf(fake(3, retries))).map(({ sequence, type }) => `${sequence} ${type}`),
    ["1 STARTED", "2 RESUMED", "3 ATTEMPT_FAILED", "4 RETRY_SCHEDULED", "5 RESUMED", "6 SUCCEEDED"],
  );
});

test("a worker that dies of its job does not do so for ever", async () => {
  const queue = stored();
  const retries = new BullRetries({ policy: { attempts: 2, backoff: { initial: "1ns" } }, queue, reruns: 1 });
  const dying = retries.processor(() => new Promise(() => {}));
  const die = async (run) => {
    const before = Object.keys(queue.fields).length;
    dying(fake(run, retries));
    while (Object.keys(queue.fields).length === before) await new Promise((resolve) => setImmediate(resolve));
  };
  await die(1);
  await die(2);
  const job = fake(3, retries);
  const interrupted = await retries
    .processor(() => assert.fail("it runs"))(job)
    .then(undefined, (error) => error);
  assert.equal(interrupted.name, "InterruptedError");
  assert.ok(retries.backoffStrategy(1, "holdoff", interrupted, job) >= 0);
  assert.equal(retries.backoffStrategy(1, "holdoff", interrupted, fake(3, retries)), -1);
  await new Promise((resolve) => setTimeout(resolve, 2));
  await die(4);
  await die(5);
  const last = retries.processor(() => assert.fail("it runs"))(fake(6, retries));
  await assert.rejects(last, { name: "UnrecoverableError", message: "no attempt: attempts" });
});

/** The package as another process loads it. A process dies when nothing asks for its attempts any more. */
async function anotherProcess() {
  return (await import(`${import.meta.resolve("holdoff-bullmq")}?${count++}`)).BullRetries;
}

/** A queue whose jobs have a hash each. */
function manyStored() {
  const hashes = {};
  const hset = async (key, fields) => Object.assign((hashes[key] ??= {}), fields);
  return { toKey: (id) => id, client: Promise.resolve({ hgetall: async (key) => hashes[key] ?? {}, hset }) };
}

/** Processes in which jobs run together and do not end, and that die or are stopped. */
function processes(options) {
  const queue = manyStored();
  const run = async (number, id, work) => {
    const retries = new (await anotherProcess())({ policy: { attempts: 1 }, queue, ...options });
    return retries.processor(work)({ ...fake(number, retries), id });
  };
  const die = async (number, ids, isStopped) => {
    const retries = new (await anotherProcess())({ policy: { attempts: 1 }, queue, ...options });
    for (const id of ids) {
      await new Promise((begun, failed) => {
        const work = () => new Promise(() => begun());
        retries
          .processor(work)({ ...fake(number, retries), id })
          .catch(failed);
      });
    }
    if (isStopped) await retries.stopping();
  };
  return { die, run, eventsOf: (id) => new BullRetries({ policy: {}, queue }).eventsOf({ id, attemptsStarted: 0 }) };
}

test("a death blames only a job that ran alone", async () => {
  const { die, run, eventsOf } = processes({ reruns: 1 });
  for (let number = 1; number <= 4; number++) await die(number, ["poison", "innocent"]);
  assert.equal(await run(5, "innocent", async () => "done"), "done");
  assert.deepEqual(types(await eventsOf("innocent")), ["STARTED", ...Array(4).fill("RESUMED"), "SUCCEEDED"]);
  for (const number of [5, 6]) await die(number, ["poison"]);
  await assert.rejects(
    run(7, "poison", () => assert.fail("it runs")),
    { message: "no attempt: attempts" },
  );
});

test("the history keeps the beginning of a long error", async () => {
  const { run, eventsOf } = processes();
  await assert.rejects(run(1, "long", () => Promise.reject(new Error("e".repeat(1e6)))));
  assert.equal((await eventsOf("long"))[1].failureReason.length, 500);
});

test("a stop blames no job, but twenty times", async () => {
  const { die, run } = processes({ reruns: 1 });
  for (let number = 1; number <= 22; number++) await die(number, ["long"], true);
  await assert.rejects(
    run(23, "long", () => assert.fail("it runs")),
    { message: "no attempt: attempts" },
  );
});

test("an attempt that failed leaves no excuse to the next", async () => {
  const { die, run } = processes({ reruns: 0, policy: { attempts: 2, backoff: { initial: "1ns" } } });
  await die(1, ["job"], true);
  await assert.rejects(
    run(2, "job", () => Promise.reject(new Error("down"))),
    { message: "down" },
  );
  await new Promise((resolve) => setImmediate(resolve));
  await die(3, ["job"]);
  await assert.rejects(
    run(4, "job", () => assert.fail("it runs")),
    { message: "no attempt: attempts" },
  );
});

test("what is no option is refused", () => {
  const queue = stored();
  const refused = (options) => assert.throws(() => new BullRetries({ policy: {}, queue, ...options }), ConfigError);
  refused({ queue: undefined });
  refused({ policy: { attempts: 0 } });
  refused({ reruns: 0.5 });
  refused({ guards: new Guards({ budget: "ratio" }) });
  refused({ guards: new Guards({ bulkhead: 1 }) });
  assert.throws(() => new BullRetries({ policy: {}, queue }).processor("work"), ConfigError);
  const endless = new BullRetries({ policy: { attempts: "forever" }, queue });
  assert.equal(endless.jobOptions({ priority: 1 }).attempts, Number.MAX_SAFE_INTEGER);
  assert.equal(new BullRetries({ policy: "aws-standard-2.1", queue }).jobOptions().attempts, 3);
});
