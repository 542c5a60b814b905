/**
 * Damage: what was read from the file is not what was written to it. Whoever finds some says so here. The reader gets 503
 * `op.storage_damaged`, the log an error line that names the place, and everything else of the tenant goes on.
 *
 * One sink a process, because a worker process has one tenant. A thread without one only makes the error; the main thread
 * reports it when it arrives there.
 */
import Database from 'better-sqlite3';
import {type ErrorObject, ServiceError} from '../../shared/errors.ts';
import {DAMAGE_PLACES_MAX} from '../limits.ts';

/** Which check failed. */
export type DamageCheck =
  /** A document or another row does not fit its checksum. */
  | 'checksum'
  /** The document found under an id has another one, or none is found under its own. */
  | 'id'
  /** An index entry and the document it belongs to do not agree. */
  | 'entry'
  /** A journal record does not fit its digest and the record before. */
  | 'chain'
  /** A file of a deployment does not fit its digest. */
  | 'code'
  /** Rows of a table are missing, or are others than were written. */
  | 'rows'
  /** SQLite found its own structures broken. */
  | 'engine';

/** What is damaged, as far as it is known; all of it is shown to clients and in the log. */
export type Damage = {
  check: DamageCheck;
  table?: string;
  id?: string;
  /** The document's number, for whoever looks into the file. */
  document?: number;
  sequence?: number;
  index?: string;
  path?: string;
  /** A row of another kind, in words. */
  stored?: string;
};

type Sink = (damage: Damage, isNew: boolean) => void;

let sink: Sink | null = null;
/** Places that were reported: a damaged document that is asked for again and again fills no log. */
const known = new Set<string>();

export function reportDamageTo(to: Sink): void {
  sink = to;
}

/** Reports it. @returns the error for whoever wanted to read it */
export function storageDamaged(damage: Damage): ServiceError {
  reportDamage(damage);
  return new ServiceError('op.storage_damaged', `${placeOf(damage)}; other documents are not affected`, damage);
}

export function reportDamage(damage: Damage): void {
  const place = JSON.stringify(damage);
  const isNew = !known.has(place);
  if (isNew && known.size < DAMAGE_PLACES_MAX) known.add(place);
  sink?.(damage, isNew);
}

/** Runs a read; what SQLite itself finds broken is damage like other damage, not the end of the process. */
export function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (caught) {
    throw isEngineDamage(caught) ? storageDamaged({check: 'engine'}) : caught;
  }
}

/** What a thread refused, for who waits for it. What it found damaged is reported here: a thread has no log. */
export function errorOfThread({code, message, detail}: ErrorObject): ServiceError {
  if (code === 'op.storage_damaged' && detail !== undefined) reportDamage(detail as Damage);
  return new ServiceError(code, message, detail);
}

/** SQLite's own words that a structure of the file is broken; the connection can be used on. */
export function isEngineDamage(caught: unknown): boolean {
  return caught instanceof Database.SqliteError && caught.code.startsWith('SQLITE_CORRUPT');
}

/** A read or write of ours met it, whether it was told as damage already or not. */
export function metEngineDamage(caught: unknown): boolean {
  if (!(caught instanceof ServiceError)) return isEngineDamage(caught);
  return caught.code === 'op.storage_damaged' && (caught.detail as Damage | undefined)?.check === 'engine';
}

export function placeOf({check, table, id, document, sequence, index, path, stored}: Damage): string {
  const what =
    stored ??
    (sequence !== undefined
      ? `journal record ${sequence}`
      : path !== undefined
        ? `the deployed file ${path}`
        : `document ${id === undefined ? `number ${document}` : JSON.stringify(id)}${table === undefined ? '' : ` of table ${table}`}`);
  switch (check) {
    case 'checksum':
      return `${what} is damaged in the file: it does not fit its checksum`;
    case 'id':
      return `${what} is damaged in the file: its id leads somewhere else`;
    case 'entry':
      return `${what} and its entry in index ${index ?? 'of its table'} do not agree: the file is damaged`;
    case 'chain':
      return `${what} is damaged in the file: it does not fit its digest, or the record before it is missing`;
    case 'code':
      return `${what} is damaged in the file: it does not fit its digest`;
    case 'rows':
      return `${what}: the file is damaged`;
    case 'engine':
      return 'what was asked for lies in a damaged part of the file';
  }
}
