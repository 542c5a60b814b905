/** The routes of a cluster, which the supervisor answers. */
import {Compile} from 'typebox/compile';
import {ServiceError} from '../../shared/errors.ts';
import type {ClusterRequest} from '../../shared/ipc/cluster-requests.ts';
import {CLUSTER_PAGE_MAX} from '../../shared/limits.ts';
import {ROUTER_OPERATIONS, type RouterOperation} from '../../shared/operations.ts';
import {DrainBody, MoveBody, PinBody} from '../../shared/protocol/cluster.ts';
import {numberIn} from '../auth/audited.ts';
import type {ControlChannel} from '../control-channel.ts';
import type {Exchange} from '../http/exchange.ts';
import {bodyOf} from './json-body.ts';

export type ClusterOperation = Extract<RouterOperation, `cluster.${string}`>;

const LIMIT_DEFAULT = 100;

const moveBody = Compile(MoveBody);
const pinBody = Compile(PinBody);
const drainBody = Compile(DrainBody);

/** @param query the query string. @throws op.invalid_input 400; the supervisor's ServiceError, op.conflict 409 */
export async function answerCluster(
  control: ControlChannel,
  exchange: Exchange,
  operation: ClusterOperation,
  query: string,
): Promise<void> {
  const answer = await control.cluster(requestOf(operation, exchange, query));
  exchange.reply(ROUTER_OPERATIONS[operation].success, JSON.stringify(answer));
}

function requestOf(operation: ClusterOperation, {body}: Exchange, query: string): ClusterRequest {
  switch (operation) {
    case 'cluster.status': {
      const parameters = new URLSearchParams(query);
      const limit = numberIn(parameters, 'limit') ?? LIMIT_DEFAULT;
      if (limit < 1) throw new ServiceError('op.invalid_input', 'limit must be 1 at least');
      return {
        action: 'cluster_status',
        limit: Math.min(limit, CLUSTER_PAGE_MAX),
        cursor: parameters.get('cursor'),
      };
    }
    case 'cluster.members':
      return {action: 'cluster_members'};
    case 'cluster.move':
      return {action: 'cluster_move', ...bodyOf(moveBody, body)};
    case 'cluster.pin':
      return {action: 'cluster_pin', ...bodyOf(pinBody, body)};
    case 'cluster.drain':
      return {action: 'cluster_drain', ...bodyOf(drainBody, body)};
  }
}
