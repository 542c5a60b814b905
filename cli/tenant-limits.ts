/** `svc limits` shows the limits of a tenant, and how much of them is used. */
import type {Command} from 'commander';
import type {TenantLimit} from '../shared/protocol/limits.ts';
import {bytesText} from './bytes-text.ts';
import {showList} from './control.ts';
import {reportFailure} from './failure.ts';
import {addTargetOptions, ask, type TargetOptions, withTarget} from './project/target.ts';

export function register(program: Command): void {
  addTargetOptions(
    program
      .command('limits')
      .description('show the limits of a tenant, and how much of them is used')
      .option('--json', 'one limit per line, as JSON'),
  ).action((options: TargetOptions & {json?: true}) =>
    reportFailure('svc limits', () =>
      withTarget(options, async target =>
        showList((await ask(target, 'limits.get', [])).limits, options.json === true, lineOf),
      ),
    ),
  );
}

function lineOf({area, name, unit, limit, used, meaning}: TenantLimit): string {
  const text = (value: number) =>
    unit === 'bytes' ? bytesText(value) : unit === 'count' ? String(value) : `${value} ms`;
  const most = limit === null ? 'no limit' : text(limit);
  return `${`${area}.${name}`.padEnd(30)} ${(used === null ? most : `${text(used)} of ${most}`).padStart(24)}  ${meaning}`;
}
