/** From the letters of the wire to a request that handlers see. */
import {Buffer} from 'node:buffer';
import {describe, expect, test} from 'vitest';
import type {RequestMeta} from '../../shared/ipc/operations.ts';
import {OPERATIONS, type Operation, traitsOf} from '../../shared/operations.ts';
import {HANDLERS} from '../../worker/api/operations/handlers.ts';
import {decoded, detached, type Request} from '../../worker/ipc/decode.ts';

const NOTHING = Buffer.alloc(0);
const request = (meta: RequestMeta): Request => decoded(meta, NOTHING, null);

describe('a request', () => {
  test('has the parameters of its path by name', () => {
    const {op, params} = request({op: 'documents.get', p: ['notes', 'x1']});
    expect({op, params}).toEqual({op: 'documents.get', params: {table: 'notes', document_id: 'x1'}});
    expect(request({op: 'functions.schedule', p: ['run_at']}).params).toEqual({how: 'run_at'});
    expect(request({op: 'functions.http', p: ['/in/x']}).params).toEqual({path: '/in/x'});
    expect(request({op: 'query.run'}).params).toEqual({});
  });

  test('says who asks', () => {
    expect(request({op: 'functions.query'}).caller).toEqual({authorization: null, isAdmin: false});
    expect(request({op: 'functions.query', a: 'Bearer t'}).caller).toEqual({authorization: 'Bearer t', isAdmin: false});
    expect(request({op: 'functions.query', w: 1}).caller).toEqual({authorization: null, isAdmin: true});
  });

  test('has what else came with it, or that it did not', () => {
    expect(request({op: 'journal.page'})).toMatchObject({
      query: '',
      key: null,
      requestId: '',
      origin: null,
      http: null,
    });
    const meta: RequestMeta = {
      op: 'functions.http',
      q: 'a=b',
      k: 'key',
      r: 'r1',
      o: 'https://o',
      m: 'PUT',
      u: '/x',
      h: [['a', 'b']],
    };
    expect(request(meta)).toMatchObject({
      query: 'a=b',
      key: 'key',
      requestId: 'r1',
      origin: 'https://o',
      http: {method: 'PUT', url: '/x', headers: [['a', 'b']]},
    });
  });

  test('that is kept has a body of its own', () => {
    const body = Buffer.from('{"a":1}');
    const later = detached(decoded({op: 'documents.insert'}, body, null));
    body.fill(0);
    expect(later.body.toString()).toBe('{"a":1}');
  });
});

describe('the table of operations', () => {
  test('has a handler for each, and no other', () => {
    expect(Object.keys(HANDLERS).sort()).toEqual(Object.keys(OPERATIONS).sort());
  });

  test.each(Object.keys(OPERATIONS) as Operation[])(
    '%s is sent again only if it is a read that runs no code of a tenant',
    operation => {
      const {isShort, isAtOnce, kind, runsUserCode} = traitsOf(operation);
      if (isShort === true) expect({kind, runsUserCode}).toEqual({kind: 'read', runsUserCode: undefined});
      if (isAtOnce === true) expect(kind).toBe('read'); // writes are anyway
    },
  );
});
