/**
 * One service for all test files of the `served` project that a vitest worker runs. A file begins with
 * `const service = await sharedService()`, has tenants and keys of its own, which are deleted at its end, and neither stops nor kills the service.
 */
import {mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, inject} from 'vitest';
import type {TestProject} from 'vitest/node';
import {isAlive} from './processes.ts';
import {Service} from './service.ts';
import {until} from './until.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where workers note the services that they started. */
    sharedServices: string;
  }
}
type Note = {pid: number; data: string};

let shared: Service | null = null;

/** To be called at the top level of a test file. */
export async function sharedService(): Promise<Service> {
  const notes = inject('sharedServices') as string | undefined;
  if (notes === undefined) return serviceOfFile(); // another project
  if (shared === null || !isAlive(shared.pid)) {
    shared = await Service.start();
    const note: Note = {pid: shared.pid, data: shared.data};
    writeFileSync(join(notes, `${shared.pid}.json`), JSON.stringify(note));
  }
  const service = shared;
  afterAll(() => deleteAll(service));
  return service;
}

async function serviceOfFile(): Promise<Service> {
  const service = await Service.start();
  afterAll(() => service.stop());
  return service;
}

/** The file's tenants and keys. */
async function deleteAll(service: Service): Promise<void> {
  const {tenants}: {tenants: string[]} = (await service.get('/api/tenants')).body;
  const {keys}: {keys: {id: string}[]} = (await service.get('/api/keys')).body;
  const paths = [...tenants.map(id => `/api/tenants/${id}`), ...keys.map(({id}) => `/api/keys/${id}`)];
  await Promise.all(
    paths.map(async path => {
      const {status, text} = await service.request('DELETE', path);
      if (status !== 204) throw new Error(`DELETE ${path}: ${status} ${text}`);
    }),
  );
}

/** The project's global setup. Returns what ends all services when the last file has run: vitest ends its workers with a signal. */
export function setup(project: TestProject): () => Promise<void> {
  const notes = mkdtempSync(join(tmpdir(), 'svc-test-shared-'));
  project.provide('sharedServices', notes);
  return async () => {
    const services = readdirSync(notes).map(name => JSON.parse(readFileSync(join(notes, name), 'utf8')) as Note);
    for (const {pid} of services) if (isAlive(pid)) process.kill(pid, 'SIGTERM');
    await until('the shared services to end', () => !services.some(({pid}) => isAlive(pid)));
    for (const path of [notes, ...services.map(({data}) => data)]) rmSync(path, {recursive: true, force: true});
  };
}
