/**
 * The journal as server-sent events: every record once, in order and without gaps, from a cursor on.
 *
 *   reading ──all there is was sent──▶ waiting ──a commit──▶ it is written at once, if it is short and the reader has taken all
 *      ▲                                                     that came before; else ──▶ reading
 *      └── a slow reader is waited for between two chunks, and costs no more than one read of the journal
 *
 * Records are read from the file like pages, and verified by their digests. A new commit's records are formatted once
 * for all waiting readers. A reader whose position has been trimmed from the journal meanwhile gets the error that its
 * next request would get.
 */
import {Buffer} from 'node:buffer';
import {setImmediate as turn} from 'node:timers/promises';
import type {Commit, Stage} from '../../../engine/commit/commit.ts';
import type {OutgoingBody} from '../../../engine/io/outgoing-body.ts';
import {cutUp} from '../../../engine/journal/chunks.ts';
import type {JournalReader} from '../../../engine/journal/read-page.ts';
import {STREAM_CHUNK_BYTES_MAX} from '../../../engine/limits.ts';
import {refusalOf} from '../../../engine/storage/failure.ts';
import type {Reader} from '../../../engine/storage/reader.ts';
import {asServiceError} from '../../../shared/errors.ts';
import type {Logger} from '../../../shared/log.ts';
import {FOLLOWER_READ_BYTES} from '../limits.ts';
import {type EventStream, eventText} from './event-stream.ts';
import type {Followers} from './followers.ts';
import type {JournalStreamRequest} from './parameters.ts';
import {CommitEvents, RecordFilter, RecordTables} from './record-events.ts';

export type JournalFollowersParts = {
  followers: Followers;
  journal: JournalReader;
  reader: Reader;
  log: Logger;
  /** The newest durable sequence. */
  sequence: () => number;
};

/** One reader. */
class Follower {
  /** Sequence of the last record sent or skipped. */
  cursor: number;
  readonly filter: RecordFilter;
  stream!: EventStream;
  /** Set while the reader is up to date. */
  wake: (() => void) | null = null;

  constructor(cursor: number, filter: RecordFilter) {
    this.cursor = cursor;
    this.filter = filter;
  }
}

export class JournalFollowers implements Stage {
  readonly #parts: JournalFollowersParts;
  /** Readers that wait for a commit. */
  readonly #waiting = new Set<Follower>();
  readonly dependents: {readonly size: number} = this.#waiting;
  readonly #tables = new RecordTables();

  constructor(parts: JournalFollowersParts) {
    this.#parts = parts;
  }

  /**
   * @param start begins the response, unless it continues one
   * @throws journal.cursor_expired 410, session.overloaded 503
   */
  follow({after, timeline, tables, limit, isContinued}: JournalStreamRequest, start: () => OutgoingBody): void {
    const {followers, journal, reader} = this.#parts;
    followers.checkRoom();
    reader.inSnapshot();
    const head = journal.head();
    const cursor = journal.begin(after === 'latest' ? head : after, timeline);
    const follower = new Follower(cursor, new RecordFilter(tables));
    const onOver = () => {
      this.#waiting.delete(follower);
      follower.wake?.();
    };
    // Each heartbeat carries the current cursor, so a reader of few tables reconnects there and not at its last record.
    const heartbeat = () => Buffer.from(`id: ${follower.cursor}\n\n`);
    follower.stream = followers.begin('journal', start(), limit, onOver, {heartbeat, isContinued});
    const opened = {timeline: journal.timeline, latest_sequence: head, cursor_floor: journal.floor()};
    if (!isContinued) follower.stream.write(Buffer.from(eventText(follower.cursor, 'open', JSON.stringify(opened))));
    void this.#serve(follower).catch(caught => this.#end(follower, caught));
  }

  committed(commit: Commit): void {
    if (commit.lastSequence < commit.firstSequence) return;
    let events: CommitEvents | null = null;
    for (const follower of this.#waiting) {
      const {stream} = follower;
      if (follower.cursor === commit.firstSequence - 1 && stream.isReady && !stream.hasLimit) {
        events ??= new CommitEvents(commit, this.#tables);
        if (events.isShort) {
          const {bytes, count} = events.of(follower.filter);
          if (count > 0) stream.write(bytes, count);
          follower.cursor = commit.lastSequence;
          continue;
        }
      }
      follower.wake?.();
    }
  }

  async #serve(follower: Follower): Promise<void> {
    const {stream} = follower;
    while (stream.isOpen) {
      await stream.ready();
      if (!stream.isOpen) return;
      if (follower.cursor < this.#parts.sequence()) {
        await this.#sendSome(follower);
        await turn(); // other work runs in between, however much there is to read
      } else await this.#commit(follower);
    }
  }

  async #sendSome(follower: Follower): Promise<void> {
    const {journal, reader} = this.#parts;
    const {stream} = follower;
    reader.inSnapshot();
    for (const record of journal.some(follower.cursor, FOLLOWER_READ_BYTES)) {
      if (!stream.isOpen) return;
      const sequence = follower.cursor + 1;
      if (this.#tables.concerns(sequence, record, follower.filter))
        await send(stream, eventText(sequence, null, record));
      follower.cursor = sequence;
    }
  }

  /** Resolves when there is more to read, or the stream is over. */
  async #commit(follower: Follower): Promise<void> {
    await new Promise<void>(resolve => {
      follower.wake = resolve;
      this.#waiting.add(follower);
    });
    follower.wake = null;
    this.#waiting.delete(follower);
  }

  #end(follower: Follower, caught: unknown): void {
    const error = refusalOf(caught);
    if (error.cause !== undefined) this.#parts.log.error('a stream of the journal failed', {error: error.cause});
    follower.stream.end(asServiceError(error));
  }
}

/** A slow reader is waited for after each chunk. */
async function send(stream: EventStream, event: string): Promise<void> {
  if (event.length <= STREAM_CHUNK_BYTES_MAX) {
    stream.write(Buffer.from(event), 1);
    if (!stream.isReady) await stream.ready();
    return;
  }
  let sent = 0;
  for (const chunk of cutUp(event)) {
    sent += chunk.length;
    stream.write(Buffer.from(chunk), sent === event.length ? 1 : 0);
    if (!stream.isReady) await stream.ready();
    if (!stream.isOpen) return;
  }
}
