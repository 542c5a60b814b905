/** Every shell block of every page is run by a test, or not-run.ts says why not. Pages without a test of their own are run here. */
import {globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {openExample} from '../../examples/run/example.ts';
import {firstOf} from '../harness/nightly.ts';
import {sharedService} from '../harness/shared-service.ts';
import {NOT_RUN} from './not-run.ts';
import {reasonNotToRun, runExamples, shellBlocks} from './shell-examples.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const PAGES = globSync(['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs/**/*.md', 'examples/*/README.md'], {
  cwd: root,
})
  .map(path => (path.startsWith('docs/') ? path.slice('docs/'.length) : `../${path}`))
  .sort();
/** Pages that are run by a test of their own. */
const OWN_TESTS: Record<string, string> = {
  '../README.md': 'readme.test.ts',
  'tour.md': 'readme.test.ts',
  'backup.md': 'backup.test.ts',
  'functions.md': 'functions-guide.test.ts',
  'http-api.md': 'http-api.test.ts',
  'moving-from-convex.md': 'react-guide.test.ts',
  'sandboxes.md': 'sandboxes.test.ts',
  'services.md': 'services.test.ts',
  'upgrading.md': 'upgrading.test.ts',
};

const service = await sharedService();
let directory: string;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'svc-pages-'));
  mkdirSync(join(directory, 'bin'));
  symlinkSync(join(root, 'dist/cli.js'), join(directory, 'bin/svc'));
  const PATH = `${join(directory, 'bin')}:${dirname(process.execPath)}:${process.env.PATH}`;
  env = {...process.env, PATH, SVC_URL: service.url, SVC_DATA: service.data};
});
afterAll(async () => {
  rmSync(directory, {recursive: true, force: true});
});

const RUN_HERE: Record<string, () => Promise<void>> = {
  'bulk.md': async () => {
    const stdout = await run('bulk.md');
    expect(readFileSync(join(directory, 'cities.csv'), 'utf8')).toBe('name,population\r\nBern,134794\r\nSent,870\r\n');
    expect(stdout).toContain('{"lines":2,"inserted":2,"updated":0,"failed":0,"errors":[]}');
    const {body} = await service.get('/api/tenants/bulk/tables');
    expect(body).toMatchObject({tables: expect.arrayContaining([expect.objectContaining({name: 'towns'})])});
  },
  'cluster.md': async () => {
    const stdout = await run('cluster.md');
    expect(stdout).toContain('prod has one directory for each host: a, b, c');
    expect(stdout).toContain('prod/d has the files of the host d');
    expect(stdout.match(/^[abcd]: valid until \d{4}-/gm)?.length).toBe(4);
    const configuration = readFileSync(join(directory, 'prod/a/nats/nats-server.conf'), 'utf8');
    expect(configuration).toContain('listen: "10.0.0.1:4222"');
    expect(configuration.match(/nkey: U/g)?.length).toBe(4);
  },
  'import-export.md': async () => {
    writeFileSync(join(directory, 'notes.jsonl'), '{"title": "first"}\n');
    const stdout = await run('import-export.md');
    expect(stdout).toContain('imported 1 documents');
    expect(readFileSync(join(directory, 'everything.jsonl'), 'utf8')).toContain('"title":"first"');
  },
  'react.md': async () => {
    expect(await run('react.md')).toContain('wrote a starter project');
  },
  '../examples/chat/README.md': async () => {
    const stdout = await runExample('chat', 'http://127.0.0.1:4300/');
    expect(stdout).toContain('"text":"hello"');
    expect(stdout).toContain('build 12 is green');
    expect(stdout).toContain('grace');
  },
  '../examples/tickets/README.md': async () => {
    const stdout = await runExample('tickets', 'http://127.0.0.1:4301/');
    expect(stdout).toContain('held');
    expect(stdout).toContain('taken');
  },
};

async function run(page: string): Promise<string> {
  return await runExamples(page, service, undefined, {cwd: directory, env});
}

/** @param page where the README says that the example's page is */
async function runExample(name: string, page: string): Promise<string> {
  const example = await openExample({directory: join(root, 'examples', name), server: service, port: 0});
  try {
    const asRun = (text: string) => text.replaceAll(page, example.url).replaceAll('http://127.0.0.1:3210', service.url);
    return await runExamples(`../examples/${name}/README.md`, service, asRun, {cwd: root, env});
  } finally {
    await example.close();
  }
}

describe('the shell blocks', () => {
  // The READMEs of the examples come last.
  test.each(firstOf(3, Object.keys(RUN_HERE)))('of %s run as they stand', async page => {
    await RUN_HERE[page]!();
  });

  test('of every page are run, or a reason says why not', () => {
    const isRun = (page: string) => page in RUN_HERE || page in OWN_TESTS;
    const without = PAGES.filter(page => !isRun(page)).flatMap(page =>
      shellBlocks(page)
        .filter(block => reasonNotToRun(page, block) === undefined)
        .map(block => `${page}: ${block}`),
    );
    expect(without).toEqual([]);
    for (const [page, file] of Object.entries(OWN_TESTS)) {
      expect(readFileSync(join(root, 'test/docs', file), 'utf8')).toContain(page);
    }
  });

  test('that are not run are there', () => {
    const stale = Object.entries(NOT_RUN).flatMap(([page, reasons]) =>
      Object.keys(reasons)
        .filter(beginning => !shellBlocks(page).some(block => block.startsWith(beginning)))
        .map(beginning => `${page}: ${beginning}`),
    );
    expect(stale).toEqual([]);
  });
});
