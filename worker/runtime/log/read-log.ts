/**
 * GET …/logs: the newest entries, or those that match a filter; with `follow=true`, then every new entry as it is
 * written.
 * @throws op.invalid_input 400, session.overloaded 503
 */
import {Buffer} from 'node:buffer';
import type {OutgoingBody} from '../../../engine/io/outgoing-body.ts';
import {invalid} from '../../../shared/errors.ts';
import type {HeaderList} from '../../../shared/ipc/operations.ts';
import {LOG_ENTRIES_KEEP} from '../../../shared/limits.ts';
import {LOG_CHARS_KEEP} from '../limits.ts';
import type {ExecutionLog} from './execution-log.ts';
import {EVERY_ENTRY, readFilter} from './log-entries.ts';

const TYPE: HeaderList = [['Content-Type', 'application/x-ndjson']];

/** The destination of the log. */
export type LogTarget = {
  whole(headers: HeaderList, body: string | Buffer): void;
  start(headers: HeaderList): OutgoingBody;
};

/** A log to read. */
type Source = {
  history(): Promise<string>;
  /** @param onEnd no more lines will come. @returns a function that stops it. @throws session.overloaded 503 */
  follow(onLine: (line: string) => void, onEnd: () => void): () => void;
};

/** @param query the query string of the URL */
export async function readLog(log: ExecutionLog, to: LogTarget, query: string): Promise<void> {
  const parameters = new URLSearchParams(query);
  const count = historyCount(parameters, LOG_ENTRIES_KEEP);
  const filter = readFilter(parameters);
  const isFiltered = Object.values(filter).some(wanted => wanted !== null);
  await sendLog(to, parameters.get('follow') === 'true', {
    history: () => (isFiltered ? log.search(filter, count) : log.newest(count)),
    follow: onLine => log.follow(isFiltered ? filter : EVERY_ENTRY, onLine),
  });
}

/** @param isFollowed the response continues with every line as it is written */
export async function sendLog(to: LogTarget, isFollowed: boolean, source: Source): Promise<void> {
  if (!isFollowed) {
    to.whole(TYPE, await source.history());
    return;
  }
  // Entries that end while the history is read are sent after it, and not twice: entries are numbered within a process.
  const early: string[] = [];
  let earlyChars = 0;
  let out: OutgoingBody | null = null;
  let hasEnded = false;
  const onLine = (line: string) => {
    if (out !== null) {
      if (out.isReady) out.write(Buffer.from(line));
      return;
    }
    earlyChars += line.length;
    if (earlyChars <= LOG_CHARS_KEEP) early.push(line);
  };
  const stop = source.follow(onLine, () => {
    hasEnded = true;
    out?.end();
  });
  let past: string;
  try {
    past = await source.history();
  } catch (caught) {
    stop();
    throw caught;
  }
  out = to.start(TYPE);
  out.onCancel = stop;
  const news = early.filter(line => !past.includes(line));
  // An empty line ends the history, and sends the head even if nothing has been logged yet.
  out.write(Buffer.from(`${past}\n${news.join('')}`));
  if (hasEnded) out.end();
}

/** @throws op.invalid_input 400 */
export function historyCount(parameters: URLSearchParams, most: number): number {
  const count = Number(parameters.get('history') ?? most);
  if (Number.isInteger(count) && count >= 0) return count;
  throw invalid('history must be a whole number of entries, 0 or more');
}
