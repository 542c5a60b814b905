/**
 * Checks a restored file: that it has the pages of the commit that it was restored to, is the tenant's, ends where the
 * copy says, and is sound. The pages come first and stop the others: SQLite opens no file whose pages are not those
 * that were copied.
 *
 *   pages ──▶ identity ──▶ head ──▶ content
 *
 * A restore has compared the pages when it made the file, and needs no proof that the tenant was sound when it was
 * copied: for it the check reads each page once (`quick`). A drill and `svc restore --verify` read all content.
 */
import {closeSync, openSync} from 'node:fs';
import {sourceOfFile} from '../copies/bytes.ts';
import {digestOfFile} from '../copies/page-digest.ts';
import type {Position} from '../copies/page-set.ts';
import {storedCommitNumber} from '../storage/commit-number.ts';
import {openReader} from '../storage/database.ts';
import {readIdentity, type StoredIdentity} from '../storage/identity.ts';
import {quickFindings, type VerifyReport, verifyFile} from './verify-file.ts';

/** @param point what the copy says of the commit that the file was restored to */
export type ExpectedFile = {tenant: string; point: Position};

export type FileCheck = {
  check: 'pages' | 'identity' | 'head' | 'content';
  /** Empty: the file passed. */
  findings: string[];
};

/** `quick`: the pages were compared, and of the content only SQLite's structure and the newest record are checked. */
export type CheckDepth = 'quick' | 'full';

export type CheckedFile = {
  /** In their order, up to the first one that makes the next ones meaningless. */
  checks: FileCheck[];
  /** Null: an earlier check failed, or it was a quick one. */
  report: Omit<VerifyReport, 'findings'> | null;
};

/** @param path of a closed file without a log */
export function checkFile(path: string, {tenant, point}: ExpectedFile, depth: CheckDepth = 'full'): CheckedFile {
  const checks: FileCheck[] = [];
  const passes = (check: FileCheck['check'], findings: (string | null)[]): boolean => {
    const found = findings.filter(finding => finding !== null);
    checks.push({check, findings: found});
    return found.length === 0;
  };
  if (depth === 'full' && !passes('pages', [pagesFinding(path, point)])) return {checks, report: null};
  try {
    const {identity, commit, sequence} = stateOf(path);
    const isOwn = passes('identity', [ownerFinding(identity, tenant), timelineFinding(identity, point)]);
    const isAtPoint = passes('head', [
      commit === point.commit ? null : `it ends with commit ${commit}, not ${point.commit}`,
      sequence === point.sequence ? null : `its journal ends with record ${sequence}, not ${point.sequence}`,
    ]);
    if (identity === null || !isOwn || !isAtPoint) return {checks, report: null};
    if (depth === 'quick') {
      passes('content', quickFindings(path));
      return {checks, report: null};
    }
    const {findings, ...report} = verifyFile(path, {tenant, generation: identity.generation});
    passes('content', findings);
    return {checks, report};
  } catch (caught) {
    // Its pages are those of the copy, so the copy was made of a damaged file.
    passes('content', [`it cannot be read: ${caught instanceof Error ? caught.message : String(caught)}`]);
    return {checks, report: null};
  }
}

function pagesFinding(path: string, {pages, pageBytes, digest, commit}: Position): string | null {
  const fd = openSync(path, 'r');
  try {
    const {length} = sourceOfFile(fd);
    if (length !== pages * pageBytes) return `it has ${length} bytes, not ${pages} pages of ${pageBytes}`;
    return digestOfFile(fd, pages, pageBytes).equals(digest) ? null : `its pages are not those of commit ${commit}`;
  } finally {
    closeSync(fd);
  }
}

function ownerFinding(identity: StoredIdentity | null, tenant: string): string | null {
  if (identity === null) return 'it says of no tenant that it is its file';
  return identity.tenant === tenant ? null : `it is that of tenant ${identity.tenant}`;
}

function timelineFinding(identity: StoredIdentity | null, {timeline}: Position): string | null {
  if (identity === null || identity.timeline === timeline) return null;
  return `its timeline is ${identity.timeline}, not ${timeline}`;
}

type State = {identity: StoredIdentity | null; commit: number; sequence: number};

function stateOf(path: string): State {
  const db = openReader(path);
  try {
    const newest = db.prepare<[], number | null>('SELECT max(sequence) FROM journal').pluck();
    return {identity: readIdentity(db), commit: storedCommitNumber(db), sequence: newest.get() ?? 0};
  } finally {
    db.close();
  }
}
