/** What needs the function platform, which is loaded with the first of these. */
import {Buffer} from 'node:buffer';
import {preflightHeaders} from '../../shared/ipc/cors.ts';
import {DEPLOYMENT_BYTES_MAX} from '../../shared/limits.ts';
import type {Operation} from '../../shared/operations.ts';
import type {FunctionPlatform} from '../functions/platform.ts';
import {kept, type Request} from '../ipc/decode.ts';
import {type Answer, type Handler, type Handlers, Streamed, type StreamTarget} from './answer.ts';

type Of<Area extends string> = Extract<Operation, `${Area}.${string}`>;

export const functions: Handlers<Of<'functions'> | Of<'deployments'> | Of<'env'> | Of<'settings'> | Of<'logs'>> = {
  'functions.query': by(({endpoints}, request) => endpoints.call('query', request)),
  'functions.paginated': by(({endpoints}, request) => endpoints.call('paginatedQuery', request)),
  'functions.mutation': by(({endpoints}, request) => endpoints.call('mutation', request)),
  'functions.action': by(({endpoints}, request) => endpoints.call('action', request)),
  'functions.schedule': by(({endpoints}, request) => endpoints.schedule(request.params.how, request)),
  'functions.unschedule': by(({endpoints}, request) => endpoints.unschedule(request.params.job_id, request)),
  'functions.run': by(({endpoints}, request) => endpoints.run(request)),
  'functions.list': by(platform => platform.functionList()),
  'functions.http': streamedBy(({httpActions}, request, to) => httpActions.serve(request, to)),
  'functions.preflight': ({origin}, {functions}) =>
    new Streamed(to => {
      to.whole(204, preflightHeaders(origin ?? undefined, functions.allowedOrigins), '');
      return undefined;
    }),
  'deployments.create': by(async ({deployments}, {incoming}) =>
    deployments.upload((await incoming?.collect(DEPLOYMENT_BYTES_MAX)) ?? Buffer.alloc(0)),
  ),
  'deployments.list': by(({deployments}) => deployments.list()),
  'deployments.activate': by(({deployments}, {params}) => deployments.activate(params.deployment_id)),
  'env.list': by(({environment}) => environment.list()),
  'env.get': by(({environment}, {params}) => environment.get(params.name)),
  'env.set': by(({environment}, {params, body}) => environment.set(params.name, body)),
  'env.delete': by(({environment}, {params}) => environment.delete(params.name)),
  'settings.get': by(({settings}) => JSON.stringify(settings.current)),
  'settings.put': by(({settings}, {body}) => settings.put(body)),
  'logs.read': streamedBy((platform, {query}, to) => platform.readLog(query, to)),
};

/** Nothing here waits with the body in hand: an action may take minutes. */
function by<O extends Operation>(
  answer: (platform: FunctionPlatform, request: Request<O>) => Answer | Promise<Answer>,
): Handler<O> {
  return (request, {functions}) => {
    const {platform} = functions;
    if (platform !== null) return answer(platform, request);
    const waiting = kept(request);
    return functions.loaded().then(loaded => answer(loaded, waiting));
  };
}

function streamedBy<O extends Operation>(
  serve: (platform: FunctionPlatform, request: Request<O>, to: StreamTarget) => Promise<void>,
): Handler<O> {
  return (request, {functions}) =>
    new Streamed(to => {
      const {platform} = functions;
      if (platform !== null) return serve(platform, request, to);
      return functions.loaded().then(loaded => serve(loaded, request, to));
    });
}
