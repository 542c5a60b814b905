/** A measured server as a child process: started until it says it is ready, and ended for certain. */
import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';

export type ServerProcess = {
  pid: number;
  /** What the readiness line said. */
  ready: RegExpExecArray;
  stop(): Promise<void>;
};

export const NODE_FLAGS = ['--experimental-strip-types', '--no-warnings'];
const READY_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 10_000;

/** Those that have not ended; they do not outlive this process, whatever it ends of. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** @param readyLine matched against the child's output, in which its first group is the port */
export async function startServer(
  command: string,
  args: string[],
  readyLine: RegExp,
  env: NodeJS.ProcessEnv = process.env,
): Promise<ServerProcess> {
  const child = spawn(command, args, {env, stdio: ['ignore', 'pipe', 'pipe']});
  running.add(child);
  const ended = once(child, 'exit').then(() => {
    running.delete(child);
  });
  const ready = await readiness(child, readyLine, `${command} ${args.join(' ')}`);
  return {
    pid: child.pid!,
    ready,
    stop: async () => {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      await ended;
      clearTimeout(timer);
    },
  };
}

function readiness(child: ChildProcess, readyLine: RegExp, name: string): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    let output = '';
    const fail = (why: string): void => reject(new Error(`${name} ${why}:\n${output}`));
    const timer = setTimeout(() => fail('was not ready in time'), READY_TIMEOUT_MS);
    const onText = (text: Buffer): void => {
      if (timer.hasRef() === false) return;
      output += text.toString();
      const match = readyLine.exec(output);
      if (match === null) return;
      clearTimeout(timer);
      timer.unref();
      resolve(match);
    };
    // Read to the end, or a full pipe would stop the server.
    child.stdout?.on('data', onText);
    child.stderr?.on('data', onText);
    child.once('error', error => fail(error.message));
    child.once('exit', code => {
      clearTimeout(timer);
      fail(`ended with ${code}`);
    });
  });
}
