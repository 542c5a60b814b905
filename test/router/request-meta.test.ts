/** The meta of a request is JSON made by hand, and checked by hand: what is written is what is read, whatever the texts hold. */
import {Buffer} from 'node:buffer';
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {requestMeta} from '../../router/http/request-meta.ts';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import {parseRequestMeta} from '../../worker/ipc/request-meta.ts';

const parse = (meta: unknown) => parseRequestMeta(Buffer.from(typeof meta === 'string' ? meta : JSON.stringify(meta)));

test('every text arrives as it was, with quotes, control characters and beyond ASCII', () => {
  const text = fc.oneof(
    fc.string(),
    fc.string({unit: 'binary'}),
    fc.constantFrom('"', '\\', '\u0000', '\u007f', 'é', '\u2028', ''),
  );
  fc.assert(
    fc.property(fc.array(text, {maxLength: 3}), text, text, text, (parameters, query, key, requestId) => {
      const {op, p = [], q = '', k = '', r} = parse(requestMeta('documents.get', parameters, query, key, requestId));
      expect({op, p, q, k, r}).toEqual({op: 'documents.get', p: parameters, q: query, k: key, r: requestId});
    }),
  );
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
