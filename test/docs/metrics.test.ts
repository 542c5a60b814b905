import {readdirSync, readFileSync} from 'node:fs';
import {expect, test} from 'vitest';
import {METRIC_TABLES} from '../harness/metric-tables.ts';

/** Pages, rules, dashboards and files of a deployment. */
const FILES = ['docs', 'deploy'].flatMap(folder =>
  readdirSync(folder, {recursive: true, withFileTypes: true})
    .filter(entry => entry.isFile())
    .map(entry => `${entry.parentPath}/${entry.name}`),
);
/** The start of a credential. */
const CREDENTIAL = /^svc_(access|admin|key)(_|$)/;

test('every metric named in docs/ and deploy/ exists', () => {
  const known = new Set(Object.keys(METRIC_TABLES));
  for (const [name, {type}] of Object.entries(METRIC_TABLES))
    if (type === 'histogram') for (const part of ['bucket', 'sum', 'count']) known.add(`${name}_${part}`);
  const unknown: string[] = [];
  let named = 0;
  for (const file of FILES) {
    for (const [name] of readFileSync(file, 'utf8').matchAll(/\bsvc_[a-z]+[a-z_]*/g)) {
      if (CREDENTIAL.test(name)) continue;
      named++;
      if (!known.has(name)) unknown.push(`${file}: ${name}`);
    }
  }
  expect(unknown).toEqual([]);
  expect(named).toBeGreaterThan(60);
});

test('every metric has a help text of its own, which can be read alone', () => {
  const help = Object.values(METRIC_TABLES).map(shape => shape.help);
  expect(help.filter(text => /\b(those|these|of them)\b|^(What|They)\b/i.test(text))).toEqual([]);
  expect(new Set(help).size).toBe(help.length);
});
