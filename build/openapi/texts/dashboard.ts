/** Texts of the dashboard's one-time links and sessions. Signing in and out are routes of the dashboard's own origin. */
import type {Named, OperationTexts} from './text.ts';

const SESSION = {
  ...{id: 'h7p4n2qxwzrt', key: null, key_name: 'admin', created_at: 1_800_000_000_000},
  ...{last_used_at: 1_800_000_600_000, idle_ends_at: 1_800_043_800_000, ends_at: 1_801_209_600_000},
  ...{address: '127.0.0.1', browser: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'},
};

export const DASHBOARD_TEXTS: OperationTexts<Named<'dashboard'>> = {
  'dashboard.code': {
    tag: 'dashboard',
    summary: 'A one-time link to the dashboard',
    description:
      'The link opens a session with the rights of this request’s credential. It is valid for 60 seconds and once. ' +
      'The code is in the fragment of the URL, which browsers do not send. `svc dashboard` calls this route.',
    example: {
      answer: {
        code: '3fP0Qm8vJb2yXk6sTn1wZc9rLh5dEa7uGo4iVx_qKMs',
        url: 'http://dashboard.localhost:3210/_dashboard/#code=3fP0Qm8vJb2yXk6sTn1wZc9rLh5dEa7uGo4iVx_qKMs',
        expires_at: 1_800_000_060_000,
      },
    },
  },
  'dashboard.sessions': {
    tag: 'dashboard',
    summary: 'List the sessions of the dashboard',
    description: 'Those that a credential opened; the admin credentials see all.',
    example: {answer: {sessions: [SESSION]}},
  },
  'dashboard.end_all': {
    tag: 'dashboard',
    summary: 'Sign out everywhere',
    description:
      'Ends all sessions that this credential opened; the two admin credentials count as one. ' +
      'Their sockets are closed, and their endless answers are cut off.',
    example: {},
  },
  'dashboard.end': {
    tag: 'dashboard',
    summary: 'End a session',
    description: 'Takes effect at every router before the answer.',
    errors: ['op.not_found'],
    example: {from: {operation: 'dashboard.sessions', values: {session_id: '$response.body#/sessions/0/id'}}},
  },
};
