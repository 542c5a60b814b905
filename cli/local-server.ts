/**
 * `svc dev --local`: a server for one project, where none runs yet. It is an `svc start` with its data in the project's `.svc/`, and ends with
 * the command that started it.
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
  /** Where its credentials are. */
  readonly data: string;
  readonly #child: ChildProcess;

  private constructor(data: string, child: ChildProcess) {
    this.data = data;
    this.#child = child;
  }

  /** @returns null: something answers at `url` already. @throws CommandFailure */
  static async start(url: string, root: string): Promise<LocalServer | null> {
    if (await isAnswered(originOf(url))) return null;
    const {protocol, hostname, port} = new URL(originOf(url));
    if (protocol !== 'http:' || !isLoopback(hostname)) {
      throw new CommandFailure(`nothing answers at ${url}, and --local starts a server on this machine only`);
    }
    const data = join(root, DIRECTORY);
    mkdirSync(data, {recursive: true, mode: 0o700});
    // Tokens and documents: not for the project's repository, whatever its own rules are.
    writeFileSync(join(data, '.gitignore'), '*\n');
    // That a function failed is a warning of the server, and svc dev shows it already.
    const options = ['--port', port === '' ? '80' : port, '--data', data, '--log-level', 'error', '--ends-with-parent'];
    const child = spawn(process.execPath, [process.argv[1]!, 'start', ...options], {
      // The channel is what it knows the end of this process by, however that comes.
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
    ended.catch(() => {}); // From here on who waits for its end asks for it.
    return new LocalServer(data, child);
  }

  /** Resolves when it is no more, whoever ended it. */
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
    return false; // Refused, most likely; whatever else it is, the server that is started says what keeps it from the port.
  }
}
