/** Data directories to be damaged: copies of one that a service made, and starts on them that may be refused. */
import {createHash} from 'node:crypto';
import {cpSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect} from 'vitest';
import {Service} from './service.ts';

/** Where the tenant's directory is in a data directory; null: nowhere. */
export function directoryIn(data: string, id: string): string | null {
  const name = readdirSync(join(data, 'tenants')).find(entry => entry.startsWith(`t_${id}_`));
  return name === undefined ? null : join(data, 'tenants', name);
}

export function copyOf(data: string, to: string): string {
  cpSync(data, to, {recursive: true});
  return to;
}

/** The service, or what it said when it refused to start: sentences, never a stack. */
export async function startOrRefusal(data: string, args: string[] = []): Promise<Service | string> {
  try {
    return await Service.start({data, args});
  } catch (caught) {
    const said = /^svc start ended with 1: (svc: .*)$/s.exec((caught as Error).message)?.[1];
    if (said === undefined) throw caught;
    expect(said).not.toMatch(/\n +at |"stack"/);
    return said;
  }
}

/** Names and contents of all files below a directory. */
export function fingerprint(path: string): string[] {
  return readdirSync(path, {recursive: true, withFileTypes: true})
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .map(file => `${file} ${createHash('sha256').update(readFileSync(file)).digest('hex')}`)
    .sort();
}
