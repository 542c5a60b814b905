/**
 * Checks the packages of an upload that its Node modules import: all are stored, none has native code, and their size
 * is within limits.
 */

import type {DeploymentError, NodePackage, UploadedPackage} from '../../../shared/protocol/functions.ts';
import {refusal} from '../analysis/deployment-upload.ts';
import {DEPLOYMENT_ERRORS_SHOWN, PACKAGES_FILES_MAX, PACKAGES_UNPACKED_BYTES_MAX} from '../limits.ts';
import {type PackageStore, packageName, type Unpacked} from './package-store.ts';
import {TarballFault} from './tarball.ts';

const MIB = 1024 * 1024;

/**
 * @returns the packages to deploy. @throws op.invalid_input 400 with every reason; op.storage_damaged,
 * session.storage_full
 */
export async function checkedPackages(
  packages: readonly UploadedPackage[],
  store: PackageStore,
): Promise<NodePackage[]> {
  const missing = new Set(await store.missing(packages.map(({sha512}) => sha512)));
  if (missing.size > 0) throw refused(packages.filter(({sha512}) => missing.has(sha512)).map(notThere));
  const errors: DeploymentError[] = [];
  const checked: NodePackage[] = [];
  let files = 0;
  let bytes = 0;
  for (const {path, version, sha512, optional = false} of packages) {
    const unpacked = await unpackedOr(errors, {path, version, sha512}, store);
    if (unpacked === null) continue;
    if (unpacked.native !== null) {
      if (!optional) errors.push(about({path, version}, `has native code (${unpacked.native}): ${NO_NATIVE}`));
      continue;
    }
    checked.push({path, version, sha512});
    files += unpacked.files.length;
    bytes += unpacked.bytes;
    if (files > PACKAGES_FILES_MAX || bytes > PACKAGES_UNPACKED_BYTES_MAX) {
      errors.push(error(TOO_MUCH));
      break;
    }
  }
  if (errors.length > 0) throw refused(errors);
  return checked;
}

const NO_NATIVE =
  "Node's permission model loads none in functions; use a package in JavaScript or WebAssembly in its place";
const TOO_MUCH =
  `the external packages have more than ${PACKAGES_FILES_MAX} files, or take more than ` +
  `${PACKAGES_UNPACKED_BYTES_MAX / MIB} MiB; bundle some of them: a bundle leaves out modules that are not imported`;

async function unpackedOr(
  errors: DeploymentError[],
  found: NodePackage,
  store: PackageStore,
): Promise<Unpacked | null> {
  try {
    return await store.unpacked(found.sha512, packageName(found));
  } catch (caught) {
    if (!(caught instanceof TarballFault)) throw caught;
    errors.push(about(found, `cannot be unpacked: its tarball ${caught.message}`));
    return null;
  }
}

function notThere(found: NodePackage): DeploymentError {
  return about(found, `was not sent: PUT its tarball to …/packages/${found.sha512} first, as svc deploy does`);
}

function about(found: Pick<NodePackage, 'path' | 'version'>, what: string): DeploymentError {
  return error(`the external package ${packageName(found)} ${what}`);
}

function error(message: string): DeploymentError {
  return {message, file: 'svc.json', line: null};
}

function refused(errors: readonly DeploymentError[]) {
  return refusal(errors.slice(0, DEPLOYMENT_ERRORS_SHOWN));
}
