/** The configuration of the NATS server on one host, as svc requires it: docs/cluster.md explains each setting. */
import {Subjects} from '../../cluster/log/subjects.ts';
import {permissionsOf} from '../../cluster/nats/permissions.ts';
import {type ClusterFile, type ClusterHost, inUrl, pathOn} from './cluster-file.ts';
import {NATS_FILES} from './host-files.ts';

/** For a handshake, which takes long on a busy machine; the default is 2. */
const TLS_SECONDS = 5;

export function natsConfig(cluster: ClusterFile, host: ClusterHost): string {
  const {name, hosts, filesAt, storeAt, logStorageBytes} = cluster;
  const servers = hosts.filter(({hasNats}) => hasNats);
  const listen = (port: 'nats' | 'routes' | 'monitor') => quoted(`${inUrl(host.address)}:${host.ports[port]}`);
  const file = (path: string) => quoted(`${pathOn(host, filesAt)}/${path}`);
  const tls = [
    `cert_file: ${file(NATS_FILES.certificate)}`,
    `key_file: ${file(NATS_FILES.key)}`,
    `ca_file: ${file(NATS_FILES.ca)}`,
    'verify: true',
    `timeout: ${TLS_SECONDS}`,
  ];
  const routes = servers
    .filter(other => other !== host)
    .map(({address, ports}) => `    ${quoted(`tls://${inUrl(address)}:${ports.routes}`)}`);
  const {publish, subscribe} = permissionsOf(new Subjects(name));
  const users = hosts.map(
    ({name: user, user: nkey}) => `      # ${user}
      {nkey: ${nkey}, permissions: {publish: $svc_publish, subscribe: $svc_subscribe}}`,
  );
  return `# The NATS server of the host ${host.name}, cluster ${name}. svc cluster made this file, and add-host makes it again.
svc_publish: [
${publish.map(subject => `  ${quoted(subject)}`).join('\n')}
]
svc_subscribe: [${subscribe.map(quoted).join(', ')}]

server_name: ${quoted(`${name}-${host.name}`)}
listen: ${listen('nats')}
# The only page that reports sync_interval. svc reads it at its start.
https: ${listen('monitor')}
tls {
  ${tls.join('\n  ')}
}
jetstream {
  store_dir: ${quoted(pathOn(host, storeAt))}
  # An acknowledged message is on disk.
  sync_interval: always
  max_file_store: ${logStorageBytes}
}
${servers.length > 1 ? clusterSection({name, listen: listen('routes'), tls, routes}) : ''}accounts {
  svc {
    jetstream: enabled
    users: [
${users.join('\n')}
    ]
  }
}
`;
}

type Section = {name: string; listen: string; tls: string[]; routes: string[]};

function clusterSection({name, listen, tls, routes}: Section): string {
  return `cluster {
  name: ${quoted(name)}
  listen: ${listen}
  tls {
    ${tls.join('\n    ')}
  }
  routes: [
${routes.join('\n')}
  ]
}
`;
}

/** Names and paths were checked; a quote or backslash in a path would be read as the end of it. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
