/** Texts of the operations that a router answers itself, except tenants. */
import {HELLO_TIMEOUT_MS} from '../../../shared/limits.ts';
import type {OperationTexts} from './text.ts';

export const SERVER_TEXTS: OperationTexts<
  'health' | 'metrics' | 'openapi' | 'docs.page' | 'docs.file' | 'socket' | 'functions.socket'
> = {
  health: {summary: 'Whether the server answers', example: {answer: {ok: true}}},
  metrics: {
    summary: 'Metrics in Prometheus text format',
    errors: ['session.worker_unavailable'],
    example: {answer: '# HELP svc_http_requests_total Requests answered.\n'},
  },
  openapi: {
    summary: 'This document',
    example: {answer: {openapi: '3.1.1', info: {title: 'svc', version: '0.1.0'}, paths: {}}},
  },
  'docs.page': {summary: 'This document as a page', example: {answer: '<!doctype html>'}},
  'docs.file': {
    summary: 'A file of that page',
    errors: ['op.not_found'],
    example: {path: {file: 'swagger-ui.css'}},
  },
  socket: {
    summary: 'Live queries: a WebSocket of the subprotocol svc.v2',
    description: `The tenant is \`X-Tenant-Id\` or \`tenant_id\`. Frames are JSON texts, an object with a \`type\` each.

1. The server sends \`hello\` with \`protocol\`, \`server\`, \`features\` and \`session\`; the client answers \`{"type": "client_hello", "protocol": "svc.v2"}\` within
   ${HELLO_TIMEOUT_MS / 1_000} seconds. Anything else is a \`fatal_error\`, and the socket closes with 1008 and the code as its reason.
2. \`{"type": "subscribe", "request_id", "query"}\` (a query object) is answered with \`subscription_result\`: \`subscription_id\`, \`data\`, all of it, and the
   \`request_id\`; and again, without \`request_id\`, whenever a write changes the result. \`op.error\` with the \`request_id\` as \`id\` says that it could not be.
3. \`{"type": "unsubscribe", "subscription_id"}\` ends it. \`{"type": "clear_auth"}\` is answered with \`authenticated\`.

Of what the socket cannot do, \`error\` tells, and it stays open. See docs/live-queries.md.`,
    errors: ['op.invalid_input', 'protocol.no_overlap', 'session.tenant_not_found', 'session.overloaded'],
    example: {query: {tenant_id: 'acme'}},
  },
  'functions.socket': {
    tag: 'live',
    summary: 'Live queries of functions: a WebSocket of the subprotocol svc.functions.v1',
    description:
      'The protocol of the clients in `svc/browser` and `svc/react`: a set of live queries whose results ' +
      'are of one version, mutations that run once, actions, and the caller’s identity. See ' +
      'docs/function-socket.md.',
    errors: ['op.invalid_input', 'protocol.no_overlap', 'session.tenant_not_found', 'session.overloaded'],
    example: {},
  },
};
