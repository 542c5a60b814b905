/** The egress policies in force: a table of the registry. */
import {crc32} from 'node:zlib';
import type Database from 'better-sqlite3';
import type {EgressSettings} from '../../shared/ipc/egress.ts';

/** Egress policies in force. A row is ignored if it is damaged or belongs to an earlier tenant with the id. */
export const EGRESS = `
  CREATE TABLE IF NOT EXISTS egress (
    id TEXT PRIMARY KEY,
    generation INTEGER NOT NULL,
    settings TEXT NOT NULL,
    checksum INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

export function readEgress(db: Database.Database): Map<string, {generation: number; settings: EgressSettings}> {
  type Row = {id: string; generation: number; settings: string; checksum: number};
  const rows = db.prepare<[], Row>('SELECT id, generation, settings, checksum FROM egress').all();
  const sound = rows.filter(
    ({id, generation, settings, checksum}) => egressChecksum(id, generation, settings) === checksum,
  );
  return new Map(
    sound.map(({id, generation, settings}) => [id, {generation, settings: JSON.parse(settings) as EgressSettings}]),
  );
}

export function egressValues(
  id: string,
  generation: number,
  settings: EgressSettings,
): [string, number, string, number] {
  const text = JSON.stringify(settings);
  return [id, generation, text, egressChecksum(id, generation, text)];
}

function egressChecksum(id: string, generation: number, settings: string): number {
  return crc32(JSON.stringify([id, generation, settings]));
}
