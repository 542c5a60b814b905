/**
 * Appends a message by compare-and-set, and finds out what became of it.
 *
 *   append(R, L):                  L = sequence of the message before R
 *     send R expecting L
 *       ack: a sequence above 0, no duplicate ─▶ stored
 *       anything else: S = first message of the subject after L
 *         S is R          ─▶ stored            (the ack was lost)
 *         S is another    ─▶ refused for ever
 *         S followed none ─▶ unknowable: the message after L was removed since, so R may have been stored
 *         none            ─▶ send the same R with the same L again; after 10 s it is reported as unknown, and goes on
 *           and it is refused, and the newest message is before L, several times in a row ─▶ unknowable: the servers have
 *           lost L, as with older stores. Another message can get the sequence L, so R must not be sent for ever
 *
 * `refused` as an answer decides nothing, because the first delivery of R can be under way when the second is refused.
 * An answer of `full` ends it only if no delivery of R can still be stored.
 */
import {APPEND_RETRY_MS, APPEND_RETRY_MS_MAX, APPEND_UNKNOWN_MS, READS_BEHIND_MAX} from '../limits.ts';
import {EngineError, type LogEngine, type Message, type PublishAnswer, type Subject} from './log-engine.ts';
import {delay, type Timing} from './timing.ts';

/** What follows the expected message: `same`, `other`, or what followed is gone and this is a later message. */
export type Successor = 'same' | 'other' | 'later';

export type Decision =
  | {readonly kind: 'stored'; readonly sequence: number}
  /** Never stored. @property by what is there instead */
  | {readonly kind: 'refused'; readonly by: Message}
  /** What followed the expected message has been removed, or the expected one is lost. @property by the newest; null: none */
  | {readonly kind: 'unknowable'; readonly by: Message | null}
  /** Not stored, and not on its way: the stream has no space. */
  | {readonly kind: 'full'}
  /** The signal was aborted. It may have been stored. */
  | {readonly kind: 'abandoned'};

/** Not decided within `APPEND_UNKNOWN_MS`; it goes on. */
export type Unknown<D> = {readonly kind: 'unknown'; readonly decided: Promise<D>};

type Append = {
  readonly subject: Subject;
  readonly bytes: Buffer;
  /** Sequence of the message before; 0: there is none. */
  readonly after: number;
  /** Judges the first message after it. */
  readonly judge: (message: Message) => Successor;
};

export function bounded<D>(decided: Promise<D>, timing: Timing): Promise<D | Unknown<D>> {
  return new Promise((resolve, reject) => {
    const cancel = timing.after(APPEND_UNKNOWN_MS, () => resolve({kind: 'unknown', decided}));
    decided.then(resolve, reject).finally(cancel);
  });
}

export async function decidedAppend(
  engine: LogEngine,
  timing: Timing,
  append: Append,
  signal?: AbortSignal,
): Promise<Decision> {
  const {subject, bytes, after, judge} = append;
  let pauseMs = APPEND_RETRY_MS;
  let readsBehind = 0;
  for (let isUnderWay = false; !signal?.aborted; pauseMs = Math.min(2 * pauseMs, APPEND_RETRY_MS_MAX)) {
    const answer = await engine.publish(subject, bytes, after);
    if (isAck(answer)) return {kind: 'stored', sequence: answer.sequence};
    const message = await firstAfter(engine, subject, after);
    if (message !== null) {
      const successor = judge(message);
      if (successor === 'same') return {kind: 'stored', sequence: message.sequence};
      return {kind: successor === 'other' ? 'refused' : 'unknowable', by: message};
    }
    if (answer.kind === 'full' && !isUnderWay) return {kind: 'full'};
    isUnderWay ||= answer.kind !== 'full';
    const newest = answer.kind === 'refused' ? await newestBefore(engine, subject, after) : undefined;
    readsBehind = newest === undefined ? 0 : readsBehind + 1;
    if (newest !== undefined && readsBehind === READS_BEHIND_MAX) return {kind: 'unknowable', by: newest};
    await delay(timing, pauseMs);
  }
  return {kind: 'abandoned'};
}

/** A server answers `duplicate`, with sequence 0, to the retry of a message that it refused. */
export function isAck(answer: PublishAnswer): answer is PublishAnswer & {kind: 'stored'} {
  return answer.kind === 'stored' && answer.sequence > 0 && !answer.isDuplicate;
}

/** Null: there is none, the read was stale, or there was no answer. */
async function firstAfter(engine: LogEngine, subject: Subject, after: number): Promise<Message | null> {
  try {
    return await engine.next(subject, after + 1);
  } catch (error) {
    if (error instanceof EngineError) return null;
    throw error;
  }
}

/** The newest message, if it is before the expected one; null: there is none. Undefined: it is not, or there was no answer. */
async function newestBefore(
  engine: LogEngine,
  subject: Subject,
  expected: number,
): Promise<Message | null | undefined> {
  if (expected === 0) return undefined;
  try {
    const newest = await engine.last(subject);
    return newest === null || newest.sequence < expected ? newest : undefined;
  } catch (error) {
    if (error instanceof EngineError) return undefined;
    throw error;
  }
}
