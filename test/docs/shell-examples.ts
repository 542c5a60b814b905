/** The shell examples of a page, run as they stand against a fresh server. */
import {execFile} from 'node:child_process';
import {promisify} from 'node:util';
import {expect} from 'vitest';
import {pageText} from '../harness/docs-project.ts';
import type {Service} from '../harness/service.ts';
import {NOT_RUN} from './not-run.ts';

/**
 * @param page its path from docs/; it begins with the variables of its server, or needs none
 * @param asRun what an example is changed to before it is run
 * @returns what its examples print, in their order; standard error comes last
 */
export async function runExamples(
  page: string,
  service: Pick<Service, 'url' | 'data' | 'showLogOnFailure'>,
  asRun: (example: string) => string = example => example,
  options: {cwd?: string; env?: NodeJS.ProcessEnv} = {},
): Promise<string> {
  service.showLogOnFailure();
  const examples = shellBlocks(page)
    .filter(block => reasonNotToRun(page, block) === undefined)
    .map(block => asRun(block.startsWith('URL=') ? setUp(block, service) : block));
  expect(examples.length).toBeGreaterThan(0);
  const script = ['set -eu', ...examples].join('\n');
  const {stdout, stderr} = await promisify(execFile)('bash', ['-o', 'pipefail', '-c', script], options);
  return stdout + stderr;
}

export function shellBlocks(page: string): string[] {
  return Array.from(pageText(page).matchAll(/^```sh\n(.*?)^```$/gms), match => match[1]!);
}

export function reasonNotToRun(page: string, block: string): string | undefined {
  return Object.entries(NOT_RUN[page] ?? {}).find(([beginning]) => block.startsWith(beginning))?.[1];
}

function setUp(block: string, service: Pick<Service, 'url' | 'data'>): string {
  const start = block
    .replace('http://127.0.0.1:3210', service.url)
    .replace('data/admin.json', `${service.data}/admin.json`);
  expect(start).toContain(service.url);
  expect(start).toContain(service.data);
  return start;
}
