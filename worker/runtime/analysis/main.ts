/**
 * The process that analyses one upload: it decodes it, runs its modules, and describes their exports. It runs
 * unreviewed code with four times the memory of an isolate. So it is separate from the tenant's worker, and the first
 * to be killed when the machine runs out of memory. Its worker limits its time and memory, and ends it.
 */
import {Buffer} from 'node:buffer';
import {digestOf} from '../../../engine/storage/file-digest.ts';
import {assert} from '../../../shared/assert.ts';
import {ServiceError} from '../../../shared/errors.ts';
import type {AnalysisAnswer} from '../../../shared/protocol/analysis.ts';
import type {BundleFile} from '../../../shared/protocol/functions.ts';
import {ANALYSIS_ANSWER_BYTES_MAX, ISOLATE_FRAME_BYTES_MAX} from '../limits.ts';
import {WorkerPipe} from '../process/worker-pipe.ts';
import type {AnalysisTask, SentAnalysis, ToAnalysis} from './analysis-message.ts';
import {analyze} from './analyze.ts';
import {decodeUpload, nodeFilesOf, refusal, storedFiles} from './deployment-upload.ts';

/** The files are sent after the answer. */
type Answered = {answer: Buffer; files: BundleFile[]};

const TOO_MUCH_SAID = {
  message: `the functions, validators, routes and tables of the deployment take more than ${ANALYSIS_ANSWER_BYTES_MAX / 1024 ** 2} MiB as JSON`,
  file: null,
  line: null,
};

const pipe = new WorkerPipe<SentAnalysis, ToAnalysis>(ISOLATE_FRAME_BYTES_MAX, received);
/** Files that the worker has not requested yet. */
let left: BundleFile[] = [];

function received(message: ToAnalysis, tail: Buffer): void {
  if (message.type === 'analyze') void analyzed(message.task, tail);
  else next();
}

async function analyzed(task: AnalysisTask, upload: Buffer): Promise<void> {
  const {answer, files} = await answered(task, upload);
  left = files.toReversed();
  pipe.send({type: 'analyzed'}, answer);
}

function next(): void {
  const file = left.pop();
  assert(file !== undefined, 'the worker asks for as many files as there are');
  const source = Buffer.from(file.source);
  const bytes = file.sourceMap === null ? source : Buffer.concat([source, Buffer.from(file.sourceMap)]);
  pipe.send({type: 'file', sourceBytes: source.length}, bytes);
}

async function answered({seed, env}: AnalysisTask, bytes: Buffer): Promise<Answered> {
  try {
    const upload = decodeUpload(bytes);
    const timestampMs = Math.floor(upload.modifiedMs);
    const analysed = await analyze({upload, timestampMs, seed, env});
    if (analysed.manifest === null) throw refusal(analysed.errors);
    const {manifest, nodeModules} = analysed;
    const {modifiedMs, message, dryRun, development = false} = upload;
    const nodeFiles = new Set(nodeFilesOf(upload));
    const files = dryRun ? upload.files.filter(({path}) => nodeFiles.has(path)) : storedFiles(upload);
    const node =
      upload.node === undefined
        ? null
        : {
            version: upload.node.version,
            modules: nodeModules,
            files: [...nodeFiles],
            packages: upload.node.packages ?? [],
          };
    const entries = files.map(({path, source, sourceMap}) => ({
      path,
      sha256: digestOf(source, sourceMap ?? ''),
      hasMap: sourceMap !== null,
    }));
    const facts = {modifiedMs, message, dryRun, development, node: nodeModules.length === 0 ? null : node};
    const answer = encoded({ok: true, upload: facts, manifest, files: entries});
    // Code can generate validators of any size, larger than the code itself.
    if (answer.length > ANALYSIS_ANSWER_BYTES_MAX) throw refusal([TOO_MUCH_SAID]);
    return {answer, files};
  } catch (caught) {
    if (!(caught instanceof ServiceError) || caught.code !== 'op.invalid_input') throw caught;
    const {code, message, detail} = caught;
    return {answer: encoded({ok: false, code, message, ...(detail === undefined ? {} : {detail})}), files: []};
  }
}

function encoded(answer: AnalysisAnswer): Buffer {
  return Buffer.from(JSON.stringify(answer));
}
