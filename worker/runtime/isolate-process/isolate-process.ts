/**
 * A worker's link to one process of its isolates (main.ts): starts it, sends it calls, limits its memory and response
 * time, and ends it.
 *
 *   starting ──ready──▶ serving ──close()──▶ closing ──closed──▶ ended
 *       └──by itself | too much memory | silent | says what it never says | end()──▶ ended   (from every state)
 *
 * `open` names its tenant and its owner: at once, or later if a spare worker started it. When it ends, its owner gets
 * back the calls that were running.
 */
import type {Buffer} from 'node:buffer';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {assert} from '../../../shared/assert.ts';
import type {WorkerUser} from '../../../shared/ipc/control.ts';
import {PROCESS_BYTES_MAX} from '../../../shared/limits.ts';
import {ISOLATE_FLAGS} from '../../../shared/node-flags.ts';
import {
  ISOLATE_FRAME_BYTES_MAX,
  ISOLATE_PROCESS_CLOSE_MS_MAX,
  ISOLATE_PROCESS_IDLE_MS,
  ISOLATE_PROCESS_POLL_MS,
  ISOLATE_PROCESS_SILENT_POLLS_MAX,
  ISOLATE_UNREAD_BYTES_MAX,
} from '../limits.ts';
import {ConfinedProcess, type ProcessEnd} from '../process/confined-process.ts';
import {checkedMessage} from './checked-message.ts';
import type {IsolateCall, Sender} from './isolate-calls.ts';
import type {FromIsolates, RanRow, ToIsolates} from './isolate-message.ts';
import {QueryFrames} from './query-frames.ts';

export type IsolateProcessOptions = {
  /** Command prefix that makes the process end with this one (runtime/process/parent-watch.ts). */
  parentWatch: readonly string[];
  main?: string;
  idleMs?: number;
  unreadBytesMax?: number;
};

export type IsolateOwner = {
  databasePath: string;
  /** Sequence of the newest record that queries can have read. */
  headSequence: () => number;
  /** @param calls that were running */
  onEnd: (end: ProcessEnd, calls: IsolateCall[]) => void;
};

const MAIN = join(dirname(fileURLToPath(import.meta.url)), 'isolates.js');

export class IsolateProcess {
  readonly #process: ConfinedProcess<ToIsolates, FromIsolates>;
  #owner: IsolateOwner | null = null;
  readonly #calls = new Map<number, IsolateCall>();
  readonly #warmed = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #idle: NodeJS.Timeout;
  readonly #queries = new QueryFrames((message, args) => this.#process.send(message, args));
  readonly #sender: Sender = {send: (message, tail) => this.#send(message, tail), queries: this.#queries};
  #silentPolls = 0;
  #lastCall = 0;
  #env: IsolateCall['env'] | null = null;

