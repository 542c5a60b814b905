/** What a copy would say of a closed file. */
import {readFileSync} from 'node:fs';
import Database from 'better-sqlite3';
import {PagesDigest} from '../../engine/copies/page-digest.ts';
import type {Position} from '../../engine/copies/page-set.ts';
import {storedCommitNumber} from '../../engine/storage/commit-number.ts';

export function pointOf(file: string): Position {
  const db = new Database(file, {readonly: true});
  const one = (sql: string) => db.prepare<[], never>(sql).pluck().get()!;
  try {
    const [pages, pageBytes] = [one('PRAGMA page_count'), one('PRAGMA page_size')];
    const bytes = readFileSync(file);
    const digest = new PagesDigest();
    for (let page = 1; page <= pages; page++)
      digest.toggle(page, bytes.subarray((page - 1) * pageBytes, page * pageBytes));
    return {
      timeline: one("SELECT value FROM meta WHERE key = 'tenant_timeline'"),
      pageBytes,
      commit: storedCommitNumber(db),
      sequence: one('SELECT max(sequence) FROM journal'),
      timeMs: 0,
      pages,
      digest: digest.value,
    };
  } finally {
    db.close();
  }
}
