/** An upload as it arrives, and all that can be said against it before its code runs. */
import {Buffer} from 'node:buffer';
import {ServiceError} from '../../../shared/errors.ts';
import {DEPLOYMENT_CODE_BYTES_MAX, DIRECTIVE_CHARS_MAX} from '../../../shared/limits.ts';
import {DeploymentUploadBody} from '../../../shared/protocol/deployments.ts';
import type {BundleFile, DeploymentError, DeploymentUpload} from '../../../shared/protocol/functions.ts';
import {MISSING_RUNTIME, type Runtime, runtimeOf} from '../../../shared/runtime-directive.ts';
import {decodeBody, wireType} from '../../wire-type.ts';
import {checkModulePath, ManifestFault} from './manifest.ts';

const MIB = 1024 * 1024;
const uploadBody = wireType(DeploymentUploadBody);

/** @throws op.invalid_input 400 with every reason in `detail.errors` */
export function decodeUpload(body: Buffer): DeploymentUpload {
  const upload: DeploymentUpload = decodeBody(uploadBody, body);
  const errors = uploadErrors(upload);
  if (errors.length > 0) throw refusal(errors);
  return upload;
}

/** Of a whole deployment, with every reason. @param errors one at least */
export function refusal(errors: readonly DeploymentError[]): ServiceError {
  const more = errors.length === 1 ? '' : ` (and ${errors.length - 1} more)`;
  return new ServiceError('op.invalid_input', `the deployment is refused: ${errors[0]!.message}${more}`, {errors});
}

function uploadErrors({files, modules, runtimes = {}, schema, authConfig}: DeploymentUpload): DeploymentError[] {
  const errors: DeploymentError[] = [];
  const add = (message: string, file: string | null = null) => errors.push({message, file, line: null});
  const paths = new Set(files.map(file => file.path));
  if (paths.size < files.length) add('the bundle has two files with the same path');
  if (new Set(modules).size < modules.length) add('a module is named twice');
  const bytes = codeBytes(files);
  if (bytes > DEPLOYMENT_CODE_BYTES_MAX) {
    add(`the code takes ${(bytes / MIB).toFixed(1)} MiB; the limit is ${DEPLOYMENT_CODE_BYTES_MAX / MIB} MiB`);
  }
  for (const module of [...modules, schema, authConfig]) {
    if (module !== null && !paths.has(`${module}.js`)) {
      add(`the bundle has no file for the module ${module}`, `svc/${module}`);
    }
  }
  for (const module of modules) {
    const fault = pathFault(module);
    if (fault !== null) add(fault, `svc/${module}`);
  }
  const named = new Set(modules);
  for (const module of Object.keys(runtimes)) {
    if (!named.has(module)) add(`a runtime is given for ${module}, which is no module`);
  }
  return [...errors, ...runtimeErrors(files, runtimes)];
}

/** Code runs where it is written for or not at all, whatever made the bundle. */
function runtimeErrors(files: readonly BundleFile[], runtimes: Readonly<Record<string, Runtime>>): DeploymentError[] {
  const errors: DeploymentError[] = [];
  const refused = new Set<string>();
  const refuse = (module: string, runtime: Exclude<Runtime, 'default'>) => {
    if (refused.has(module)) return;
    refused.add(module);
    errors.push({message: MISSING_RUNTIME[runtime], file: `svc/${module}`, line: null});
  };
  for (const [module, runtime] of Object.entries(runtimes)) if (runtime !== 'default') refuse(module, runtime);
  for (const {path, source} of files) {
    const {runtime} = runtimeOf(source.slice(0, DIRECTIVE_CHARS_MAX));
    if (runtime !== 'default') refuse(path.replace(/\.js$/, ''), runtime);
  }
  return errors;
}

function codeBytes(files: readonly BundleFile[]): number {
  return files.reduce((sum, {source}) => sum + Buffer.byteLength(source), 0);
}

function pathFault(module: string): string | null {
  try {
    checkModulePath(module);
    return null;
  } catch (caught) {
    if (!(caught instanceof ManifestFault)) throw caught;
    return caught.message;
  }
}
