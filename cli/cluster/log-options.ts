/** The options of verbs that work on the log itself: those of `svc start`, so that svc.env of a host has them all. */
import type {Command} from 'commander';
import type {NatsAddress} from '../../supervisor/server/settings.ts';
import {type ClusterOptions, clusterOptions, natsAddresses} from '../cluster-settings.ts';
import {CommandFailure} from '../failure.ts';
import {variableOf} from '../option-values.ts';

const FLAGS = [
  ...['--cluster', '--cluster-name', '--cluster-files', '--lease', '--nats-plain'],
  ...['--nats-monitor', '--allow-single-log'],
];

export type LogOptions = Pick<
  ClusterOptions,
  'cluster' | 'clusterName' | 'clusterFiles' | 'lease' | 'natsPlain' | 'natsMonitor' | 'allowSingleLog'
>;

export type LogAccess = {
  servers: NatsAddress[];
  cluster: string;
  files: string;
  isPlain: boolean;
  allowSingleLog: boolean;
};

export function addLogOptions(command: Command): Command {
  for (const option of clusterOptions()) {
    if (FLAGS.includes(option.long!)) command.addOption(option.env(variableOf(option.long!)));
  }
  return command;
}

/** @throws CommandFailure */
export function logAccess(options: LogOptions): LogAccess {
  const {cluster: servers, clusterName: cluster, clusterFiles: files, natsPlain: isPlain, allowSingleLog} = options;
  if (servers === undefined || cluster === undefined || files === undefined) {
    throw new CommandFailure(
      '--cluster, --cluster-name and --cluster-files are needed: on a host, its svc.env has them',
      2,
    );
  }
  return {servers: natsAddresses(servers, options), cluster, files, isPlain, allowSingleLog};
}
