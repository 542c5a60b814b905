/** Handlers that use the function platform, which the first request loads. */
import {Buffer} from 'node:buffer';
import {IncomingBody} from '../../../engine/io/incoming-body.ts';
import {cutUp} from '../../../engine/journal/chunks.ts';
import {bodyType, decodeBody, wireType} from '../../../engine/wire-type.ts';
import {preflightHeaders} from '../../../shared/ipc/cors.ts';
import {DEPLOYMENT_BYTES_MAX} from '../../../shared/limits.ts';
import type {Operation} from '../../../shared/operations.ts';
import {TokenBody} from '../../../shared/protocol/auth.ts';
import {DeploymentFileQuery, PackagesBody} from '../../../shared/protocol/deployments.ts';
import {VariableBody} from '../../../shared/protocol/environment.ts';
import {SettingsChange} from '../../../shared/protocol/settings.ts';
import type {FunctionPlatform} from '../../functions/platform.ts';
import {causeOf, detached, type Request} from '../../ipc/decode.ts';
import {EVENT_HEADERS} from '../follow/event-stream.ts';
import {queryStreamLimit} from '../follow/parameters.ts';
import {
  type Answer,
  doneAfter,
  type Handler,
  type Handlers,
  json,
  Streamed,
  type StreamTarget,
  variant,
} from './answer.ts';
import type {OpenTenant} from './open-tenant.ts';
import {decodeQuery} from './query-string.ts';

const fileQuery = wireType(DeploymentFileQuery);
const packagesBody = bodyType<'packages.missing'>(PackagesBody);
const variableBody = bodyType<'env.set'>(VariableBody);
const tokenBody = bodyType<'auth.check'>(TokenBody);
const settingsBody = bodyType<'settings.put'>(SettingsChange);

type Of<Area extends string> = Extract<Operation, `${Area}.${string}`>;

export const functions: Handlers<
  Of<'functions'> | Of<'deployments'> | Of<'packages'> | Of<'env'> | Of<'settings'> | Of<'auth'> | Of<'logs'>
> = {
  'functions.query': by(({endpoints}, request) => endpoints.call('query', request)),
  'functions.paginated': by(({endpoints}, request) => endpoints.call('paginatedQuery', request)),
  'functions.mutation': by(({endpoints}, request) => endpoints.call('mutation', request)),
  'functions.action': by(({endpoints}, request) => endpoints.call('action', request)),
  'functions.schedule': by(async ({endpoints}, request) =>
    json<'functions.schedule'>({jobId: await endpoints.schedule(request.params.how, request)}),
  ),
  'functions.unschedule': by(({endpoints}, request) => doneAfter(endpoints.unschedule(request.params.job_id, request))),
  'functions.run': by(({endpoints}, request) => endpoints.run(request)),
  'functions.watch': streamedBy(async ({endpoints, sync}, {body, query}, to, {functionFollowers}) => {
    const limit = queryStreamLimit(query);
    const watched = endpoints.watched(body);
    functionFollowers.follow(sync.subscribedQueries, watched, limit, () => to.start(EVENT_HEADERS));
  }),
  'functions.list': by(platform => json<'functions.list'>(platform.functionList())),
  'functions.http': streamedBy(({httpActions}, request, to) => httpActions.serve(request, to)),
  'functions.preflight': ({origin}, {functions}) =>
    new Streamed(to => {
      to.whole(preflightHeaders(origin ?? undefined, functions.allowedOrigins), '');
      return undefined;
    }),
  'deployments.create': by(async ({deployments}, request) => {
    const {incoming} = request;
    const body = (await incoming?.collect(DEPLOYMENT_BYTES_MAX)) ?? Buffer.alloc(0);
    const made = await deployments.upload(body, causeOf(request));
    return 'dry_run' in made
      ? variant<'deployments.create', 'dry_run'>('dry_run', made)
      : json<'deployments.create'>(made);
  }),
  'packages.missing': by(async (platform, {body}) =>
    json<'packages.missing'>({missing: await platform.missingPackages(decodeBody(packagesBody, body).packages)}),
  ),
  'packages.put': by((platform, {params, incoming}) =>
    doneAfter(platform.addPackage(params.sha512, (incoming ?? IncomingBody.whole(Buffer.alloc(0))).chunks())),
  ),
  'deployments.progress': by(({deployments}) => json<'deployments.progress'>({deploys: deployments.underWay})),
  'deployments.list': by(({deployments}) => json<'deployments.list'>({deployments: deployments.list()})),
  'deployments.files': by(({deployments}, {params}) =>
    json<'deployments.files'>({files: deployments.files.list(params.deployment_id)}),
  ),
  'deployments.file': streamedBy(async ({deployments}, {params, query}, to) => {
    const {kind = null} = decodeQuery(fileQuery, query);
    const text = json<'deployments.file'>(deployments.files.text(params.deployment_id, params.file_path, kind));
    to.chunks(() => cutUp(text));
  }),
  'deployments.diff': by(async ({deployments}, {params}) =>
    json<'deployments.diff'>(await deployments.files.diff(params.deployment_id, params.other_id)),
  ),
  'deployments.preview': by(async ({deployments}, {params}) =>
    json<'deployments.preview'>(await deployments.preview(params.deployment_id)),
  ),
  'deployments.activate': by(async ({deployments}, request) =>
    json<'deployments.activate'>(await deployments.activate(request.params.deployment_id, causeOf(request))),
  ),
  'env.list': by(({environment}) => json<'env.list'>({env: environment.current})),
  'env.get': by(({environment}, {params: {name}}) => json<'env.get'>({name, value: environment.get(name)})),
  'env.set': by(({environment}, request) =>
    doneAfter(environment.set(request.params.name, decodeBody(variableBody, request.body).value, causeOf(request))),
  ),
  'env.delete': by(({environment}, request) => doneAfter(environment.delete(request.params.name, causeOf(request)))),
  'settings.get': by(({settings}) => json<'settings.get'>(settings.current)),
  'settings.put': by(({settings}, request) => {
    const {body, signedGrant} = request;
    const grant = {body: body.toString(), signedGrant: signedGrant ?? ''};
    return doneAfter(settings.put(decodeBody(settingsBody, body), grant, causeOf(request)));
  }),
  'auth.get': by(({verifier}) => json<'auth.get'>({providers: verifier.providers})),
  'auth.check': by(async ({verifier}, {body}) =>
    json<'auth.check'>(await verifier.examine(decodeBody(tokenBody, body).token)),
  ),
  'logs.read': streamedBy((platform, {query}, to) => platform.readLog(query, to)),
};

/** The promise of `answer` must not hold the request's body, because an action can take minutes. */
function by<O extends Operation>(
  answer: (platform: FunctionPlatform, request: Request<O>) => Answer | Promise<Answer>,
): Handler<O> {
  return (request, {functions}) => {
    const {platform} = functions;
    if (platform !== null) return answer(platform, request);
    const waiting = detached(request);
    return functions.loaded().then(loaded => answer(loaded, waiting));
  };
}

function streamedBy<O extends Operation>(
  serve: (platform: FunctionPlatform, request: Request<O>, to: StreamTarget, tenant: OpenTenant) => Promise<void>,
): Handler<O> {
  return (request, tenant) =>
    new Streamed(to => {
      const {functions} = tenant;
      const {platform} = functions;
      if (platform !== null) return serve(platform, request, to, tenant);
      const waiting = detached(request);
      return functions.loaded().then(loaded => serve(loaded, waiting, to, tenant));
    });
}
