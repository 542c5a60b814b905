/**
 * The messages between a worker and the process that analyses an upload for it (runtime/process/pipe.ts). The process
 * runs code of tenants, so the worker checks everything that it sends. This includes paths, because files for Node are
 * written below a directory by their paths.
 */

import type {Buffer} from 'node:buffer';
import {wireType} from '../../../engine/wire-type.ts';
import {AnalysisAnswer} from '../../../shared/protocol/analysis.ts';
import type {Fields} from '../../../shared/values/shapes.ts';
import {ANALYSIS_ANSWER_BYTES_MAX} from '../limits.ts';
import {isPackagePath, isStoredPath} from './deployment-upload.ts';

export type AnalysisTask = {seed: string; env: Readonly<Record<string, string>>};

/** The facts to store with the code, and the modules to analyse in Node. */
export type UploadFacts = (AnalysisAnswer & {ok: true})['upload'];

export type ToAnalysis =
  /** Sent once. Tail: the unmodified upload. Answered by `analyzed`. */
  | {type: 'analyze'; task: AnalysisTask}
  /** Answered by the next file, in the order of the answer. */
  | {type: 'next'};

export type SentAnalysis =
  /** Tail: the AnalysisAnswer. */
  | {type: 'analyzed'}
  /** Tail: `sourceBytes` bytes of source, then its map, if it has one. */
  | {type: 'file'; sourceBytes: number};

export type FromAnalysis =
  | {type: 'analyzed'; answer: AnalysisAnswer}
  | {type: 'file'; source: string; sourceMap: string};

const answerType = wireType(AnalysisAnswer);

/** @returns null: not a message that our analysis sends */
export function checkedFromAnalysis({type, sourceBytes}: Fields, tail: Buffer): FromAnalysis | null {
  if (type === 'analyzed' && tail.length <= ANALYSIS_ANSWER_BYTES_MAX) {
    const answer = answerIn(tail.toString());
    return answer === null ? null : {type, answer};
  }
  if (type !== 'file' || !Number.isSafeInteger(sourceBytes)) return null;
  const end = sourceBytes as number;
  if (end < 0 || end > tail.length) return null;
  return {type, source: tail.toString('utf8', 0, end), sourceMap: tail.toString('utf8', end)};
}

function answerIn(json: string): AnalysisAnswer | null {
  let answer: AnalysisAnswer;
  try {
    answer = JSON.parse(json) as AnalysisAnswer;
    if (!answerType().check(answer)) return null;
  } catch {
    return null; // It is not JSON, or nested too deeply to be checked.
  }
  if (!answer.ok) return answer;
  const {upload, files} = answer;
  const paths = new Set(files.map(({path}) => path));
  const {node} = upload;
  const arePaths = [...paths].every(isStoredPath) && paths.size === files.length;
  const isNode =
    node === null ||
    (node.files.every(path => paths.has(path)) && node.packages.every(({path}) => isPackagePath(path)));
  return arePaths && isNode ? answer : null;
}
