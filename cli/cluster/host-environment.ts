/** `svc.env` of one host: the variables of `svc start`, as a service manager reads them. */
import {type ClusterFile, type ClusterHost, inUrl, pathOn} from './cluster-file.ts';

export function hostEnvironment({name, hosts, filesAt, ...cluster}: ClusterFile, host: ClusterHost): string {
  const servers = hosts.filter(({hasNats}) => hasNats);
  const urls = (scheme: string, port: 'nats' | 'monitor') =>
    servers.map(({address, ports}) => `${scheme}://${inUrl(address)}:${ports[port]}`).join(',');
  const variables = {
    SVC_CLUSTER: urls('nats', 'nats'),
    SVC_CLUSTER_NAME: name,
    SVC_HOST_NAME: host.name,
    SVC_CLUSTER_FILES: pathOn(host, filesAt),
    SVC_PEER_LISTEN: `${inUrl(host.address)}:${host.ports.peers}`,
    SVC_NATS_MONITOR: urls('https', 'monitor'),
    ...(servers.length === 1 ? {SVC_ALLOW_SINGLE_LOG: '1'} : {}),
    // Equal on all hosts, because a client can be answered by each of them.
    SVC_ACCESS_TOKEN: cluster.accessToken,
    SVC_ADMIN_TOKEN: cluster.adminToken,
  };
  const lines = Object.entries(variables).map(([variable, value]) => `${variable}=${value}`);
  return `${lines.join('\n')}\n`;
}
