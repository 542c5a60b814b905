/**
 * The process that analyses one upload: it decodes it, runs its modules, and says what they export. It runs code that nobody
 * has looked at with four times the memory of an isolate, so it is apart from the tenant's worker, and the first to go when
 * the machine runs out of memory. Its worker bounds its time and memory, and ends it.
 */
import {Buffer} from 'node:buffer';
import {writeFileSync} from 'node:fs';
import {assert} from '../../../../shared/assert.ts';
import {ServiceError} from '../../../../shared/errors.ts';
import {ANALYSIS_ANSWER_BYTES_MAX} from '../../../../shared/limits.ts';
import type {BundleFile} from '../../../../shared/protocol/functions.ts';
import {decodeUpload, nodeFilesOf, refusal} from '../deployment-upload.ts';
import {digestOf} from '../file-digest.ts';
import {type AnalysisAnswer, type AnalysisTask, frameHead} from './analysis-message.ts';
import {analyze} from './analyze.ts';

/** The files follow the answer. */
type Answered = {answer: Buffer; files: BundleFile[]};

const TOO_MUCH_SAID = {
  message: `the functions, validators, routes and tables of the deployment take more than ${ANALYSIS_ANSWER_BYTES_MAX / 1024 ** 2} MiB as JSON`,
  file: null,
  line: null,
};

volunteerForTheKernel();
const input = await read();
const {answer, files} = await answered(input);
await write(answer);
for (const {source, sourceMap} of files) {
  await write(Buffer.from(source));
  if (sourceMap !== null) await write(Buffer.from(sourceMap));
}
process.stdout.end();

async function read(): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of process.stdin) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

async function answered(bytes: Buffer): Promise<Answered> {
  const end = bytes.indexOf('\n');
  assert(end !== -1, 'the task is a line');
  const {seed, env} = JSON.parse(bytes.toString('utf8', 0, end)) as AnalysisTask;
  try {
    const upload = decodeUpload(bytes.subarray(end + 1));
    const timestampMs = Math.floor(upload.modifiedMs);
    const analysed = await analyze({upload, timestampMs, seed, env});
    if (analysed.manifest === null) throw refusal(analysed.errors);
    const {manifest, nodeModules} = analysed;
    const {modifiedMs, message, dryRun, development = false} = upload;
    const nodeFiles = new Set(nodeFilesOf(upload));
    const files = dryRun ? upload.files.filter(({path}) => nodeFiles.has(path)) : upload.files;
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
    // Code can make validators of any size that it does not have itself.
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

/** Resolves when the worker has taken it: what waits here is no more than one file. */
async function write(bytes: Buffer): Promise<void> {
  process.stdout.write(frameHead(bytes.length));
  await new Promise<void>((resolve, reject) => {
    process.stdout.write(bytes, error => (error == null ? resolve() : reject(error)));
  });
}

function volunteerForTheKernel(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // Not Linux, or not allowed: the worker looks at the memory itself.
  }
}
