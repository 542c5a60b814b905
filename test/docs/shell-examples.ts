/** The shell examples of a page that begins with the variables of its server, run as they stand against a fresh one. */
import {execFile} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {expect} from 'vitest';
import type {Service} from '../harness/service.ts';

/** @param page of docs/. @returns what its examples print, in their order */
export async function runExamples(page: string, service: Service): Promise<string> {
  service.showLogOnFailure();
  const [setUp = '', ...examples] = shellBlocks(page);
  expect(examples.length).toBeGreaterThan(3);
  const start = setUp
    .replace('http://127.0.0.1:3210', service.url)
    .replace('data/admin.json', `${service.data}/admin.json`);
  expect(start).toContain(service.url);
  expect(start).toContain(service.data);
  const script = ['set -eu', start, ...examples].join('\n');
  const {stdout} = await promisify(execFile)('bash', ['-o', 'pipefail', '-c', script]);
  return stdout;
}

export function pageText(page: string): string {
  return readFileSync(fileURLToPath(new URL(`../../docs/${page}`, import.meta.url)), 'utf8');
}

function shellBlocks(page: string): string[] {
  return Array.from(pageText(page).matchAll(/^```sh\n(.*?)^```$/gms), match => match[1]!);
}
