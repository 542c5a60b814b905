/**
 * Notes where a user's running servers keep their credentials: `svc start` records its data directory under the port
 * that it listens on, so that `svc dev` finds the token from any directory. A note contains no secret; the token stays
 * in `admin.json`, for its owner.
 *
 * A note outlives a server that was killed, so it counts only while its process lives. Otherwise the process that now
 * listens on the port would receive a token that was not meant for it.
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

/** Removes this process's note, unless another server now has the port and the note. */
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
    return null; // No note, or not one of ours: there is nothing to use.
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
