/**
 * Does what an order says, in one go: it runs on a thread of its own.
 *
 * The tenant's user owns the directory, and code that has escaped its isolate could have left a link in it. So every name
 * that is going to be used is checked first, while no process of that user runs.
 */
import {type Dirent, existsSync, lchownSync, lstatSync, mkdirSync, readdirSync} from 'node:fs';
import {basename, dirname, join} from 'node:path';
import {type Source, sourceOf, sourceOfFile} from '../../engine/copies/bytes.ts';
import {CopyError} from '../../engine/copies/copy-error.ts';
import {DISK} from '../../engine/copies/disk.ts';
import {PageSetError} from '../../engine/copies/page-set-error.ts';
import {PageSet} from '../../engine/copies/page-set-reader.ts';
import {ReplicatedFile} from '../../engine/replication/replicated-file.ts';
import {setAside} from '../../engine/replication/set-aside.ts';
import {unreachable} from '../../shared/assert.ts';
import {isNoSpace} from '../../shared/disk-errors.ts';
import {MergedSets} from '../owner/merged-sets.ts';
import {decodePlace} from '../owner/place.ts';
import type {FileAnswer, FileOrder, FileOwner, FileState, OrderedRecord} from './file-order.ts';

/** The file is needed elsewhere. */
class Ended extends Error {}

const ABSENT: FileState = {place: null, at: null, commit: 0, bytes: 0};

/** @param nowMs epoch milliseconds. Never throws. */
export function runOrder(order: FileOrder, nowMs: number): FileAnswer {
  const {path, owner} = order;
  try {
    prepareDirectory(path, owner);
    if (order.kind === 'set_aside') {
      const aside = existsSync(path) ? setAside(path, order.why, order.epoch) : null;
      if (aside !== null) giveAll(aside, '', owner);
      return {kind: 'done', state: ABSENT, aside};
    }
    const file = new ReplicatedFile(path, nowMs);
    try {
      const aside = done(file, order);
      return {kind: 'done', state: stateOf(file), aside};
    } finally {
      file.close();
      giveAll(dirname(path), basename(path), owner);
    }
  } catch (error) {
    if (error instanceof Ended) return {kind: 'ended'};
    if (error instanceof CopyError || error instanceof PageSetError) return {kind: 'unusable', sentence: error.message};
    if (isNoSpace(error)) return {kind: 'no_space'};
    return {kind: 'failed', sentence: error instanceof Error ? error.message : String(error)};
  }
}

/** @returns the directory with a file that was set aside */
function done(file: ReplicatedFile, order: Exclude<FileOrder, {kind: 'set_aside'}>): string | null {
  switch (order.kind) {
    case 'find':
      return null;
    case 'apply':
      if (file.place !== null) file.epoch = decodePlace(file.place).position.epoch;
      applyAll(file, order.records, order.end);
      file.save();
      if (file.aside !== null) giveAll(file.aside, '', order.owner);
      return file.aside;
    case 'seed':
      return seed(file, order);
    case 'set_place':
      withFile(order.base, order.end, source => file.setPlace(new PageSet(source).after, order.place));
      return null;
    case 'write_base':
    case 'write_newest': {
      const fd = DISK.open(order.to, 'w');
      try {
        const write = (bytes: Buffer) => {
          refuseEnded(order.end);
          DISK.write(fd, bytes, null);
        };
        if (order.kind === 'write_base') file.writeBase({write});
        else file.writeNewest({write});
      } finally {
        DISK.close(fd);
      }
      return null;
    }
    default:
      return unreachable(order);
  }
}

function seed(file: ReplicatedFile, order: FileOrder & {kind: 'seed'}): string | null {
  return withFile(order.base, order.end, source => {
    const set = new PageSet(source);
    const isOwn = file.at !== null && !file.isCopy;
    const aside = isOwn ? file.setAside('replaced', order.epoch) : null;
    if (aside !== null) giveAll(aside, '', order.owner);
    file.seed(set, order.place);
    return aside;
  });
}

function applyAll(file: ReplicatedFile, records: readonly OrderedRecord[], end: Int32Array): void {
  const sets = new MergedSets(file);
  for (const record of records) {
    refuseEnded(end);
    if (record.kind !== 'pages') {
      sets.apply();
      file.pass(record.kind, record.place);
    } else if (typeof record.pages === 'string') {
      sets.apply();
      withFile(record.pages, end, source => file.apply(new PageSet(source), record.place));
    } else {
      const {buffer, byteOffset, length} = record.pages;
      sets.add(new PageSet(sourceOf(Buffer.from(buffer, byteOffset, length))), record.place);
    }
  }
  sets.apply();
}

function withFile<T>(path: string, end: Int32Array, use: (source: Source) => T): T {
  const fd = DISK.open(path, 'r');
  try {
    const source = sourceOfFile(fd);
    return use({
      length: source.length,
      read: (at, length) => {
        refuseEnded(end);
        return source.read(at, length);
      },
    });
  } finally {
    DISK.close(fd);
  }
}

function refuseEnded(end: Int32Array): void {
  if (Atomics.load(end, 0) !== 0) throw new Ended();
}

function stateOf(file: ReplicatedFile): FileState {
  const {at, place} = file;
  if (at === null) return ABSENT;
  const {timeline, commit, digest, pages, pageBytes} = at;
  return {
    place,
    at: {timeline, commit, digest: digest.toString('hex')},
    commit: file.commit ?? commit,
    bytes: pages * pageBytes,
  };
}

/** @throws Error: a name that is to be used is a link or no file */
function prepareDirectory(path: string, owner: FileOwner | null): void {
  const directory = dirname(path);
  if (!existsSync(directory)) {
    mkdirSync(directory, {mode: 0o700});
    give(directory, owner);
  }
  if (!lstatSync(directory).isDirectory()) throw new Error(`${directory} is not a directory`);
  const irregular = entriesOf(directory, basename(path)).find(entry => !entry.isFile());
  if (irregular !== undefined) throw new Error(`${join(directory, irregular.name)} is not a file`);
}

/** What was made belongs to the tenant's user. */
function giveAll(directory: string, prefix: string, owner: FileOwner | null): void {
  if (owner === null) return;
  if (prefix === '') give(directory, owner);
  for (const {name} of entriesOf(directory, prefix)) give(join(directory, name), owner);
}

function give(path: string, owner: FileOwner | null): void {
  if (owner === null) return;
  const {uid, gid} = lstatSync(path);
  if (uid !== owner.uid || gid !== owner.gid) lchownSync(path, owner.uid, owner.gid);
}

function entriesOf(directory: string, prefix: string): Dirent[] {
  return readdirSync(directory, {withFileTypes: true}).filter(({name}) => name.startsWith(prefix));
}
