/**
 * What crosses between a worker and the process that analyses an upload for it.
 *
 *   worker ──▶ analysis   a line of JSON (AnalysisTask), then the upload as it came, to the end of the pipe
 *   analysis ──▶ worker   frames, each with its length before it: the answer as JSON, then the code, a file after the other
 */
import {Buffer} from 'node:buffer';
import type {DeploymentUpload, Manifest} from '../../../../shared/protocol/functions.ts';
import type {NodeUpload} from '../node-modules.ts';

export type AnalysisTask = {seed: string; env: Readonly<Record<string, string>>};

/** What is stored beside the code, and what is to be looked at in Node. */
export type UploadFacts = Pick<DeploymentUpload, 'modifiedMs' | 'message' | 'dryRun' | 'development'> & {
  node: NodeUpload | null;
};

/** One file's frames follow the answer: its source, and its source map if it has one. */
export type FileEntry = {path: string; sha256: string; hasMap: boolean};

export type AnalysisAnswer =
  | {ok: true; upload: UploadFacts; manifest: Manifest; files: FileEntry[]}
  /** A ServiceError, as what it is made of. */
  | {ok: false; code: 'op.invalid_input'; message: string; detail?: Record<string, unknown>};

export const FRAME_HEAD_BYTES = 4;

export function frameHead(bytes: number): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUInt32LE(bytes);
  return head;
}
