/** Decodes an upload, and makes all checks that do not need to run its code. */
import {Buffer} from 'node:buffer';
import {decodeBody, wireType} from '../../../engine/wire-type.ts';
import {invalid, type ServiceError} from '../../../shared/errors.ts';
import {DEPLOYMENT_CODE_BYTES_MAX, DEPLOYMENT_SOURCES_BYTES_MAX} from '../../../shared/limits.ts';
import {isNodeVersion, NODE_VERSION_DEFAULT, NODE_VERSIONS} from '../../../shared/node-version.ts';
import {DeploymentUploadBody} from '../../../shared/protocol/deployments.ts';
import type {BundleFile, DeploymentError, DeploymentUpload} from '../../../shared/protocol/functions.ts';
import {isDefaultOnly, NO_BUN, NOT_FOR_NODE, runtimeOf} from '../../../shared/runtime-directive.ts';
import {DIRECTIVE_CHARS_MAX} from '../limits.ts';
import {checkModulePath, ManifestFault} from './manifest.ts';

/** Where original sources are among the files of a deployment. Files of bundles cannot be there. */
export const SOURCES_DIRECTORY = '.svc/sources/';

const MIB = 1024 * 1024;
const uploadBody = wireType(DeploymentUploadBody);

/** @throws op.invalid_input 400 with every reason in `detail.errors` */
export function decodeUpload(body: Buffer): DeploymentUpload {
  // The version of Node is checked with the rest.
  const upload = decodeBody(uploadBody, body) as DeploymentUpload;
  const errors = uploadErrors(upload);
  if (errors.length > 0) throw refusal(errors);
  return upload;
}

/** The error for a whole deployment, with every reason. @param errors at least one */
export function refusal(errors: readonly DeploymentError[]): ServiceError {
  const more = errors.length === 1 ? '' : ` (and ${errors.length - 1} more)`;
  return invalid(`the deployment is refused: ${errors[0]!.message}${more}`, {errors});
}

function uploadErrors(upload: DeploymentUpload): DeploymentError[] {
  const {files, modules, runtimes = {}, schema, authConfig} = upload;
  const errors: DeploymentError[] = [];
  const add = (message: string, file: string | null = null) => errors.push({message, file, line: null});
  const paths = new Set(files.map(file => file.path));
  for (const fault of sourceFaults(upload)) add(fault);
  if (paths.size < files.length) add('the bundle has two files with the same path');
  if (new Set(modules).size < modules.length) add('a module is named twice');
  const bytes = files.reduce((sum, {source}) => sum + Buffer.byteLength(source), 0);
  if (bytes > DEPLOYMENT_CODE_BYTES_MAX) {
    add(`the code takes ${(bytes / MIB).toFixed(1)} MiB; the limit is ${DEPLOYMENT_CODE_BYTES_MAX / MIB} MiB`);
  }
  for (const {path} of files)
    if (!isBelow(path)) add(`${JSON.stringify(path)} cannot be the path of a file of the bundle`);
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
  return [...errors, ...packageErrors(upload), ...runtimeErrors(upload)];
}

function* sourceFaults({sources = []}: DeploymentUpload): Generator<string, void, void> {
  if (new Set(sources.map(({path}) => path)).size < sources.length) yield 'two sources have the same path';
  for (const {path} of sources) {
    if (!isBelow(path)) yield `${JSON.stringify(path)} cannot be the path of a source`;
  }
  const bytes = sources.reduce((sum, {text}) => sum + Buffer.byteLength(text), 0);
  if (bytes > DEPLOYMENT_SOURCES_BYTES_MAX) {
    yield `the sources take ${(bytes / MIB).toFixed(1)} MiB; the limit is ${DEPLOYMENT_SOURCES_BYTES_MAX / MIB} MiB`;
  }
}

/** All files that are stored of an upload. */
export function storedFiles({files, sources = []}: DeploymentUpload): BundleFile[] {
  const originals = sources.map(({path, text}) => ({path: SOURCES_DIRECTORY + path, source: text, sourceMap: null}));
  return [...files, ...originals];
}

export function isStoredPath(path: string): boolean {
  return isBelow(path.startsWith(SOURCES_DIRECTORY) ? path.slice(SOURCES_DIRECTORY.length) : path);
}

