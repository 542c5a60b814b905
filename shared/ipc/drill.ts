/**
 * What the processes of a drill say to each other: the copier restores a tenant, a confined worker checks the file, and
 * the copier records the result.
 */

import type {BackupGap} from '../protocol/backups.ts';

/** The commit at which a restored file has to be. */
export type ExpectedPoint = {
  timeline: string;
  pageBytes: number;
  commit: number;
  sequence: number;
  timeMs: number;
  pages: number;
  /** Of all pages, in hex. */
  digest: string;
};

export type DrillCheck = {
  /** `objects`: everything that the repository lists can be read. `restore`: the newest state could be restored. */
  check: 'objects' | 'restore' | 'functions' | FileCheckName;
  findings: string[];
  /** Names of the repository's objects at fault, as far as they are known. */
  objects: string[];
};

/** `point` null: nothing was restored, and the checks say why. `gap` null: it is the newest that was stored. */
export type RestoredCopy = {checks: DrillCheck[]; point: ExpectedPoint | null; gap: BackupGap | null};

const FILE_CHECKS = ['pages', 'identity', 'head', 'content'] as const;
type FileCheckName = (typeof FILE_CHECKS)[number];

/** `none`: the tenant has none; `not_started`: an earlier check failed, or there is no server to start them. */
const FUNCTIONS = ['none', 'not_started', 'started', 'failed'] as const;

/** What the check of a restored file found. */
export type DrilledFile = {
  checks: {check: FileCheckName; findings: string[]}[];
  /** Null: a check failed before. */
  report: {documents: number; records: number} | null;
  functions: (typeof FUNCTIONS)[number];
  /** The query that was called, and how it ended; null: none was. */
  query: string | null;
  functionFindings: string[];
};

/** Null: a process that can run code of tenants has sent something else. */
export function drilledFileIn(value: unknown): DrilledFile | null {
  if (!isObject(value) || !Array.isArray(value.checks)) return null;
  const {checks, report, functions, query, functionFindings} = value;
  const hasChecks = checks.every(
    (one: unknown) => isObject(one) && FILE_CHECKS.some(name => name === one.check) && isTexts(one.findings),
  );
  const hasReport = report === null || (isObject(report) && isCount(report.documents) && isCount(report.records));
  const hasFunctions = FUNCTIONS.some(one => one === functions) && isTexts(functionFindings);
  const hasQuery = query === null || typeof query === 'string';
  return hasChecks && hasReport && hasFunctions && hasQuery ? (value as DrilledFile) : null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every(one => typeof one === 'string');
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
