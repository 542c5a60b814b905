import {execFile} from 'node:child_process';
import {join} from 'node:path';
import {promisify} from 'node:util';
import {NODE_FLAGS} from '../server-process.ts';

/** Operations a second; of the inserts: documents, not transactions. */
export type SqliteResult = {get: number; query: number; insert1: number; insert8: number; insert64: number};

/** In a process of its own, so that it shares neither heap nor loop with the runner. */
export async function runSqlite(directory: string, seconds: number): Promise<SqliteResult> {
  const args = [...NODE_FLAGS, join(import.meta.dirname, 'main.ts'), directory, String(seconds)];
  const {stdout} = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as SqliteResult;
}
