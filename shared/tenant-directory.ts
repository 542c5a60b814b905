/**
 * The files in a tenant's directory that more than one process knows.
 *
 *   just created        tenant.new
 *   its first open      tenant.new, tenant.sqlite   (also after a crash before the file was whole: it is made again)
 *   from then on        tenant.sqlite, and after a close empty tenant.sqlite-wal and tenant.sqlite-shm
 *
 *   while it is adopted         tenant.sqlite, tenant.adopt   (also its own file, before a new timeline)
 *   while its log has commits   tenant.sqlite, tenant.sqlite-wal, tenant.logged
 *   after an upgrade of svc     before-upgrade/, for seven days
 *
 * So a directory without `tenant.new` whose `tenant.sqlite` is missing or empty has lost it: the file is never created
 * a second time.
 */

/** The tenant's SQLite file. */
export const TENANT_FILE = 'tenant.sqlite';
/** Marks that the tenant's file has not been created yet. JSON of NewTenant. */
export const NEW_TENANT_FILE = 'tenant.new';

export type NewTenant = {tenant: string; generation: number; created_ms: number};

/**
 * Marks that the file in the directory came from elsewhere and is to become this tenant's, or is to begin a new
 * timeline: JSON of AdoptNote. The next process that opens the file does that first, and removes the note once the
 * tenant is open.
 */
export const ADOPT_FILE = 'tenant.adopt';

export type AdoptNote = {
  tenant: string;
  generation: number;
  created_ms: number;
  /** The new timeline of the file, 32 hex characters. A file that has it was adopted. */
  timeline: string;
  /** Where the file came from; null: the timeline and the commit that it has. */
  origin: {timeline: string; commit: number} | null;
  /** The generation of the tenant that this one replaces; null: none. */
  replaces: number | null;
  /** `reads`: the tenant starts paused, and answers reads. */
  serve: 'reads' | 'all';
  /** The file is the tenant's own, which begins a new timeline because an older copy of it was put back. */
  is_own?: true;
};

/** Null: the text is no such note. */
export function adoptNoteIn(text: string): AdoptNote | null {
  let note: Partial<AdoptNote> | null;
  try {
    note = JSON.parse(text) as Partial<AdoptNote> | null;
  } catch (caught) {
    if (caught instanceof SyntaxError) return null;
    throw caught;
  }
  if (typeof note !== 'object' || note === null) return null;
  const {tenant, generation, created_ms, timeline, origin, replaces, serve, is_own: isOwn} = note;
  const isTenant = typeof tenant === 'string' && isNumber(generation) && isNumber(created_ms);
  const isFrom =
    origin === null || (typeof origin === 'object' && isTimeline(origin.timeline) && isNumber(origin.commit));
  const isKnown = isTimeline(timeline) && (replaces === null || isNumber(replaces));
  if (!isTenant || !isFrom || !isKnown || (serve !== 'reads' && serve !== 'all')) return null;
  const whose = isOwn === true ? {is_own: isOwn} : {};
  return {tenant, generation, created_ms, timeline, origin, replaces, serve, ...whose};
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isTimeline(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{32}$/.test(value);
}

/** A copy that is being made for an export. It is removed before it is sent, and at the next open. */
export const FILE_COPY = 'tenant.copy';

/** Empty. Marks that the file's log has commits, so that a missing log is noticed. */
export const LOGGED_FILE = 'tenant.logged';

/**
 * Written next to the tenant's file when a check found damage: the findings. The tenant stays stopped while it exists.
 */
export const DAMAGED_FILE = 'damaged.txt';

/** A directory: tarballs of packages that deployments import, by the SHA-512 of each, and their files. */
export const PACKAGES_DIRECTORY = 'packages';
/** Beside a spool of a cluster: names of packages that the store of the cluster has lost, one in a line. */
export const LOST_PACKAGES_FILE = 'packages-lost';

/** A directory: page sets that wait for the copier. */
export const SPOOL_DIRECTORY = 'spool';

/**
 * A directory: copies of the tenant's file from before it was migrated, one for each storage version that it had. A
 * copy is complete once it has its name.
 *
 *   before-upgrade/v16/tenant.sqlite, before-upgrade/v16/about.json
 */
export const BEFORE_UPGRADE = 'before-upgrade';
/** JSON of KeptNote. */
export const KEPT_NOTE = 'about.json';

export type KeptNote = {
  format: 1;
  /** Storage version of the copy, and the one that the file was migrated to. */
  from: number;
  to: number;
  /** The version of svc that migrated it. */
  svc: string;
  made_ms: number;
  /** Of the file that was copied; null: it is older than timelines. */
  timeline: string | null;
  /** Of the newest record of its journal. */
  sequence: number;
};

/** The storage version of a copy. Null: it is not the name of a complete one. */
export function keptVersion(name: string): number | null {
  return /^v[1-9][0-9]{0,5}$/.test(name) ? Number(name.slice(1)) : null;
}

/** Null: the text is no such note. */
export function keptNoteIn(text: string): KeptNote | null {
  let note: Partial<KeptNote> | null;
  try {
    note = JSON.parse(text) as Partial<KeptNote> | null;
  } catch (caught) {
    if (caught instanceof SyntaxError) return null;
    throw caught;
  }
  if (typeof note !== 'object' || note === null || note.format !== 1) return null;
  const {from, to, svc, made_ms, timeline, sequence} = note;
  const areNumbers = isNumber(from) && isNumber(to) && isNumber(made_ms) && isNumber(sequence);
  if (!areNumbers || typeof svc !== 'string' || (timeline !== null && !isTimeline(timeline))) return null;
  return {format: 1, from, to, svc, made_ms, timeline, sequence};
}
