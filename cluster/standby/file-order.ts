/**
 * What can be done with the file of a tenant that no worker has open. Each order opens the file and closes it again, so
 * between two orders a worker can have it. Orders and answers cross to a thread.
 */
import type {LogPlace} from '../../engine/replication/appender.ts';
import type {AsideReason} from '../../engine/replication/set-aside.ts';

/** Who the files belong to: the user of the tenant's worker. */
export type FileOwner = {readonly uid: number; readonly gid: number};

export type FileTarget = {
  /** Of the tenant's file. Its directory is made if it is missing. */
  readonly path: string;
  /** Null: the user of this process. */
  readonly owner: FileOwner | null;
};

/** `pages`: bytes of a page set, or the path of a file with them. */
export type OrderedRecord =
  | {readonly kind: 'open' | 'close'; readonly place: LogPlace}
  | {readonly kind: 'pages'; readonly pages: Uint8Array | string; readonly place: LogPlace};

export type FileWish =
  | {readonly kind: 'find'}
  /** The next records of its log. */
  | {readonly kind: 'apply'; readonly records: readonly OrderedRecord[]}
  /** Begins with a base. @property epoch of the newest record of the file that it replaces */
  | {readonly kind: 'seed'; readonly base: string; readonly place: LogPlace; readonly epoch: number}
  | {readonly kind: 'write_base'; readonly to: string}
  /** As a base, with commits of the file that the log need not have. */
  | {readonly kind: 'write_newest'; readonly to: string}
  /** Its log begins, also again, with a base of its newest commit. @property base path of that base */
  | {readonly kind: 'set_place'; readonly base: string; readonly place: LogPlace}
  | {readonly kind: 'set_aside'; readonly why: AsideReason; readonly epoch: number};

/** What is done with a file that no standby may keep. */
export type FileInspection = Extract<FileWish, {kind: 'find' | 'write_newest' | 'set_place'}>;

export type FileOrder = FileTarget &
  FileWish & {
    /** Not 0: the file is needed for a worker, so the order ends as soon as it can, and the file is as it was. */
    readonly end: Int32Array<SharedArrayBuffer>;
  };

export type FileState = {
  /** Of the newest record that the file is known to have; null: it is absent. */
  readonly place: LogPlace | null;
  /** Of the newest commit of the file that the log is known to have; null: it is absent. */
  readonly at: {readonly timeline: string; readonly commit: number; readonly digest: string} | null;
  /** Newest commit of the file; a worker's file can be ahead of the log. 0: it is absent. */
  readonly commit: number;
  /** Bytes of all pages. */
  readonly bytes: number;
};

export type FileAnswer =
  /** @property aside directory with a file that was set aside; null: none was */
  | {readonly kind: 'done'; readonly state: FileState; readonly aside: string | null}
  /** The file is damaged, or the records do not continue it. */
  | {readonly kind: 'unusable'; readonly sentence: string}
  | {readonly kind: 'ended'}
  | {readonly kind: 'no_space'}
  /** The file system or the thread failed. */
  | {readonly kind: 'failed'; readonly sentence: string};

export interface FileWork {
  /** Never rejects. Orders of one file are given one after the other. */
  run(order: FileOrder): Promise<FileAnswer>;
}
