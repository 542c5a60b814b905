/** The shell examples of a page that begins with the variables of its server, run as they stand against a fresh one. */
import {execFile} from 'node:child_process';
import {promisify} from 'node:util';
import {expect} from 'vitest';
import {pageText} from '../harness/docs-project.ts';
import type {Service} from '../harness/service.ts';

/**
 * @param page its path from docs/
 * @param asRun what is run in the place of an example; null: nothing
 * @returns what its examples print, in their order; what goes to the standard error behind it
 */
export async function runExamples(
  page: string,
  service: Service,
  asRun: (example: string) => string | null = example => example,
  options: {cwd?: string; env?: NodeJS.ProcessEnv} = {},
): Promise<string> {
  service.showLogOnFailure();
  const blocks = shellBlocks(page);
  const begin = blocks.findIndex(block => block.startsWith('URL='));
  const setUp = blocks[begin] ?? '';
  const examples = blocks
    .slice(begin + 1)
    .map(asRun)
    .filter(example => example !== null);
  expect(examples.length).toBeGreaterThan(3);
  const start = setUp
    .replace('http://127.0.0.1:3210', service.url)
    .replace('data/admin.json', `${service.data}/admin.json`);
  expect(start).toContain(service.url);
  expect(start).toContain(service.data);
  const script = ['set -eu', start, ...examples].join('\n');
  const {stdout, stderr} = await promisify(execFile)('bash', ['-o', 'pipefail', '-c', script], options);
  return stdout + stderr;
}

function shellBlocks(page: string): string[] {
  return Array.from(pageText(page).matchAll(/^```sh\n(.*?)^```$/gms), match => match[1]!);
}
