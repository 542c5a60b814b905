/**
 * docs/limits.md: every limit with its value and what its own comment says. `npx vitest run --project pure test/docs/limits.test.ts -u`
 * makes it again.
 */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';

const root = join(import.meta.dirname, '../..');

const ROOMS: [title: string, files: string[]][] = [
  ['Router', ['router/limits.ts']],
  ['Supervisor', ['supervisor/limits.ts']],
  ["A tenant's file", ['engine/limits.ts']],
  ['Copies', ['copies/limits.ts']],
  ['Cluster', ['cluster/limits.ts']],
  ['Worker', ['worker/limits.ts', 'worker/ipc/limits.ts', 'worker/api/limits.ts']],
  ['Functions', ['worker/functions/limits.ts']],
  ['Code of tenants', ['worker/runtime/limits.ts', 'worker/runtime/guest/limits.ts']],
  ['Services, sandboxes and sessions', ['worker/control/limits.ts']],
  ['Egress', ['egress/limits.ts']],
  ['Values', ['shared/values/value-limits.ts']],
  ['Limits of several of them', ['shared/limits.ts']],
  ['Clients', ['shared/client-limits.ts']],
  ['Command line', ['cli/limits.ts']],
  ['Dashboard', ['dashboard/limits.ts', 'dashboard/pages/data/limits.ts']],
];

type Limit = {name: string; value: string};
/** Limits that one comment describes. */
type Group = {section: string | null; text: string; limits: Limit[]};

const UNITS: [name: RegExp, steps: [size: number, unit: string][]][] = [
  [/_MB(_|$)/, [[1, 'MiB']]],
  [
    /_KIB(_|$)/,
    [
      [1024, 'MiB'],
      [1, 'KiB'],
    ],
  ],
  [
    /BYTES/,
    [
      [1024 ** 3, 'GiB'],
      [1024 ** 2, 'MiB'],
      [1024, 'KiB'],
      [1, 'bytes'],
    ],
  ],
  [
    /CHARS/,
    [
      [1024 ** 3, 'Gi characters'],
      [1024 ** 2, 'Mi characters'],
      [1024, 'Ki characters'],
      [1, 'characters'],
    ],
  ],
  [
    /_MS(_|$)/,
    [
      [86_400_000, 'days'],
      [3_600_000, 'h'],
      [60_000, 'min'],
      [1_000, 's'],
      [1, 'ms'],
    ],
  ],
  [
    /SECONDS/,
    [
      [86_400, 'days'],
      [3_600, 'h'],
      [60, 'min'],
      [1, 's'],
    ],
  ],
];

/** In the largest unit of which it is a whole number. */
function shown(name: string, value: unknown): string {
  if (typeof value !== 'number') return `\`${JSON.stringify(value)}\``;
  const steps = UNITS.find(([pattern]) => pattern.test(name))?.[1] ?? [];
  const step =
    steps.find(([size, unit]) => value >= (unit === 'days' ? 2 : 1) * size && Number.isInteger(value / size)) ??
    steps.at(-1);
  const [size, unit] = step ?? [1, ''];
  return `${(value / size).toLocaleString('en-US', {maximumFractionDigits: 6})} ${unit}`.trim();
}

/** Without its stars, and without the mark of where a limit comes from. */
function plain(comment: string): string {
  const text = comment.replace(/^\/\*\*|\*\/$/g, '').replace(/^\s*\* ?/gm, '');
  return text
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/ \((?:ours|design|reference [^)]*|contract|spec[^)]*)\)$/, '')
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;');
}

async function groupsOf(file: string): Promise<Group[]> {
  const values = (await import(join(root, file))) as Record<string, unknown>;
  const groups: Group[] = [];
  let section: string | null = null;
  for (const [, title, comment, name] of readFileSync(join(root, file), 'utf8').matchAll(
    /^\/\* (.+?) \*\/$|^(\/\*\*(?:(?!\*\/)[\s\S])*\*\/)$|^export const (\w+)/gm,
  )) {
    if (title !== undefined) section = title;
    else if (comment !== undefined) groups.push({section, text: plain(comment), limits: []});
    else groups.at(-1)!.limits.push({name: name!, value: shown(name!, values[name!])});
  }
  return groups.filter(({limits}) => limits.length > 0);
}

async function page(): Promise<string> {
  const parts: string[] = [];
  for (const [title, files] of ROOMS) {
    parts.push('', `## ${title}`);
    let last: string | null | undefined;
    for (const {section, text, limits} of (await Promise.all(files.map(groupsOf))).flat()) {
      if (section !== last)
        parts.push('', ...(section === null ? [] : [`### ${section}`, '']), '| limit | value | |', '|---|---|---|');
      last = section;
      const names = limits.map(({name}) => `\`${name}\``).join('<br>');
      parts.push(`| ${names} | ${limits.map(({value}) => value).join('<br>')} | ${text} |`);
    }
  }
  const anchor = (title: string) => title.toLowerCase().replaceAll(/[',]/g, '').replaceAll(' ', '-');
  return [
    '# Limits',
    '',
    'Every queue, cache, body, page and retry of svc has a limit. This page lists them all: the name in the code, the value, and what',
    'happens beyond it. A test makes the page from the `limits.ts` of each folder. Settings that you can change are in',
    '[configuration](configuration.md).',
    '',
    `**On this page:** ${ROOMS.map(([title]) => `[${title}](#${anchor(title)})`).join(' · ')}`,
    ...parts,
    '',
  ].join('\n');
}

test('every limit has a comment of its own or shares one', async () => {
  const groups = (await Promise.all(ROOMS.flatMap(([, files]) => files.map(groupsOf)))).flat();
  expect(groups.flatMap(({limits}) => limits).length).toBeGreaterThan(600);
  expect(groups.filter(({text}) => text === '')).toEqual([]);
});

test('the page is up to date', async () => {
  await expect(await page()).toMatchFileSnapshot(join(root, 'docs/limits.md'));
});