  constructor(options: IsolateProcessOptions) {
    this.#process = new ConfinedProcess(
      {
        command: [process.execPath, ...ISOLATE_FLAGS, options.main ?? MAIN],
        parentWatch: options.parentWatch,
        env: environment(),
        bytesMax: PROCESS_BYTES_MAX,
        pollMs: ISOLATE_PROCESS_POLL_MS,
        pipe: {
          frameBytesMax: ISOLATE_FRAME_BYTES_MAX,
          unreadBytesMax: options.unreadBytesMax ?? ISOLATE_UNREAD_BYTES_MAX,
          check: (head, tail) => checkedMessage(head, tail.length),
        },
      },
      {
        onMessage: (message, tail) => this.#received(message, tail),
        onPoll: () => this.#poll(),
        onEnd: end => this.#over(end),
      },
    );
    this.#idle = setTimeout(() => this.#endIfIdle(), options.idleMs ?? ISOLATE_PROCESS_IDLE_MS).unref();
  }

  /** The process changes its user. To be called before this worker does. */
  become(user: WorkerUser): void {
    this.#send({type: 'become', user});
  }

  /** Called once, before any call. */
  open(owner: IsolateOwner): void {
    assert(this.#owner === null, 'a process serves one tenant');
    this.#owner = owner;
    this.#send({type: 'open', databasePath: owner.databasePath});
    this.#idle.refresh();
  }

  get underWay(): number {
    return this.#calls.size;
  }

  /** It was requested to end, or is no longer trusted: it gets no more calls. */
  get isEnding(): boolean {
    return this.#process.isEnding;
  }

  /** Memory without mapped files; 0: it has ended. */
  get bytes(): number {
    return this.#process.bytes;
  }

  /** Prepares it for queries, before the first one comes. Resolves when it is prepared, or has ended. */
  async warm(): Promise<void> {
    this.#send({type: 'warm'});
    await Promise.race([this.#warmed.promise, this.#ended.promise]);
  }

  begin(call: IsolateCall): void {
    if (call.env !== this.#env) {
      this.#env = call.env;
      this.#send({type: 'env', env: call.env});
    }
    const id = ++this.#lastCall;
    this.#calls.set(id, call);
    call.send(id, this.#sender);
    this.#process.watch(true);
  }

  /** Requests the cancellation of a call. Its outcome still comes from the process. */
  cancel(call: IsolateCall): void {
    for (const [id, known] of this.#calls) if (known === call) this.#send({type: 'cancel', id});
  }

  /** Resolves when it has ended. Running calls complete first. */
  async close(): Promise<void> {
    if (this.#calls.size === 0) this.#endInOrder();
    else {
      this.#send({type: 'close'});
      setTimeout(() => this.#endInOrder(), ISOLATE_PROCESS_CLOSE_MS_MAX).unref();
    }
    await this.#ended.promise;
  }

  /** Queries of this turn go first. */
  readonly #send = (message: ToIsolates, tail?: string | Uint8Array): void => {
    this.#queries.flush();
    this.#process.send(message, tail);
  };

  #ran(runs: readonly RanRow[], tail: Buffer): void {
    let from = 0;
    for (const [id, at, valueBytes, run] of runs) {
      const call = this.#calls.get(id);
      // Each value is a text of its own, because a part of a text would keep the whole one in memory.
      const value = tail.toString('utf8', from, from + valueBytes);
      from += valueBytes;
      if (call === undefined) continue;
      if (run.sequence > this.#owner!.headSequence() || !call.ran(at, run, value)) {
        this.#process.kill('malformed', 'it violated the protocol');
        return;
      }
      if (call.isOver) this.#done(id);
    }
  }

  #received(message: FromIsolates, tail: Buffer): void {
    this.#silentPolls = 0;
    switch (message.type) {
      case 'ready':
        this.#process.started();
        return;
      case 'alive':
        return;
      case 'warmed':
        this.#warmed.resolve();
        return;
      case 'closed':
        this.#endInOrder();
        return;
      case 'ran':
        this.#ran(message.runs, tail);
        return;
    }
    const call = this.#calls.get(message.id);
    // A message about an action that has just ended is late, not wrong.
    if (call === undefined) return;
    if (!call.received(message, tail, this.#send)) this.#process.kill('malformed', 'it violated the protocol');
    else if (call.isOver) this.#done(message.id);
  }

  #done(id: number): void {
    this.#calls.delete(id);
    if (this.#calls.size > 0) return;
    this.#idle.refresh();
    this.#process.watch(false);
    this.#silentPolls = 0;
  }

  #poll(): void {
    // Counts probes of this process, not time: on a busy machine neither process runs.
    if (++this.#silentPolls > ISOLATE_PROCESS_SILENT_POLLS_MAX) this.#process.kill('silent', 'it was silent');
    else if (this.#silentPolls > 1) this.#send({type: 'look'});
  }

  #endIfIdle(): void {
    if (this.#calls.size > 0 || this.#owner === null) this.#idle.refresh();
    else this.#endInOrder();
  }

  #endInOrder(): void {
    this.#process.kill('told', 'it was not needed any longer');
  }

  #over(end: ProcessEnd): void {
    clearTimeout(this.#idle);
    const calls = [...this.#calls.values()].filter(({isOver}) => !isOver);
    this.#calls.clear();
    this.#ended.resolve();
    this.#owner?.onEnd(end, calls);
  }
}

const MALLOC = {MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072'};

/**
 * The location of certificates, for fetches of actions; nothing else of our environment. malloc has two arenas for all
 * threads and returns what is free at their ends: with an arena per thread most of the process' memory was free space.
 */
function environment(): NodeJS.ProcessEnv {
  const passed = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'LANG', 'LC_ALL'].flatMap(name =>
    process.env[name] === undefined ? [] : [[name, process.env[name]] as const],
  );
  return {...Object.fromEntries(passed), ...MALLOC, TZ: process.env.TZ};
}
