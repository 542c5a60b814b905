/** The meta of a request is JSON made by hand, and checked by hand: what is written is what is read, whatever the texts hold. */
import {Buffer} from 'node:buffer';
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {type NativeRequest, requestMeta} from '../../router/edge/request-meta.ts';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import {parseRequestMeta} from '../../worker/ipc/decode.ts';

const parse = (meta: unknown) => parseRequestMeta(Buffer.from(typeof meta === 'string' ? meta : JSON.stringify(meta)));
const request: NativeRequest = {
  ...{operation: 'documents.get', parameters: [], query: '', idempotencyKey: '', family: '', requestId: 'r'},
  ...{
    conditions: {ifMatch: '', ifNoneMatch: ''},
    isForCache: false,
    lastEventId: '',
    contentType: '',
    tables: null,
    lacking: null,
  },
  ...{keyId: '', sessionId: ''},
};

test('every text arrives as it was, with quotes, control characters and beyond ASCII', () => {
  const text = fc.oneof(
    fc.string(),
    fc.string({unit: 'binary'}),
    fc.constantFrom('"', '\\', '\u0000', '\u007f', 'é', '\u2028', ''),
  );
  fc.assert(
    fc.property(fc.array(text, {maxLength: 3}), text, text, text, (parameters, query, idempotencyKey, requestId) => {
      const meta = requestMeta({...request, parameters, query, idempotencyKey, requestId});
      const {op, p = [], q = '', k = '', r} = parse(meta);
      expect({op, p, q, k, r}).toEqual({op: 'documents.get', p: parameters, q: query, k: idempotencyKey, r: requestId});
    }),
  );
});

test('what a request lacks is not in its meta; everything else is', () => {
  expect(JSON.parse(requestMeta(request))).toEqual({op: 'documents.get', r: 'r'});
  const all = {conditions: {ifMatch: '"1"', ifNoneMatch: '*'}, lastEventId: '7', contentType: 'text/csv'};
  const ofKey = {keyId: 'key', sessionId: 'session', family: 'fam', tables: ['a', 'b'], lacking: 'schedule'} as const;
  expect(JSON.parse(requestMeta({...request, ...all, ...ofKey, idempotencyKey: 'once'}))).toEqual({
    ...{op: 'documents.get', r: 'r', k: 'once', f: 'fam', b: 'key', d: 'session'},
    ...{im: '"1"', nm: '*', le: '7', ct: 'text/csv', t: ['a', 'b'], n: 'schedule'},
  });
});

describe('what a router cannot have meant costs its connection', () => {
  test.each([
    ['no JSON', '{'],
    ['null', 'null'],
    ['no operation', {}],
    ['an operation that there is not', {op: 'documents.gets'}],
    ['an operation of the language', {op: 'constructor'}],
    ['an operation that is no text', {op: ['documents.get']}],
    ['parameters that are no list', {op: 'documents.get', p: 'items'}],
    ['a parameter that is no text', {op: 'documents.get', p: ['items', 1]}],
    ['a query that is no text', {op: 'journal.page', q: 1}],
    ['a key that is null', {op: 'documents.insert', k: null}],
    ['an admin that is not 1', {op: 'functions.run', w: true}],
    ['headers that are no pairs', {op: 'functions.http', h: [['a']]}],
  ])('%s', (_what, meta) => {
    expect(() => parse(meta)).toThrowError(MalformedFrame);
  });
});
