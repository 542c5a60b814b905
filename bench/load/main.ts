/** The load generator, a process of its own: takes one job over the channel to its parent, runs it, answers, ends. */
import {Buffer} from 'node:buffer';
import {LoadConnection} from './connection.ts';
import type {LoadJob, LoadResult} from './job.ts';

/** Latencies kept; at 100,000 requests a second this is 20 s. */
const SAMPLES_MAX = 2_000_000;

type Slot = {connection: LoadConnection; sentMs: number};

process.once('message', (job: LoadJob) => run(job));
process.once('disconnect', () => process.exit(1)); // the parent is gone

function run({port, connections, seconds, requests, ratePerS}: LoadJob): void {
  const texts = requests.map(request => Buffer.from(request, 'latin1'));
  const samples = new Float32Array(SAMPLES_MAX);
  let answers = 0;
  let errors = 0;
  let next = 0;
  let ready = 0;
  let startedMs = 0;
  let isOver = false;
  const open: Slot[] = [];
  /** Of requests that arrive by themselves: connections without one, and arrivals without a connection. */
  const free: Slot[] = [];
  const waiting: number[] = [];
  for (let i = 0; i < connections; i++) {
    const slot = {
      connection: new LoadConnection(
        port,
        () => {
          ready += 1;
          if (ready === connections) begin();
        },
        status => {
          const now = performance.now();
          if (isOver) return;
          if (status < 200 || status > 299) errors += 1;
          else {
            if (answers < SAMPLES_MAX) samples[answers] = now - slot.sentMs;
            answers += 1;
          }
          if (ratePerS === undefined) return sendNext(slot, now);
          const arrivedMs = waiting.shift();
          if (arrivedMs === undefined) free.push(slot);
          else sendNext(slot, arrivedMs);
        },
        () => {
          if (ready < connections) throw new Error(`no server accepts connections at port ${port}`);
          errors += 1;
        },
      ),
      sentMs: 0,
    };
    open.push(slot);
  }

  /** @param fromMs from when on its time counts */
  function sendNext(slot: Slot, fromMs: number): void {
    slot.sentMs = fromMs;
    slot.connection.send(texts[next]!);
    next = next + 1 === texts.length ? 0 : next + 1;
  }

  function begin(): void {
    startedMs = performance.now();
    if (ratePerS === undefined) for (const slot of open) sendNext(slot, startedMs);
    else {
      free.push(...open);
      arrive(ratePerS / 1_000, startedMs);
    }
    setTimeout(end, seconds * 1_000);
  }

  /** @param dueMs when the next request arrives */
  function arrive(perMs: number, dueMs: number): void {
    if (isOver) return;
    const now = performance.now();
    let at = dueMs;
    for (; at <= now; at += -Math.log(1 - Math.random()) / perMs) {
      const slot = free.pop();
      if (slot === undefined) waiting.push(now);
      else sendNext(slot, now);
    }
    setTimeout(arrive, 1, perMs, at);
  }

  function end(): void {
    isOver = true;
    const elapsedS = (performance.now() - startedMs) / 1_000;
    const sorted = samples.subarray(0, Math.min(answers, SAMPLES_MAX)).sort();
    const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
    const result: LoadResult = {requestsPerS: answers / elapsedS, p50Ms: at(0.5), p99Ms: at(0.99), errors};
    for (const {connection} of open) connection.close();
    process.send?.(result, () => process.exit(0));
  }
}
