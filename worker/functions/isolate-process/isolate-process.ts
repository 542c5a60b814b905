/**
 * A worker's link to one process of its isolates (main.ts): starts it, gives it calls, bounds its memory and its silence, and ends it.
 *
 *   starting ──ready──▶ serving ──close()──▶ closing ──closed──▶ ended
 *       └──by itself | too much memory | silent | says what it never says | end()──▶ ended   (from every state)
 *
 * When it ends, whoever it belongs to is given the calls that it had.
 */
import type {Buffer} from 'node:buffer';
import {type ChildProcess, spawn} from 'node:child_process';
import type {Socket} from 'node:net';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {
  CHILD_PIPES_MS_MAX,
  ISOLATE_PROCESS_CLOSE_MS_MAX,
  ISOLATE_PROCESS_IDLE_MS,
  ISOLATE_PROCESS_LOOK_MS,
  ISOLATE_PROCESS_SILENT_LOOKS_MAX,
  ISOLATE_UNREAD_BYTES_MAX,
  LAST_WORDS_CHARS,
  PROCESS_BYTES_MAX,
} from '../../../shared/limits.ts';
import {ISOLATE_FLAGS} from '../../../shared/node-flags.ts';
import {firstToGo, ownBytes} from '../../../shared/own-memory.ts';
import {FrameReceiver, FrameSender} from '../../runtime/process/frames.ts';
import {checkedMessage} from './checked-message.ts';
import type {IsolateCall} from './isolate-calls.ts';
import type {ToIsolates} from './isolate-message.ts';

export type IsolateEnd = {
  /** `told`: it was not needed any more. `start`: it never was ready. */
  cause: 'told' | 'crash' | 'memory' | 'silent' | 'unread' | 'malformed' | 'start';
  /** For the log. */
  how: string;
  lastWords: string;
};

export type IsolateProcessOptions = {
  databasePath: string;
  /** Of the newest record that queries may have read. */
  headSequence: () => number;
  /** What stands before the executable: with it the process ends with this one (runtime/process/lifeline.ts). */
  lifeline: readonly string[];
  main?: string;
  idleMs?: number;
  unreadBytesMax?: number;
};

const MAIN = join(dirname(fileURLToPath(import.meta.url)), 'isolates.js');

/** They must not keep a worker from ending. */
const living = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

export class IsolateProcess {
  readonly #child: ChildProcess;
  /** Null: it did not come to be, as there was no descriptor left. */
  readonly #channel: Socket | null;
  readonly #sender: FrameSender;
  readonly #receiver: FrameReceiver;
  readonly #options: IsolateProcessOptions;
  readonly #onEnd: (end: IsolateEnd, calls: IsolateCall[]) => void;
  readonly #calls = new Map<number, IsolateCall>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #idle: NodeJS.Timeout;
  #looks: NodeJS.Timeout | null = null;
  #silentLooks = 0;
  #lastCall = 0;
  #env: IsolateCall['env'] | null = null;
  #isReady = false;
  #isOver = false;
  #cause: IsolateEnd['cause'] | null = null;
  #lastWords = '';