/** Names in the directory of the code that bundles cannot use. */
const NOT_OF_BUNDLES = ['.svc', 'node_modules'];

/** Whether a path stays below its directory: files of Node modules are written to disk. */
export function isBelow(path: string): boolean {
  const parts = path.split('/');
  return !NOT_OF_BUNDLES.includes(parts[0]!) && !path.includes('\0') && parts.every(part => !/^\.{0,2}$/.test(part));
}

/** Package names of npm, `a` or `@b/c`. */
const PACKAGE = '(?:@[\\w~-][\\w.~-]*/)?[\\w~-][\\w.~-]*';
const PACKAGE_PATH = new RegExp(`^node_modules/${PACKAGE}(?:/node_modules/${PACKAGE})*$`);

export function isPackagePath(path: string): boolean {
  return PACKAGE_PATH.test(path);
}

function packageErrors({node}: DeploymentUpload): DeploymentError[] {
  const errors: DeploymentError[] = [];
  const seen = new Set<string>();
  for (const {path} of node?.packages ?? []) {
    const add = (message: string) => errors.push({message, file: 'svc.json', line: null});
    if (!isPackagePath(path))
      add(`${JSON.stringify(path)} cannot be the path of a package; one is like node_modules/a`);
    if (seen.has(path)) add(`there are two packages ${path}`);
    seen.add(path);
  }
  return errors;
}

/** Directory of the files that several Node modules import; other modules do not use it. */
const SHARED_BY_NODE = '_deps/node/';

/** Paths of the files that are for Node. */
export function nodeFilesOf({files, runtimes = {}}: Pick<DeploymentUpload, 'files' | 'runtimes'>): string[] {
  return files
    .map(({path}) => path)
    .filter(path => path.startsWith(SHARED_BY_NODE) || runtimes[path.replace(/\.js$/, '')] === 'node');
}

/** Checks that code runs only in the runtime it is written for, whichever bundler was used. */
function runtimeErrors({files, runtimes = {}, node}: DeploymentUpload): DeploymentError[] {
  const refused = new Map<string, string>();
  const refuse = (module: string, message: string) => {
    if (!refused.has(module)) refused.set(module, message);
  };
  for (const [module, runtime] of Object.entries(runtimes)) {
    if (runtime === 'bun') refuse(module, NO_BUN);
    if (runtime !== 'node') continue;
    if (isDefaultOnly(module)) refuse(module, NOT_FOR_NODE);
    if (node === undefined) refuse(module, NO_VERSION);
  }
  for (const {path, source} of files) {
    const module = path.replace(/\.js$/, '');
    const {runtime} = runtimeOf(source.slice(0, DIRECTIVE_CHARS_MAX));
    if (runtime === 'bun') refuse(module, NO_BUN);
    if (runtime !== 'node' || runtimes[module] === 'node' || path.startsWith(SHARED_BY_NODE)) continue;
    refuse(module, isDefaultOnly(module) ? NOT_FOR_NODE : NOT_BUNDLED_FOR_NODE);
  }
  const version = node?.version ?? NODE_VERSION_DEFAULT;
  const errors = [...refused].map(([module, message]) => ({
    message,
    file: `svc/${module}` as string | null,
    line: null,
  }));
  if (!isNodeVersion(version)) errors.push({message: wrongVersion(version), file: 'svc.json', line: null});
  return errors;
}

function wrongVersion(version: string): string {
  const versions = NODE_VERSIONS.map(known => `"${known}"`).join(', ');
  return `"node.nodeVersion" must be one of ${versions}, not ${JSON.stringify(String(version).slice(0, 40))}`;
}

const NO_VERSION = `"use node": the upload says no version of Node; "node.version" is one of ${NODE_VERSIONS.join(', ')}`;
const NOT_BUNDLED_FOR_NODE = '"use node": the upload gives this module to the default runtime; deploy with a newer svc';

function pathFault(module: string): string | null {
  try {
    checkModulePath(module);
    return null;
  } catch (caught) {
    if (!(caught instanceof ManifestFault)) throw caught;
    return caught.message;
  }
}
