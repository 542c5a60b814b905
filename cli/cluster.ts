/** `svc cluster …`: several hosts that share the tenants. Each verb is in a file of `cli/cluster/`. */
import type {Command} from 'commander';
import {registerAdopt} from './cluster/adopt.ts';
import {registerBase} from './cluster/base.ts';
import {registerDiverged} from './cluster/diverged.ts';
import {registerDrain, registerMoves} from './cluster/hand-over.ts';
import {registerAddHost, registerInit, registerRenew} from './cluster/init.ts';
import {registerForget, registerVerify} from './cluster/on-log.ts';
import {registerRebuild} from './cluster/rebuild.ts';
import {registerStatus} from './cluster/status.ts';

export function register(program: Command): void {
  const cluster = program.command('cluster').description('several hosts that share the tenants');
  registerInit(cluster);
  registerAddHost(cluster);
  registerRenew(cluster);
  registerAdopt(cluster);
  registerStatus(cluster);
  registerMoves(cluster);
  registerDrain(cluster);
  registerVerify(cluster);
  registerForget(cluster);
  registerDiverged(cluster);
  registerBase(cluster);
  registerRebuild(cluster);
}
