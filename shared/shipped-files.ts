/** The manifest of a directory of static files: the build writes it, and routers serve what it names. */
import type {HeaderList} from './ipc/operations.ts';

export type ShippedFile = {
  readonly path: string;
  readonly type: string;
  /** Set if the name contains it: the file never changes under this name. */
  readonly hash?: string;
  /** Headers of its answers, in addition to those of all files. */
  readonly headers?: HeaderList;
  /** Bytes, compressed. */
  readonly gzip: number;
  readonly brotli: number;
};

export type Manifest = {readonly files: readonly ShippedFile[]};
