/** Texts of services, sandboxes and sessions. */
import type {Named, OperationTexts} from './text.ts';

const MAILER = {
  source: {
    type: 'inline',
    code: 'export default async ({signal}) => { await new Promise(done => signal.addEventListener("abort", done)); };',
  },
  node_version: '22',
  autostart: false,
};
const SERVICE = {
  name: 'mailer',
  ...MAILER,
  env: {},
  memory_mb: 128,
  restart: 'always',
  state: 'stopped',
  desired_state: 'stopped',
  restarts: 0,
  started_at: null,
  last_exit: null,
  created_at: 1_800_000_000_000,
  updated_at: 1_800_000_000_000,
};
const SANDBOX_ID = 'b3f0a1c2d4e5';
const SANDBOX = {
  id: SANDBOX_ID,
  runtime: 'isolate',
  node_version: null,
  memory_mb: 16,
  cpu_ms: 1_000,
  ttl_ms: 300_000,
  env: {GREETING: 'hello'},
  network: false,
  state: 'running',
  session_id: null,
  created_at: 1_800_000_000_000,
  expires_at: 1_800_000_300_000,
  ended_at: null,
  error: null,
};
const SESSION = {
  id: 'acme.5d2c8f0b6a7e4c1d9f3b2a1c0e8d7f6a',
  tenant: 'acme',
  sandbox_id: null,
  ttl_ms: 300_000,
  metadata: {for: 'ada'},
  state: 'open',
  created_at: 1_800_000_000_000,
  last_used_at: 1_800_000_000_000,
  expires_at: 1_800_000_300_000,
  ended_at: null,
};
const EXECUTED = {value: 2, log_lines: ["[LOG] 'hello'"], duration_ms: 0.9};
const EXECUTE = {code: "console.log('hello'); return args.add", args: {add: 2}, timeout_ms: 2_000};
const OF_SERVICE = {operation: 'services.create', values: {service_name: '$request.body#/name'}};
const OF_SANDBOX = {operation: 'sandboxes.create', values: {sandbox_id: '$response.body#/sandbox/id'}};
const OF_SESSION = {operation: 'sessions.create', values: {session_id: '$response.body#/session/id'}};

export const SERVICE_TEXTS: OperationTexts<Named<'services'>> = {
  'services.create': {
    summary: 'Create a service',
    description:
      'Its code is a module of the active deployment that begins with `"use node"`, or an ES module of its ' + 'own.',
    errors: ['op.conflict', 'op.not_found', 'op.rate_limited'],
    takesKey: true,
    example: {body: {name: 'mailer', ...MAILER}, answer: {service: SERVICE}},
  },
  'services.list': {summary: 'Services, the oldest first', example: {answer: {services: [SERVICE]}}},
  'services.get': {
    summary: 'A service',
    errors: ['op.not_found'],
    example: {answer: {service: SERVICE}, from: OF_SERVICE},
  },
  'services.update': {
    summary: 'Change a service',
    description: 'Replaces the whole definition. A running service is restarted.',
    errors: ['op.not_found'],
    example: {body: MAILER, answer: {service: SERVICE}, from: OF_SERVICE},
  },
  'services.delete': {
    summary: 'Stop and delete a service',
    errors: ['op.not_found'],
    example: {from: OF_SERVICE},
  },
  'services.start': {
    summary: 'Start a service',
    description: 'It runs until it is stopped, also after a restart of the server.',
    errors: ['op.not_found'],
    example: {answer: {service: {...SERVICE, state: 'starting', desired_state: 'running'}}, from: OF_SERVICE},
  },
  'services.stop': {
    summary: 'Stop a service',
    errors: ['op.not_found'],
    example: {answer: {service: SERVICE}, from: OF_SERVICE},
  },
  'services.restart': {
    summary: 'Restart a service',
    errors: ['op.not_found'],
    example: {answer: {service: {...SERVICE, state: 'starting', desired_state: 'running'}}, from: OF_SERVICE},
  },
  'services.logs': {
    summary: 'Log of a service',
    description:
      'Lines of JSON. With `follow=true` the answer continues after the history, which ends with an empty ' + 'line.',
    errors: ['op.not_found'],
    example: {
      query: {history: 100, follow: 'false'},
      answer: {n: 1, at: 1_800_000_000_000, level: 'service', line: 'it is started'},
      from: {operation: 'services.start', values: {service_name: '$request.path.service_name'}},
    },
  },
};

export const SANDBOX_TEXTS: OperationTexts<Named<'sandboxes' | 'sessions'>> = {
  'sandboxes.create': {
    summary: 'Create a sandbox',
    description: 'It has its own memory and globals, and no access to the tenant’s data.',
    errors: ['op.rate_limited'],
    takesKey: true,
    example: {body: {memory_mb: 16, env: {GREETING: 'hello'}}, answer: {sandbox: SANDBOX}},
  },
  'sandboxes.list': {
    summary: 'Sandboxes, the oldest first',
    example: {answer: {sandboxes: [SANDBOX]}},
  },
  'sandboxes.get': {
    summary: 'A sandbox',
    errors: ['op.not_found'],
    example: {answer: {sandbox: SANDBOX}, from: OF_SANDBOX},
  },
  'sandboxes.stop': {
    summary: 'Stop a sandbox',
    errors: ['op.not_found'],
    example: {answer: {sandbox: {...SANDBOX, state: 'stopped', ended_at: 1_800_000_060_000}}, from: OF_SANDBOX},
  },
  'sandboxes.execute': {
    summary: 'Run code in a sandbox',
    description:
      '`code` is the body of an async function of `args`; what it puts on `globalThis` is there the next time. 422: it has no value, and ' +
      '`detail` says why.',
    errors: ['op.not_found', 'op.conflict', 'sandbox.execution_failed'],
    example: {body: EXECUTE, answer: EXECUTED, from: OF_SANDBOX},
  },
  'sessions.create': {
    summary: 'Open a session',
    description: 'Each use extends it. Its first execution creates a sandbox, unless `sandbox_id` names a running one.',
    errors: ['op.not_found', 'op.conflict', 'op.rate_limited'],
    takesKey: true,
    example: {body: {tenant: 'acme', metadata: {for: 'ada'}}, answer: {session: SESSION}},
  },
  'sessions.list': {
    summary: 'Sessions of a tenant, the oldest first',
    example: {query: {tenant: 'acme'}, answer: {sessions: [SESSION]}},
  },
  'sessions.get': {
    summary: 'A session',
    errors: ['op.not_found'],
    example: {answer: {session: SESSION}, from: OF_SESSION},
  },
  'sessions.close': {
    summary: 'Close a session',
    description: 'The sandbox that the session created is stopped.',
    errors: ['op.not_found'],
    example: {answer: {session: {...SESSION, state: 'closed', ended_at: 1_800_000_060_000}}, from: OF_SESSION},
  },
  'sessions.execute': {
    summary: 'Run code in the sandbox of a session',
    errors: ['op.not_found', 'op.conflict', 'op.rate_limited', 'sandbox.execution_failed'],
    example: {body: EXECUTE, answer: EXECUTED, from: OF_SESSION},
  },
};
