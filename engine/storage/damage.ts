/**
 * Reports damage: data read from the file that is not what was written to it. The reader gets 503 `op.storage_damaged`,
 * the log gets an error line that names the location, and everything else of the tenant stays available.
 *
 * There is one sink per process, because a worker process has one tenant. A thread without a sink only makes the error;
 * the main thread reports it when it arrives there.
 */
import {type ErrorObject, ServiceError} from '../../shared/errors.ts';
import {DAMAGE_PLACES_MAX} from '../limits.ts';

/** Which check failed. */
export type DamageCheck =
  /** A document or another row does not match its checksum. */
  | 'checksum'
  /** The document found by an id has another one, or a document is not found by its own id. */
  | 'id'
  /** An index entry and its document disagree. */
  | 'entry'
  /** A journal record does not match its digest and the record before. */
  | 'chain'
  /** A file of a deployment does not match its digest. */
  | 'code'
  /** Rows of a table are missing, or differ from the written ones. */
  | 'rows'
  /** SQLite found its own structures broken. */
  | 'engine';

/** The damaged item, as far as it is known; clients and the log show all of it. */
export type Damage = {
  check: DamageCheck;
  table?: string;
  id?: string;
  /** The document's number, to find it in the file. */
  document?: number;
  sequence?: number;
  index?: string;
  path?: string;
  /** A row of another kind, in words. */
  stored?: string;
};

type Sink = (damage: Damage, isNew: boolean) => void;

let sink: Sink | null = null;
/** Reported locations, so that repeated reads of a damaged document do not fill the log. */
const known = new Set<string>();

export function reportDamageTo(to: Sink): void {
  sink = to;
}

/** Reports the damage. @returns the error for the reader */
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

/** Runs a read. Damage that SQLite itself finds is handled like other damage, and does not end the process. */
export function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (caught) {
    throw isEngineDamage(caught) ? storageDamaged({check: 'engine'}) : caught;
  }
}

/** The error from a thread, for the caller. Damage it found is reported here, because a thread has no log. */
export function errorOfThread({code, message, detail}: ErrorObject): ServiceError {
  if (code === 'op.storage_damaged' && detail !== undefined) reportDamage(detail as Damage);
  return new ServiceError(code, message, detail);
}

/**
 * SQLite's error for a broken structure of the file; the connection stays usable. It is known by its name, because
 * processes that only pass errors on must not load SQLite for them.
 */
export function isEngineDamage(caught: unknown): boolean {
  if (!(caught instanceof Error) || caught.name !== 'SqliteError' || !('code' in caught)) return false;
  return String(caught.code).startsWith('SQLITE_CORRUPT');
}

/** Whether a read or write met such damage, already reported or not. */
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
