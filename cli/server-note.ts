/**
 * Where a user's running servers keep their credentials: `svc start` notes its data directory under the port it listens on, so
 * that `svc dev` finds the token from any directory. A note holds no secret; the token stays in `admin.json`, for its owner.
 *
 * A note outlives a server that was killed. So it counts only while its process lives: otherwise whoever listens on the port now
 * would be sent a token that was never meant for it.
 */
import {mkdirSync, readFileSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {isAbsolute, join} from 'node:path';
import {stateDirectory} from './state-directory.ts';

type ServerNote = {data: string; pid: number};

export function noteServer(port: number, data: string): void {
  const path = notePath(port);
  mkdirSync(join(path, '..'), {recursive: true, mode: 0o700});
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, `${JSON.stringify({data, pid: process.pid} satisfies ServerNote)}\n`, {mode: 0o600});
  renameSync(temporary, path);
}

/** Takes back what this process noted; another server may have the port, and its note, by now. */
export function forgetServer(port: number): void {
  if (readNote(port)?.pid === process.pid) rmSync(notePath(port), {force: true});
}

/** The data directory of this user's server at `url`, or null when there is none that runs on this machine. */
export function notedDataDirectory(url: string): string | null {
  const {hostname, port, protocol} = new URL(url);
  const isHere = hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
  if (!isHere || protocol !== 'http:') return null;
  const note = readNote(port === '' ? 80 : Number(port));
  return note !== null && isAlive(note.pid) ? note.data : null;
}

function notePath(port: number): string {
  return join(stateDirectory('servers'), `${port}.json`);
}

function readNote(port: number): ServerNote | null {
  try {
    const note = JSON.parse(readFileSync(notePath(port), 'utf8')) as Partial<ServerNote> | null;
    const isNote = typeof note?.data === 'string' && isAbsolute(note.data) && Number.isSafeInteger(note.pid);
    return isNote ? (note as ServerNote) : null;
  } catch {
    return null; // None, or no note of ours: then there is nothing to go by.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
