/**
 * Bodies over `PART_BYTES`: they are sent ahead of their record, without expectation. Parts that are sent twice, or whose
 * record never follows, are read by none, and are removed together with the records around them.
 */
import {createHash} from 'node:crypto';
import type {Source} from '../../engine/copies/bytes.ts';
import {HEADER_BYTES as PAGE_SET_HEADER_BYTES} from '../../engine/copies/page-set.ts';
import {APPEND_RETRY_MS, APPEND_RETRY_MS_MAX, PART_BYTES, PART_READS, PARTS_AT_ONCE} from '../limits.ts';
import {isAck} from './decided-append.ts';
import type {LogEngine, Message, Subject} from './log-engine.ts';
import {LogError} from './log-error.ts';
import {checkBody, checkBodyBegin, type DecodedRecord, type Part, sha256} from './record.ts';
import {delay, type Timing} from './timing.ts';

export type BodySum = {readonly bytes: number; readonly sha256: Buffer};

export function sumOf(body: Source): BodySum {
  const sum = createHash('sha256');
  for (let at = 0; at < body.length; at += PART_BYTES) sum.update(partAt(body, at));
  return {bytes: body.length, sha256: sum.digest()};
}

export type SentParts = {kind: 'sent'; parts: Part[]} | {kind: 'full'} | {kind: 'abandoned'};

/** At most `PARTS_AT_ONCE` of them are in memory. A part without an answer is sent again until the signal aborts. */
export async function sendParts(
  engine: LogEngine,
  timing: Timing,
  {subject, body, signal}: {subject: Subject; body: Source; signal?: AbortSignal | undefined},
): Promise<SentParts> {
  const parts: Part[] = [];
  const count = Math.ceil(body.length / PART_BYTES);
  let next = 0;
  let end: 'full' | 'abandoned' | null = null;
  const send = async () => {
    for (let i = next++; i < count && end === null; i = next++) {
      const bytes = partAt(body, i * PART_BYTES);
      const sequence = await sentPart(engine, timing, subject, bytes, signal);
      if (typeof sequence === 'string') end = sequence;
      else parts[i] = {sequence, bytes: bytes.length, sha256: sha256(bytes)};
    }
  };
  await Promise.all(Array.from({length: PARTS_AT_ONCE}, send));
  return end === null ? {kind: 'sent', parts} : {kind: end};
}

async function sentPart(
  engine: LogEngine,
  timing: Timing,
  subject: Subject,
  bytes: Buffer,
  signal: AbortSignal | undefined,
): Promise<number | 'full' | 'abandoned'> {
  for (let pauseMs = APPEND_RETRY_MS; !signal?.aborted; pauseMs = Math.min(2 * pauseMs, APPEND_RETRY_MS_MAX)) {
    const answer = await engine.publish(subject, bytes, null);
    if (isAck(answer)) return answer.sequence;
    if (answer.kind === 'full') return 'full';
    await delay(timing, pauseMs);
  }
  return 'abandoned';
}

/**
 * The body of a record, in parts of up to `PART_BYTES`. The last part is returned after the SHA-256 of the whole body was
 * compared. @throws LogError, EngineError
 */
export async function* readBody(
  engine: LogEngine,
  subject: Subject,
  {head, position, body}: DecodedRecord,
): AsyncGenerator<Buffer> {
  const fail = (detail: string) => new LogError('damaged', `the record at ${position.sequence} ${detail}`);
  if (body !== null) {
    checkBody(head, body, fail);
    yield body;
    return;
  }
  const sum = createHash('sha256');
  for (const [i, part] of head.parts.entries()) {
    const message = await partOf(engine, subject, part.sequence);
    if (message?.sequence !== part.sequence) throw fail(`lacks its part at ${part.sequence}`);
    const {bytes} = message;
    if (bytes.length !== part.bytes || !sha256(bytes).equals(part.sha256)) {
      throw fail(`has another part at ${part.sequence} than the one that was sent`);
    }
    if (i === 0) checkBodyBegin(head, bytes.subarray(0, PAGE_SET_HEADER_BYTES), fail);
    sum.update(bytes);
    if (i === head.parts.length - 1 && !sum.digest().equals(head.bodySha256)) throw fail('has another body');
    yield bytes;
  }
}

/** A read can miss it once; one that was removed is missed each time. */
export async function partOf(engine: LogEngine, subject: Subject, sequence: number): Promise<Message | null> {
  for (let left = PART_READS; ; left--) {
    const message = await engine.next(subject, sequence);
    if (message !== null || left === 1) return message;
  }
}

function partAt(body: Source, at: number): Buffer {
  return body.read(at, Math.min(PART_BYTES, body.length - at));
}
