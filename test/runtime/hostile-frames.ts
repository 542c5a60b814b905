/** What a process that runs tenants' code can write to its pipe: frames as it says them, and ones that are nearly right. */
import {Buffer} from 'node:buffer';
import fc from 'fast-check';

export type Fields = Record<string, unknown>;

export function frame(head: string, tail: string): Buffer {
  const [json, rest] = [Buffer.from(head), Buffer.from(tail)];
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32LE(json.length + rest.length, 0);
  lengths.writeUInt32LE(json.length, 4);
  return Buffer.concat([lengths, json, rest]);
}

/** Each field is right, of another type, or not there. */
export function nearly(rights: Fields[]): fc.Arbitrary<Fields> {
  const wrong = fc.oneof(fc.anything({maxDepth: 2}), fc.constantFrom(null, -1, 0.5, '', 'x', [], {}, true));
  return fc
    .constantFrom(...rights)
    .chain(right =>
      fc.record(
        Object.fromEntries(
          Object.entries(right).map(([name, value]) => [
            name,
            name === 'type' ? fc.constant(value) : fc.oneof({weight: 3, arbitrary: fc.constant(value)}, wrong),
          ]),
        ),
        {requiredKeys: []},
      ),
    );
}

const ended = {lines: ['a'], durationMs: 1, broken: null};
export const failedExecution = {...ended, ok: false, reason: 'threw', name: 'Error', message: 'm', stack: null};

/** One message of each type, as the process of sandboxes says it. Tail: a JSON value. */
export const fromHost = (sandbox = 'a'): Fields[] => [
  {type: 'opened', sandbox},
  {type: 'broken', sandbox, reason: 'r'},
  {type: 'executed', execution: 1, result: {...ended, ok: true}},
  {type: 'executed', execution: 1, result: failedExecution},
];

const outcome = {ok: false, error: {name: 'Error', message: 'm', stack: null}};
const readSet = {intervals: [{table: 1, index: -1, lower: 'a', upper: 'b'}], absentTables: ['notes']};
const run = {
  outcome,
  lines: ['a'],
  identityUsed: false,
  isMomentary: true,
  readSet,
  endCursor: null,
  starved: null,
  sequence: 7,
};

/** As the process of isolates says it, without a tail. */
export const bareFromIsolates: Fields[] = [{type: 'ready'}, {type: 'alive'}, {type: 'warmed'}, {type: 'closed'}];
/** The same with one: a JSON value. */
export const fromIsolates: Fields[] = [
  {type: 'ran', runs: [[1, 0, 1, run]]},
  {type: 'outcome', id: 1, outcome},
  {type: 'refused', id: 1, error: {code: 'op.failed', message: 'm'}, reason: null},
  {type: 'log', id: 1, line: 'a'},
  {type: 'call', id: 1, call: 1, operation: 'runQuery', parameters: null},
];

/** As a Node process says it. Tail: a JSON value. */
export const fromNode = (action = 1): Fields[] => [
  ...['ready', 'alive', 'serving'].map(type => ({type})),
  {type: 'analyzed', module: 'a', ok: true},
  ...['begun', 'log', 'uncaught'].map(type => ({type, action})),
  {type: 'start', action, call: 1, operation: 'runQuery'},
  {type: 'outcome', action, ok: true},
  {type: 'served', ok: true},
  {type: 'executed', action, fault: null},
];

const validator = {type: 'object', value: {n: {fieldType: {type: 'array', value: {type: 'number'}}, optional: true}}};
const sha256 = '0'.repeat(64);
const node = {version: '22', modules: [{path: 'a', hash: 'h'}], files: ['a.js'], packages: []};
const upload = {modifiedMs: 1, message: null, dryRun: false, development: false, node};
const entry = {path: 'a:f', module: 'a', name: 'f', kind: 'query', visibility: 'public', hash: sha256};
const manifest = {
  functions: [{...entry, args: validator, returns: null}],
  routes: [{method: 'GET', path: '/a', pathPrefix: null, index: 0}],
  schema: {tables: [{name: 't', document: validator, indexes: [{name: 'i', fields: ['n']}]}], schemaValidation: true},
  authProviders: [{type: 'oidc', domain: 'https://a.example', applicationID: 'a'}],
};
const file = {path: 'a.js', sha256, hasMap: false};
/** As the tail of the analysis's message `analyzed`. */
export const analysisAnswer = {ok: true, upload, manifest, files: [file]};
