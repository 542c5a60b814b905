/** The files that `svc cluster init` makes for one host, and `svc start --cluster-files` reads, by their names. */
import {join} from 'node:path';
import type {ClusterSettings} from '../../supervisor/server/settings.ts';

export const HOST_FILES = {
  /** Of the cluster: it issued the certificates of all hosts. */
  ca: 'ca.pem',
  /** Of this host, for routers of other hosts, and for NATS as a client. */
  certificate: 'host.pem',
  key: 'host.key',
  /** Of the user that this host is for NATS. */
  seed: 'nats.seed',
  environment: 'svc.env',
} as const;

/** What the NATS server of this host reads, which can run as another user. */
export const NATS_FILES = {
  configuration: 'nats/nats-server.conf',
  ca: 'nats/ca.pem',
  certificate: 'nats/server.pem',
  key: 'nats/server.key',
} as const;

/** @param directory absolute. @param isPlain NATS has no TLS and no users */
export function hostFiles(directory: string, isPlain: boolean): Pick<ClusterSettings, 'nats'> & {peer: PeerFiles} {
  const at = (name: keyof typeof HOST_FILES) => join(directory, HOST_FILES[name]);
  const peer = {ca: at('ca'), certificate: at('certificate'), key: at('key')};
  const nats = isPlain ? {ca: null, certificate: null, key: null, seed: null} : {...peer, seed: at('seed')};
  return {nats, peer};
}

type PeerFiles = ClusterSettings['peers']['files'];
