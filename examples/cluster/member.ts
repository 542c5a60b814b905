/** One process of the cluster, which can be killed, stopped and started again. */
import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';

/** Lines of its output that are shown when it ends. */
const LINES_KEPT = 40;

export type MemberState = 'running' | 'killed' | 'stopped' | 'ended' | 'not started';
export const ACTIONS = ['kill', 'stop', 'start'] as const;
export type Action = (typeof ACTIONS)[number];

export class Member {
  readonly name: string;
  readonly #command: readonly string[];
  readonly #env: Record<string, string>;
  #child: ChildProcess | null = null;
  #state: MemberState = 'not started';
  #lines: string[] = [];

  constructor(name: string, command: readonly string[], env: Record<string, string> = {}) {
    this.name = name;
    this.#command = command;
    this.#env = env;
  }

  get state(): MemberState {
    return this.#state;
  }

  /** Null: it does not run. */
  get pid(): number | null {
    return this.#state === 'running' ? (this.#child?.pid ?? null) : null;
  }

  /** The end of what it has written. */
  get output(): string {
    return this.#lines.join('\n');
  }

  async act(action: Action): Promise<void> {
    if (action === 'start') await this.start();
    else await this.#end(action === 'kill' ? 'SIGKILL' : 'SIGTERM', action === 'kill' ? 'killed' : 'stopped');
  }

  async start(): Promise<void> {
    if (this.#state === 'running') return;
    const [program, ...args] = this.#command;
    const child = spawn(program!, args, {stdio: ['ignore', 'pipe', 'pipe'], env: this.#env});
    this.#child = child;
    this.#state = 'running';
    this.#lines = [];
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#lines.push(...text.trimEnd().split('\n'));
        this.#lines.splice(0, this.#lines.length - LINES_KEPT);
      });
    }
    child.on('error', error => this.#lines.push(error.message));
    child.on('close', () => {
      if (this.#child === child && this.#state === 'running') this.#state = 'ended';
    });
    await Promise.race([once(child, 'spawn'), once(child, 'close')]);
  }

  /** Also when this process ends by itself. */
  killNow(): void {
    if (this.pid !== null) this.#child!.kill('SIGKILL');
  }

  async #end(signal: NodeJS.Signals, state: MemberState): Promise<void> {
    if (this.pid === null) return;
    const child = this.#child!;
    const closed = once(child, 'close');
    child.kill(signal);
    await closed;
    this.#state = state;
  }
}
