/**
 * What the processes of a drill say to each other: the copier restores a tenant, a confined worker checks the file, and
 * the copier records the result.
 */

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

/** `point` null: nothing was restored, and the checks say why. */
export type RestoredCopy = {checks: DrillCheck[]; point: ExpectedPoint | null};

type FileCheckName = 'pages' | 'identity' | 'head' | 'content';

/** What the check of a restored file found. */
export type DrilledFile = {
  checks: {check: FileCheckName; findings: string[]}[];
  /** Null: a check failed before. */
  report: {documents: number; records: number} | null;
  /** `none`: the tenant has none; `not_started`: an earlier check failed, or there is no server to start them. */
  functions: 'none' | 'not_started' | 'started' | 'failed';
  /** The query that was called, and how it ended; null: none was. */
  query: string | null;
  functionFindings: string[];
};
