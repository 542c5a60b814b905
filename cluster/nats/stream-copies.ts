/**
 * Whether the copies of each stream on the NATS servers are equal, as far as their monitoring pages tell. No server notices if
 * they are not, and acknowledged records are lost once another copy leads (decision 0113).
 *
 * A look reads all pages twice. It compares a copy with that of the leader if neither changed in between. If the leader takes
 * the other server for one that has everything, the copy is another one. If not, and the copy is as it was at the look before,
 * it does not follow. Both can be so for a moment, so only what is so in `COPIES_LOOKS` looks in a row is reported.
 */
import {COPIES_LOOK_MS, COPIES_LOOKS} from '../limits.ts';
import {delay} from '../log/timing.ts';
import type {Clock} from '../members/clock.ts';
import type {MonitorPages} from './monitor-pages.ts';

/** The part of `/jsz?streams=true` that is read. */
type Replica = {readonly name?: string; readonly current?: boolean; readonly lag?: number};
type Stream = {
  readonly name?: string;
  readonly cluster?: {readonly leader?: string; readonly replicas?: readonly Replica[]};
  readonly state?: {readonly messages?: number; readonly bytes?: number; readonly last_seq?: number};
};
type Page = {readonly account_details?: readonly {readonly stream_detail?: readonly Stream[]}[]} | null;

type Copies = {
  readonly leader: string;
  /** Server → what its copy has. */
  readonly content: ReadonlyMap<string, string>;
  /** Servers that have everything, according to the leader. */
  readonly current: ReadonlySet<string>;
};

/** A copy beside that of its leader. */
type Compared = {
  readonly copy: string;
  readonly isLike: boolean;
  /** According to the leader. */
  readonly isCurrent: boolean;
  readonly say: string;
};

export type StreamCopiesParts = {
  readonly pages: Pick<MonitorPages, 'readAll'>;
  /** Streams whose names begin with it are those of the cluster. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly report: (message: string) => void;
};

export class StreamCopies {
  readonly #parts: StreamCopiesParts;
  /** Stream and server → looks in a row at which the copy was not that of the leader, and what it had at the last one. */
  readonly #unlike = new Map<string, {looks: number; copy: string}>();

  constructor(parts: StreamCopiesParts) {
    this.#parts = parts;
  }

  /** Copies that differ from those of their leaders, or do not follow them. */
  get different(): number {
    return [...this.#unlike.values()].filter(({looks}) => looks >= COPIES_LOOKS).length;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look();
      await delay(this.#parts.clock, COPIES_LOOK_MS);
    }
  }

  async look(): Promise<void> {
    const [before, after] = [await this.#read(), await this.#read()];
    for (const [stream, {leader, content, current}] of after) {
      const earlier = before.get(stream);
      const [first, expected] = [earlier?.content.get(leader), content.get(leader)];
      if (earlier?.leader !== leader || first === undefined || first !== expected) continue;
      for (const [server, copy] of content) {
        if (copy !== earlier.content.get(server)) continue;
        const isCurrent = current.has(server) && earlier.current.has(server);
        const both = `it has ${copy}, and that of its leader ${leader} ${expected}`;
        const say = isCurrent
          ? `is another one: ${both}. Acknowledged records are lost if it leads (docs/cluster.md, NATS)`
          : `does not follow: ${both}. The stream has a copy less (docs/cluster.md, NATS)`;
        this.#compared(`${stream} on ${server}`, {copy, isLike: copy === expected, isCurrent, say});
      }
    }
  }

  #compared(key: string, {copy, isLike, isCurrent, say}: Compared): void {
    const {report} = this.#parts;
    const before = this.#unlike.get(key) ?? {looks: 0, copy};
    if (isLike) {
      this.#unlike.delete(key);
      if (before.looks >= COPIES_LOOKS) report(`the copy of ${key} is that of its leader again`);
      return;
    }
    // One that is behind and moves is on its way.
    const looks = isCurrent || copy === before.copy ? before.looks + 1 : Math.min(before.looks, COPIES_LOOKS - 1);
    this.#unlike.set(key, {looks, copy});
    if (looks === COPIES_LOOKS && before.looks < COPIES_LOOKS) report(`the copy of ${key} ${say}`);
  }

  async #read(): Promise<Map<string, Copies>> {
    const pages = ((await this.#parts.pages.readAll('/jsz?streams=true')) as Page[]).map(page =>
      (page?.account_details ?? []).flatMap(account => account.stream_detail ?? []),
    );
    const names = new Set(pages.flat().flatMap(({name}) => (name?.startsWith(this.#parts.prefix) ? [name] : [])));
    const found = [...names].map(
      name => [name, copiesOf(pages.flatMap(page => page.find(stream => stream.name === name) ?? []))] as const,
    );
    return new Map(found.flatMap(([name, copies]) => (copies === null ? [] : [[name, copies]])));
  }
}

/** @param pages of one stream. Null: it has no leader whose page was read */
function copiesOf(pages: readonly Stream[]): Copies | null {
  const replicasOf = ({cluster}: Stream) => cluster?.replicas ?? [];
  const servers = new Set(pages.flatMap(page => [page.cluster?.leader, ...replicasOf(page).map(({name}) => name)]));
  const content = new Map<string, string>();
  let found: {leader: string; current: Set<string>} | null = null;
  for (const page of pages) {
    // A page names the other servers only.
    const others = new Set(replicasOf(page).map(({name}) => name));
    const [server, ...more] = [...servers].filter(name => !others.has(name));
    if (server === undefined || more.length > 0) continue;
    const {messages, bytes, last_seq: last} = page.state ?? {};
    content.set(server, `${messages} messages, ${bytes} bytes and the last sequence ${last}`);
    if (page.cluster?.leader !== server) continue;
    const current = replicasOf(page).filter(replica => replica.current === true && (replica.lag ?? 0) === 0);
    found = {leader: server, current: new Set(current.flatMap(({name}) => name ?? []))};
  }
  return found === null ? null : {...found, content};
}
