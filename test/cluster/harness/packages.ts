/** External packages of functions, as a client sends and deploys them. */
import {createHash} from 'node:crypto';
import type {UploadedPackage} from '../../../shared/protocol/functions.ts';
import {App, uploadOf} from '../../functions/app.ts';
import {onNode} from '../../functions/node/node-app.ts';
import {tarball} from '../../functions/node/tar.ts';
import type {Service} from '../../harness/service.ts';

const OWN = process.versions.node.split('.')[0]!;
const MODULE = `"use node";
  import {createRequire} from 'node:module';
  import {action} from './_generated/server';
  const load = createRequire(import.meta.url);
  export const value = action(async () => load('a'));`;

export type Package = {tarball: Buffer; about: UploadedPackage};

/** A package that exports the text. */
export function packageOf(text: string): Package {
  const bytes = tarball([
    {name: 'package/package.json', text: '{"name": "a", "version": "1.0.0"}'},
    {name: 'package/index.js', text: `module.exports = ${JSON.stringify(text)};`},
  ]);
  const sha512 = createHash('sha512').update(bytes).digest('hex');
  return {tarball: bytes, about: {path: 'node_modules/a', version: '1.0.0', sha512}};
}

export async function sendPackage(service: Service, tenant: string, {tarball: bytes, about}: Package) {
  const headers = {authorization: `Bearer ${service.accessToken}`};
  const url = `${service.url}/api/tenants/${tenant}/packages/${about.sha512}`;
  const response = await fetch(url, {method: 'PUT', headers, body: new Uint8Array(bytes)});
  return {status: response.status, text: await response.text()};
}

/** A function that imports the package. */
export async function deployPackage(service: Service, tenant: string, {about}: Package) {
  const upload = await uploadOf({...onNode(OWN), 'm.ts': MODULE});
  return await new App(service, tenant).admin('POST', '/deployments', {
    ...upload,
    node: {version: OWN, packages: [about]},
  });
}

/** Those of these packages that the server asks for. */
export async function missingPackages(service: Service, tenant: string, ...all: Package[]): Promise<string[]> {
  const packages = all.map(({about}) => about.sha512);
  const {body} = await new App(service, tenant).admin('POST', '/packages/missing', {packages});
  return (body as {missing: string[]}).missing;
}

/** What the function returns: the text of the package. */
export function valueOn(service: Service, tenant: string): Promise<unknown> {
  return new App(service, tenant).action('m:value', {});
}
