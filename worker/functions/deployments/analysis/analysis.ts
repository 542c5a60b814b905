/**
 * Has an upload analysed by a process of its own (`main.ts`), which has bounded time and memory and ends afterwards. The
 * upload goes there as it came; what comes back is taken file by file, as fast as the worker can store it.
 *
 * A thread would not do: isolated-vm ends the whole process when a thread is destroyed while V8 marks its heap, which
 * uploads of 2 MB and more did to every other worker.
 */
import {Buffer} from 'node:buffer';
import {type ChildProcessByStdio, spawn} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import type {Readable, Writable} from 'node:stream';
import {fileURLToPath} from 'node:url';
import {assert} from '../../../../shared/assert.ts';
import {ServiceError} from '../../../../shared/errors.ts';
import {
  ANALYSIS_ANSWER_BYTES_MAX,
  ANALYSIS_LOOK_MS,
  ANALYSIS_MS_MAX,
  ANALYSIS_PROCESS_BYTES_MAX,
  DEPLOYMENT_BYTES_MAX,
} from '../../../../shared/limits.ts';
import {ISOLATE_FLAGS} from '../../../../shared/node-flags.ts';
import type {Manifest} from '../../../../shared/protocol/functions.ts';
import {refusal} from '../deployment-upload.ts';
import {type AnalysisAnswer, type AnalysisTask, FRAME_HEAD_BYTES, type UploadFacts} from './analysis-message.ts';

export type AnalysedFile = {path: string; sha256: string; source: string; sourceMap: string | null};
export type Analysed = {
  upload: UploadFacts;
  manifest: Manifest;
  /** To be read once; of a dry run what is for Node alone. */
  files: AsyncIterable<AnalysedFile>;
  /** The process ends, read or not. */
  close(): void;
};

const MAIN = join(dirname(fileURLToPath(import.meta.url)), 'analysis.js');
const PAGE_BYTES = 4_096;
const LAST_WORDS_CHARS = 2_000;

export type AnalysisOptions = {main?: string; msMax?: number; processBytesMax?: number};

/** @param body the upload as it came. @throws op.invalid_input 400 with every reason; session.overloaded 503 */
export async function analyze(
  body: Buffer,
  task: AnalysisTask,
  {main = MAIN, msMax = ANALYSIS_MS_MAX, processBytesMax = ANALYSIS_PROCESS_BYTES_MAX}: AnalysisOptions = {},
): Promise<Analysed> {
  const process = new AnalysisProcess(main, msMax, processBytesMax);
  try {
    process.send(task, body);
    const answer = JSON.parse((await process.frame(ANALYSIS_ANSWER_BYTES_MAX)).toString()) as AnalysisAnswer;
    process.answered();
    if (!answer.ok) throw new ServiceError(answer.code, answer.message, answer.detail);
    const {upload, manifest, files} = answer;
    return {
      upload,
      manifest,
      files: filesOf(process, files),
      close: () => process.end(),
    };
  } catch (caught) {
    process.end();
    throw caught;
  }
}

async function* filesOf(
  process: AnalysisProcess,
  entries: (AnalysisAnswer & {ok: true})['files'],
): AsyncGenerator<AnalysedFile> {
  for (const {path, sha256, hasMap} of entries) {
    const source = (await process.frame(DEPLOYMENT_BYTES_MAX)).toString();
    const sourceMap = hasMap ? (await process.frame(DEPLOYMENT_BYTES_MAX)).toString() : null;
    yield {path, sha256, source, sourceMap};
  }
}

class AnalysisProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #timers: NodeJS.Timeout[];
  readonly #onExit = () => void this.#child.kill('SIGKILL');
  /** Why it was ended before it had answered. */
  #reason: string | null = null;
  #failure: ServiceError | null = null;
  /** The end of what it said to its standard error: V8 says there what it dies of. */
  #lastWords = '';
  #isEnded = false;
  readonly #pieces: AsyncIterator<unknown>;
  #read: Buffer[] = [];
  #held = 0;
  readonly #closed = Promise.withResolvers<void>();

  constructor(main: string, msMax: number, processBytesMax: number) {
    const child = spawn(process.execPath, [...ISOLATE_FLAGS, main], {stdio: 'pipe', env: {TZ: 'UTC'}, cwd: '/'});
    this.#child = child;
    this.#pieces = child.stdout[Symbol.asyncIterator]();
    const late = setTimeout(() => this.#stop(`Loading all modules took longer than ${msMax / 1_000} seconds`), msMax);
    const watch = setInterval(() => {
      if (residentBytes(child.pid) <= processBytesMax) return;
      this.#stop('JavaScript execution ran out of memory while the modules were loaded');
    }, ANALYSIS_LOOK_MS);
    this.#timers = [late, watch];
    child.on('error', cause => {
      this.#failure = new ServiceError(
        'session.overloaded',
        'the upload cannot be looked at now; try again shortly',
        undefined,
        {cause},
      );
    });
    // It may end before it has read everything; what it answered says why.
    child.stdin.on('error', () => undefined);
    child.stderr.on('data', (piece: Buffer) => {
      this.#lastWords = (this.#lastWords + piece.toString()).slice(-LAST_WORDS_CHARS);
    });
    child.once('close', (code, signal) => {
      this.#failure ??= this.#ended(code, signal);
      this.#closed.resolve();
    });
    process.once('exit', this.#onExit);
  }

  send(task: AnalysisTask, body: Buffer): void {
    this.#child.stdin.write(`${JSON.stringify(task)}\n`);
    this.#child.stdin.end(body);
  }

  /** The next frame. @throws why there is none */
  async frame(bytesMax: number): Promise<Buffer> {
    const bytes = (await this.#take(FRAME_HEAD_BYTES)).readUInt32LE();
    assert(bytes <= bytesMax, `a frame of ${bytes} bytes from the analysis`);
    return await this.#take(bytes);
  }

  /** From here on it waits for the worker. */
  answered(): void {
    clearTimeout(this.#timers[0]);
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    for (const timer of this.#timers) clearTimeout(timer);
    process.removeListener('exit', this.#onExit);
    this.#child.kill('SIGKILL');
  }

  async #take(bytes: number): Promise<Buffer> {
    while (this.#held < bytes) {
      const {value, done} = await this.#pieces.next();
      if (done === true) {
        await this.#closed.promise;
        throw this.#failure!;
      }
      this.#read.push(value as Buffer);
      this.#held += (value as Buffer).length;
    }
    const all = this.#read.length === 1 ? this.#read[0]! : Buffer.concat(this.#read, this.#held);
    this.#read = [all.subarray(bytes)];
    this.#held -= bytes;
    return all.subarray(0, bytes);
  }

  #stop(reason: string): void {
    this.#reason ??= reason;
    this.#child.kill('SIGKILL');
  }

  #ended(code: number | null, signal: NodeJS.Signals | null): ServiceError {
    const because = (message: string) => refusal([{message, file: null, line: null}]);
    if (this.#reason !== null) return because(this.#reason);
    const cause = new Error(`the analysis ended with ${signal ?? code}: ${this.#lastWords}`);
    if (signal === 'SIGKILL') {
      const message = 'the machine has no memory to look at the upload now; try again shortly';
      return new ServiceError('session.overloaded', message, undefined, {cause});
    }
    // V8 ends its process for some of what code may do; nothing of this worker's was touched.
    if (signal !== null) return because(`Loading the modules ended the JavaScript engine (${signal})`);
    return new ServiceError('op.failed', 'the upload could not be looked at', undefined, {cause});
  }
}

function residentBytes(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE_BYTES;
  } catch {
    return 0; // It has ended, and its end is told elsewhere.
  }
}
