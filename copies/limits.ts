/**
 * Limits of copies and their repository, with their units in their names: the reason for each number, and what happens
 * beyond it. docs/limits.md is made of them.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/* Store */

/** Objects that one request to a store lists. Beyond: the next request goes on. (ours) */
export const LIST_PAGE_MAX = 1_000;
/** Bytes of an object that is read into memory. Beyond: it is refused as damaged; packs with more are streamed. (ours) */
export const OBJECT_BYTES_MAX = 64 * MIB;
/** Bytes of an object that are in memory while it is streamed from a directory. (ours) */
export const STREAM_CHUNK_BYTES = MIB;

/** Attempts of one request to an S3 server. Beyond: the error is the caller's. (ours) */
export const S3_ATTEMPTS_MAX = 3;
/** Time to connect to an S3 server, and to get an answer or the next bytes of it. Beyond: a time-out. (ours) */
export const S3_CONNECT_MS = 10_000;
export const S3_REQUEST_MS = 30_000;
/** An upload has as much more time as its bytes need at this rate, in bytes per millisecond. (ours) */
export const S3_SLOW_BYTES_PER_MS = 128;
/** Parts of an upload in parts: bytes of each, one of which is in memory, and their number. Beyond: it fails. (spec S3) */
export const S3_PART_BYTES = 16 * MIB;
export const S3_PARTS_MAX = 10_000;
/** Objects that are removed from an S3 server at the same time. (ours) */
export const S3_REMOVALS_AT_ONCE = 16;

/* Repository */

/** Bytes that are sealed at once. Beyond: the next frame. The format depends on it: it never changes. (design) */
export const FRAME_BYTES = MIB;
/** Segments of one pack that is made in memory. Beyond: they go into several packs. (ours) */
export const PACK_BYTES_MAX = 32 * MIB;
/** A segment that is given as bytes. Beyond: it has to be given as a file, which is streamed. (ours) */
export const SEGMENT_BYTES_MAX = 16 * MIB;
/** The end of a pack that is read first: it has the index of most packs. Beyond: a second request. (ours) */
export const PACK_END_BYTES = 64 * KIB;
/** Attempts to store a pack or manifest and read it back. Beyond: the error is the caller's. (ours) */
export const STORE_ATTEMPTS_MAX = 3;
/** Names of failed packs that the next pack lists, so that readers ignore them. Beyond: the oldest are dropped. (ours) */
export const FAILED_PACKS_MAX = 100;
/** Pause before the second attempt, doubled after each further one. (ours) */
export const STORE_RETRY_MS = 200;
export const STORE_RETRY_MS_MAX = 5_000;
/** Objects that are read from a store at the same time. (ours) */
export const READS_AT_ONCE = 16;
/** A manifest or pack index after decompression. Beyond: it is refused as damaged. (ours) */
export const SEALED_JSON_BYTES_MAX = 256 * MIB;
/** Older manifests that are read if the newest cannot be. Beyond: the tenant's copies count as damaged. (ours) */
export const MANIFESTS_TRIED_MAX = 16;
/** Items that a writer remembers and no manifest has. Beyond: more manifests are due than one in an interval. (ours) */
export const PENDING_ITEMS_MAX = 100_000;

/** What a request costs a restore: the bytes that it could read instead. Two small sets cost more than a larger one. (ours) */
export const REQUEST_COST_BYTES = 64 * KIB;

/* Lease */

/** How often the holder of a repository's lease renews it. (ours) */
export const LEASE_RENEW_MS = 30_000;
/** A lease that was not renewed for so long can be taken by another server. (ours) */
export const LEASE_MS = 120_000;
/** Earlier claims of the lease that stay. A server that held one of them and comes back finds that it is gone. (ours) */
export const LEASE_CLAIMS_KEPT = 16;

/* Restore */

/** Missing or damaged objects that an answer names. Beyond: their number. (ours) */
export const GAP_OBJECTS_MAX = 20;
/** Copies that are downloaded at the same time, ahead of the one that is applied. (ours) */
export const RESTORE_FETCHES = 8;
/** Bytes of those on disk. Beyond: only the next one is downloaded, which can be larger. (ours) */
export const RESTORE_AHEAD_BYTES = 64 * MIB;

/* Compaction and retention */

/** Age from which one point of a minute, an hour and a day stays. Younger points all stay. (design) */
export const THIN_TO_MINUTES_MS = 3_600_000;
export const THIN_TO_HOURS_MS = 86_400_000;
export const THIN_TO_DAYS_MS = 30 * 86_400_000;
/** How often a tenant is compacted whose copies have changed, and one whose copies have not but have grown older. (ours) */
export const COMPACT_CHANGED_MS = 3_600_000;
export const COMPACT_UNCHANGED_MS = 86_400_000;
/** How often objects that nothing needs are looked for: that reads the manifests of all tenants. (ours) */
export const REMOVE_EVERY_MS = 6 * 3_600_000;
/** Page sets that one turn of the compaction merges, and their bytes; two always. Beyond: the next turn goes on. (ours) */
export const COMPACTION_SETS_MAX = 4_096;
export const COMPACTION_BYTES_MAX = 64 * MIB;
/**
 * A new base is made when a restore of the newest state reads more sets than this, and they have more bytes than this and
 * than half of the base. (ours)
 */
export const BASE_SETS_LEAST = 16;
export const BASE_SETS_BYTES_LEAST = 4 * MIB;
/** Page sets that one new base includes. Beyond: it is made of the first ones, and the next base of the others. (ours) */
export const BASE_SETS_MAX = 4_096;
/** Objects that nothing lists any more stay this long, for restores that are using them. (ours) */
export const GRACE_MS = 86_400_000;
/** Manifests of a tenant that stay after newer ones replaced them: this many, and those younger than this. (ours) */
export const MANIFESTS_KEPT = 3;
export const MANIFEST_GRACE_MS = 3_600_000;
/** Proofs of a tenant that stay. (ours) */
export const PROOFS_KEPT = 20;
/** Packs after the manifest of a tenant without news, until it gets a manifest: a reader reads their indexes. (ours) */
export const IDLE_PACKS_MAX = 1_000;
