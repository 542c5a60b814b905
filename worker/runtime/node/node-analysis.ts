/**
 * Runs the Node modules of a deployment once and describes the actions that they export. All errors are reported
 * together.
 */

import {overloaded, type ServiceError} from '../../../shared/errors.ts';
import type {EgressEndpoint} from '../../../shared/ipc/egress.ts';
import type {DeploymentError, FunctionEntry} from '../../../shared/protocol/functions.ts';
import {refusal} from '../analysis/deployment-upload.ts';
import {functionEntries, ManifestFault} from '../analysis/manifest.ts';
import type {NodeUpload} from '../analysis/node-modules.ts';
import {KIND_NAMES} from '../call.ts';
import {ANALYSIS_MS_MAX, DEPLOYMENT_ERROR_CHARS_MAX, DEPLOYMENT_ERRORS_SHOWN} from '../limits.ts';
import {confiningParentWatch} from '../process/parent-watch.ts';
import {SourcePositions} from '../source-positions.ts';
import {errorIn, type Framed, type FromNode} from './node-message.ts';
import {type NodeCode, type NodeEnd, NodeProcess} from './node-process.ts';

export type NodeAnalysis = {
  code: NodeCode;
  env: Readonly<Record<string, string>>;
  egress: EgressEndpoint;
  modules: NodeUpload['modules'];
  /** Returns the source map of a file of the bundle. */
  mapOf: (path: string) => string | null;
};

type Analysed = Framed<FromNode & {type: 'analyzed'}>;

/** @throws op.invalid_input 400; session.overloaded 503 */
export async function analyzeNode({code, env, egress, modules, mapOf}: NodeAnalysis): Promise<FunctionEntry[]> {
  const positions = new SourcePositions(mapOf);
  const errors: DeploymentError[] = [];
  const functions: FunctionEntry[] = [];
  const add = (module: string, message: string, place: {file: string; line: number} | null = null) => {
    const file = place?.file ?? positions.fileOf(module);
    errors.push({message: message.slice(0, DEPLOYMENT_ERROR_CHARS_MAX), file, line: place?.line ?? null});
  };
  const answers = await loaded(
    code,
    modules.map(({path}) => path),
    {env, egress},
  );
  for (const {path, hash} of modules) {
    const {ok, text} = answers.get(path)!;
    if (ok) functions.push(...actionsOf(path, text, hash, message => add(path, message)));
    else {
      const error = errorIn(text);
      const title = error.name === '' ? error.message : `${error.name}: ${error.message}`;
      add(path, `Uncaught ${title}`, positions.first(error.stack));
    }
  }
  if (errors.length > 0) throw refusal(errors.slice(0, DEPLOYMENT_ERRORS_SHOWN));
  return functions;
}

function actionsOf(module: string, json: string, hash: string, refuse: (message: string) => void): FunctionEntry[] {
  let entries: FunctionEntry[];
  try {
    entries = functionEntries(module, json, hash);
  } catch (caught) {
    if (!(caught instanceof ManifestFault)) throw caught;
    for (const line of caught.lines) refuse(line);
    return [];
  }
  for (const {name, kind} of entries) {
    if (kind === 'action') continue;
    refuse(
      `${name} in ${module} is a ${KIND_NAMES[kind]}: a module with "use node" may export only actions; move it to another file`,
    );
  }
  return entries.map(entry => ({...entry, runtime: 'node'}));
}

/** Returns each module's exports, by path. */
async function loaded(
  code: NodeCode,
  modules: string[],
  started: {env: Readonly<Record<string, string>>; egress: EgressEndpoint},
): Promise<ReadonlyMap<string, Analysed>> {
  const life = await confiningParentWatch();
  const answers = new Map<string, Analysed>();
  const {promise, resolve, reject} = Promise.withResolvers<void>();
  const process: NodeProcess = new NodeProcess(
    {code, ...started, parentWatch: life},
    {
      onReady: () => {
        process.watch(true);
        for (const module of modules) process.send({type: 'analyze', module});
      },
      onAlive: () => undefined,
      onMessage: message => {
        if (message.type === 'uncaught') {
          const error = errorIn(message.text);
          reject(
            wholeRefusal(`Uncaught ${error.name}: ${error.message} (while the modules with "use node" were loaded)`),
          );
        }
        if (message.type !== 'analyzed' || !modules.includes(message.module)) return;
        answers.set(message.module, message);
        if (answers.size === modules.length) resolve();
      },
      onEnd: end => reject(endRefusal(code, end)),
    },
  );
  const late = setTimeout(
    () =>
      reject(wholeRefusal(`Loading the modules with "use node" took longer than ${ANALYSIS_MS_MAX / 1000} seconds`)),
    ANALYSIS_MS_MAX,
  );
  try {
    await promise;
  } finally {
    clearTimeout(late);
    process.kill({cause: 'told', message: ''});
  }
  return answers;
}

function endRefusal({version}: NodeCode, {cause, message}: NodeEnd): ServiceError {
  if (cause === 'start') return overloaded(`Node ${version} could not be started: ${message}`);
  return wholeRefusal(`${message} (while the modules with "use node" were loaded)`);
}

function wholeRefusal(message: string): ServiceError {
  return refusal([{message, file: null, line: null}]);
}
