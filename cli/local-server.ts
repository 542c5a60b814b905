/**
 * `svc dev --local` starts a server for one project if none runs yet. It is an `svc start` with its data in the
 * project's `.svc/`, and exits with the command that started it.
 */
import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {isLoopback} from '../shared/loopback.ts';
import {originOf} from './client.ts';
import {CommandFailure} from './failure.ts';

const DIRECTORY = '.svc';
const READY = 'svc listening on ';

export class LocalServer {
  /** The directory with its credentials. */
  readonly data: string;
  readonly #child: ChildProcess;

  private constructor(data: string, child: ChildProcess) {
    this.data = data;
    this.#child = child;
  }

  /** @returns null if a server already answers at `url`. @throws CommandFailure */
  static async start(url: string, root: string): Promise<LocalServer | null> {
    if (await isAnswered(originOf(url))) return null;
    const {protocol, hostname, port} = new URL(originOf(url));
    if (protocol !== 'http:' || !isLoopback(hostname)) {
      throw new CommandFailure(`nothing answers at ${url}, and --local starts a server on this machine only`);
    }
    const data = join(root, DIRECTORY);
    mkdirSync(data, {recursive: true, mode: 0o700});
    // Tokens and documents: never for the project's repository, whatever its own ignore rules are.
    writeFileSync(join(data, '.gitignore'), '*\n');
    // The server logs a failed function as a warning, and svc dev shows it already.
    const options = ['--port', port === '' ? '80' : port, '--data', data, '--log-level', 'error', '--ends-with-parent'];
    const child = spawn(process.execPath, [process.argv[1]!, 'start', ...options], {
      // The server detects the end of this process by the channel, whatever the cause.
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    const ended = once(child, 'exit').then(([code]) => {
      throw new CommandFailure(`the server did not start (exit code ${code})`);
    });
    const isReady = new Promise<void>(resolve => {
      createInterface(child.stdout!).on('line', line => {
        if (line.startsWith(READY)) resolve();
      });
    });
    await Promise.race([isReady, ended]);
    ended.catch(() => {}); // From here on, callers of `ended` observe the exit.
    return new LocalServer(data, child);
  }

  /** Resolves when the server has exited, for any reason. */
  async ended(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit');
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.ended();
  }
}

async function isAnswered(origin: string): Promise<boolean> {
  try {
    await fetch(`${origin}/health`);
    return true;
  } catch {
    return false; // Probably refused. Whatever else it is, the started server reports what keeps it from the port.
  }
}
