/**
 * Has an upload analysed by its own process (`main.ts`), which has bounded time and memory and ends afterwards. The
 * upload is sent there unmodified. The resulting files are received one by one, as fast as the worker can store them.
 *
 * A thread would not do: isolated-vm crashes the whole process if a thread is destroyed while V8 marks its heap.
 * Uploads of 2 MB and more did that to every second worker.
 */
import type {Buffer} from 'node:buffer';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {ServiceError} from '../../../shared/errors.ts';
import {ISOLATE_FLAGS} from '../../../shared/node-flags.ts';
import type {AnalysisAnswer} from '../../../shared/protocol/analysis.ts';
import type {Manifest} from '../../../shared/protocol/functions.ts';
import {
  ANALYSIS_DATA_BYTES_MAX,
  ANALYSIS_MS_MAX,
  ANALYSIS_POLL_MS,
  ANALYSIS_PROCESS_BYTES_MAX,
  ISOLATE_FRAME_BYTES_MAX,
  ISOLATE_UNREAD_BYTES_MAX,
} from '../limits.ts';
import {ConfinedProcess, type ProcessEnd} from '../process/confined-process.ts';
import {dataLimit, parentWatch} from '../process/parent-watch.ts';
import {
  type AnalysisTask,
  checkedFromAnalysis,
  type FromAnalysis,
  type ToAnalysis,
  type UploadFacts,
} from './analysis-message.ts';
import {refusal} from './deployment-upload.ts';

type Accepted = AnalysisAnswer & {ok: true};

export type AnalysedFile = {path: string; sha256: string; source: string; sourceMap: string | null};
export type Analysed = {
  upload: UploadFacts;
  manifest: Manifest;
  /** Can be read once. In a dry run: only the files for Node. */
  files: AsyncIterable<AnalysedFile>;
  /** Ends the process, whether the files were read or not. */
  close(): void;
};

const MAIN = join(dirname(fileURLToPath(import.meta.url)), 'analysis.js');

export type AnalysisOptions = {main?: string; msMax?: number; processBytesMax?: number; dataBytesMax?: number};

/** @param body the unmodified upload. @throws op.invalid_input 400 with every reason; session.overloaded 503 */
export async function analyze(body: Buffer, task: AnalysisTask, options: AnalysisOptions = {}): Promise<Analysed> {
  const {command} = await parentWatch();
  const limit = await dataLimit(options.dataBytesMax ?? ANALYSIS_DATA_BYTES_MAX);
  const process = new AnalysisProcess([...command, ...limit], options);
  try {
    const {answer} = await process.ask('analyzed', {type: 'analyze', task}, body);
    process.answered();
    if (!answer.ok) throw new ServiceError(answer.code, answer.message, answer.detail);
    const {upload, manifest, files} = answer;
    return {upload, manifest, files: filesOf(process, files), close: () => process.end()};
  } catch (caught) {
    process.end();
    throw caught;
  }
}

async function* filesOf(process: AnalysisProcess, entries: Accepted['files']): AsyncGenerator<AnalysedFile> {
  for (const {path, sha256, hasMap} of entries) {
    const {source, sourceMap} = await process.ask('file', {type: 'next'});
    yield {path, sha256, source, sourceMap: hasMap ? sourceMap : null};
  }
}

type Pending = {type: FromAnalysis['type']; answer: PromiseWithResolvers<FromAnalysis>};

class AnalysisProcess {
  readonly #process: ConfinedProcess<ToAnalysis, FromAnalysis>;
  readonly #late: NodeJS.Timeout;
  #pending: Pending | null = null;
  #failure: ServiceError | null = null;

  constructor(
    parentWatchCommand: readonly string[],
    {main = MAIN, msMax = ANALYSIS_MS_MAX, processBytesMax = ANALYSIS_PROCESS_BYTES_MAX}: AnalysisOptions,
  ) {
    this.#process = new ConfinedProcess(
      {
        command: [process.execPath, ...ISOLATE_FLAGS, main],
        parentWatch: parentWatchCommand,
        env: {TZ: 'UTC'},
        bytesMax: processBytesMax,
        pollMs: ANALYSIS_POLL_MS,
        pipe: {
          frameBytesMax: ISOLATE_FRAME_BYTES_MAX,
          unreadBytesMax: ISOLATE_UNREAD_BYTES_MAX,
          check: checkedFromAnalysis,
        },
      },
      {onMessage: message => this.#received(message), onEnd: end => this.#ended(end)},
    );
    this.#process.watch(true);
    const late = `Loading all modules took longer than ${msMax / 1_000} seconds`;
    this.#late = setTimeout(() => this.#process.kill('time', late), msMax);
  }

  /** One at a time. @throws the reason if there is no answer */
  async ask<T extends FromAnalysis['type']>(
    type: T,
    message: ToAnalysis,
    tail?: Buffer,
  ): Promise<FromAnalysis & {type: T}> {
    if (this.#failure !== null) throw this.#failure;
    const answer = Promise.withResolvers<FromAnalysis>();
    this.#pending = {type, answer};
    this.#process.send(message, tail);
    return (await answer.promise) as FromAnalysis & {type: T};
  }

  /** From here on it waits for the worker. */
  answered(): void {
    clearTimeout(this.#late);
  }

  end(): void {
    clearTimeout(this.#late);
    this.#process.kill('told', 'it was not needed any longer');
  }

  #received(message: FromAnalysis): void {
    const pending = this.#pending;
    this.#pending = null;
    if (pending?.type === message.type) pending.answer.resolve(message);
    else {
      this.#pending = pending;
      this.#process.kill('malformed', 'it answered without a request');
    }
  }

  #ended(end: ProcessEnd): void {
    clearTimeout(this.#late);
    this.#failure = failureOf(end, this.#process.pid === undefined);
    this.#pending?.answer.reject(this.#failure);
    this.#pending = null;
  }
}

/** @param isUnborn it could not be started */
function failureOf({cause, how, isUnexpected, stderrTail}: ProcessEnd, isUnborn: boolean): ServiceError {
  const because = (message: string) => refusal([{message, file: null, line: null}]);
  if (cause === 'time') return because(how);
  const isRefusedMemory = isUnexpected && /out of memory|allocation failed|is_heap_oom = 1/i.test(stderrTail);
  if (cause === 'memory' || isRefusedMemory)
    return because('JavaScript execution ran out of memory while the modules were loaded');
  const options = {cause: new Error(`the analysis ended: ${how}: ${stderrTail}`)};
  if (isUnborn || (isUnexpected && how === 'SIGKILL')) {
    const message = 'the machine has no memory to look at the upload now; try again shortly';
    return new ServiceError('session.overloaded', message, undefined, options);
  }
  // V8 aborts its process for some things that code can do. This worker is not affected.
  if (isUnexpected && how.startsWith('SIG')) return because(`Loading the modules ended the JavaScript engine (${how})`);
  return new ServiceError('op.failed', 'the upload could not be looked at', undefined, options);
}
