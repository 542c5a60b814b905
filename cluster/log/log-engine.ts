/**
 * What a replicated log needs of the engine below it: messages in the order of one sequence per stream, appended by
 * compare-and-set on the sequence of the newest message of their subject.
 *
 * Contract of every engine
 * - A message that was acknowledged is not lost, and is the only one that follows the message it expected.
 * - An append is decided by the messages of the subject alone. An answer of `refused` does not prove that the message was
 *   not stored: an earlier delivery of it can still be on its way into the stream.
 * - Reads can be stale: they can miss the newest messages. They never return a message that is not there.
 * - A subject of which every message was removed accepts `expected` 0 again, so its last message must never be removed.
 */

/** Which stream a subject is in. */
export type StreamName = {kind: 'log'; shard: number} | {kind: 'records'} | {kind: 'bases'};

export type Subject = {
  readonly stream: StreamName;
  /** Without `*` and `>`. */
  readonly name: string;
};

export type Message = {
  readonly subject: string;
  /** In its stream, from 1. */
  readonly sequence: number;
  readonly bytes: Buffer;
};

export type PublishAnswer =
  /** Only with a sequence above 0, and not as a duplicate, it is an acknowledgement. */
  | {readonly kind: 'stored'; readonly sequence: number; readonly isDuplicate: boolean}
  /** The newest message of the subject is not the one that was expected. */
  | {readonly kind: 'refused'}
  /** The stream is full. This delivery was not stored. */
  | {readonly kind: 'full'}
  /** No answer, or none that decides anything. */
  | {readonly kind: 'failed'; readonly reason: string};

export interface LogEngine {
  /** Never rejects. @param expected sequence of the newest message of the subject; 0: it has none; null: any */
  publish(subject: Subject, bytes: Buffer, expected: number | null): Promise<PublishAnswer>;
  /** The first message of the subject with this sequence or a later one. @throws EngineError */
  next(subject: Subject, sequence: number): Promise<Message | null>;
  /**
   * The messages of the subject from a sequence to another one, in order, except those that have been removed. A few of
   * them are in memory. It ends early when it is stopped.
   * @param range.to sequence of a message that was read
   * @throws EngineError: it cannot go on, and the caller reads from where it was
   */
  messages(subject: Subject, range: {readonly from: number; readonly to: number}): AsyncIterable<Message>;
  /** @throws EngineError */
  last(subject: Subject): Promise<Message | null>;
  /** Removes the messages of the subject before this sequence. @throws EngineError */
  removeBefore(subject: Subject, sequence: number): Promise<void>;
  /**
   * The messages of all subjects with one of the prefixes, in order: those from this sequence, then new ones as they arrive. It
   * ends when the signal aborts. `null`, once: what was there when it began, according to a read, has been returned.
   * @throws EngineError when it might miss a message: its server is lost. The caller begins again, and gets another `null`.
   */
  watch(stream: StreamName, prefixes: readonly string[], options: WatchOptions): AsyncIterable<Message | null>;
}

export type WatchOptions = {
  /** Null: only messages that are stored from now on. */
  readonly from: number | null;
  readonly signal: AbortSignal;
  /** The messages come without their bytes: what they are is read elsewhere. */
  readonly isBare?: boolean;
};

/** The engine does not answer, or not in time. What was requested may have happened. */
export class EngineError extends Error {
  override name = 'EngineError';
}
