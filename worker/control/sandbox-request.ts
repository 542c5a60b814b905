/** Parses and completes a request for a new sandbox. */
import {invalid} from '../../shared/errors.ts';
import {NODE_VERSION_DEFAULT} from '../../shared/node-version.ts';
import type {SandboxBody, SandboxRecord} from '../../shared/protocol/sandboxes.ts';
import {checkEnvironment} from './environment-check.ts';
import {
  NODE_SANDBOX_MEMORY_MB_DEFAULT,
  NODE_SANDBOX_MEMORY_MB_MAX,
  NODE_SANDBOX_MEMORY_MB_MIN,
  SANDBOX_CPU_MS_DEFAULT,
  SANDBOX_ENV_CHARS_MAX,
  SANDBOX_MEMORY_MB_DEFAULT,
  SANDBOX_MEMORY_MB_MAX,
  SANDBOX_MEMORY_MB_MIN,
  SANDBOX_TTL_MS_DEFAULT,
} from './limits.ts';

export type SandboxRequest = Pick<
  SandboxRecord,
  'runtime' | 'node_version' | 'memory_mb' | 'cpu_ms' | 'ttl_ms' | 'env' | 'network'
>;

const MEMORY_MB = {
  isolate: {least: SANDBOX_MEMORY_MB_MIN, most: SANDBOX_MEMORY_MB_MAX, unlessSaid: SANDBOX_MEMORY_MB_DEFAULT},
  node: {
    least: NODE_SANDBOX_MEMORY_MB_MIN,
    most: NODE_SANDBOX_MEMORY_MB_MAX,
    unlessSaid: NODE_SANDBOX_MEMORY_MB_DEFAULT,
  },
};

/** The request with its defaults filled in. @throws op.invalid_input 400 */
export function sandboxRequestOf(body: SandboxBody): SandboxRequest {
  const {runtime = 'isolate', env = {}} = body;
  checkEnvironment(env, SANDBOX_ENV_CHARS_MAX);
  const node_version = body.node_version ?? (runtime === 'node' ? NODE_VERSION_DEFAULT : null);
  if (runtime === 'isolate' && node_version !== null) {
    throw invalid('node_version is for runtime "node"; leave it out, or say so');
  }
  const {least, most, unlessSaid} = MEMORY_MB[runtime];
  const memory_mb = body.memory_mb ?? unlessSaid;
  if (memory_mb < least || memory_mb > most) {
    const fault = memory_mb < least ? `>= ${least}` : `<= ${most}`;
    throw invalid(`memory_mb must be ${fault} with runtime "${runtime}"`);
  }
  return {
    runtime,
    node_version,
    memory_mb,
    cpu_ms: body.cpu_ms ?? SANDBOX_CPU_MS_DEFAULT,
    ttl_ms: body.ttl_ms ?? SANDBOX_TTL_MS_DEFAULT,
    env,
    network: body.network ?? false,
  };
}