  constructor(options: IsolateProcessOptions, onEnd: (end: IsolateEnd, calls: IsolateCall[]) => void) {
    this.#options = options;
    this.#onEnd = onEnd;
    const node = [process.execPath, ...ISOLATE_FLAGS, options.main ?? MAIN];
    const [command, ...args] = [...options.lifeline, ...node];
    this.#child = spawn(command!, args, {
      // Not in the process group of the server: Ctrl-C is for the supervisor to answer.
      detached: true,
      cwd: '/',
      env: environment(),
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    });
    this.#child.on('error', error => this.#over(error.message));
    this.#child.on('close', (code, signal) => this.#over(signal ?? `exit code ${code}`));
    // What it started may hold its pipes open for as long as it likes.
    this.#child.on('exit', (code, signal) => {
      setTimeout(() => this.#over(signal ?? `exit code ${code}`), CHILD_PIPES_MS_MAX).unref();
    });
    // Without a descriptor left Node makes none of its streams, and tells the error in the next turn.
    const streams = this.#child as {stdio?: ChildProcess['stdio']; stderr?: ChildProcess['stderr']};
    this.#channel = (streams.stdio?.[3] ?? null) as Socket | null;
    const {unreadBytesMax = ISOLATE_UNREAD_BYTES_MAX} = options;
    this.#sender = new FrameSender(bytes => {
      if (this.#channel?.writable !== true) return;
      this.#channel.write(bytes);
      // It asks, and reads no answer: what it asks for would be kept here for as long as it lives.
      if (this.#channel.writableLength > unreadBytesMax) this.#kill('unread');
    });
    this.#receiver = new FrameReceiver((head, tail) => this.#received(head, tail));
    this.#channel?.on('data', piece => {
      if (!this.#isOver && !this.#receiver.push(piece as Buffer)) this.#kill('malformed');
    });
    // Its end is told elsewhere.
    this.#channel?.on('error', () => undefined);
    streams.stderr?.on('data', (piece: Buffer) => {
      this.#lastWords = (this.#lastWords + piece.toString()).slice(-LAST_WORDS_CHARS);
    });
    this.#idle = setTimeout(() => this.#endIfIdle(), options.idleMs ?? ISOLATE_PROCESS_IDLE_MS).unref();
    living.add(this.#child);
    firstToGo(this.#child.pid);
    this.#send({type: 'open', databasePath: options.databasePath});
  }

  get underWay(): number {
    return this.#calls.size;
  }

  /** It was told to end, or it cannot be trusted any more: it is given no calls. */
  get isEnding(): boolean {
    return this.#isOver || this.#cause !== null;
  }

  /** Without mapped files; 0: it has ended. */
  get bytes(): number {
    const {pid} = this.#child;
    return pid === undefined || this.#isOver ? 0 : (ownBytes(pid) ?? 0);
  }

  begin(call: IsolateCall): void {
    if (call.env !== this.#env) {
      this.#env = call.env;
      this.#send({type: 'env', env: call.env});
    }
    const id = ++this.#lastCall;
    this.#calls.set(id, call);
    call.send(id, this.#send);
    this.#looks ??= setInterval(() => this.#look(), ISOLATE_PROCESS_LOOK_MS);
  }

  /** The call is of no use any more; it says so itself, or its process does not. */
  cancel(call: IsolateCall): void {
    for (const [id, known] of this.#calls) if (known === call) this.#send({type: 'cancel', id});
  }

  /** Resolves when it has ended, what it runs to its end. */
  async close(): Promise<void> {
    if (this.#calls.size === 0) this.#kill('told');
    else {
      this.#send({type: 'close'});
      setTimeout(() => this.#kill('told'), ISOLATE_PROCESS_CLOSE_MS_MAX).unref();
    }
    await this.#ended.promise;
  }

  readonly #send = (message: ToIsolates, tail?: string | Uint8Array): void => this.#sender.send(message, tail);

  #received(head: Record<string, unknown>, tail: Buffer): void {
    const message = checkedMessage(head, tail.length);
    if (message === null || this.isEnding) {
      this.#kill('malformed');
      return;
    }
    this.#silentLooks = 0;
    switch (message.type) {
      case 'ready':
        this.#isReady = true;
        return;
      case 'alive':
        return;
      case 'closed':
        this.#kill('told');
        return;
    }
    const call = this.#calls.get(message.id);
    // What it says of an action that has just ended is late, not wrong.
    if (call === undefined) return;
    const isAhead = message.type === 'ran' && message.run.sequence > this.#options.headSequence();
    if (isAhead || !call.received(message, tail, this.#send)) this.#kill('malformed');
    else if (call.isOver) this.#done(message.id);
  }

  #done(id: number): void {
    this.#calls.delete(id);
    if (this.#calls.size > 0) return;
    this.#idle.refresh();
    if (this.#looks !== null) clearInterval(this.#looks);
    this.#looks = null;
    this.#silentLooks = 0;
  }

  #look(): void {
    if (this.bytes > PROCESS_BYTES_MAX) this.#kill('memory');
    // So many looks of this process, not so much time: a machine that is busy lets neither run.
    else if (++this.#silentLooks > ISOLATE_PROCESS_SILENT_LOOKS_MAX) this.#kill('silent');
    else if (this.#silentLooks > 1) this.#send({type: 'look'});
  }

  #endIfIdle(): void {
    if (this.#calls.size > 0) this.#idle.refresh();
    else this.#kill('told');
  }

  #kill(cause: IsolateEnd['cause']): void {
    this.#cause ??= cause;
    this.#child.kill('SIGKILL');
  }

  #over(how: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    living.delete(this.#child);
    clearTimeout(this.#idle);
    if (this.#looks !== null) clearInterval(this.#looks);
    this.#channel?.destroy();
    const cause = this.#cause ?? (this.#isReady ? 'crash' : 'start');
    const calls = [...this.#calls.values()].filter(({isOver}) => !isOver);
    this.#calls.clear();
    this.#ended.resolve();
    this.#onEnd({cause, how, lastWords: this.#lastWords}, calls);
  }
}

/** Where certificates are, for what actions fetch; nothing else of ours. */
function environment(): NodeJS.ProcessEnv {
  const passed = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'LANG', 'LC_ALL'].flatMap(name =>
    process.env[name] === undefined ? [] : [[name, process.env[name]] as const],
  );
  return {...Object.fromEntries(passed), TZ: process.env.TZ};
}
