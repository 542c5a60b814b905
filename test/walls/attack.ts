/**
 * Code that has left its isolate, for `from-inside.test.ts`: runs where a worker of the tenant runs, after it has become the tenant's
 * user as a worker does, and tries what its arguments say. Its answers are the codes of the system's errors; `done`: it worked.
 */
import {chownSync, openSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {connect} from 'node:net';
import {become} from '../../worker/runtime/process/user.ts';

export type Try =
  | {what: 'read' | 'list' | 'write' | 'open' | 'connect'; path: string}
  | {what: 'signal'; pid: number}
  | {what: 'become'; id: number}
  | {what: 'give'; path: string; id: number};

const [user, tries] = JSON.parse(process.argv[2]!) as [{id: number; group: number}, Record<string, Try>];
become(user);
const answers: Record<string, string> = {};
for (const [name, attempt] of Object.entries(tries)) answers[name] = await outcomeOf(attempt);
process.stdout.write(JSON.stringify({answers, status: readFileSync('/proc/self/status', 'utf8')}));

async function outcomeOf(attempt: Try): Promise<string> {
  try {
    await make(attempt);
    return 'done';
  } catch (caught) {
    return (caught as NodeJS.ErrnoException).code ?? String(caught);
  }
}

async function make(attempt: Try): Promise<void> {
  switch (attempt.what) {
    case 'read':
      readFileSync(attempt.path);
      return;
    case 'open':
      openSync(attempt.path, 'r+');
      return;
    case 'list':
      readdirSync(attempt.path);
      return;
    case 'write':
      writeFileSync(attempt.path, 'planted');
      return;
    case 'signal':
      // Asks for the permission alone: it is the same for all signals.
      process.kill(attempt.pid, 0);
      return;
    case 'become':
      process.setuid!(attempt.id);
      return;
    case 'give':
      chownSync(attempt.path, attempt.id, attempt.id);
      return;
    case 'connect':
      await new Promise<void>((resolve, reject) => {
        const socket = connect({path: attempt.path});
        socket.once('error', reject);
        socket.once('connect', () => {
          socket.destroy();
          resolve();
        });
      });
  }
}
