/** Deployments, packages, variables, logs, settings, and the calls of functions. */
import {createHash} from 'node:crypto';
import {type App, uploadOf} from '../../functions/app.ts';
import {expectStatus, FUNCTIONS, MINUTES, SETTINGS} from './filled.ts';
import {ANONYMOUS, samples} from './sample.ts';

const NOTHING = {files: [], modules: [], schema: null, authConfig: null, modifiedMs: 0, message: null, dryRun: true};
const badToken = {headers: {authorization: 'Bearer none'}, code: 'auth.unauthorized'} as const;

/** @param app one that is `filled` */
export async function functionsSamples(app: App) {
  const upload = await uploadOf(FUNCTIONS);
  const call = (path: string, args: object) => ({body: {path, args}});
  const unknownJob = {params: {job_id: 'none'}, code: 'op.not_found'} as const;
  return samples({
    'deployments.create': {
      succeeds: [{body: upload}, {body: {...upload, dryRun: true}, variant: 'dry_run'}],
      refused: {body: {...NOTHING, modules: ['none']}, code: 'op.invalid_input'},
    },
    'packages.missing': {
      succeeds: [{body: {packages: []}}, {body: {packages: ['0'.repeat(128)]}}],
      refused: {body: {packages: ['0']}, code: 'op.invalid_input'},
    },
    'packages.put': {
      // Of nothing.
      succeeds: [{params: {sha512: createHash('sha512').digest('hex')}}],
      refused: {params: {sha512: '0'.repeat(128)}, code: 'op.invalid_input'},
    },
    'deployments.progress': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'deployments.list': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'deployments.files': {
      succeeds: [{params: {deployment_id: '2'}}],
      refused: {params: {deployment_id: '999'}, code: 'op.not_found'},
    },
    'deployments.file': {
      succeeds: [{params: {deployment_id: '2', file_path: 'm.js'}}],
      refused: {params: {deployment_id: '2', file_path: '.svc/sources/m.ts'}, code: 'op.not_found'},
    },
    'deployments.diff': {
      succeeds: [{params: {deployment_id: '1', other_id: '2'}}],
      refused: {params: {deployment_id: '2', other_id: 'x'}, code: 'op.not_found'},
    },
    'deployments.preview': {
      succeeds: [{params: {deployment_id: '2'}}],
      refused: {params: {deployment_id: '999'}, code: 'op.not_found'},
    },
    'deployments.activate': {
      succeeds: [{params: {deployment_id: '2'}}],
      refused: {params: {deployment_id: '999'}, code: 'op.not_found'},
    },
    'functions.list': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'functions.watch': {
      succeeds: [{body: {path: 'm:all', identity: {subject: 'ada'}}, query: 'limit=1'}],
      refused: {body: {path: 'm:note', args: {}}, query: 'limit=1', code: 'op.invalid_input'},
    },
    'functions.run': {
      succeeds: [call('m:note', {}), call('m:boom', {}), {body: {path: 'm:all', identity: {subject: 'ada'}}}],
      refused: {body: {path: 'm:all', identity: 7}, code: 'op.invalid_input'},
    },
    'env.list': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'env.get': {succeeds: [{params: {name: 'KEY'}}], refused: {params: {name: 'NONE'}, code: 'op.not_found'}},
    'env.set': {
      succeeds: [{params: {name: 'NEW'}, body: {value: 'x'}}],
      refused: {params: {name: '1'}, body: {value: 'x'}, code: 'op.invalid_input'},
    },
    'env.delete': {
      succeeds: [
        async () => {
          await expectStatus(app.admin('PUT', '/env/SHORT', {value: 'x'}), 204);
          return {params: {name: 'SHORT'}};
        },
      ],
      refused: {params: {name: 'NONE'}, code: 'op.not_found'},
    },
    'logs.read': {
      succeeds: [{}, {query: 'history=2'}, {query: 'history=2&outcome=error&path=m:boom'}],
      refused: {query: 'history=-1', code: 'op.invalid_input'},
    },
    'limits.get': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'auth.get': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'auth.check': {
      succeeds: [{body: {token: 'not a token'}}],
      refused: {body: {jwt: 'x'}, code: 'op.invalid_input'},
    },
    'settings.get': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'settings.put': {
      succeeds: [{body: SETTINGS}],
      refused: {body: {...SETTINGS, allowed_origins: ['*']}, code: 'op.invalid_input'},
    },
    'functions.query': {
      succeeds: [call('m:all', {}), call('m:boom', {}), call('m:none', {})],
      refused: {...call('m:all', {}), ...badToken},
    },
    'functions.paginated': {
      succeeds: [call('m:page', {paginationOpts: {numItems: 1, cursor: null}})],
      refused: {...call('m:page', {}), ...badToken},
    },
    'functions.mutation': {succeeds: [call('m:add', {text: 'c'})], refused: {...call('m:add', {}), ...badToken}},
    'functions.action': {succeeds: [call('m:shout', {})], refused: {...call('m:shout', {}), ...badToken}},
    'functions.schedule': {
      succeeds: [
        {parameter: 'run_after', body: {path: 'm:add', args: {text: 'd'}, delayMs: MINUTES}},
        {parameter: 'run_at', body: {path: 'm:add', args: {text: 'd'}, timestampMs: Date.now() + MINUTES}},
      ],
      refused: {parameter: 'run_after', body: {path: 'm:none', delayMs: 0}, code: 'op.invalid_input'},
    },
    'functions.unschedule': {
      succeeds: [
        async () => {
          const body = {path: 'm:add', args: {text: 'e'}, delayMs: MINUTES};
          return {
            params: {job_id: ((await app.svc('POST', '/schedule/run_after', body)).body as {jobId: string}).jobId},
          };
        },
      ],
      refused: unknownJob,
    },
    'functions.http': {
      succeeds: [
        {parameter: '/', method: 'GET'},
        {params: {path: '/tea'}, method: 'POST', body: 'leaves', status: 418},
      ],
      refused: {params: {path: '/none'}, method: 'POST', code: 'op.not_found'},
    },
    'functions.preflight': {
      succeeds: [{headers: {...ANONYMOUS, origin: 'https://app.example', 'access-control-request-method': 'POST'}}],
      refused: {params: {tenant_id: 'none'}, code: 'session.tenant_not_found'},
    },
  });
}
